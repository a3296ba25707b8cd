"""Steps that several plans take: buying a total, grouping cells of similar counts, walking along a curve, and measuring
the blocks of a tree, in stages or level by level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from adyton.arrays import Places, Reals
from adyton.denoising.shrinkage import monotone_prefix
from adyton.denoising.top_down import block_posterior
from adyton.errors import BadInput
from adyton.kernel.sources import VectorSource
from adyton.partitions.similar_counts import similar_counts
from adyton.plans.algorithm import Share
from adyton.plans.base import Plan
from adyton.queries import Identity, Measurement, Partition, Total
from adyton.queries.block_tree import BlockTree
from adyton.queries.domain_trees import hilbert_order
from adyton.solving.trees import BlockAnswers
from adyton.strategies.optimal_levels import LevelWeights
from adyton.strategies.staged_blocks import StagedBlocks, stage_levels
from adyton.whole import halvings

_LEARNT = 0.75
"""The weight of posterior means in the estimate; the errors of the two estimates are nearly as large, but not alike."""


class Rows(NamedTuple):
    """How many rows there are, as far as is known, and what is left of the budget."""

    number: float
    """At least 1."""
    left: Fraction
    measured: tuple[Measurement, ...]
    """The measurement of the total, to be used again in least squares; none if the total is public."""


@dataclass(frozen=True, kw_only=True)
class CountsRows(Plan):
    """A plan that needs the number of rows."""

    buys_total = True

    total_share: Share = Fraction(1, 50)
    """The part of the budget that buys the total, where it is not public."""

    def count_rows(self, x: VectorSource, epsilon: Fraction) -> Rows:
        """The public number of rows, or the noisy one that was bought before, or else one for its part of *epsilon*."""
        if self.total is not None:
            return Rows(max(1.0, float(self.total)), epsilon, ())
        if self.rows is not None:
            here = self.rows.queries.domain == x.shape  # not if cells were merged: then only the number is of use
            return Rows(max(1.0, float(self.rows.value)), epsilon, (self.rows,) if here else ())
        total = x.measure(Total(x.shape), self.total_share * epsilon)
        return Rows(max(1.0, float(total.value)), (1 - self.total_share) * epsilon, (total,))


def similar_groups(
    x: VectorSource, eta: Fraction, epsilon: Fraction, rest: Fraction
) -> tuple[Partition, Measurement, float]:
    """Measure the cells with *epsilon* and group those that *rest* would hardly tell apart: groups, cells, threshold.

    Counts up to the threshold η·ln n / ε are taken for 0: noise lifts few of n empty cells above it.
    """
    threshold = float(eta) * math.log(x.cells) / float(epsilon)
    cells = x.measure(Identity(x.shape), epsilon)
    return similar_counts(cells.answers, 2 / float(rest) ** 2, threshold), cells, threshold


def boundaries(intervals: Partition) -> Places:
    """Where intervals begin that are numbered from the left, and at the end the number of cells.

    >>> boundaries(Partition([0, 0, 1, 2]))
    array([0, 2, 3, 4])
    """
    return np.append(np.flatnonzero(np.diff(intervals.labels, prepend=-1)), intervals.cells)


@lru_cache(maxsize=16)
def curve(domain: tuple[int, ...]) -> Places | None:
    """The order of the cells along a Hilbert curve: None for a line, which stays as it stands."""
    return None if len(domain) == 1 else hilbert_order(domain)


@lru_cache(maxsize=16)
def along_curve(domain: tuple[int, ...]) -> Partition:
    """Each cell as a group of its own, numbered along the curve: reducing by it puts the cells in order."""
    return Partition(np.argsort(hilbert_order(domain)))


def staged_estimate(known: BlockAnswers) -> Reals:
    """The cells from blocks that were measured in stages."""
    return _LEARNT * block_posterior(known) + (1 - _LEARNT) * monotone_prefix(known.cells())


def measure_in_stages(
    x: VectorSource,
    level_energy: npt.ArrayLike,
    epsilon: Fraction,
    rows: float,
    measured: Sequence[Measurement] = (),
) -> BlockAnswers:
    """Measure a vector of about so many *rows* in stages for exactly *epsilon*; *measured* are totals known already."""
    energy, levels = np.asarray(level_energy, dtype=np.float64), halvings(x.cells) + 1
    if energy.shape != (levels,):
        raise BadInput(f"level_energy must be {levels} numbers, given an array of {energy.shape}.")
    known = BlockAnswers.none(BlockTree.of_halves(x.cells), measured)
    return run_stages(x, known, stage_levels(x.cells, energy, float(epsilon) * rows), energy, epsilon)


def run_stages(
    x: VectorSource, known: BlockAnswers, stages: LevelWeights, level_energy: npt.ArrayLike, epsilon: Fraction
) -> BlockAnswers:
    """Measure a vector in these stages for exactly *epsilon*; its cells are in the order of the tree."""
    state, source = StagedBlocks.begin(known, stages, level_energy, float(epsilon)), x
    while state.blocks.size:
        step = state.step()
        parts = source.split(step.split) if step.split is not None else (source, source)
        left = (state.left * epsilon, step.share * epsilon)
        answered = [
            part.reduce(groups).measure(Identity(groups.groups), amount) if groups is not None else None
            for part, groups, amount in zip(parts, step.groups, left, strict=True)
        ]
        state, source = state.after(step, *answered), parts[1]
    return state.known


def measure_levels(x: VectorSource, known: BlockAnswers, levels: LevelWeights, epsilon: Fraction) -> BlockAnswers:
    """Measure all blocks of these sizes for exactly *epsilon*; the cells are in the order of the tree."""
    left = Fraction(1)
    for number, size in enumerate(levels.block_sizes):
        share = left if number == len(levels.weights) - 1 else levels.share(number)
        depth = len(known.tree.boundaries) - size.bit_length()
        sizes = np.diff(known.tree.boundaries[depth])
        blocks = x.reduce(Partition(np.repeat(np.arange(sizes.size), sizes)))
        known = known.with_level(depth, blocks.measure(Identity(sizes.size), share * epsilon))
        left -= share
    return known
