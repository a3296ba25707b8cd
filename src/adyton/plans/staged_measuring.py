"""Measuring the blocks of a tree, in stages or level by level: the steps that spend the budget of staged plans."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.kernel.sources import VectorSource
from adyton.queries import Identity, Measurement, Partition
from adyton.queries.block_tree import BlockTree
from adyton.solving.block_answers import BlockAnswers
from adyton.strategies.level_weights import LevelWeights
from adyton.strategies.staged_blocks import StagedBlocks, stage_levels
from adyton.whole import halvings


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
