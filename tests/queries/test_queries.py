"""Every query set against the dense matrix that it stands for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.errors import BadInput
from adyton.queries import Explicit, Identity, Partition, Prefix, Total

RNG = np.random.default_rng(7)
MIXED = RNG.integers(-5, 6, (6, 12))


def dense(queries):
    """The matrix, found by asking about one cell at a time."""
    return np.stack([queries @ unit for unit in np.eye(queries.cells, dtype=np.int64)], axis=1)


CASES = {
    "identity": (Identity(12), np.eye(12)),
    "identity 2-D": (Identity((3, 4)), np.eye(12)),
    "total": (Total((3, 4)), np.ones((1, 12))),
    "prefix": (Prefix(12), np.tril(np.ones((12, 12)))),
    "explicit": (Explicit.from_rows(MIXED), MIXED),
    "explicit with an empty row": (
        Explicit.from_rows(np.vstack([MIXED, 0 * MIXED[:1]])),
        np.vstack([MIXED, 0 * MIXED[:1]]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_queries_are_their_matrix(name):
    queries, matrix = CASES[name]
    assert queries.shape == matrix.shape
    assert len(queries) == matrix.shape[0]
    assert np.array_equal(dense(queries), matrix)
    x = RNG.normal(size=12)
    assert np.allclose(queries @ x, matrix @ x)
    weights = RNG.integers(1, 9, matrix.shape[0])
    assert np.array_equal(queries.column_sums(weights), weights @ abs(matrix))
    assert queries.sensitivity() == abs(matrix).sum(axis=0).max()
    assert queries.largest_row_sum() >= abs(matrix).sum(axis=1).max()
    assert queries.largest_coefficient() >= abs(matrix).max()


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
def test_answers_are_exact_beyond_64_bits(name, data):
    queries, matrix = CASES[name]
    whole = st.integers(-(2**62), 2**62)
    x = data.draw(st.lists(whole, min_size=12, max_size=12))
    oracle = [sum(int(c) * v for c, v in zip(row, x, strict=True)) for row in matrix]
    assert (queries @ np.array(x)).tolist() == oracle
    weights = data.draw(st.lists(st.integers(1, 2**62), min_size=queries.count, max_size=queries.count))
    oracle = [sum(abs(int(matrix[q, i])) * weights[q] for q in range(queries.count)) for i in range(12)]
    assert queries.column_sums(np.array(weights)).tolist() == oracle


def test_sensitivity_is_exact_for_the_most_negative_coefficient():
    assert Explicit(1, [0], [0], [-(2**63)], 1).sensitivity() == 2**63


@pytest.mark.parametrize(
    "make",
    [
        lambda: Identity(0),
        lambda: Identity(()),
        lambda: Identity((3, -1)),
        lambda: Identity(True),
        lambda: Identity(2.5),
        lambda: Identity(None),
        lambda: Identity("3"),
        lambda: Explicit(3, [0], [0], [1], (2, 5)),
        lambda: Partition([0, 1], groups=2.7),
        lambda: Partition([0, 1], groups="2"),
        lambda: Prefix((2, 2)),
        lambda: Explicit.from_rows([[0.5, 1.0]]),
        lambda: Explicit.from_rows([1, 2]),
        lambda: Explicit(3, [0], [3], [1], 1),
        lambda: Explicit(3, [1], [0], [1], 1),
        lambda: Explicit(3, [0, 0], [1, 1], [1, 1], 1),
        lambda: Explicit(3, [0], [0, 1], [1], 1),
        lambda: Identity(3) @ [1, 2],
        lambda: Identity(3) @ ["a", "b", "c"],
        lambda: Identity(3).column_sums(np.ones(2, dtype=int)),
        lambda: Partition([]),
        lambda: Partition([-2, 0]),
        lambda: Partition([0, 5], groups=2),
        lambda: Partition([-1, -1]),
        lambda: Partition([0.5, 1]),
    ],
)
def test_bad_queries_are_refused(make):
    with pytest.raises(BadInput):
        make()


def test_what_a_query_set_holds_cannot_be_changed():
    coefficients = np.array([1, 2, 3])
    queries = Explicit(3, [0, 0, 0], [0, 1, 2], coefficients, 1)
    coefficients[:] = 100
    assert queries.sensitivity() == 3
    for array in (queries.coefficients, queries.places, Partition([0, 1]).labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
    with pytest.raises(AttributeError):
        queries.length = 2


def test_partition_groups():
    partition = Partition([1, 0, -1, 1])
    assert len(partition) == 2
    assert [part.tolist() for part in partition.parts()] == [[1], [0, 3]]
    assert partition.sizes.tolist() == [1, 2]
