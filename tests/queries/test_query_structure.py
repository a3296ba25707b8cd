"""What single classes offer beyond the contract: inverses, sides, levels, words."""

import itertools

import numpy as np
import pytest
from query_cases import CASES, haar

from adyton.queries import (
    Cells,
    Explicit,
    Haar,
    Hierarchy,
    Identity,
    Kronecker,
    Marginals,
    OnGroups,
    Partition,
    Prefix,
    Product,
    RandomRanges,
    Ranges,
    Reduction,
    Stack,
    Total,
    Weighted,
)
from adyton.queries.hierarchy import block_sums, spread
from over_cases import over

RANDOM = np.random.default_rng(8)


@pytest.mark.parametrize("cells", [1, 2, 3, 5, 7, 8, 13, 16, 100])
def test_haar_inverse(cells):
    queries, matrix = haar(cells)
    x = RANDOM.normal(size=(2, 3, cells))
    assert np.allclose(queries.inverse(queries @ x), x)
    inverse = queries.inverse(np.eye(queries.count)).T
    assert np.allclose(inverse @ matrix, np.eye(cells))
    padded = 1 << queries.levels
    assert np.allclose(inverse, matrix.T / np.square(haar(padded)[1]).sum(axis=1)[_real_blocks(cells)])
    assert np.allclose(queries.inverse_transpose(x), x @ inverse)
    assert queries.sizes.tolist() == np.abs(haar(padded)[1]).sum(axis=1)[_real_blocks(cells)].tolist()


def _real_blocks(cells):
    """Which queries of the padded domain count a real cell."""
    padded = 1
    while padded < cells:
        padded *= 2
    return np.abs(haar(padded)[1][:, :cells]).sum(axis=1) > 0


def test_sides_of_boxes():
    queries = RandomRanges((6, 5), 7, seed=1)
    rows, columns = queries.side(0), queries.side(1)
    assert (rows.domain, columns.domain) == ((6,), (5,))
    for number in range(7):
        assert np.array_equal(queries.row(number), np.outer(rows.row(number), columns.row(number)))


def test_levels_of_a_hierarchy():
    tree = Hierarchy.of_blocks(10, [4, 2])
    assert tree.level_starts == (0, 1, 4, 9)
    assert tree.blocks == 9
    assert tree.query_levels().tolist() == [0, 1, 1, 1, 2, 2, 2, 2, 2]
    assert [first.tolist() for first in tree.children] == [[0, 3], [0, 2, 4, 5], [0, 2, 4, 6, 8, 10]]
    some = Hierarchy.of_tree(tree, [0, 2])
    assert some.query_levels().tolist() == [0, 2, 2, 2, 2, 2]
    assert Hierarchy.of_tree(some, [1]).query_levels().tolist() == [1, 1, 1]


def test_cells_in_the_order_of_a_tree():
    tree = Hierarchy((2, 3), [[0, 6]], [5, 3, 1, 0, 2, 4])
    x = RANDOM.normal(size=(4, 6))
    assert np.array_equal(tree.ordered(x), x[:, [5, 3, 1, 0, 2, 4]])
    assert np.array_equal(tree.unordered(tree.ordered(x)), x)


@over(
    [[1], [3], [1, 1, 1], [2, 2], [2, 2, 1], [5, 5, 5, 2], [9, 9], [12, 12, 7], [2, 3], [3, 1, 3]],
    [np.int64, np.float64, object],
)
def test_block_sums(sizes, kind):
    starts = np.concatenate([[0], np.cumsum(sizes)])
    values = RANDOM.integers(-9, 9, (2, int(starts[-1]))).astype(kind)
    oracle = [[sum(row[a:b]) for a, b in itertools.pairwise(starts)] for row in values.tolist()]
    assert block_sums(values, starts).tolist() == oracle
    assert block_sums(values[0], starts).tolist() == oracle[0]
    again = spread(np.array(oracle).astype(kind), starts)
    assert again.tolist() == [
        [total for total, size in zip(row, sizes, strict=True) for _ in range(size)] for row in oracle
    ]


def test_parts_of_a_stack():
    queries = Stack([Total(3), Prefix(3), Identity(3)])
    pieces = queries.split(np.arange(14).reshape(2, 7))
    assert [piece.tolist() for piece in pieces] == [[[0], [7]], [[1, 2, 3], [8, 9, 10]], [[4, 5, 6], [11, 12, 13]]]


def test_explicit_rows_are_kept_in_order():
    queries = Explicit(4, [1, 0, 1], [3, 2, 0], [7, 8, 9], 2)
    assert (queries.places.tolist(), queries.columns.tolist()) == ([0, 1, 1], [2, 0, 3])
    assert queries.coefficients.tolist() == [8, 9, 7]


def test_sensitivity_is_exact_for_the_most_negative_coefficient():
    queries = Explicit(1, [0], [0], [-(2**63)], 1)
    assert queries.sensitivity() == 2**63
    assert Weighted(queries, 2.0).column_sums().tolist() == [2.0**64]


@pytest.mark.parametrize(
    ("queries", "words"),
    [
        (Identity(4096), "histogram of 4,096 cells"),
        (Total(3), "total"),
        (Prefix(1000), "prefix sums of 1,000 cells"),
        (CASES["intervals"][0], "all intervals of 4 cells"),
        (Ranges((4, 5), [(0, 0)], [(1, 1)]), "1 ranges on 4 × 5 cells"),
        (Haar(8), "Haar wavelet of 8 cells"),
        (Hierarchy.of_blocks(4, [2]), "hierarchy of 3 blocks of 4 cells"),
        (Marginals((2, 3, 4), way=2), "3 marginals of 2 × 3 × 4 cells"),
        (CASES["grid"][0], "grid of 2 × 3 boxes"),
        (Kronecker([Total(2), Prefix(3)]), "total × prefix sums of 3 cells"),
        (Stack([Total(3), Prefix(3)]), "total and prefix sums of 3 cells"),
        (Weighted(Total(3), 0.5), "weighted total"),
        (Reduction(Partition([0, 1, 1])), "sums of 2 groups of cells"),
        (Cells(5, [1]), "1 of 5 cells"),
        (Product(Prefix(1), Total(3)), "prefix sums of 1 cells of total"),
        (Explicit.from_rows([[1, 0]]), "1 queries on 2 cells"),
        (OnGroups(Prefix(2), Partition([0, 1])), "prefix sums of 2 cells on 2 groups of cells"),
    ],
    ids=str,
)
def test_words(queries, words):
    assert str(queries) == words
