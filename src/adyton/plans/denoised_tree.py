"""Trees in one and two dimensions that measure only the levels that pay, and what the answers show afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from adyton.arrays import Array, Reals
from adyton.denoising.top_down import top_down
from adyton.plans.base import Tasks
from adyton.plans.strategy_plan import DenoisingPlan, StrategyPlan
from adyton.queries import Hierarchy, Queries
from adyton.queries.domain_trees import boxes_in_boxes
from adyton.strategies.base import Strategy
from adyton.strategies.level_weights import level_strategy
from adyton.strategies.quadtree_levels import quadtree_levels, workload_energies


@dataclass(frozen=True, kw_only=True)
class OptimalQuadtree(StrategyPlan):
    """Counts of squares inside squares, of two to four sizes only: those, with those weights, that have the least error
    on the workload.

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
    all-rounder: good for cells, prefix sums and boxes alike.

    After Kolaczyk, "Bayesian multiscale models for Poisson processes", 1999.
    """

    name = "denoised-tree"
    serves = Tasks(dimensions=(1, 2), ordered=True)

    def strategy(self, workload: Queries) -> Strategy:
        """The levels that are best when denoising follows."""
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
