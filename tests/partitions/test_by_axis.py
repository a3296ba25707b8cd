"""Reduction that keeps the axes, against what the workload answers on the cells."""

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.partitions import groups_by_axis, product_partition, reduce_by_axis
from adyton.queries import (
    Explicit,
    Identity,
    Kronecker,
    Marginals,
    OnGroups,
    Partition,
    Prefix,
    Ranges,
    Reduction,
    Stack,
    Total,
)

DOMAIN = (3, 6, 2)
HALVES = Ranges(6, [[0], [3]], [[2], [5]])
WORKLOADS = [
    Identity(DOMAIN),
    Total(DOMAIN),
    Marginals(DOMAIN, [(0,), (2,)]),
    Kronecker([Total(3), HALVES, Prefix(2)]),
    Kronecker([Identity(3), Total((6, 2))]),
    Ranges(DOMAIN, [[0, 0, 0], [1, 2, 0]], [[2, 1, 1], [2, 5, 1]]),
    Stack([Marginals(DOMAIN, [(0,)]), Kronecker([Total(3), HALVES, Total(2)])]),
    Explicit.from_rows(np.repeat(np.arange(6).reshape(1, 3, 2), 6, axis=0).reshape(1, 36), DOMAIN),
]


@pytest.mark.parametrize("workload", WORKLOADS, ids=str)
def test_answers_on_merged_values_are_those_on_the_cells(workload):
    by_axis = groups_by_axis(workload)
    reduced = reduce_by_axis(workload, by_axis)
    assert reduced.domain == tuple(groups.groups for groups in by_axis)
    x = np.random.default_rng(0).integers(0, 100, DOMAIN)
    groups = Reduction(product_partition(by_axis)) @ x.reshape(-1)
    np.testing.assert_array_equal(reduced @ groups, workload @ x)


def test_the_axes_that_matter_stay():
    sizes = [tuple(groups.groups for groups in groups_by_axis(workload)) for workload in WORKLOADS[:6]]
    assert sizes == [DOMAIN, (1, 1, 1), (3, 1, 2), (1, 2, 2), (3, 1, 1), (2, 2, 1)]


def test_groups_need_a_shape_of_their_number():
    with pytest.raises(BadInput, match="2 groups, given the shape"):
        OnGroups(Total(4), Partition([0, 0, 1, 1]), (3, 1))
