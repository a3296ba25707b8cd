"""H2: a binary tree of counts."""

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
class H2(StrategyPlan):
    """A binary tree of counts, all levels measured alike, made consistent by least squares.

    Hay et al., "Boosting the accuracy of differentially private histograms through consistency", PVLDB 2010.
    """

    name = "h2"
    serves = Tasks(dimensions=(1,))
    most_cells = MOST_PLAIN_CELLS
    minds_workload = False

    def strategy(self, workload: Queries) -> Strategy:
        """The binary tree."""
        return hierarchies.h2(workload.domain)
