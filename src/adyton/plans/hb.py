"""HB: a tree of counts with the right branching."""

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
class HB(StrategyPlan):
    """A tree of counts whose branching suits the size of the domain, made consistent by least squares.

    Qardaji, Yang and Li, "Understanding hierarchical methods for differentially private histograms", PVLDB 2013.
    """

    name = "hb"
    serves = Tasks()
    most_cells = MOST_PLAIN_CELLS
    minds_workload = False

    def strategy(self, workload: Queries) -> Strategy:
        """The tree without its root."""
        return hierarchies.hb(workload.domain)
