"""HB: a tree of counts with the right branching."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.plans.base import Tasks
from adyton.plans.strategy_plan import FixedStrategyPlan
from adyton.queries import Queries
from adyton.strategies import hierarchies
from adyton.strategies.base import Strategy


@dataclass(frozen=True, kw_only=True)
class HB(FixedStrategyPlan):
    """A tree of counts whose branching suits the size of the domain, made consistent by least squares.

    Qardaji, Yang and Li, "Understanding hierarchical methods for differentially private histograms", PVLDB 2013.
    """

    name = "hb"
    serves = Tasks()

    def strategy(self, workload: Queries) -> Strategy:
        """The tree without its root."""
        return hierarchies.hb(workload.domain)
