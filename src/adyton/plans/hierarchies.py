"""Trees of counts, on a line and on a plane: plans that measure only the most useful levels, with the best weights;
plans that adapt to the amount and the location of the data, as far as noisy answers show them; and HDMM, which searches
for the best queries of all kinds.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Reals
from adyton.denoising.shrinkage import james_stein, monotone_prefix, polya_tree
from adyton.denoising.top_down import block_posterior, top_down
from adyton.errors import BadInput
from adyton.kernel.sources import VectorSource
from adyton.plans.algorithm import MOST_LONG_CELLS, Share
from adyton.plans.base import CountsRows, Tasks
from adyton.plans.strategy_plan import DenoisingPlan, StrategyPlan
from adyton.queries import Hierarchy, Identity, Measurement, Partition, Queries
from adyton.queries.domain_trees import boxes_in_boxes, halved_boxes, tree_of_halves
from adyton.queries.hierarchy import BlockTree
from adyton.solving.noise_moments import Moments
from adyton.solving.solvers import least_squares
from adyton.solving.trees import BlockAnswers
from adyton.strategies.base import Strategy
from adyton.strategies.hdmm import hdmm
from adyton.strategies.optimal_levels import (
    LevelWeights,
    denoised_levels,
    halving_energies,
    level_energy_of,
    level_strategy,
    optimal_levels,
    quadtree_levels,
    quadtree_stages,
    signal_levels,
    workload_energies,
)
from adyton.strategies.staged_blocks import StagedBlocks, stage_levels
from adyton.whole import halvings, rises


@dataclass(frozen=True, kw_only=True)
class OptimalHierarchy(StrategyPlan):
    """A binary tree of counts of which only a few levels are measured: the levels and weights with the least error on
    the workload, in closed form.

    After Qardaji, Yang and Li, "Understanding hierarchical methods for differentially private histograms", PVLDB 2013,
    and Li et al., "Optimizing linear counting queries under differential privacy", PODS 2010.
    """

    name = "optimal-hierarchy"
    serves = Tasks(dimensions=(1,), sums=True)

    def levels(self, workload: Queries) -> LevelWeights:
        """The sizes of the blocks to measure, and their weights."""
        return optimal_levels(workload.cells, level_energy_of(workload))

    def strategy(self, workload: Queries) -> Strategy:
        """The blocks of those sizes."""
        return self.levels(workload).strategy(workload.cells)


@dataclass(frozen=True, kw_only=True)
class MonotoneHierarchy(DenoisingPlan, OptimalHierarchy):
    """The optimal hierarchy, then differences inside blocks that look like noise are shrunk, and the prefix sums are
    made monotone. Good for prefix sums and ranges: an improvement at no cost in privacy.

    After James and Stein, "Estimation with quadratic loss", 1961, and Ayer et al., "An empirical distribution function
    for sampling with incomplete information", 1955.
    """

    name = "monotone-hierarchy"
    serves = Tasks(dimensions=(1,), ordered=True, sums=True)

    def cells_from(self, answers: Array, workload: Queries, epsilon: Fraction) -> Reals:
        """Least squares, shrink, make monotone."""
        levels = self.levels(workload)
        cells = super().cells_from(answers, workload, epsilon)
        return monotone_prefix(james_stein(cells, levels.block_sizes, levels.variances(float(epsilon))))


@dataclass(frozen=True, kw_only=True)
class OptimalQuadtree(StrategyPlan):
    """Counts of squares inside squares, of two to four sizes only: the sizes and weights with the least error on the
    workload.

    After Cormode et al., "Differentially private spatial decompositions", ICDE 2012, and Li et al., "Optimizing linear
    counting queries under differential privacy", PODS 2010.
    """

    name = "optimal-quadtree"
    serves = Tasks(dimensions=(2,), sums=True)

    def strategy(self, workload: Queries) -> Strategy:
        """The levels that are best for least squares."""
        return _strategy(workload, denoised=False)


@dataclass(frozen=True, kw_only=True)
class DenoisedTree(DenoisingPlan):
    """Counts of blocks inside blocks, of a few sizes, then empirical Bayes down the tree: how blocks divide their rows
    among their parts is learnt from all the answers, and parts always add up. On a map the blocks are squares. The best
    all-rounder: good for cells, prefix sums and boxes.

    After Kolaczyk, "Bayesian multiscale models for Poisson processes", 1999.
    """

    name = "denoised-tree"
    serves = Tasks(dimensions=(1, 2), ordered=True)

    def strategy(self, workload: Queries) -> Strategy:
        """The levels that are best before denoising."""
        return _strategy(workload, denoised=True)

    def cells_from(self, answers: Array, workload: Queries, epsilon: Fraction) -> Reals:
        """Posterior means on the tree."""
        strategy = self.strategy(workload)
        assert isinstance(strategy.queries, Hierarchy)
        return top_down(strategy.queries, answers, strategy.variances(epsilon))


@lru_cache(maxsize=16)
def _strategy(workload: Queries, *, denoised: bool) -> Strategy:
    weights = quadtree_levels(workload.domain, workload_energies(workload), denoised=denoised)
    return level_strategy(boxes_in_boxes(workload.domain), weights[::-1])


@dataclass(frozen=True, kw_only=True)
class HDMM(StrategyPlan):
    """Queries and weights found by numerical optimisation for the workload: slow to prepare, hard to beat by other
    strategies that do not depend on the data.

    McKenna et al., "Optimizing error of high-dimensional statistical queries under differential privacy", PVLDB 2018.
    """

    name = "hdmm"
    serves = Tasks()
    effort = "search"

    reduce: bool = True

    def strategy(self, workload: Queries) -> Strategy:
        """The optimised queries, found once for each workload."""
        return _optimised(workload)


@lru_cache(maxsize=16)
def _optimised(workload: Queries) -> Strategy:
    return hdmm(workload)


@dataclass(frozen=True, kw_only=True)
class AdaptiveHierarchy(CountsRows):
    """A noisy total decides which levels of a tree are worth measuring; then the differences between halves of blocks
    are estimated by empirical Bayes, and the prefix sums are made monotone.

    After Ferguson, "Prior distributions on spaces of probability measures", 1974, and Kolaczyk, "Bayesian multiscale
    models for Poisson processes", 1999.
    """

    name = "adaptive-hierarchy"
    serves = Tasks(dimensions=(1,), data_dependent=True, ordered=True, sums=True)
    simulates_many = False

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Total, levels, least squares, empirical Bayes."""
        energy, rows = level_energy_of(workload), self.count_rows(x, epsilon)
        levels = signal_levels(x.cells, float(rows.left) * rows.number, energy)
        blocks = levels.strategy(x.cells).measure(x, rows.left)
        cells = least_squares(blocks, *rows.measured, local=True)
        return monotone_prefix(polya_tree(cells, levels.block_sizes, levels.variances(float(rows.left))))


_UNEVEN = 0.8
"""The mean square of the difference between the halves of a block inside which nothing was measured, relative to its
rows: found on made-up data."""
_MOST_READ = 1 << 28
"""The most coefficients of queries for which :meth:`StagedPlan.unbiased` computes variances."""


@dataclass(frozen=True, kw_only=True)
class StagedPlan(CountsRows):
    """A plan that measures blocks of a tree in stages, and keeps the answers: the estimate is not linear in them, and
    bounds on its error follow from them."""

    @staticmethod
    @abstractmethod
    def tree(domain: tuple[int, ...]) -> BlockTree:
        """The tree whose blocks are measured."""

    @abstractmethod
    def measure(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> BlockAnswers:
        """Measure blocks for exactly *epsilon*."""

    @abstractmethod
    def cells_from(self, known: BlockAnswers) -> Reals:
        """The cells from the answers."""

    @property
    def linear(self) -> bool:
        """Posterior means are not."""
        return False

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Measure, then :meth:`cells_from`."""
        return self.cells_from(self.measure(x, workload, epsilon))

    def run_and_keep(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> tuple[Reals, Array | None]:
        """The cells, and the numbers of the blocks that were measured, their answers, and the precision of each."""
        known = self.measure(x, workload, epsilon)
        blocks = np.flatnonzero(known.precisions)
        return self.cells_from(known), np.concatenate([blocks, known.answers[blocks], known.precisions[blocks]])

    def unbiased(
        self, workload: Queries, epsilon: Fraction, measured: Reals, queries: Queries
    ) -> tuple[Reals, Moments] | None:
        """Least squares on the blocks. Inside blocks that were not cut the rows are spread evenly, and the error from
        that is added to the variance of the noise; it is known roughly, from a model."""
        merging = self.merging(workload)
        asked, tree = merging.on_groups(queries), self.tree(merging.workload.domain)
        if asked is None or measured.size % 3 or asked.count * asked.cells > _MOST_READ:
            return None
        numbers, answers, precisions = np.split(measured, 3)
        blocks = numbers.astype(np.int64)
        if not (np.isin(blocks, np.arange(tree.blocks)).all() and (precisions > 0).all() and rises(blocks)):
            return None
        known = BlockAnswers.none(tree).with_answers(blocks, answers, 1 / precisions)
        variances = np.concatenate([known.variances(rows, _UNEVEN) for rows in asked.rows()])
        return np.asarray(asked @ tree.unordered(known.cells())), Moments(
            variances, 3 * np.square(variances), at_most=True
        )


@dataclass(frozen=True, kw_only=True)
class StagedHierarchy(StagedPlan):
    """Coarse blocks first; then, in each part of the domain, finer blocks or one last precise measurement, whichever
    gains more, judging by the answers so far. The estimate is mostly the posterior mean under a distribution, learnt
    from the answers, of how blocks divide their rows; the rest is least squares with monotone prefix sums.

    After Cormode et al., "Differentially private spatial decompositions", ICDE 2012, and Kolaczyk, "Bayesian multiscale
    models for Poisson processes", 1999.
    """

    name = "staged-hierarchy"
    serves = Tasks(dimensions=(1,), data_dependent=True, ordered=True, sums=True)
    most_cells = MOST_LONG_CELLS
    simulates_many = False

    @staticmethod
    def tree(domain: tuple[int, ...]) -> BlockTree:
        """Halves of halves."""
        return tree_of_halves(math.prod(domain))

    def measure(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> BlockAnswers:
        """A total, then stages."""
        energy, rows = level_energy_of(workload), self.count_rows(x, epsilon)
        return measure_in_stages(x, energy, rows.left, rows.number, rows.measured)

    def cells_from(self, known: BlockAnswers) -> Reals:
        """Posterior means, mixed with monotone least squares."""
        return staged_estimate(known)


_PLENTY = 3.0
"""From this ε·rows per cell on, small squares are worthwhile almost everywhere: all levels are measured at once."""


@dataclass(frozen=True, kw_only=True)
class StagedQuadtree(StagedPlan):
    """Large squares first; then, in each part of the map, smaller ones or one last precise measurement, whichever gains
    more, judging by the answers so far. Posterior means follow, under a distribution, learnt from the answers, of how
    squares divide their rows. Strong on boxes when rows are few; when there are many, all squares of a few sizes are
    measured at once.

    After Cormode et al., "Differentially private spatial decompositions", ICDE 2012, and Kolaczyk, "Bayesian multiscale
    models for Poisson processes", 1999.
    """

    name = "staged-quadtree"
    serves = Tasks(dimensions=(2,), data_dependent=True, ordered=True, sums=True)
    simulates_many = False

    total_share: Share = Fraction(1, 100)

    @staticmethod
    def tree(domain: tuple[int, ...]) -> BlockTree:
        """Halves along one axis at a time."""
        return halved_boxes(domain)

    def measure(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> BlockAnswers:
        """A noisy total, then stages or levels along the tree."""
        tree, energy = self.tree(x.shape), halving_energies(workload)
        rows = self.count_rows(x, epsilon)
        known = BlockAnswers.none(tree, rows.measured)
        along = x.reduce(Partition(tree.unordered(np.arange(x.cells))))
        signal = float(epsilon) * rows.number / x.cells
        if signal > _PLENTY:
            return measure_levels(along, known, denoised_levels(workload), rows.left)
        return run_stages(along, known, quadtree_stages(workload, signal), energy, rows.left)

    def cells_from(self, known: BlockAnswers) -> Reals:
        """Posterior means."""
        return known.tree.unordered(block_posterior(known))


_LEARNT = 0.75
"""The weight of posterior means in the estimate; the two estimates have errors of similar size that partly cancel."""


def staged_estimate(known: BlockAnswers) -> Reals:
    """The estimate of the cells, from blocks that were measured in stages."""
    return _LEARNT * block_posterior(known) + (1 - _LEARNT) * monotone_prefix(known.cells())


def measure_in_stages(
    x: VectorSource,
    level_energy: npt.ArrayLike,
    epsilon: Fraction,
    rows: float,
    measured: Sequence[Measurement] = (),
) -> BlockAnswers:
    """Measure a vector of about *rows* rows in stages for exactly *epsilon*; *measured* are totals measured before."""
    energy, levels = np.asarray(level_energy, dtype=np.float64), halvings(x.cells) + 1
    if energy.shape != (levels,):
        raise BadInput(f"level_energy must be {levels} numbers, given an array of {energy.shape}.")
    known = BlockAnswers.none(tree_of_halves(x.cells), measured)
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
