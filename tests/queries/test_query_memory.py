"""A million cells are no obstacle: nothing larger than a few vectors is ever held."""

import tracemalloc

import numpy as np
import pytest

from adyton.queries import (
    AllRange,
    Cells,
    Explicit,
    Haar,
    Hierarchy,
    Marginals,
    OnGroups,
    Partition,
    Prefix,
    RandomRanges,
)
from adyton.queries.domain_trees import boxes_in_boxes

SIDE = 1 << 10
CELLS = SIDE * SIDE


def quadtree():
    return Hierarchy.of_tree(boxes_in_boxes((SIDE, SIDE)))


LARGE = {
    "prefix": lambda: Prefix(CELLS),
    "ranges 1-D": lambda: RandomRanges(CELLS, 2000, seed=1),
    "ranges 2-D": lambda: RandomRanges((SIDE, SIDE), 2000, seed=1),
    "haar": lambda: Haar(CELLS - 1),
    "binary hierarchy": lambda: Hierarchy.of_blocks(CELLS, [1 << level for level in range(19, -1, -1)]),
    "quadtree": quadtree,
    "marginals": lambda: Marginals((64, 64, 256), way=2),
    "on groups": lambda: OnGroups(Prefix(CELLS), Partition(np.arange(CELLS) // 4)),
}


def peak_vectors(work):
    """The most memory that *work* held at any time, in vectors of 64-bit numbers over the cells."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / (8 * CELLS)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", LARGE)
def test_a_million_cells_fit(name):
    queries = LARGE[name]()
    random = np.random.default_rng(3)
    x = random.integers(0, 9, queries.cells)
    y = random.integers(0, 9, queries.count)
    assert peak_vectors(lambda: queries @ x) < 10
    assert peak_vectors(lambda: queries @ x.astype(np.float64)) < 10
    assert peak_vectors(lambda: queries.transpose(y)) < 10
    assert peak_vectors(lambda: queries.sensitivity()) < 10
    assert peak_vectors(lambda: queries.row(queries.count - 1)) < 12
    assert peak_vectors(lambda: queries.column(queries.cells - 1)) < 10
    assert int((queries @ x) @ y) == int(x @ queries.transpose(y))


@pytest.mark.parametrize("name", [name for name in LARGE if name != "on groups"])
def test_norms_and_groups_of_a_million_cells(name):
    queries = LARGE[name]()
    assert peak_vectors(lambda: queries.squared_norm()) < 6
    assert peak_vectors(lambda: queries.column_groups()) < 16


def test_a_million_cells_have_half_a_trillion_intervals():
    queries = AllRange(CELLS)
    assert queries.count == CELLS * (CELLS + 1) // 2
    assert peak_vectors(lambda: queries.column_sums()) < 6
    assert peak_vectors(lambda: queries.column_groups()) < 6
    assert queries.sensitivity() == (CELLS // 2) * (CELLS // 2 + 1)
    assert queries.squared_norm() == pytest.approx(sum(int(n) for n in queries.column_sums()), rel=1e-15)


def test_the_rows_of_many_queries_on_few_cells_fit(monkeypatch):
    queries = Marginals((2,) * 10, way=5)
    assert queries.count > 7 * queries.cells
    assert peak_vectors(lambda: next(queries.rows())) < 20
    long = Explicit(3, np.arange(CELLS), np.arange(CELLS) % 3, np.ones(CELLS, dtype=np.int64), CELLS)
    assert peak_vectors(lambda: next(long.rows())) < 20
    monkeypatch.setattr("adyton.queries.coefficients._CHUNK", 1 << 16)
    repeated = Cells(16, np.arange(4000) % 16)
    assert peak_vectors(lambda: next(repeated.rows())) < 2


def test_rows_of_many_queries_come_in_pieces():
    queries = AllRange(1500)
    total = np.zeros(1500)

    def add_up():
        for number, rows in enumerate(queries.rows()):
            total[:] += rows.sum(axis=0)
            if number == 2:
                break

    assert peak_vectors(add_up) < 12
    assert total.sum() > 0
