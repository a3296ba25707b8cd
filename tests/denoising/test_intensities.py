"""The tables of likelihoods and moments, against plain sums."""

import numpy as np
import pytest
from scipy.stats import poisson

from adyton.denoising.intensities import SPREADS, _lognormal, intensities
from adyton.errors import BadInput


@pytest.mark.parametrize("epsilon", [0.03, 0.1, 0.5, 1.0, 1.0001, 3.0])
def test_tables_are_sums_over_the_true_count(epsilon):
    table = intensities(epsilon)
    x = np.arange(200 / epsilon + 100)
    for level in [0, 1, 5, 12]:  # levels of a single intensity; the wide ones are bands
        chances = poisson.pmf(x, table.rates[level])
        for b in [0, 1, table.likelihood.shape[1] // 2, table.likelihood.shape[1] - 3]:
            y = table.first + b * table.width
            weights = chances * np.exp(-epsilon * (np.abs(y - x) - np.abs(y - x).min()))
            empty = np.exp(-epsilon * (abs(y) - np.abs(y - x).min()))  # the same for level 0
            ratio = table.likelihood[0, b, level] / table.likelihood[0, b, 0]
            assert ratio == pytest.approx(weights.sum() / empty, rel=1e-9)
            mean = table.moment[0, b, level] / table.likelihood[0, b, level]
            assert mean == pytest.approx((weights * x).sum() / weights.sum(), rel=1e-9, abs=1e-12)


def test_both_formulas_agree_where_they_meet():
    below, above = intensities(1.0), intensities(1.0 + 1e-12)
    assert below.likelihood == pytest.approx(above.likelihood, rel=1e-6)
    assert below.moment == pytest.approx(above.moment, rel=1e-6, abs=1e-12)


def test_scattered_cells_follow_the_noisy_count_further():
    means = np.divide(intensities(0.5).moment, intensities(0.5).likelihood)[:, :-1]
    for level in [14, 16, 18]:
        assert np.all(np.diff(means[:, :, level], axis=1) >= -1e-9)  # a larger noisy count never says fewer rows
        assert np.all(np.diff(means[:, -1, level]) > 0.5)  # from even to scattered to widely scattered
    assert np.all(means[:, :, 0] == 0)  # an empty level is empty, scattered or not


def test_scattering_keeps_the_mean_intensity():
    grid = intensities(1.0).rates
    for deviation in SPREADS:
        assert (_lognormal(grid, deviation) @ grid)[8:20] == pytest.approx(grid[8:20], rel=0.06)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-4, 0.01, 1.0, 10.0, 100.0, 1e4])
def test_tables_are_finite_and_never_zero(epsilon):
    table = intensities(epsilon)
    assert np.isfinite(table.likelihood).all()
    assert (table.likelihood > 0).all()
    assert (table.moment >= 0).all()
    assert table.base.sum() == pytest.approx(1)
    assert table.likelihood.size < 200_000


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), float("inf")])
def test_epsilon_must_be_positive(epsilon):
    with pytest.raises(BadInput, match="epsilon must be a positive number"):
        intensities(epsilon)
