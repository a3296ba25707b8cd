"""Least squares by parts is generalised least squares over the whole domain: counts, variances, what is determined."""

import itertools
import math

import numpy as np
import pytest

from adyton.errors import BadInput
from adyton.queries.measurement import MeasuredTable
from adyton.solving.residuals import part_variances, residual, residuals

SIDES = {"a": 3, "b": 4, "c": 2, "d": 3}
GROUPS = [(), ("a",), ("c",), ("a", "b"), ("c", "b"), ("c", "d"), ("a", "d"), ("a", "b", "d"), ("a", "b")]


def rows_of(group):
    """The matrix that sums the domain to a table, its axes in the order of the group."""
    cells = math.prod(SIDES.values())
    names = list(SIDES)
    table = np.eye(cells).reshape(cells, *SIDES.values())
    table = table.sum(axis=tuple(1 + names.index(name) for name in names if name not in group))
    kept = [name for name in names if name in group]
    order = [1 + kept.index(name) for name in group]
    return table.transpose(0, *order).reshape(cells, -1).T


@pytest.fixture(scope="module")
def measured():
    random = np.random.default_rng(5)
    truth = random.poisson(3, size=math.prod(SIDES.values())).astype(float)
    tables = []
    for group in GROUPS:
        variance = float(random.uniform(0.5, 20))
        counts = rows_of(group) @ truth
        noisy = counts + random.normal(scale=math.sqrt(variance), size=counts.size)
        tables.append(MeasuredTable(group, noisy.reshape([SIDES[name] for name in group]), variance))
    return tables


@pytest.fixture(scope="module")
def dense(measured):
    """The least squares estimate of least norm over all cells, and its covariance."""
    weights = np.concatenate([np.full(np.size(one.counts), 1 / one.variance) for one in measured])
    matrix = np.vstack([rows_of(one.group) for one in measured])
    answers = np.concatenate([np.ravel(one.counts) for one in measured])
    inverse = np.linalg.pinv(matrix.T @ (weights[:, None] * matrix))
    return inverse @ (matrix.T @ (weights * answers)), inverse


def test_tables_and_variances_equal_the_dense_ones(measured, dense):
    fit, (cells, covariance) = residuals(SIDES, measured), dense
    determined = [
        group for size in range(4) for group in itertools.permutations(SIDES, size) if not fit.missing(*group)
    ]
    assert {tuple(sorted(group)) for group in determined} >= {tuple(sorted(group)) for group in GROUPS}
    for group in determined:
        rows = rows_of(group)
        np.testing.assert_allclose(fit.table(*group).ravel(), rows @ cells, atol=1e-9)
        np.testing.assert_allclose(fit.variance(*group), np.diag(rows @ covariance @ rows.T), rtol=1e-9)


def variance_of(fit, weights):
    """Of one sum over a table: a weight for each cell of each attribute, multiplied."""
    energies = {name: (np.var(own) * len(own), np.mean(own) ** 2) for name, own in weights.items()}
    return fit.mean_variance(tuple(weights), energies)


def test_sums_over_tables_have_their_variance(measured, dense):
    fit, (_, covariance) = residuals(SIDES, measured), dense
    random = np.random.default_rng(6)
    for group in [("a",), ("b", "a"), ("a", "b", "d")]:
        weights = {name: random.integers(-1, 3, SIDES[name]) for name in group}
        product = np.ones(())
        for name in group:
            product = np.multiply.outer(product, weights[name])
        row = product.ravel() @ rows_of(group)
        assert variance_of(fit, weights) == pytest.approx(row @ covariance @ row, rel=1e-9)


def test_what_was_not_measured_is_said(measured, dense):
    fit, (cells, _) = residuals(SIDES, measured), dense
    assert fit.missing("b", "c", "a") == (("a", "c"), ("a", "b", "c"))
    assert math.isinf(fit.variance("a", "c"))
    assert math.isinf(variance_of(fit, {"a": [1, 0, 0], "c": [0, 1]}))
    assert math.isfinite(variance_of(fit, {"a": [1, 1, 1], "c": [0, 1]}))  # a sum over a does not ask about it
    with pytest.raises(BadInput, match="no measured table has 'a', 'c' together"):
        fit.table("c", "a")
    np.testing.assert_allclose(fit.table("c", "a", fill=True).ravel(), rows_of(("c", "a")) @ cells, atol=1e-9)


def test_variances_are_known_before_anything_is_measured(measured):
    fit = residuals(SIDES, measured)
    before = part_variances(SIDES, [(one.group, one.variance) for one in measured])
    assert all(before.variance(*group) == pytest.approx(fit.variance(*group)) for group in GROUPS)


def test_an_axis_of_one_cell_adds_nothing():
    sides = {"a": 3, "one": 1}
    fit = residuals(sides, [MeasuredTable(("a",), [1, 2, 3], 2.0)])
    assert not fit.missing("a", "one")
    assert fit.table("one", "a").tolist() == [[1, 2, 3]]
    assert fit.variance("one", "a") == pytest.approx(2.0)


def test_trials_stand_in_front():
    random = np.random.default_rng(1)
    trials = [random.normal(size=(5, 3, 4)), random.normal(size=(5, 3))]
    both = residuals(SIDES, [MeasuredTable(("a", "b"), trials[0], 1.0), MeasuredTable(("a",), trials[1], 2.0)])
    third = [MeasuredTable(("a", "b"), trials[0][3], 1.0), MeasuredTable(("a",), trials[1][3], 2.0)]
    np.testing.assert_allclose(both.table("b", "a")[3], residuals(SIDES, third).table("b", "a"), atol=1e-12)


def test_residual_takes_all_means_out():
    left = residual(np.random.default_rng(2).normal(size=(2, 3, 4)))
    assert all(np.abs(left.sum(axis=axis)).max() < 1e-12 for axis in range(3))


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ([], "at least one measured table"),
        ([MeasuredTable(("a", "x"), np.zeros((3, 3)), 1.0)], "no attribute 'x'"),
        ([MeasuredTable(("a", "a"), np.zeros((3, 3)), 1.0)], "twice"),
        ([MeasuredTable(("a",), np.zeros(4), 1.0)], "the shape"),
        ([MeasuredTable(("a",), np.zeros(3), 0.0)], "variance above 0"),
    ],
)
def test_bad_tables_are_refused(tables, words):
    with pytest.raises(BadInput, match=words):
        residuals(SIDES, tables)
