"""Privelet: noise on a wavelet."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.plans.base import Tasks
from adyton.plans.strategy_plan import FixedStrategyPlan
from adyton.queries import Queries
from adyton.strategies import hierarchies
from adyton.strategies.base import Strategy


@dataclass(frozen=True, kw_only=True)
class Privelet(FixedStrategyPlan):
    """Laplace noise on the Haar wavelet, with which every range needs few coefficients.

    Xiao, Wang and Gehrke, "Differential privacy via wavelet transforms", ICDE 2010.
    """

    name = "privelet"
    serves = Tasks()
    effort = "light"

    def strategy(self, workload: Queries) -> Strategy:
        """The wavelet along every axis."""
        return hierarchies.privelet(workload.domain)
