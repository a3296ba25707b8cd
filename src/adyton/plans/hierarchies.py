"""Hierarchies on a line: those that measure the levels that pay, with the best weights, and those that adapt to how
much data there is, and to where it is, as far as noisy answers have shown it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from adyton.arrays import Array, Reals
from adyton.denoising.shrinkage import james_stein, monotone_prefix, polya_tree
from adyton.kernel import mechanisms
from adyton.kernel.sources import VectorSource
from adyton.partitions import lift
from adyton.plans.algorithm import MOST_LONG_CELLS, Positive, Share
from adyton.plans.base import Tasks
from adyton.plans.registry import plan_named
from adyton.plans.steps import CountsRows, measure_in_stages, staged_estimate
from adyton.plans.strategy_plan import DenoisingPlan, StrategyPlan
from adyton.queries import Partition, Prefix, Queries
from adyton.solving.solvers import least_squares
from adyton.strategies.base import Strategy
from adyton.strategies.optimal_levels import LevelWeights, level_energy_of, optimal_levels, prefix_energy, signal_levels


@dataclass(frozen=True, kw_only=True)
class OptimalHierarchy(StrategyPlan):
    """A binary tree of counts of which only a few levels are measured: those, with those weights, that have the least
    error on the workload, in closed form.

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
    """The optimal hierarchy, after which differences inside blocks that look like noise are shrunk away, and the prefix
    sums are made to rise. Good for prefix sums and ranges when a free improvement is wanted and nothing else.

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
class AdaptiveHierarchy(CountsRows):
    """A noisy total decides which levels of a tree are worth measuring; then the differences between halves of blocks
    are estimated by empirical Bayes, and the prefix sums are made to rise.

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


@dataclass(frozen=True, kw_only=True)
class StagedHierarchy(CountsRows):
    """Coarse blocks first; then, in each part of the domain, finer blocks or one last precise look, whichever the
    answers so far promise more from. The estimate is for the most part the posterior mean under a law, learnt from the
    answers, of how blocks divide their rows, and for the rest least squares with prefix sums that rise.

    After Cormode et al., "Differentially private spatial decompositions", ICDE 2012, and Kolaczyk, "Bayesian multiscale
    models for Poisson processes", 1999.
    """

    name = "staged-hierarchy"
    serves = Tasks(dimensions=(1,), data_dependent=True, ordered=True, sums=True)
    most_cells = MOST_LONG_CELLS
    simulates_many = False

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Measure in stages; posterior means, mixed with monotone least squares."""
        energy, rows = level_energy_of(workload), self.count_rows(x, epsilon)
        return staged_estimate(measure_in_stages(x, energy, rows.left, rows.number, rows.measured))


_BLOCKS = 64
"""How many blocks the coarse view has, or up to twice as many."""
_FINE, _COARSE = Fraction("0.45"), Fraction("0.41")
"""What is left of the error of plain least squares, on cells measured in stages and on blocks denoised down a tree.

The second is what histograms of 25 rows have; the first is more than the 0.26 that they have, so that cells are chosen
only when the blocks are clearly wrong: the noise of the choice is about as large as the difference."""


@dataclass(frozen=True, kw_only=True)
class PrivateResolution(CountsRows):
    """With little data, look at about 64 blocks instead of at all cells, unless prefix sums inside them look crooked: a
    private choice. The blocks are denoised down a tree; cells are measured in stages. For ε·rows of a few dozens.

    After Qardaji, Yang and Li, "Differentially private grids for geospatial data", ICDE 2013, who derive a resolution
    from the number of rows alone.
    """

    name = "private-resolution"
    serves = Tasks(dimensions=(1,), data_dependent=True, ordered=True)
    simulates_many = False

    selection_share: Share = Fraction(3, 100)
    """The part of the rest that chooses between blocks and cells."""
    plenty: Positive = Fraction(60)
    """From this ε·rows on, as far as it is known, cells are best, and nothing is spent on a choice."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Total, resolution, then a tree."""
        energy, part = level_energy_of(workload), self.selection_share
        rows, left, _ = self.count_rows(x, epsilon)
        size = 1 << max(0, (x.cells // _BLOCKS).bit_length() - 1)
        if size > 1 and float(epsilon) * rows < self.plenty:
            noise = {1: _FINE * _noise(x.cells), size: _COARSE * _noise(-(-x.cells // size))}
            costs = {block: error / ((1 - part) * left) for block, error in noise.items()}
            size, left = x.select(mechanisms.Resolution.at_costs(costs), part * left), (1 - part) * left
        else:
            size = 1
        if size == 1:
            return staged_estimate(measure_in_stages(x, energy, left, rows))
        blocks = Partition(np.arange(x.cells) // size)
        estimate = plan_named("denoised-tree").run(x.reduce(blocks), Prefix(blocks.groups), left)
        return lift(monotone_prefix(estimate), blocks)


@lru_cache(maxsize=64)
def _noise(cells: int) -> Fraction:
    """The root mean square error of prefix sums by least squares on the best levels, at ε = 1."""
    energy = prefix_energy(cells)
    variance = optimal_levels(cells, energy).strategy(cells).solver(Fraction(1)).total_variance(Prefix(cells))
    return Fraction(float(np.sqrt(variance / cells)))
