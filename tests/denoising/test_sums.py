"""Sums of denoised cells: nearer to the truth than they were, at no loss for single cells."""

import numpy as np
import pytest

from adyton.denoising.change_points import change_points
from adyton.denoising.empirical_bayes import empirical_bayes
from adyton.denoising.sums import with_sums
from adyton.errors import BadInput

EPSILON = 0.1
VARIANCE = 2 / EPSILON**2


def table(trials, shape=(60, 6)):
    """A table whose columns have very different totals: its true cells, noisy ones and denoised ones."""
    random = np.random.default_rng(5)
    truth = random.poisson(np.outer(np.exp(-np.linspace(0, 3, shape[0])), 40 / np.arange(1, shape[1] + 1) ** 1.5))
    noisy = truth + random.laplace(0, 1 / EPSILON, (trials, *shape))
    return truth, noisy, empirical_bayes(noisy.reshape(trials, -1), EPSILON).reshape(noisy.shape)


def off(estimate, truth):
    return float(np.sqrt(np.square(estimate - truth).mean()))


def test_margins_are_as_good_as_the_better_of_both_and_cells_do_not_suffer():
    truth, noisy, cells = table(60)
    moved = with_sums(cells.reshape(60, -1), noisy.reshape(60, -1), VARIANCE, truth.shape).reshape(noisy.shape)
    assert off(moved, truth) < off(cells, truth)
    for axis in (0, 1, (0, 1)):
        own, plain, raw = (
            off(each.sum(axis=tuple(np.add(axis, 1).ravel())), truth.sum(axis=axis)) for each in (moved, cells, noisy)
        )
        assert own < 1.05 * min(plain, raw)


def test_a_rhythm_is_kept_that_no_neighbour_shows():
    random = np.random.default_rng(6)
    days = np.arange(364)
    truth = random.poisson(np.where(days % 7 < 5, 12.0, 4.0))
    noisy = truth + random.laplace(0, 1 / EPSILON, (60, days.size))
    cells = change_points(noisy, EPSILON)
    moved = with_sums(cells, noisy, VARIANCE, truth.shape)
    own, plain, raw = (each.reshape(-1, 52, 7).sum(axis=1) for each in (moved, cells, noisy))
    weekdays = truth.reshape(52, 7).sum(axis=0)
    assert off(own, weekdays) < min(1.15 * off(raw, weekdays), 0.7 * off(plain, weekdays))
    assert off(moved, truth) < 0.9 * off(cells, truth)


def test_right_sums_stay():
    truth, noisy, _ = table(40)
    moved = with_sums(np.tile(truth.ravel(), (40, 1)), noisy.reshape(40, -1), VARIANCE, truth.shape)
    assert off(moved, truth.ravel()) < 0.2 * off(noisy, truth)


def test_exact_counts_hardly_move_and_none_becomes_negative():
    cells = np.array([[1e6, 0.0, 3.0, 5.0, 0.5, 4.0, 2.0, 1.0]])
    less = with_sums(cells, cells - 0.5, 1.0, (2, 4))
    assert less.min() >= 0
    assert less[0, 0] == pytest.approx(1e6, abs=10)
    assert less.sum() < cells.sum()
    assert with_sums(cells, cells - 0.5, 0.0, (2, 4)) == pytest.approx(cells)


def test_the_cells_of_another_domain_are_refused():
    with pytest.raises(BadInput):
        with_sums(np.zeros(6), np.zeros(6), 1.0, (2, 4))
