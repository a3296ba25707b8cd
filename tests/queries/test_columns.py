"""Equal columns are found, and only those, however the coefficients differ."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.queries import Explicit, Hierarchy, Identity, Prefix, Product, RandomRanges, Stack, Weighted
from adyton.queries.coefficients import _refine


def equal_columns(matrix):
    first = {}
    return [first.setdefault(tuple(column), len(first)) for column in np.asarray(matrix).T.tolist()]


@pytest.mark.parametrize("power", [1, 20, 40, 61, 62])
def test_even_coefficients_tell_cells_apart(power):
    """Modulo a power of two, a difference of 2^62 would hardly show."""
    matrix = np.array([[0, 2**power, -(2**power), 0, 2**power], [0, 0, 0, 0, 2**power]])
    assert Explicit.from_rows(matrix).column_groups().labels.tolist() == [0, 1, 2, 0, 3]


def test_the_most_negative_coefficients_tell_cells_apart():
    """Modulo 2^64, a difference of 2^63 would be lost with every second random number."""
    matrix = np.zeros((40, 60), dtype=np.int64)
    matrix[np.arange(40), np.arange(40)] = -(2**63)
    assert Explicit.from_rows(matrix).column_groups().labels.tolist() == [*range(40), *[40] * 20]


def test_groups_are_refined_and_never_forgotten():
    labels, first = _refine(np.array([0, 0, 1, 1, 0]), np.array([5, 6, 6, 6, 5]))
    assert labels.tolist() == [0, 1, 2, 2, 0]
    assert first.tolist() == [0, 1, 2]


@given(st.lists(st.lists(st.integers(-1, 1), min_size=8, max_size=8), min_size=1, max_size=3))
def test_groups_of_small_matrices(rows):
    assert Explicit.from_rows(np.array(rows)).column_groups().labels.tolist() == equal_columns(rows)


def test_groups_of_many_ranges():
    queries = RandomRanges((40, 30), 60, seed=2)
    assert queries.column_groups().labels.tolist() == equal_columns(queries.transpose(np.eye(60)))


def test_weights_that_are_not_whole_do_not_confuse_rounding():
    queries = RandomRanges(300, 40, seed=2)
    weights = np.random.default_rng(1).normal(size=40)
    plain = queries.column_groups().labels.tolist()
    assert Weighted(queries, weights).column_groups().labels.tolist() == plain
    assert Stack([Weighted(queries, weights), queries]).column_groups().labels.tolist() == plain


def test_weights_of_zero_tell_nothing_apart():
    queries = Weighted(Prefix(5), [0, 0, 3.5, 0, 0])
    assert queries.column_groups().labels.tolist() == [0, 0, 0, 1, 1]


def test_weights_inside_a_product_are_not_dropped():
    """Both columns would be 1 if the weights were."""
    queries = Product(Explicit.from_rows([[1, 1]]), Weighted(Identity(2), [1.0, 2.0]))
    assert (queries @ [1, 0]).tolist() != (queries @ [0, 1]).tolist()
    assert queries.column_groups().labels.tolist() == [0, 1]


def test_groups_in_an_order_are_numbered_by_their_first_cells():
    tree = Hierarchy(6, [[0, 2, 6]], [5, 2, 0, 1, 3, 4])
    assert tree.column_groups().labels.tolist() == [0, 0, 1, 0, 0, 1]
