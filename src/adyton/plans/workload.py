"""Workload: measure what was asked."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.errors import BadInput
from adyton.plans.base import Tasks
from adyton.plans.limits import MOST_PLAIN_CELLS
from adyton.plans.strategy_plan import StrategyPlan
from adyton.queries import Queries, Weighted
from adyton.strategies.base import Strategy


@dataclass(frozen=True, kw_only=True)
class Workload(StrategyPlan):
    """Laplace noise on the answers to the workload itself, made consistent by least squares.

    Cormode, "Personal privacy vs population privacy", KDD 2011, with the least squares that Zhang et al., "εKTELO",
    SIGMOD 2018, put after it.
    """

    name = "workload"
    serves = Tasks()
    effort = "dense"
    most_cells = MOST_PLAIN_CELLS

    def strategy(self, workload: Queries) -> Strategy:
        """The workload; the weights of a weighted one say how precisely each query is measured."""
        if not isinstance(workload, Weighted):
            return Strategy(workload)
        weights = abs(workload.weights)
        if not (weights > 0).all():
            raise BadInput("queries of weight 0 are not measured. Leave them out of the workload.")
        return Strategy(workload.queries, weights)
