"""Multiplicative weights: against the plain formula, by its potential, and against the distribution it converges to."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from adyton.errors import BadInput
from adyton.solving.multiplicative_weights import multiplicative_weights, multiplicative_weights_at_once


def plainly(rows, answers, total, start, rounds):
    x = start * total / start.sum()
    for _ in range(rounds):
        for query, answer in zip(rows, answers, strict=True):
            x = x * np.exp(query * (answer - query @ x) / (2 * total))
            x *= total / x.sum()
    return x


def problem(seed, cells=40, queries=12, total=1000):
    rng = np.random.default_rng(seed)
    truth = rng.multinomial(total, rng.dirichlet(np.full(cells, 0.3))).astype(float)
    rows = (rng.random((queries, cells)) < 0.4).astype(float)
    return rng, truth, rows


def misfit(rows, answers, x):
    return float(((rows @ x - answers) ** 2).sum())


def divergence(truth, x):
    there = truth > 0
    return float((truth[there] * np.log(truth[there] / x[there])).sum())


def nearest(rows, answers, total, start):
    """The histogram of least relative entropy to the start among those that meet the answers, by its dual problem."""
    prior = start / start.sum()

    def dual(theta):
        weights = prior * np.exp(theta @ rows)
        return np.log(weights.sum()) - theta @ answers / total, rows @ weights / weights.sum() - answers / total

    theta = minimize(dual, np.zeros(len(rows)), jac=True, method="BFGS", options={"gtol": 1e-10}).x
    weights = prior * np.exp(theta @ rows)
    return total * weights / weights.sum()


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.coo_matrix])
def test_replay_is_the_formula(make, signed):
    rng, truth, rows = problem(0)
    if signed:
        rows *= rng.uniform(-1, 1, rows.shape)
    answers, start = rows @ truth + rng.laplace(0, 20, len(rows)), rng.exponential(1, truth.size)
    found = multiplicative_weights(make(rows), answers, 1000, start, rounds=7)
    np.testing.assert_allclose(found, plainly(rows, answers, 1000, start, 7), rtol=1e-11)


def test_large_coefficients_are_scaled_down():
    _, truth, rows = problem(1)
    weights = np.arange(1.0, len(rows) + 1)
    plain = multiplicative_weights(rows, rows @ truth, 1000, rounds=5)
    scaled = multiplicative_weights(rows * weights[:, None], weights * (rows @ truth), 1000, rounds=5)
    np.testing.assert_allclose(scaled, plain, rtol=1e-12)


def test_misfit_and_divergence_fall_round_by_round():
    """With true answers every update comes closer to the truth in relative entropy; here the misfit falls as well."""
    _, truth, rows = problem(2)
    answers = rows @ truth
    x = np.full(truth.size, 1000 / truth.size)
    for _ in range(200):
        after = multiplicative_weights(rows, answers, 1000, x)
        assert divergence(truth, after) < divergence(truth, x)
        assert misfit(rows, answers, after) < misfit(rows, answers, x)
        x = after
    assert misfit(rows, answers, x) < 1e-3 * misfit(rows, answers, np.full(truth.size, 1000 / truth.size))


def test_one_update_of_one_query_does_not_overshoot():
    for seed in range(20):
        _, truth, rows = problem(seed, queries=1)
        answer = rows @ truth
        start = np.full(truth.size, 1000 / truth.size)
        before, after = rows @ start - answer, rows @ multiplicative_weights(rows, answer, 1000) - answer
        assert 0 <= after / before < 1


def test_both_forms_converge_to_the_nearest_histogram():
    rng, truth, rows = problem(3, cells=15, queries=4)
    answers, start = rows @ truth, rng.exponential(1, truth.size) + 0.1
    expected = nearest(rows, answers, 1000, start)
    replayed = multiplicative_weights(rows, answers, 1000, start, rounds=5000)
    at_once = multiplicative_weights_at_once(
        lambda x: x @ rows.T, lambda y: y @ rows, answers, 1000, start=start, rounds=3000
    )
    np.testing.assert_allclose(replayed, expected, atol=0.01)
    np.testing.assert_allclose(at_once, expected, atol=0.01)


def test_misfit_of_all_at_once_never_grows():
    """Also for noisy answers that no histogram meets, signed queries and unequal precisions."""
    rng, truth, rows = problem(4)
    rows *= rng.uniform(-3, 3, rows.shape)
    answers, precisions = rows @ truth + rng.laplace(0, 300, len(rows)), rng.exponential(1, len(rows))
    last = np.inf
    for rounds in range(60):
        x = multiplicative_weights_at_once(
            lambda x: x @ rows.T, lambda y: y @ rows, answers, 1000, precisions, rounds=rounds
        )
        now = float((precisions * (rows @ x - answers) ** 2).sum())
        assert now <= last * (1 + 1e-12)
        last = now
    start = np.full(truth.size, 25.0)
    assert last < 0.5 * float((precisions * (rows @ start - answers) ** 2).sum())


def test_trials_in_one_call():
    rng, truth, rows = problem(5)
    answers = rows @ truth + rng.laplace(0, 20, (2, 3, len(rows)))
    totals, start = np.array([500.0, 1000.0, 2000.0]), rng.exponential(1, truth.size)
    forward, adjoint = (lambda x: x @ rows.T), (lambda y: y @ rows)
    replayed = multiplicative_weights(rows, answers, totals, start, rounds=3)
    at_once = multiplicative_weights_at_once(forward, adjoint, answers, totals, start=start, rounds=3)
    assert replayed.shape == at_once.shape == (2, 3, truth.size)
    np.testing.assert_allclose(replayed.sum(axis=-1), np.broadcast_to(totals, (2, 3)), rtol=1e-12)
    np.testing.assert_allclose(at_once.sum(axis=-1), np.broadcast_to(totals, (2, 3)), rtol=1e-12)
    for place in np.ndindex(2, 3):
        total = totals[place[1]]
        alone = multiplicative_weights(rows, answers[place], total, start, rounds=3)
        np.testing.assert_allclose(replayed[place], alone, rtol=1e-12)
        alone = multiplicative_weights_at_once(forward, adjoint, answers[place], total, start=start, rounds=3)
        np.testing.assert_allclose(at_once[place], alone, rtol=1e-9)


def test_wild_answers_stay_finite():
    rows = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    for answers in ([1e9, -1e9], [-1e9, 1e9], [1e9, 1e9]):
        found = multiplicative_weights(rows, answers, total=1, rounds=50)
        assert np.isfinite(found).all()
        assert found.sum() == pytest.approx(1)
        found = multiplicative_weights_at_once(lambda x: x @ rows.T, lambda y: y @ rows, answers, total=1, rounds=50)
        assert np.isfinite(found).all()
        assert found.sum() == pytest.approx(1)


def test_edges():
    assert multiplicative_weights([[1.0]], [5], total=1e12) == pytest.approx(1e12)
    assert multiplicative_weights([[0.0, 0.0]], [5], total=2).tolist() == [1, 1]
    assert multiplicative_weights([[1.0, 0.0]], [5], total=2, rounds=0).tolist() == [1, 1]
    assert multiplicative_weights([[1.0, 1.0]], [1], total=2, start=[0, 3]) == pytest.approx([0, 2])  # zeros stay
    settled = multiplicative_weights_at_once(lambda x: x, lambda y: y, [1e12, 0], total=1e12, rounds=2000)
    np.testing.assert_allclose(settled, [1e12, 0], atol=1)


@pytest.mark.parametrize(
    ("answers", "total", "start", "words"),
    [
        ([1], 5, None, "one per row"),
        ([1, 2], 0, None, "above 0"),
        ([1, 2], np.nan, None, "above 0"),
        ([1, np.inf], 5, None, "finite"),
        ([1, 2], 5, [1, 2], "3 finite numbers"),
        ([1, 2], 5, [1, -2, 0], "3 finite numbers"),
        ([1, 2], 5, [0, 0, 0], "a cell above 0"),
    ],
)
def test_bad_input(answers, total, start, words):
    with pytest.raises(BadInput, match=words):
        multiplicative_weights([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], answers, total, start)
