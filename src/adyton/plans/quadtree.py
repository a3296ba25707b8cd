"""Quadtree: counts of squares inside squares."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.plans.base import StrategyPlan, Tasks
from adyton.plans.limits import MOST_PLAIN_CELLS
from adyton.plans.registry import register
from adyton.queries import Queries
from adyton.strategies import hierarchies
from adyton.strategies.base import Strategy


@register
@dataclass(frozen=True, kw_only=True)
class Quadtree(StrategyPlan):
    """Counts of squares inside squares, more precise towards the cells, made consistent by least squares.

    Cormode et al., "Differentially private spatial decompositions", ICDE 2012.
    """

    name = "quadtree"
    serves = Tasks(dimensions=(2,))
    most_cells = MOST_PLAIN_CELLS
    minds_workload = False

    def strategy(self, workload: Queries) -> Strategy:
        """The quadtree with geometric weights."""
        return hierarchies.quadtree(workload.domain)
