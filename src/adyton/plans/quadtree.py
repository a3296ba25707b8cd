"""Quadtree: counts of squares inside squares."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.plans.base import Tasks
from adyton.plans.strategy_plan import FixedStrategyPlan
from adyton.queries import Queries
from adyton.strategies import hierarchies
from adyton.strategies.base import Strategy


@dataclass(frozen=True, kw_only=True)
class Quadtree(FixedStrategyPlan):
    """Counts of squares inside squares, more precise towards the cells, made consistent by least squares.

    Cormode et al., "Differentially private spatial decompositions", ICDE 2012.
    """

    name = "quadtree"
    serves = Tasks(dimensions=(2,))

    def strategy(self, workload: Queries) -> Strategy:
        """The quadtree with geometric weights."""
        return hierarchies.quadtree(workload.domain)
