"""Trees in one and two dimensions that measure only the levels that pay, or grow where noisy answers promise something
to find.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from adyton.arrays import Array, Reals
from adyton.denoising.top_down import block_posterior, top_down
from adyton.kernel.sources import VectorSource
from adyton.plans.algorithm import Share
from adyton.plans.base import Tasks
from adyton.plans.steps import CountsRows, measure_levels, run_stages
from adyton.plans.strategy_plan import DenoisingPlan, StrategyPlan
from adyton.queries import Hierarchy, Partition, Queries
from adyton.queries.domain_trees import boxes_in_boxes, halved_boxes
from adyton.solving.trees import BlockAnswers
from adyton.strategies.base import Strategy
from adyton.strategies.optimal_levels import level_strategy
from adyton.strategies.quadtree_levels import (
    denoised_levels,
    halving_energies,
    quadtree_levels,
    quadtree_stages,
    workload_energies,
)


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


_PLENTY = 3.0
"""From this many ε·rows per cell on, nearly all parts of a map are worth small squares: levels are measured at once."""


@dataclass(frozen=True, kw_only=True)
class StagedQuadtree(CountsRows):
    """Large squares first; then, in each part of the map, smaller ones or one last precise look, whichever the answers
    so far promise more from. Posterior means follow, under a law, learnt from the answers, of how squares divide their
    rows. Strong on boxes where rows are few; where there are many, all squares of a few sizes are measured at once.

    After Cormode et al., "Differentially private spatial decompositions", ICDE 2012, and Kolaczyk, "Bayesian multiscale
    models for Poisson processes", 1999.
    """

    name = "staged-quadtree"
    serves = Tasks(dimensions=(2,), data_dependent=True, ordered=True, sums=True)
    simulates_many = False

    total_share: Share = Fraction(1, 100)

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Total, then stages or levels along the tree, posterior means."""
        tree, energy = halved_boxes(x.shape), halving_energies(workload)
        rows = self.count_rows(x, epsilon)
        known = BlockAnswers.none(tree, rows.measured)
        along = x.reduce(Partition(tree.unordered(np.arange(x.cells))))
        signal = float(epsilon) * rows.number / x.cells
        if signal > _PLENTY:
            known = measure_levels(along, known, denoised_levels(workload), rows.left)
        else:
            known = run_stages(along, known, quadtree_stages(workload, signal), energy, rows.left)
        return tree.unordered(block_posterior(known))
