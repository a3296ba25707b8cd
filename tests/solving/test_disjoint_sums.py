"""Histories of disjoint sums: grouped cells, maximum entropy and non-negative least squares against plain oracles."""

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

from adyton.solving.disjoint_sums import DisjointSums


def history_of(cells, total, sets, variance=1.0, total_variance=0.0):
    history = DisjointSums(cells, total, total_variance)
    for labels, coefficients, answers in sets:
        history.add(np.array(labels), np.array(coefficients, dtype=float), answers, variance)
    return history


ONES = np.ones(6)
OVERLAPPING = [
    ([0, 0, 0, -1, -1, -1], ONES, [12.0]),
    ([-1, 0, 0, 0, 1, -1], ONES, [9.0, 4.0]),
    ([-1, -1, 0, 0, -1, 1], ONES, [6.0, 2.0]),
]


def test_consistent_answers_are_met_and_published_updates_lead_to_the_same_histogram():
    """With hardly any pull back, the replays end where hundreds of the published ones do: least relative entropy."""
    found = history_of(6, 20.0, OVERLAPPING).maximum_entropy(5000, pull=1e-6)
    rows = [[1, 1, 1, 0, 0, 0], [0, 1, 1, 1, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 0, 1]]
    np.testing.assert_allclose(np.array(rows) @ found, [12, 9, 4, 6, 2], atol=0.05)
    plain = np.full(6, 20 / 6)
    for _ in range(20_000):
        for row, answer in zip(np.array(rows), [12, 9, 4, 6, 2], strict=True):
            plain *= np.exp(row * (answer - row @ plain) / (2 * 20))
            plain *= 20 / plain.sum()
    np.testing.assert_allclose(found, plain, atol=0.05)


def test_the_pull_back_ends_where_it_says():
    """y − q·x = pull·σ·λ: the dual of relative entropy with a fine, minimised by a general method."""
    found = history_of(6, 20.0, OVERLAPPING, variance=0.01).maximum_entropy(20_000, pull=6.0)
    rows = np.array(
        [[1, 1, 1, 0, 0, 0], [0, 1, 1, 1, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 0, 1]]
    )
    answers = np.array([12.0, 9, 4, 6, 2])

    def dual(exponents):
        weights = np.exp(exponents @ rows)
        return 20 * np.log(weights.sum()) - exponents @ answers + 0.6 * (exponents**2).sum() / 2

    best = np.exp(minimize(dual, np.zeros(5), tol=1e-12).x @ rows)
    np.testing.assert_allclose(found, 20 * best / best.sum(), atol=0.01)


def test_coefficients_other_than_one():
    sets = [([0, 0, -1, -1], [1.0, -2.0, 1, 1], [-5.0]), ([-1, 0, 0, 0], [1.0, 1, 1, 3], [14.0])]
    found = history_of(4, 10.0, sets).maximum_entropy(5000, pull=1e-6)
    assert found.sum() == pytest.approx(10)
    np.testing.assert_allclose([found @ [1, -2, 0, 0], found @ [0, 1, 1, 3]], [-5, 14], atol=0.05)


def test_cells_that_no_answer_tells_apart_stay_equal_and_unknown_ones_even():
    labels = np.where(np.arange(1000) < 300, 0, -1)
    found = history_of(1000, 1000.0, [(labels, np.ones(1000), [600.0])]).maximum_entropy(100, pull=0.0)
    np.testing.assert_allclose(found[:300], 2.0, rtol=1e-3)
    np.testing.assert_allclose(found[300:], 400 / 700, rtol=1e-3)


def test_sets_that_count_every_cell_tell_about_the_total():
    """A total of variance 4 and two answers of variance 1 each: precision 1/4 against 1/2."""
    history = history_of(4, 10.0, [([0, 0, 1, 1], np.ones(4), [7.0, 6.0])], total_variance=4.0)
    assert history.total == pytest.approx((10 / 4 + 13 / 2) / (1 / 4 + 1 / 2))
    cells = history.maximum_entropy(1000, pull=0.0)
    excess = (13 - history.total) / 2
    np.testing.assert_allclose(cells[:2].sum(), 7 - excess, atol=0.02)
    public = history_of(4, 10.0, [([0, 0, 1, 1], np.ones(4), [7.0, 6.0])])
    assert public.total == 10
    partial = history_of(4, 10.0, [([0, 0, 1, -1], np.ones(4), [7.0, 6.0])], total_variance=4.0)
    assert partial.total == 10


@pytest.mark.parametrize("cells", [12, 400])
def test_nonnegative_least_squares_fit_as_well_as_the_textbook(cells):
    """Both ways of solving, few groups and many, reach the misfit of a dense solver on all cells."""
    random = np.random.default_rng(cells)
    history = DisjointSums(cells, 100.0, 9.0)
    rows, answers, weights = [np.ones(cells)], [100.0], [1 / 3]
    for _ in range(4):
        labels = random.integers(-1, max(2, cells // 5), cells)
        values = random.normal(3, 4, labels.max() + 1)
        history.add(labels, np.ones(cells), values, 4.0)
        for label, value in enumerate(values):
            rows.append((labels == label).astype(float))
            answers.append(value)
            weights.append(1 / 2)
    found = history.nonnegative_least_squares(tolerance=1e-7)
    table, goals = np.array(rows) * np.array(weights)[:, None], np.array(answers) * np.array(weights)
    best = nnls(table, goals)[1]
    assert found.min() >= 0
    assert np.linalg.norm(table @ found - goals) == pytest.approx(best, rel=1e-4)


def test_answers_far_outside_leave_finite_cells():
    for answers in ([1e15, -1e15], [-1e15, -1e15], [0.0, 0.0]):
        history = history_of(4, 3.0, [([0, 0, 1, 1], np.ones(4), answers), ([0, 1, 1, -1], np.ones(4), answers)])
        assert np.isfinite(history.maximum_entropy(50)).all()
        assert np.isfinite(history.nonnegative_least_squares()).all()
