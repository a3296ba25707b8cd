"""Partitions that follow from public information: cells that no query of a workload distinguishes, with or without
keeping the axes (lossless reduction), the boxes of a grid, the cells of a marginal, stripes along one axis.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Reals
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries import Grid, Kronecker, Marginals, OnGroups, Partition, Queries, Ranges, Stack, Total
from adyton.whole import as_shape, whole


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
    """The workload W′ over the groups with W′·(P·x) = W·x for every x, where P sums each group.

    The cells of a group must have equal columns in W, and cells without a group columns of zeros; this holds for
    :func:`workload_partition` and every finer partition. W′ stays implicit: intervals over groups of neighbours stay
    intervals, and a partition into single cells changes nothing.

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
        raise BadInput("the workload distinguishes cells of a group. Use workload_partition(workload) or a finer one.")
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

    The last axis holds the groups, any others are independent estimates. P·(P⁺·y) = y wherever a group has cells, so a
    workload that does not distinguish the cells of a group has the same answers as on the groups.

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
        raise BadInput(f"a workload must be a query set, given {shorten(workload)}.")


ByAxis = tuple[Partition, ...]
"""For each axis, the groups of its values."""


def groups_by_axis(workload: Queries) -> ByAxis:
    """For each axis, groups of values that can be exchanged without changing any answer, in the order of their first.

    >>> [groups.labels.tolist() for groups in groups_by_axis(Marginals((2, 3), [(1,)]))]
    [[0, 0], [0, 1, 2]]
    """
    labels = workload_partition(workload).labels.reshape(workload.domain)
    return tuple(_alike(np.moveaxis(labels, axis, 0).reshape(side, -1)) for axis, side in enumerate(workload.domain))


def product_partition(by_axis: ByAxis) -> Partition:
    """One group for each combination of groups of the axes, in row-major order.

    >>> product_partition((Partition([0, 0]), Partition([0, 1, 1]))).labels.tolist()
    [0, 1, 1, 0, 1, 1]
    """
    sides = tuple(groups.groups for groups in by_axis)
    places = np.ix_(*(groups.labels for groups in by_axis))
    return Partition(np.ravel_multi_index(places, sides).reshape(-1))


def reduce_by_axis(workload: Queries, by_axis: ByAxis) -> Queries:  # noqa: PLR0911
    """The workload on a domain with one value for each group: like :func:`reduce_workload`, but with the axes kept.

    >>> reduce_by_axis(Marginals((2, 3), [(1,)]), groups_by_axis(Marginals((2, 3), [(1,)]))).domain
    (1, 3)
    """
    sides = tuple(groups.groups for groups in by_axis)
    match workload:
        case _ if sides == workload.domain and all(_plain(groups) for groups in by_axis):
            return workload
        case Total():
            return Total(sides)
        case Marginals():
            return Marginals(sides, workload.axes)
        case Kronecker():
            ends = [0, *itertools.accumulate(len(factor.domain) for factor in workload.factors)]
            own = [by_axis[start:end] for start, end in itertools.pairwise(ends)]
            return Kronecker([_factor(*pair) for pair in zip(workload.factors, own, strict=True)])
        case Stack():
            return Stack([reduce_by_axis(part, by_axis) for part in workload.parts])
        case Ranges() if all(_neighbours(groups.labels) for groups in by_axis):
            lower, upper = (
                np.stack([groups.labels[ends[:, axis]] for axis, groups in enumerate(by_axis)], axis=1)
                for ends in (workload.lower, workload.upper)
            )
            return Ranges(sides, lower, upper)
        case _:
            return OnGroups(workload, product_partition(by_axis), sides)


def _factor(factor: Queries, own: ByAxis) -> Queries:
    return reduce_workload(factor, own[0]) if len(own) == 1 else reduce_by_axis(factor, own)


def _alike(slices: npt.NDArray[np.int64]) -> Partition:
    """Groups of equal rows, numbered in the order of their first row."""
    _, first, inverse = np.unique(slices, axis=0, return_index=True, return_inverse=True)
    return Partition(np.argsort(np.argsort(first))[inverse.reshape(-1)])


def _plain(groups: Partition) -> bool:
    return np.array_equal(groups.labels, np.arange(groups.cells))


def grid_partition(domain: int | Sequence[int], blocks: int | Sequence[int]) -> Partition:
    """One group per box of a grid with this many blocks along each axis, as equal as possible, in row-major order.

    There is at most one block per cell. With this partition a plan for fine grids works on coarse counts.

    >>> grid_partition((2, 4), (1, 2)).labels.reshape(2, 4)
    array([[0, 0, 1, 1],
           [0, 0, 1, 1]])
    """
    return _one_group_per_query(Grid.of_blocks(domain, blocks))


def marginal_partition(domain: int | Sequence[int], axes: Sequence[int]) -> Partition:
    """One group per cell of the marginal over these axes (ascending), in row-major order; the other axes are summed.

    Reducing by it gives the histogram of some attributes, as the naive-Bayes plans do with one attribute and the label
    (Zhang et al., εKTELO, SIGMOD 2018, §7.2 and Algorithm 5). Without axes, all cells form one group.

    >>> marginal_partition((2, 3), [1]).labels.reshape(2, 3)
    array([[0, 1, 2],
           [0, 1, 2]])
    """
    return _one_group_per_query(Marginals(domain, [axes]))


def stripe_partition(domain: int | Sequence[int], axis: int) -> Partition:
    """One group per combination of the other attributes, in row-major order; its cells run along *axis*.

    Splitting by it gives one-dimensional vectors that share no rows, so that a plan for one dimension can spend the
    whole ε on each (Zhang et al., εKTELO, SIGMOD 2018, §7.1 and Algorithm 3).

    >>> stripe_partition((2, 3), 0).labels.reshape(2, 3)
    array([[0, 1, 2],
           [0, 1, 2]])
    """
    sides = as_shape(domain)
    along = whole(axis, "axis", 0)
    if along >= len(sides):
        raise BadInput(f"axes are numbered 0 … {len(sides) - 1} for the domain {sides}, given {along}.")
    return marginal_partition(sides, [other for other in range(len(sides)) if other != along])


def _one_group_per_query(queries: Queries) -> Partition:
    """The cells that each query counts, for queries that together count every cell exactly once."""
    return Partition(queries.transpose(np.arange(queries.count)))
