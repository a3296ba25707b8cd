"""The contract of every query set: it is the matrix that its definition says."""

import zlib

import numpy as np
import pytest
from query_cases import CASES, FINER_GROUPS

from adyton import queries as room
from adyton.errors import BadInput
from adyton.queries import Queries, combined
from adyton.queries.cosines import Cosines
from over_cases import over

WHOLE = [name for name, (_, matrix) in CASES.items() if matrix.dtype.kind == "i"]
FRACTIONAL = [name for name in CASES if name not in WHOLE]


def numbers(name):
    """A random generator that depends on the case and on nothing else."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def exactly(matrix, x):
    """W·x along the last axis, in Python integers."""
    return np.tensordot(x.astype(object), matrix.astype(object), axes=([-1], [1]))


def huge(random, shape):
    """Python integers of up to 90 bits, of both signs."""
    high, low = (random.integers(-(2**62), 2**62, shape).astype(object) for _ in range(2))
    return high * 2**28 + low


def test_every_class_has_a_case():
    classes = {kind for kind in vars(room).values() if isinstance(kind, type) and issubclass(kind, Queries)}
    assert classes - {Queries} | {Cosines} == {type(queries) for queries, _ in CASES.values()}


@over(CASES)
def test_shape(name):
    queries, matrix = CASES[name]
    assert queries.shape == matrix.shape == (queries.count, queries.cells) == (len(queries), queries.cells)
    assert np.prod(queries.domain) == queries.cells
    assert all(type(side) is int for side in (*queries.domain, queries.count))
    assert str(queries)
    assert "\n" not in str(queries)


@over(WHOLE)
def test_answers_are_exact(name):
    queries, matrix = CASES[name]
    for leading in ((), (1,), (0,), (3, 2)):
        x = numbers(name).integers(-1000, 1000, (*leading, queries.cells))
        before = x.copy()
        answers, oracle = queries @ x, exactly(matrix, x)
        assert answers.shape == (*leading, queries.count)
        assert np.array_equal(answers, oracle)
        assert answers.dtype == np.int64 or np.abs(oracle).max() >= 2**63
        assert np.array_equal(queries @ x.reshape(*leading, *queries.domain), answers)
        assert not np.shares_memory(answers, x)
        assert np.array_equal(x, before)


@over(WHOLE)
def test_answers_are_exact_for_every_kind_of_whole_number(name):
    queries, matrix = CASES[name]
    random = numbers(name)
    extremes = np.array([-(2**63), 2**63 - 1, 2**62, -(2**62), 0, 1])
    for x in (
        huge(random, (2, queries.cells)),
        random.choice(extremes, (3, queries.cells)),
        np.full(queries.cells, -(2**63)),
        random.integers(2**63, 2**64, queries.cells, dtype=np.uint64),
        random.integers(0, 2, queries.cells).astype(bool),
        random.integers(-128, 128, queries.cells).astype(np.int8),
        np.array([np.int64(2**62)] * queries.cells, dtype=object),
    ):
        whole = np.vectorize(int, otypes=[object])(x)
        assert (queries @ x).tolist() == exactly(matrix, whole).tolist()


@over(CASES)
def test_answers_on_floats(name):
    queries, matrix = CASES[name]
    x = numbers(name).normal(size=(4, queries.cells))
    scale = np.abs(matrix.astype(np.float64)).max() or 1
    answers = queries @ x
    assert answers.dtype == np.float64
    assert np.allclose(answers / scale, x @ (matrix.T / scale), atol=1e-12)
    assert (queries @ x.astype(np.float32)).dtype == np.float64
    assert np.allclose(answers[0], queries @ x[0], rtol=1e-12, atol=1e-12 * scale)
    assert np.allclose(queries @ np.asfortranarray(x), answers, rtol=1e-12, atol=1e-12 * scale)


@over(FRACTIONAL)
def test_answers_of_fractional_queries_on_whole_numbers(name):
    queries, matrix = CASES[name]
    x = numbers(name).integers(-1000, 1000, (3, queries.cells))
    assert np.allclose(queries @ x, x @ matrix.T)
    beyond = [2**70] * queries.cells
    assert np.allclose(queries @ np.array(beyond, dtype=object), matrix @ np.array(beyond, dtype=np.float64))


@over(WHOLE)
def test_transpose_is_exact(name):
    queries, matrix = CASES[name]
    random = numbers(name)
    for leading in ((), (0,), (2, 3)):
        for y in (random.integers(-1000, 1000, (*leading, queries.count)), huge(random, (*leading, queries.count))):
            result = queries.transpose(y)
            assert result.shape == (*leading, queries.cells)
            assert np.array_equal(result, exactly(matrix.T, y))
            assert not np.shares_memory(result, y)


@over(CASES)
def test_transpose_is_the_adjoint(name):
    queries, matrix = CASES[name]
    y = numbers(name).normal(size=(3, queries.count))
    scale = np.abs(matrix.astype(np.float64)).max() or 1
    assert np.allclose(queries.transpose(y) / scale, y @ (matrix / scale), atol=1e-12)
    assert queries.transpose(y.astype(np.float32)).dtype == np.float64


@over(WHOLE)
def test_column_sums_are_exact(name):
    queries, matrix = CASES[name]
    random = numbers(name)
    absolute = np.abs(matrix.astype(object))
    ones = np.ones(queries.count, dtype=np.int64)
    beyond = np.abs(huge(random, queries.count))
    for weights in (None, ones, 0 * ones, random.integers(0, 50, queries.count), ones * 2**62, beyond):
        oracle = (ones.astype(object) if weights is None else weights.astype(object)) @ absolute
        sums, most = queries.column_sums(weights), queries.sensitivity(weights)
        assert type(most) is int
        assert sums.tolist() == oracle.tolist()
        assert most == max(oracle)
    assert queries.whole


@over(WHOLE)
def test_the_two_largest_coefficients_of_a_column(name):
    queries, matrix = CASES[name]
    two = np.sort(np.abs(matrix.astype(object)), axis=0)[-2:]
    assert type(queries.largest_pair()) is int
    assert queries.largest_pair() >= max(two.sum(axis=0))
    if max(two[-1]) < 2**50:
        assert queries.largest_pair() == max(two.sum(axis=0))


@pytest.mark.parametrize("name", ["product with cancellation", "product of products"])
def test_products_that_are_not_written_out_have_an_upper_bound(name, monkeypatch):
    monkeypatch.setattr(combined, "_WRITTEN_OUT", 0)
    queries, matrix = CASES[name]
    exactly = np.abs(matrix).sum(axis=0)
    assert (queries.column_sums() >= exactly).all()
    assert (queries.column_sums() > exactly).any()


@over(FRACTIONAL)
def test_fractional_queries_have_no_exact_sensitivity(name):
    queries, matrix = CASES[name]
    assert not queries.whole
    assert np.allclose(queries.column_sums(), np.abs(matrix).sum(axis=0))
    with pytest.raises(BadInput, match="weights separately"):
        queries.sensitivity()


@over(CASES)
def test_rows_and_columns(name):
    queries, matrix = CASES[name]
    coefficients = matrix.astype(np.float64)
    assert np.allclose(np.concatenate(list(queries.rows())), coefficients, rtol=1e-15)
    for number in range(queries.count):
        row = queries.row(number)
        assert row.shape == queries.domain
        assert np.allclose(row.reshape(-1), coefficients[number], rtol=1e-15)
    for cell in range(queries.cells):
        assert np.allclose(queries.column(cell), coefficients[:, cell], rtol=1e-15)
    some = numbers(name).integers(0, queries.count, 5)
    assert np.allclose(queries._rows(some), coefficients[some], rtol=1e-15)


@over(CASES)
def test_rows_in_small_pieces(name):
    queries, matrix = CASES[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("adyton.queries.coefficients._CHUNK", 2 * queries.cells)
        pieces, gram = list(queries.rows()), queries.gram()
    assert max(len(piece) for piece in pieces) <= 2
    assert np.allclose(np.concatenate(pieces), matrix.astype(np.float64), rtol=1e-15)
    assert np.allclose(gram, matrix.T.astype(np.float64) @ matrix, rtol=1e-12, atol=1e-12)


@over(CASES)
def test_gram_and_norm(name):
    queries, matrix = CASES[name]
    gram = matrix.T.astype(np.float64) @ matrix.astype(np.float64)
    assert np.allclose(queries.gram(), gram, rtol=1e-12, atol=1e-12)
    assert queries.squared_norm() == pytest.approx(np.trace(gram), rel=1e-12)


@over(CASES)
def test_bounds_are_bounds(name):
    queries, matrix = CASES[name]
    absolute = np.abs(matrix.astype(object))
    assert type(queries.largest_row_sum()) is type(queries.largest_coefficient()) is int
    assert queries.largest_row_sum() >= absolute.sum(axis=1).max()
    assert queries.largest_coefficient() >= absolute.max()


@over(CASES)
def test_column_groups_are_equal_columns(name):
    queries, matrix = CASES[name]
    found = queries.column_groups()
    first = {}
    labels = [first.setdefault(tuple(column.tolist()), len(first)) for column in matrix.T]
    if name in FINER_GROUPS:
        pairs = set(zip(found.labels.tolist(), labels, strict=True))
        assert len(pairs) == found.groups
    else:
        assert found.labels.tolist() == labels
    products = zip(*(products.tolist() for products in queries.column_products()), strict=True)
    assert len(set(products)) == found.groups
