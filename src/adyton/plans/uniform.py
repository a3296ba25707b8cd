"""Uniform: a noisy total, spread evenly."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.plans.base import Tasks
from adyton.plans.strategy_plan import FixedStrategyPlan
from adyton.queries import Queries
from adyton.strategies import hierarchies
from adyton.strategies.base import Strategy


@dataclass(frozen=True, kw_only=True)
class Uniform(FixedStrategyPlan):
    """A noisy total, spread evenly over the domain: the baseline that knows nothing else.

    Hay et al., "Principled evaluation of differentially private algorithms using DPBench", SIGMOD 2016.
    """

    name = "uniform"
    serves = Tasks()

    def strategy(self, workload: Queries) -> Strategy:
        """The total."""
        return hierarchies.total(workload.domain)
