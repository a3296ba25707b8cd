"""Partitions: one label per cell."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adyton.queries import Partition


def test_groups():
    partition = Partition([1, 0, -1, 1])
    assert len(partition) == partition.groups == 2
    assert partition.cells == 4
    assert [part.tolist() for part in partition.parts()] == [[1], [0, 3]]
    assert partition.sizes.tolist() == [1, 2]


def test_a_group_can_be_empty():
    partition = Partition([2, 0, -1], groups=3)
    assert partition.sizes.tolist() == [1, 0, 1]
    assert [part.tolist() for part in partition.parts()] == [[1], [], [0]]


@given(st.lists(st.integers(-1, 5), min_size=6, max_size=20).filter(lambda labels: max(labels) >= 0))
def test_parts_are_the_groups(labels):
    partition = Partition(np.array(labels))
    groups = range(max(labels) + 1)
    oracle = [[cell for cell, label in enumerate(labels) if label == group] for group in groups]
    assert [part.tolist() for part in partition.parts()] == oracle
    assert partition.sizes.tolist() == [len(group) for group in oracle]
