"""Empirical Bayes: close to the Bayes rule that knows the prior, for any size and any ε."""

import numpy as np
import pytest

from adyton.denoising.empirical_bayes import empirical_bayes
from adyton.errors import BadInput
from over_cases import over


def laplace(random, epsilon, shape):
    """Discrete Laplace noise from NumPy's generator: nothing private here."""
    chance = -np.expm1(-epsilon)
    return (random.geometric(chance, shape) - random.geometric(chance, shape)).astype(float)


def error(estimate, truth):
    return np.sqrt(((estimate - truth) ** 2).sum(axis=-1)).mean()


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_comes_close_to_the_bayes_rule_that_knows_the_prior(epsilon):
    random = np.random.default_rng(1)
    rates, weights = np.array([0, 0.5, 3, 12]) / epsilon, [0.7, 0.15, 0.1, 0.05]
    truth = random.poisson(random.choice(rates, (4, 4096), p=weights))
    noisy = truth + laplace(random, epsilon, truth.shape)
    x = np.arange(truth.max() + 1)
    log = x[:, None] * np.log(np.maximum(rates, 1e-300)) - rates - np.cumsum(np.log(np.maximum(x, 1)))[:, None]
    prior = np.exp(np.where((rates == 0) & (x[:, None] > 0), -np.inf, np.where(rates == 0, 0, log))) @ weights
    posterior = prior * np.exp(-epsilon * np.abs(noisy[..., None] - x))
    oracle = (posterior * x).sum(axis=-1) / posterior.sum(axis=-1)
    estimate = empirical_bayes(noisy, epsilon)
    assert error(estimate, truth) < 1.04 * error(oracle, truth)
    assert error(estimate, truth) < 0.85 * error(np.maximum(noisy, 0), truth)


def test_finds_nothing_in_plain_noise():
    noisy = laplace(np.random.default_rng(2), 0.1, (5, 4096))
    assert error(empirical_bayes(noisy, 0.1), 0) < 0.12 * error(np.maximum(noisy, 0), 0)


def test_each_trial_is_fitted_by_itself_in_any_shape():
    random = np.random.default_rng(3)
    noisy = random.poisson([[0.1], [5]], (2, 300)) + laplace(random, 1.0, (3, 2, 300))
    together = empirical_bayes(noisy, 1.0)
    assert together.shape == (3, 2, 300)
    for place in np.ndindex(3, 2):
        assert np.array_equal(together[place], empirical_bayes(noisy[place], 1.0))
    assert np.array_equal(noisy, noisy.round())  # the input is left alone


def test_does_not_depend_on_the_order():
    random = np.random.default_rng(4)
    noisy = random.poisson(2.0, 500) + laplace(random, 1.0, 500)
    order = random.permutation(500)
    assert empirical_bayes(noisy[order], 1.0) == pytest.approx(empirical_bayes(noisy, 1.0)[order], rel=1e-9, abs=1e-12)


def test_large_counts_stay():
    noisy = np.array([10**15, 51, 0, -3, 10**6])
    estimate = empirical_bayes(noisy, 1.0)
    assert estimate[[0, 1, 4]].tolist() == [10**15, 51, 10**6]
    assert (estimate[[2, 3]] < 0.5).all()


@over([1e-4, 0.01, 0.37, 1.0, 10.0, 100.0], [1, 2, 3, 40])
def test_never_fails(epsilon, cells):
    random = np.random.default_rng(7)
    for noisy in [
        np.zeros(cells),
        np.full(cells, 1e13),
        np.full(cells, -1e13),
        laplace(random, epsilon, cells),
        random.integers(0, int(60 / epsilon) + 2, cells),
    ]:
        estimate = empirical_bayes(noisy, epsilon)
        assert np.isfinite(estimate).all()
        assert (estimate >= 0).all()
        if epsilon == 100:  # there is no noise
            assert estimate == pytest.approx(np.maximum(noisy, 0), abs=1e-3)


def test_no_cells_or_no_trials():
    assert empirical_bayes(np.zeros((3, 0)), 1.0).shape == (3, 0)
    assert empirical_bayes(np.zeros((0, 5)), 1.0).shape == (0, 5)


@pytest.mark.parametrize(("noisy", "words"), [(3.0, "axis of cells"), ([1.0, np.nan], "finite")])
def test_bad_input(noisy, words):
    with pytest.raises(BadInput, match=words):
        empirical_bayes(noisy, 1.0)
