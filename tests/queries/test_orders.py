"""Orders of cells: blocks of a tree are boxes, and a Hilbert curve never jumps."""

import itertools

import numpy as np
import pytest

from adyton.queries.orders import block_tree, hilbert_order

SHAPES = [
    (1,),
    (2,),
    (7,),
    (64,),
    (100,),
    (1, 1),
    (2, 4),
    (4, 4),
    (3, 5),
    (1, 9),
    (16, 16),
    (17, 6),
    (31, 32),
    (2, 3, 4),
    (5, 5, 5),
    (1, 6, 2, 3),
]


@pytest.mark.parametrize("branching", [2, 3, 4, 10])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_blocks_of_a_tree_are_boxes(shape, branching):
    order, levels = block_tree(shape, branching)
    cells = int(np.prod(shape))
    assert sorted(order.tolist()) == list(range(cells))
    assert levels[0].tolist() == [0, cells]
    assert levels[-1].tolist() == list(range(cells + 1))
    places = np.stack(np.unravel_index(order, shape), axis=1)
    for level in levels:
        for start, end in itertools.pairwise(level.tolist()):
            block = places[start:end]
            sides = block.max(axis=0) - block.min(axis=0) + 1
            assert end - start == np.prod(sides)  # as many different cells as the box around them has
    for coarse, fine in itertools.pairwise(levels):
        assert set(coarse.tolist()) < set(fine.tolist())
        children = np.diff(np.searchsorted(fine, coarse))
        assert children.max() <= branching ** len(shape)


@pytest.mark.parametrize("shape", [(100,), (37,), (30, 50), (7, 7, 7)], ids=str)
def test_the_blocks_of_a_level_are_nearly_equal(shape):
    order, levels = block_tree(shape)
    places = np.stack(np.unravel_index(order, shape), axis=1)
    for level in levels:
        sides = np.array([np.ptp(places[start:end], axis=0) + 1 for start, end in itertools.pairwise(level.tolist())])
        assert (np.ptp(sides, axis=0) <= 1).all()


def test_powers_of_two_are_in_morton_order():
    order, levels = block_tree((8, 8))
    row, column = np.unravel_index(order, (8, 8))
    code = sum(((row >> bit & 1) << 2 * bit + 1) + ((column >> bit & 1) << 2 * bit) for bit in range(3))
    assert code.tolist() == list(range(64))
    assert [level.size - 1 for level in levels] == [1, 4, 16, 64]


def test_one_axis_stays_in_order():
    order, levels = block_tree(6, branching=3)
    assert order.tolist() == list(range(6))
    assert [level.tolist() for level in levels] == [[0, 6], [0, 2, 4, 6], list(range(7))]


@pytest.mark.parametrize("side", [1, 2, 4, 8, 16, 64])
def test_neighbours_on_a_hilbert_curve_are_neighbours(side):
    order = hilbert_order((side, side))
    assert sorted(order.tolist()) == list(range(side * side))
    row, column = np.unravel_index(order, (side, side))
    assert (np.abs(np.diff(row)) + np.abs(np.diff(column)) == 1).all()


@pytest.mark.parametrize("side", [4, 16])
def test_quarters_of_a_hilbert_curve_are_squares(side):
    row, column = np.unravel_index(hilbert_order((side, side)), (side, side))
    quarter = side * side // 4
    for start in range(0, side * side, quarter):
        for axis in (row, column):
            assert np.ptp(axis[start : start + quarter]) == side // 2 - 1


@pytest.mark.parametrize("shape", [(1, 7), (3, 4), (5, 9), (12, 2), (10, 16)], ids=str)
def test_a_hilbert_curve_of_any_shape_visits_the_cells_as_the_square_does(shape):
    side = 1
    while side < max(shape):
        side *= 2
    row, column = np.unravel_index(hilbert_order((side, side)), (side, side))
    inside = (row < shape[0]) & (column < shape[1])
    assert hilbert_order(shape).tolist() == (row[inside] * shape[1] + column[inside]).tolist()
