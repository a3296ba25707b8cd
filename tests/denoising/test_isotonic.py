"""Isotonic regression against the max-min formula, and what a projection promises."""

import numpy as np
import pytest

from adyton.denoising.shrinkage import isotonic, monotone_prefix
from adyton.errors import BadInput
from over_cases import over


def max_min(values):
    """f_i = max over a ≤ i of the min over b ≥ i of the mean of y_a … y_b."""
    length = len(values)
    mean = [[np.mean(values[a : b + 1]) if b >= a else 0.0 for b in range(length)] for a in range(length)]
    return [max(min(mean[a][b] for b in range(i, length)) for a in range(i + 1)) for i in range(length)]


@pytest.mark.parametrize("length", [1, 2, 3, 7, 12])
def test_max_min_formula(length):
    random = np.random.default_rng(length)
    for _ in range(30):
        values = random.integers(-4, 5, length).astype(float)
        assert isotonic(values) == pytest.approx(max_min(values))


def test_trials_are_independent():
    random = np.random.default_rng(0)
    values = random.normal(size=(2, 3, 50))
    together = isotonic(values)
    for place in np.ndindex(2, 3):
        assert together[place].tolist() == isotonic(values[place]).tolist()


def test_what_rises_stays():
    rising = np.sort(np.random.default_rng(1).normal(size=4097)) * 1e12
    assert isotonic(rising).tolist() == rising.tolist()
    assert isotonic(-rising) == pytest.approx(np.full(4097, -rising.mean()))


def test_never_farther_from_a_rising_truth():
    random = np.random.default_rng(2)
    truth = np.cumsum(random.poisson(0.3, 1000)).astype(float)
    noisy = truth + random.standard_cauchy((20, 1000)) * 50
    before, after = (np.linalg.norm(rows - truth, axis=-1) for rows in (noisy, isotonic(noisy)))
    assert (after <= before).all()


@over([1, 2, 3, 7, 1000, 4097], [0.0, 1.0, 1e12])
def test_monotone_prefix_has_no_negative_cell(cells, scale):
    random = np.random.default_rng(cells)
    truth = random.poisson(0.2, cells) * scale
    noisy = truth + random.laplace(0, 10 + scale, (3, cells))
    result = monotone_prefix(noisy)
    assert result.min() >= 0
    assert result.shape == noisy.shape
    sums = np.cumsum(truth)
    errors = [np.linalg.norm(np.cumsum(rows, axis=-1) - sums, axis=-1) for rows in (result, noisy)]
    assert (errors[0] <= errors[1] * (1 + 1e-9)).all()


def test_monotone_prefix_is_the_nearest():
    """A projection f of g on a cone K: ⟨g − f, f⟩ = 0, and ⟨g − f, h⟩ ≤ 0 for every h in K."""
    random = np.random.default_rng(3)
    noisy = random.normal(size=40)
    given, found = np.cumsum(noisy), np.cumsum(monotone_prefix(noisy))
    assert (given - found) @ found == pytest.approx(0, abs=1e-9)
    steps = np.tril(np.ones((40, 40)))  # the edges of the cone
    assert (steps.T @ (given - found)).max() <= 1e-9


def test_nothing_to_do():
    assert monotone_prefix(np.zeros((2, 5))).tolist() == np.zeros((2, 5)).tolist()
    assert isotonic(np.zeros((0, 4))).shape == (0, 4)


@pytest.mark.parametrize("values", [3.0, [1.0, np.nan], [np.inf]])
def test_bad_values(values):
    with pytest.raises(BadInput, match="finite numbers"):
        monotone_prefix(values)
