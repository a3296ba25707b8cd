"""Workload-based reduction loses nothing: W′·(P·x) = W·x, and W·(P⁺·P·x) = W·x."""

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.partitions import lift, reduce_workload, workload_partition
from adyton.queries import (
    AllRange,
    Explicit,
    Haar,
    Hierarchy,
    Identity,
    Kronecker,
    Marginals,
    OnGroups,
    Partition,
    Prefix,
    RandomRanges,
    Ranges,
    Reduction,
    Stack,
    Total,
    Weighted,
)
from over_cases import over

RANDOM = np.random.default_rng(12)

WORKLOADS = {
    "identity": (Identity((3, 4)), 12),
    "total": (Total((3, 4)), 1),
    "prefix": (Prefix(9), 9),
    "intervals": (AllRange(6), 6),
    "one range": (Ranges(10, [3], [5]), 2),
    "ranges from the start": (Ranges(10, [0, 0, 0], [2, 4, 9]), 3),
    "ranges 1-D": (RandomRanges(200, 12, seed=1), None),
    "ranges 2-D": (RandomRanges((17, 13), 5, seed=1), None),
    "ranges 3-D": (RandomRanges((5, 6, 7), 4, seed=1), None),
    "haar": (Haar(13), 13),
    "upper levels of a hierarchy": (Hierarchy.of_blocks(50, [10, 5]), 10),
    "one marginal": (Marginals((4, 3, 5), [(0, 2)]), 20),
    "marginals": (Marginals((4, 3, 5), way=1), 60),
    "kronecker": (Kronecker([Ranges(6, [1], [3]), Prefix(4)]), 5),
    "kronecker, nested": (Kronecker([Kronecker([Total(3), Prefix(2)]), Ranges(6, [1], [3])]), 3),
    "stack": (Stack([Total(8), Ranges(8, [2], [5])]), 2),
    "weighted": (Weighted(Ranges(8, [2, 0], [5, 3]), [0.25, 3.0]), 4),
    "weighted, some with nothing": (Weighted(Ranges(8, [2, 0], [5, 3]), [0.0, 3.0]), 2),
    "stack of weighted": (Stack([Weighted(Total(8), 0.5), Ranges(8, [2], [5])]), 2),
    "explicit": (Explicit.from_rows([[1, -2, 1, 0, -2], [0, 3, 0, 0, 3]]), 3),
    "nothing": (Explicit.from_rows(np.zeros((2, 4), dtype=np.int64)), 1),
}


@over(WORKLOADS)
def test_reduction_loses_nothing(name):
    workload, groups = WORKLOADS[name]
    partition = workload_partition(workload)
    matrix = np.concatenate(list(workload.rows()))
    assert partition.groups == len({tuple(column) for column in matrix.T.tolist()})
    assert groups in (None, partition.groups)
    reduced = reduce_workload(workload, partition)
    assert reduced.shape == (workload.count, partition.groups)
    x = RANDOM.integers(0, 100, (2, 3, workload.cells))
    sums = Reduction(partition) @ x
    assert np.allclose(reduced @ sums, workload @ x, rtol=1e-13)
    if workload.whole:
        assert np.array_equal(reduced @ sums, workload @ x)
        beyond = np.array([3**60 + int(cell) for cell in x[0, 0]], dtype=object)
        assert (reduced @ (Reduction(partition) @ beyond)).tolist() == (workload @ beyond).tolist()
        assert reduced.sensitivity() == workload.sensitivity()
    assert np.allclose(workload @ lift(sums, partition), workload @ x, rtol=1e-12)
    inverse = lift(np.eye(partition.groups), partition).T
    assert np.allclose(inverse, np.linalg.pinv(next(Reduction(partition).rows())))
    assert np.allclose(np.concatenate(list(reduced.rows())), matrix @ inverse)
    assert workload_partition(reduced).groups == partition.groups


@over(WORKLOADS)
def test_any_finer_partition_does(name):
    workload, _ = WORKLOADS[name]
    coarse = workload_partition(workload).labels
    _, labels = np.unique(2 * coarse + RANDOM.integers(0, 2, workload.cells), return_inverse=True)
    partition = Partition(RANDOM.permutation(labels.max() + 1)[labels])
    x = RANDOM.integers(0, 100, workload.cells)
    reduced = reduce_workload(workload, partition)
    assert np.allclose(reduced @ (Reduction(partition) @ x), workload @ x, rtol=1e-13)


def test_single_cells_in_another_order_are_put_in_order():
    """This order is its own inverse, so that groups and first cells look alike."""
    workload = Prefix(3)
    partition = Partition([1, 0, 2])
    assert (reduce_workload(workload, partition) @ (Reduction(partition) @ [5, 7, 11])).tolist() == [5, 12, 23]


def test_what_is_simple_stays_simple():
    prefix = Prefix(5)
    assert reduce_workload(prefix, workload_partition(prefix)) is prefix
    ranges = Ranges(10, [0, 3, 6], [2, 5, 9])
    reduced = reduce_workload(ranges, workload_partition(ranges))
    assert isinstance(reduced, Ranges)
    assert (reduced.lower[:, 0].tolist(), reduced.upper[:, 0].tolist()) == ([0, 1, 2], [0, 1, 2])
    around = Ranges(10, [3], [5])
    assert isinstance(reduce_workload(around, workload_partition(around)), OnGroups)


def test_cells_that_nobody_counts_may_be_left_out():
    workload = Ranges(6, [1, 2], [4, 4])
    partition = Partition([-1, 0, 1, 1, 1, -1])
    x = np.array([100, 1, 2, 3, 4, 100])
    assert (reduce_workload(workload, partition) @ (Reduction(partition) @ x)).tolist() == (workload @ x).tolist()
    assert lift(Reduction(partition) @ x, partition).tolist() == [0, 1, 3, 3, 3, 0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: reduce_workload(Prefix(4), Partition([0, 0, 1, 1])), "distinguishes cells of a group"),
        (lambda: reduce_workload(Ranges(4, [0], [1]), Partition([0, -1, 1, 1])), "counts cells that are in no group"),
        (lambda: reduce_workload(Weighted(Total(2), 0.5), Partition([0, -1])), "counts cells that are in no group"),
        (lambda: reduce_workload(Total(4), Partition([0, 0])), "labels 2 cells"),
        (lambda: reduce_workload(Total(2), [0, 0]), "must be a Partition"),
        (lambda: reduce_workload(Total(3), Partition([0, 2, 2])), "every group needs a cell"),
        (lambda: reduce_workload(np.eye(2), Partition([0, 1])), "a workload must be a query set"),
        (lambda: workload_partition([[1, 0]]), "a workload must be a query set"),
        (lambda: lift([1.0, 2.0], Partition([0, 0])), "there are 1 groups"),
        (lambda: lift(1.0, Partition([0, 0])), "there are 1 groups"),
    ],
)
def test_refused(make, message):
    with pytest.raises(BadInput, match=message):
        make()


def test_a_large_workload_is_reduced_without_its_matrix():
    workload = RandomRanges((1000, 1000), 100, seed=3, kind="long")
    partition = workload_partition(workload)
    assert partition.groups < 100_000
    x = RANDOM.integers(0, 5, workload.cells)
    sums = Reduction(partition) @ x
    assert np.array_equal(reduce_workload(workload, partition) @ sums, workload @ x)
    assert np.allclose(workload @ lift(sums, partition), workload @ x, rtol=1e-9)
