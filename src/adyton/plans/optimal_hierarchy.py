"""Hierarchies that measure only the levels that pay, with the best weights."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from adyton.arrays import Array, Reals
from adyton.denoising.shrinkage import james_stein, monotone_prefix
from adyton.plans.base import Tasks
from adyton.plans.strategy_plan import DenoisingPlan, StrategyPlan
from adyton.queries import Queries
from adyton.strategies.base import Strategy
from adyton.strategies.level_weights import LevelWeights
from adyton.strategies.optimal_levels import level_energy_of, optimal_levels


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
