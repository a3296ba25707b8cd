"""HDMM: the strategy that is optimised for the workload."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from adyton.plans.base import Tasks
from adyton.plans.strategy_plan import StrategyPlan
from adyton.queries import Queries
from adyton.strategies.base import Strategy
from adyton.strategies.hdmm import hdmm


@dataclass(frozen=True, kw_only=True)
class HDMM(StrategyPlan):
    """Queries and weights found by numerical optimisation for the workload: slow to prepare, hard to beat by strategies
    that do not know the data.

    McKenna et al., "Optimizing error of high-dimensional statistical queries under differential privacy", PVLDB 2018.
    """

    name = "hdmm"
    serves = Tasks()
    effort = "search"

    reduce: bool = True

    def strategy(self, workload: Queries) -> Strategy:
        """The optimised queries, found once for each workload."""
        return _strategy(workload)


@lru_cache(maxsize=16)
def _strategy(workload: Queries) -> Strategy:
    return hdmm(workload)
