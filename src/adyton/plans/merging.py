"""Cells that a workload does not tell apart, merged before anything is measured: decided once, and taken by all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Reals
from adyton.kernel.sources import VectorSource
from adyton.partitions import (
    groups_by_axis,
    lift,
    product_partition,
    reduce_by_axis,
    reduce_workload,
    tells_apart,
)
from adyton.queries import Partition, Queries, Reduction


@dataclass(frozen=True, eq=False)
class Merging:
    """The groups of cells that a plan sees in place of the cells, and the workload on them.

    What runs, what it is expected to err by, and how its noise is simulated all take this one value.
    """

    groups: Partition | None
    """None where every cell stays by itself."""
    workload: Queries
    """On the groups."""

    @classmethod
    def of(cls, workload: Queries, groups: Partition) -> Merging:
        """The cells of each group become one; single cells stay as and where they are."""
        if groups.groups == groups.cells:
            return cls(None, workload)
        return cls(groups, reduce_workload(workload, groups))

    @classmethod
    def by_axis(cls, workload: Queries) -> Merging:
        """Values of an attribute become one, so that axes stay axes and stripes stay stripes."""
        by_axis = groups_by_axis(workload)
        groups = product_partition(by_axis)
        return cls(None if groups.groups == groups.cells else groups, reduce_by_axis(workload, by_axis))

    @classmethod
    def keeping_axes(cls, workload: Queries, groups: Partition) -> Merging:
        """By axis where as many cells are merged as in these groups, the fewest; else these groups."""
        if len(workload.domain) > 1 and groups.groups < groups.cells:
            found = cls.by_axis(workload)
            if found.groups is not None and found.groups.groups == groups.groups:
                return found
        return cls.of(workload, groups)

    def source(self, x: VectorSource) -> VectorSource:
        """The private vector of the groups."""
        return x if self.groups is None else x.reduce(self.groups)

    def counts(self, cells: npt.ArrayLike) -> Array:
        """The public counts of the groups, flat."""
        flat = np.asarray(cells).reshape(-1)
        return flat if self.groups is None else Reduction(self.groups) @ flat

    def lift(self, estimate: Reals) -> Reals:
        """An estimate of the groups as one of the cells, flat: each group is spread evenly."""
        return estimate if self.groups is None else lift(estimate, self.groups)

    def on_groups(self, queries: Queries) -> Queries | None:
        """Any queries about cells as queries about the groups; None if they tell merged cells apart."""
        if self.groups is None:
            return queries
        return None if tells_apart(queries, self.groups) else reduce_workload(queries, self.groups)
