"""Lossless reduction that keeps the axes: values of an attribute that no query tells apart become one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers
from adyton.partitions.workload_based import reduce_workload, workload_partition
from adyton.queries import Kronecker, Marginals, OnGroups, Partition, Queries, Ranges, Stack, Total

ByAxis = tuple[Partition, ...]
"""For each axis the groups of its values."""


def groups_by_axis(workload: Queries) -> ByAxis:
    """For each axis, the values that can be exchanged without changing any answer, in the order of their first.

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
    """The workload about a domain with one value for each group: what :func:`reduce_workload` does, with axes kept.

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
            return Kronecker([_factor(factor, own) for factor, own in _by_factor(workload, by_axis)])
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


def _by_factor(workload: Kronecker, by_axis: ByAxis) -> list[tuple[Queries, ByAxis]]:
    """Each factor with the groups of its own axes."""
    found, first = [], 0
    for factor in workload.factors:
        found.append((factor, by_axis[first : first + len(factor.domain)]))
        first += len(factor.domain)
    return found


def _alike(slices: npt.NDArray[np.int64]) -> Partition:
    """Groups of equal rows, numbered in the order of their first."""
    _, first, inverse = np.unique(slices, axis=0, return_index=True, return_inverse=True)
    return Partition(np.argsort(np.argsort(first))[inverse.reshape(-1)])


def _plain(groups: Partition) -> bool:
    return np.array_equal(groups.labels, np.arange(groups.cells))


def _neighbours(labels: Integers) -> bool:
    """Whether the groups are intervals, numbered from left to right."""
    steps = np.diff(labels)
    return bool(((steps == 0) | (steps == 1)).all())
