"""Block James–Stein by hand, and what it must keep."""

import numpy as np
import pytest

from adyton.denoising.shrinkage import james_stein
from adyton.errors import BadInput
from over_cases import over

SIZES = [1, 2, 3, 7, 1000, 4097]


def test_by_hand():
    cells = np.array([10.0, 2.0, 4.0, 4.0, 0.0])  # differences from 4: 6, −2, 0, 0, −4 of squared norm 56
    kept = 1 - 0.9 * 4 * 2.0 / 56
    assert james_stein(cells, [1], [2.0]) == pytest.approx(4 + kept * (cells - 4))


def test_two_levels_by_hand():
    """Sums of blocks have the variance that the blocks' own answers and their cells' leave."""
    random = np.random.default_rng(0)
    cells = random.normal(50, 10, 16)
    sums = cells.reshape(4, 4).sum(axis=1)
    above = sums - sums.mean()
    variance = 1 / (1 / 3.0 + 1 / (4 * 5.0))
    coarse = sums.mean() + (1 - 0.9 * 3 * variance / (above @ above)) * above
    inside = cells.reshape(4, 4) - sums[:, None] / 4
    kept = np.maximum(0, 1 - 0.9 * 3 * 5.0 / np.square(inside).sum(axis=1))
    expected = coarse[:, None] / 4 + kept[:, None] * inside
    assert james_stein(cells, [1, 4], [5.0, 3.0]) == pytest.approx(expected.ravel())


def test_few_children_are_left_alone():
    assert james_stein([1.0, 2.0, 3.0], [1], [1e6]).tolist() == [1.0, 2.0, 3.0]


@over(SIZES, [0.0, 1.0, 1e12])
def test_keeps_the_total_at_any_size(cells, scale):
    random = np.random.default_rng(cells)
    noisy = random.poisson(2.0, cells) * scale + random.laplace(0, 3.0, (4, cells))
    result = james_stein(noisy, [1, 16, 256], [18.0, 18.0, 18.0])
    assert np.isfinite(result).all()
    assert result.sum(axis=-1) == pytest.approx(noisy.sum(axis=-1), rel=1e-9, abs=1e-9 * (1 + scale))
    assert result[1] == pytest.approx(james_stein(noisy[1], [1, 16, 256], [18.0, 18.0, 18.0]))


def test_zero_estimate():
    assert james_stein(np.zeros((2, 9)), [1, 4], [1.0, 1.0]).tolist() == np.zeros((2, 9)).tolist()


def test_noise_alone_goes_and_signal_stays():
    random = np.random.default_rng(1)
    noise = random.laplace(0, 1.0, (50, 1024))
    even = james_stein(100 + noise, [1, 32], [2.0, 1e9])
    assert np.square(even - 100).mean() < 0.3 * np.square(noise).mean()
    peaks = np.where(np.arange(1024) % 32 == 0, 1e6 * np.arange(1, 1025), 0.0)
    assert james_stein(peaks + noise, [1, 32], [2.0, 1e9]) == pytest.approx(peaks + noise, abs=1e-3)


def test_cells_below_the_finest_level_share_alike():
    assert james_stein(np.full(6, 2.0), [4], [1.0]).tolist() == [2.0] * 6


@pytest.mark.parametrize(
    ("sizes", "variances"),
    [([], []), ([3], [1.0]), ([4, 1], [1.0, 1.0]), ([1], [0.0]), ([1], [1.0, 2.0]), ([1, 1], [1.0, 1.0])],
)
def test_bad_levels(sizes, variances):
    with pytest.raises(BadInput, match="must be"):
        james_stein([1.0, 2.0], sizes, variances)


def test_bad_estimate():
    with pytest.raises(BadInput, match="finite"):
        james_stein([1.0, np.nan], [1], [1.0])
