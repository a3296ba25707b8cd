"""Privelet: noise on a wavelet."""

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
class Privelet(StrategyPlan):
    """Laplace noise on the Haar wavelet, with which every range needs few coefficients.

    Xiao, Wang and Gehrke, "Differential privacy via wavelet transforms", ICDE 2010.
    """

    name = "privelet"
    serves = Tasks()
    most_cells = MOST_PLAIN_CELLS
    minds_workload = False

    def strategy(self, workload: Queries) -> Strategy:
        """The wavelet along every axis."""
        return hierarchies.privelet(workload.domain)
