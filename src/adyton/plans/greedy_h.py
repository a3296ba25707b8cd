"""Greedy-H: a tree of counts weighted for the workload."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from adyton.partitions import workload_partition
from adyton.plans.base import Tasks
from adyton.plans.steps import curve
from adyton.plans.strategy_plan import StrategyPlan
from adyton.queries import Partition, Queries
from adyton.strategies.base import Strategy
from adyton.strategies.greedy_h import greedy_h


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
        return _strategy(workload)

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
def _strategy(workload: Queries) -> Strategy:
    return greedy_h(workload, curve(workload.domain))
