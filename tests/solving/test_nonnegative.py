"""Non-negative least squares on operators: against enumeration of active sets, scipy, and the optimality conditions."""

import numpy as np
import pytest
from nonnegative_oracles import binary_tree, by_enumeration, misfit, noisy_counts, operators, tree_matrix
from scipy.optimize import nnls

from adyton.errors import BadInput
from adyton.solving import nonnegative
from adyton.solving.nonnegative import Fit, nonnegative_least_squares, optimality
from over_cases import over


@over(range(12))
def test_operators_agree_with_enumeration(seed):
    rng = np.random.default_rng(seed)
    cells, queries = int(rng.integers(1, 9)), int(rng.integers(9, 16))
    matrix = rng.normal(size=(queries, cells)) if seed % 2 else (rng.random((queries, cells)) < 0.5).astype(float)
    answers, precisions = rng.normal(0, 10, queries), rng.exponential(1, queries) + 0.01
    expected = by_enumeration(matrix, answers, precisions)
    found = nonnegative_least_squares(
        *operators(matrix), answers, precisions, absolute_adjoint=lambda y: y @ abs(matrix)
    )
    assert (found >= 0).all()
    np.testing.assert_allclose(
        misfit(matrix, answers, precisions, found), misfit(matrix, answers, precisions, expected), rtol=1e-9
    )
    if np.linalg.matrix_rank(matrix) == cells:
        np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("queries", [5, 30, 60])
def test_operators_reach_the_misfit_of_scipy(queries):
    """Also with fewer queries than cells, where the solution is not unique."""
    rng = np.random.default_rng(queries)
    matrix = (rng.random((queries, 40)) < 0.3).astype(float)
    answers = noisy_counts(rng, matrix)
    found = nonnegative_least_squares(*operators(matrix), answers)
    best = nnls(matrix, answers)[0]
    assert (found >= 0).all()
    assert optimality(*operators(matrix), answers, 1.0, found) <= 1e-6
    np.testing.assert_allclose(
        misfit(matrix, answers, 1.0, found), misfit(matrix, answers, 1.0, best), rtol=1e-8, atol=1e-6
    )


def test_the_start_changes_the_way_not_the_end():
    rng = np.random.default_rng(5)
    matrix = tree_matrix(binary_tree(64))
    answers = noisy_counts(rng, matrix)
    plain = nonnegative_least_squares(*operators(matrix), answers, tolerance=1e-9)
    started = nonnegative_least_squares(*operators(matrix), answers, start=rng.normal(0, 9, 64), tolerance=1e-9)
    np.testing.assert_allclose(started, plain, atol=1e-5)


def test_projected_newton_alone_reaches_the_optimum(monkeypatch):
    """The way out when pivoting cycles; here pivoting is not allowed a single round."""
    rng = np.random.default_rng(6)
    matrix = (rng.random((60, 40)) < 0.3).astype(float)
    answers = noisy_counts(rng, matrix)
    monkeypatch.setattr(nonnegative, "_pivot", lambda fit, x, tolerance, rounds: (x, fit.optimality(x)))
    found = nonnegative_least_squares(*operators(matrix), answers)
    assert optimality(*operators(matrix), answers, 1.0, found) <= 1e-6
    np.testing.assert_allclose(found, nnls(matrix, answers)[0], atol=1e-3)


def test_too_few_rounds_warn():
    matrix = tree_matrix(binary_tree(64))
    answers = noisy_counts(np.random.default_rng(7), matrix)
    with pytest.warns(RuntimeWarning, match="stopped at optimality"):
        nonnegative_least_squares(*operators(matrix), answers, rounds=1)


def test_trials_do_not_touch_each_other():
    rng = np.random.default_rng(8)
    matrix = (rng.random((50, 30)) < 0.3).astype(float)
    answers = np.stack([[noisy_counts(rng, matrix, total) for total in (0, 100, 10**6)] for _ in range(2)])
    precisions = rng.exponential(1, answers.shape) + 0.01

    def forward(x):
        return (x[..., None, :] * matrix).sum(axis=-1)  # rounds alike whatever stands beside a trial

    def adjoint(y):
        return (y[..., None, :] * matrix.T).sum(axis=-1)

    together = nonnegative_least_squares(forward, adjoint, answers, precisions)
    assert together.shape == (2, 3, 30)
    assert (optimality(forward, adjoint, answers, precisions, together) <= 1e-6).all()
    for place in np.ndindex(2, 3):
        alone = nonnegative_least_squares(forward, adjoint, answers[place], precisions[place])
        np.testing.assert_array_equal(together[place], alone)


def test_optimality_knows_the_optimum_from_its_neighbours():
    """The answers 3, 5, −2 are best met by (4, 0), where the gradient is (0, 3)."""
    matrix = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    best, near = np.array([4.0, 0.0]), np.array([4.001, 0.0])

    def check(x):
        return float(optimality(*operators(matrix), [3, 5, -2], 1.0, x))

    assert check(best) == 0
    assert 1e-4 < check(near) < 1e-2
    assert check([0.0, 4.0]) > 0.1
    assert check([4.0, -1.0]) == np.inf
    scaled = optimality(*operators(matrix), [3e9, 5e9, -2e9], 1e-5, 1e9 * near)
    assert float(scaled) == pytest.approx(check(near), rel=1e-6)


def test_optimality_lies_between_zero_and_one():
    rng = np.random.default_rng(9)
    matrix = rng.normal(size=(20, 10))
    x = np.maximum(rng.normal(size=(100, 10)), 0)
    found = optimality(
        *operators(matrix), rng.normal(size=(100, 20)), 1.0, x, absolute_adjoint=lambda y: y @ abs(matrix)
    )
    assert found.shape == (100,)
    assert ((found > 0) & (found <= 1)).all()


def test_large_counts_and_edges():
    matrix = tree_matrix(binary_tree(64))
    answers = noisy_counts(np.random.default_rng(13), matrix, 10**12, noise=10)
    found = nonnegative_least_squares(*operators(matrix), answers, 0.01)
    np.testing.assert_allclose(found, nnls(matrix, answers)[0], atol=0.1)
    assert nonnegative_least_squares(*operators(np.eye(1)), [-3]) == 0
    assert nonnegative_least_squares(*operators(np.eye(1)), [1e12]) == 1e12
    assert not nonnegative_least_squares(*operators(matrix), np.zeros(127)).any()


@pytest.mark.parametrize(
    ("answers", "precisions", "tolerance", "words"),
    [
        ([1, np.inf], 1.0, 1e-6, "finite"),
        ([1, 2], [1, -1], 1e-6, "at least 0"),
        ([1, 2], [1, 1, 1], 1e-6, "one precision per query"),
        ([1, 2], 1.0, 0.0, "between 0 and 1"),
    ],
)
def test_bad_operands(answers, precisions, tolerance, words):
    with pytest.raises(BadInput, match=words):
        nonnegative_least_squares(*operators(np.eye(2)), answers, precisions, tolerance=tolerance)


def test_minimise_is_least_squares_on_the_free_cells():
    rng = np.random.default_rng(14)
    matrix = rng.normal(size=(20, 6))
    answers, precisions = rng.normal(size=20), rng.exponential(1, 20)
    free = np.array([[True, False, True, True, False, True]])
    fit = Fit.of(*operators(matrix), answers, precisions, None)
    x, residual = fit.minimise(np.zeros((1, 6)), free, np.array([1e-12]))
    roots = np.sqrt(precisions)
    expected = np.linalg.lstsq(matrix[:, free[0]] * roots[:, None], answers * roots, rcond=None)[0]
    np.testing.assert_allclose(x[free], expected, atol=1e-9)
    assert not x[~free].any()
    np.testing.assert_allclose(residual[0], answers - matrix @ x[0], atol=1e-9)
