"""Lossless reduction: cells that no query of the workload tells apart become one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Reals
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries import OnGroups, Partition, Queries, Ranges


def workload_partition(workload: Queries) -> Partition:
    """Groups of cells with equal columns in the workload, in the order of their first cells.

    Zhang et al., εKTELO, SIGMOD 2018, Definition A.1 and Algorithm 2: columns are compared by random projections, and
    the matrix is never written out.

    >>> from adyton.queries import Ranges
    >>> workload_partition(Ranges(6, [[0], [1]], [[3], [3]])).labels
    array([0, 1, 1, 1, 2, 2])
    """
    _check(workload)
    return workload.column_groups()


def reduce_workload(workload: Queries, partition: Partition) -> Queries:
    """The workload W′ over the groups that has W′·(P·x) = W·x for every x, where P sums up the groups.

    The cells of a group must have equal columns in W, and cells without a group columns of zeros; what
    :func:`workload_partition` returns does, and every finer partition. W′ stays implicit: intervals over groups of
    neighbours stay intervals, and a partition into single cells changes nothing.

    >>> from adyton.queries import Ranges, Reduction
    >>> workload = Ranges(4, [[0]], [[1]])
    >>> groups = workload_partition(workload)
    >>> reduce_workload(workload, groups) @ (Reduction(groups) @ [1, 2, 3, 4])
    array([3])
    """
    _check(workload)
    reduced = OnGroups(workload, partition)
    labels, first = partition.labels, reduced.first
    kept = labels >= 0
    if kept.all() and first.size == labels.size:
        return workload if np.array_equal(labels, np.arange(labels.size)) else reduced
    if tells_apart(workload, partition):
        raise BadInput("the workload tells cells of one group apart. Use workload_partition(workload), or a finer one.")
    if workload.column_sums()[~kept].any():
        raise BadInput("the workload counts cells that are in no group. Give every cell that it counts a group.")
    if isinstance(workload, Ranges) and len(workload.domain) == 1 and labels[0] == 0 and _neighbours(labels):
        return Ranges(partition.groups, labels[workload.lower], labels[workload.upper])
    return reduced


def tells_apart(queries: Queries, partition: Partition) -> bool:
    """Whether some query gives cells of one group different coefficients."""
    labels, first = partition.labels, OnGroups(queries, partition).first
    kept = labels >= 0
    return any((products[kept] != products[first][labels[kept]]).any() for products in queries.column_products())


def _neighbours(labels: Integers) -> bool:
    """Whether the groups are intervals, numbered from left to right."""
    steps = np.diff(labels)
    return bool(((steps == 0) | (steps == 1)).all())


def lift(estimate: npt.ArrayLike, partition: Partition) -> Reals:
    """P⁺·y: an estimate over the groups, each spread evenly over its cells; cells without a group get 0.

    The last axis holds the groups, any others are independent estimates. P·(P⁺·y) = y wherever a group has cells, so
    that a workload that does not tell the cells of a group apart is answered as on the groups.

    >>> lift([6, 1], Partition([0, 0, 1, -1]))
    array([3., 3., 1., 0.])
    """
    values = np.asarray(estimate, dtype=np.float64)
    if not values.ndim or values.shape[-1] != partition.groups:
        raise BadInput(f"there are {partition.groups} groups, given an estimate of shape {values.shape}.")
    shares = values / np.maximum(partition.sizes, 1)
    nothing = np.zeros((*values.shape[:-1], 1))
    return np.concatenate([shares, nothing], axis=-1)[..., partition.labels]


def _check(workload: Queries) -> None:
    if not isinstance(workload, Queries):
        raise BadInput(f"a workload is a query set, given {shorten(workload)}.")
