"""H2: a binary tree of counts."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.plans.base import Tasks
from adyton.plans.strategy_plan import FixedStrategyPlan
from adyton.queries import Queries
from adyton.strategies import hierarchies
from adyton.strategies.base import Strategy


@dataclass(frozen=True, kw_only=True)
class H2(FixedStrategyPlan):
    """A binary tree of counts, all levels measured alike, made consistent by least squares.

    Hay et al., "Boosting the accuracy of differentially private histograms through consistency", PVLDB 2010.
    """

    name = "h2"
    serves = Tasks(dimensions=(1,))

    def strategy(self, workload: Queries) -> Strategy:
        """The binary tree."""
        return hierarchies.h2(workload.domain)
