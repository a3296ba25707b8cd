"""IdentityPlan: noise on every cell."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.plans.base import Tasks
from adyton.plans.strategy_plan import FixedStrategyPlan
from adyton.queries import Queries
from adyton.strategies import hierarchies
from adyton.strategies.base import Strategy


@dataclass(frozen=True, kw_only=True)
class IdentityPlan(FixedStrategyPlan):
    """Laplace noise on every cell.

    Dwork et al., "Calibrating noise to sensitivity in private data analysis", TCC 2006.
    """

    name = "identity"
    serves = Tasks()
    effort = "light"

    def strategy(self, workload: Queries) -> Strategy:
        """Every cell."""
        return hierarchies.identity(workload.domain)
