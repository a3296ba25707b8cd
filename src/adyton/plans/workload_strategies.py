"""Strategies that are made for the workload: the workload itself, a weighted tree, and what an optimisation finds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from adyton.errors import BadInput
from adyton.partitions import workload_partition
from adyton.plans.algorithm import MOST_PLAIN_CELLS
from adyton.plans.base import Tasks
from adyton.plans.steps import curve
from adyton.plans.strategy_plan import StrategyPlan
from adyton.queries import Partition, Queries, Weighted
from adyton.strategies.base import Strategy
from adyton.strategies.greedy_h import greedy_h
from adyton.strategies.hdmm import hdmm


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


@dataclass(frozen=True, kw_only=True)
class GreedyH(StrategyPlan):
    """A binary tree of counts whose blocks are weighted for the workload, over groups of cells that it treats alike.

    In two dimensions the tree stands on a Hilbert curve. Li et al., "A data- and workload-aware algorithm for range
    queries under differential privacy", PVLDB 2014, section 4.
    """

    name = "greedy-h"
    serves = Tasks(dimensions=(1, 2))

    reduce: bool = True

    def strategy(self, workload: Queries) -> Strategy:
        """The weighted tree."""
        return _weighted_tree(workload)

    @staticmethod
    def alike(workload: Queries) -> Partition:
        """Numbered along the curve."""
        partition = workload_partition(workload)
        order = curve(workload.domain)
        if partition.groups == partition.cells or order is None:
            return partition
        along = partition.labels[order]
        _, first = np.unique(along, return_index=True)
        return Partition(np.argsort(np.argsort(first))[partition.labels])


@lru_cache(maxsize=16)
def _weighted_tree(workload: Queries) -> Strategy:
    return greedy_h(workload, curve(workload.domain))


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
        return _optimised(workload)


@lru_cache(maxsize=16)
def _optimised(workload: Queries) -> Strategy:
    return hdmm(workload)
