"""Uniform: a noisy total, spread evenly."""

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
class Uniform(StrategyPlan):
    """A noisy total, spread evenly over the domain: the baseline that knows nothing else.

    Hay et al., "Principled evaluation of differentially private algorithms using DPBench", SIGMOD 2016.
    """

    name = "uniform"
    serves = Tasks()
    most_cells = MOST_PLAIN_CELLS
    minds_workload = False

    def strategy(self, workload: Queries) -> Strategy:
        """The total."""
        return hierarchies.total(workload.domain)
