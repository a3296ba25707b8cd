"""Orders of cells: a Hilbert curve never jumps."""

import numpy as np
import pytest

from adyton.queries.domain_trees import hilbert_order


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
