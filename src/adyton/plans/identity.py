"""IdentityPlan: noise on every cell."""

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
class IdentityPlan(StrategyPlan):
    """Laplace noise on every cell.

    Dwork et al., "Calibrating noise to sensitivity in private data analysis", TCC 2006.
    """

    name = "identity"
    serves = Tasks()
    most_cells = MOST_PLAIN_CELLS
    minds_workload = False

    def strategy(self, workload: Queries) -> Strategy:
        """Every cell."""
        return hierarchies.identity(workload.domain)
