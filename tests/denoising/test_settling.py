"""Counts that stay as they were measured: where, and what it is worth."""

import numpy as np
import pytest
from scipy.stats import poisson

from adyton.denoising.change_points import change_points
from adyton.denoising.empirical_bayes import empirical_bayes
from adyton.denoising.intensities import STEADINESS, _columns, settled

X = np.arange(400)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 1.7])
def test_tables_are_sums_over_all_counts(epsilon):
    """Against the sums written out; beyond ε = 1 the columns are relative to the nearest count."""
    noisy, rates = np.arange(-6, 20.0), np.array([0.4, 3.0, 4.5])
    chance = poisson.pmf(X[:, None], rates).mean(axis=1)
    weight = np.exp(-epsilon * np.abs(noisy[:, None] - X)) * chance
    side = np.sign(X - np.maximum(noisy, 0)[:, None])
    expected = weight.sum(axis=1), weight @ X, (weight * side).sum(axis=1), (weight * (side == 0)).sum(axis=1)
    unit = np.exp(epsilon * np.maximum(-noisy, 0)) if epsilon > 1 else 1
    for found, sums in zip(_columns(noisy, rates, epsilon), expected, strict=True):
        assert found == pytest.approx(unit * sums, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
@pytest.mark.parametrize("prior", [(3.0,), (0.1, 12.0)])
def test_a_count_stays_exactly_where_it_is_the_least_of_both_losses(epsilon, prior):
    noisy = np.arange(-5, 25.0)
    posterior = np.exp(-epsilon * np.abs(noisy[:, None] - X)) * poisson.pmf(X[:, None], prior).mean(axis=1)
    posterior /= posterior.sum(axis=1, keepdims=True)
    kept = np.maximum(noisy, 0)
    side = np.sign(X - kept[:, None])
    found = settled(noisy, posterior @ X, (posterior * side).sum(1), (posterior * (side == 0)).sum(1), epsilon)
    guesses = np.arange(0, 30, 0.125)
    gaps = np.abs(X[None] - guesses[:, None])
    losses = posterior @ (np.square(gaps) + 2 * STEADINESS / epsilon * gaps).T
    best = guesses[np.argmin(losses, axis=1)]
    stays = best == kept
    assert stays.any()
    assert not stays.all()
    assert np.array_equal(found[stays], kept[stays])
    assert found[~stays] == pytest.approx((posterior @ X)[~stays])


@pytest.mark.parametrize("denoise", [empirical_bayes, change_points])
def test_detailed_counts_are_not_lost_to_absolute_error(denoise):
    """4096 cells, most of them small and all different: posterior means lose to clipped noise, settled ones do not."""
    random = np.random.default_rng(5)
    truth = random.poisson(random.gamma(0.7, 9, 4096))
    noisy = truth + random.geometric(1 - np.exp(-1), 4096) - random.geometric(1 - np.exp(-1), 4096)
    clipped, means, kept = np.maximum(noisy, 0), denoise(noisy, 1.0), denoise(noisy, 1.0, settle=True)
    absolute, squared = (
        [float((np.abs(one - truth) ** power).sum()) for one in (clipped, means, kept)] for power in (1, 2)
    )
    assert absolute[1] > 1.05 * absolute[0]
    assert absolute[2] < 1.01 * absolute[0]
    assert squared[2] < 1.02 * squared[0]


def test_without_settling_sums_stay_fair():
    random = np.random.default_rng(6)
    truth = random.poisson(0.05, 4096)
    noisy = truth + random.geometric(1 - np.exp(-1), 4096) - random.geometric(1 - np.exp(-1), 4096)
    assert abs(change_points(noisy, 1.0).sum() - truth.sum()) < 150
