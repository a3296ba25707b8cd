"""How far off an answer is with some confidence, from the variance and the kurtosis of its noise.

A sum of Laplace noises lies between Laplace's law and the normal one. Two laws have its variance and its kurtosis 3ρ²:
a normal variable plus one of Laplace's, which has the part ρ of the variance; and a sum of 1/ρ² equal noises of
Laplace's. The first is right where one noise is large and many are small, the second where all are equal, and the
farther of the two is taken. Noise so small that most of it is 0 has more kurtosis; it is taken for one noise on whole
numbers.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from adyton.arrays import Reals
from adyton.solving.noise_moments import Moments

_GRID, _POINTS = 33, 1024
_STEPS, _LARGEST = 48, 60.0
_USUAL = 0.95
_AT_USUAL = (
    *(1.960062, 1.9601652, 1.9607707, 1.9617857, 1.9632177, 1.9650757, 1.9673675, 1.9700985, 1.9732697, 1.9768763),
    *(1.9809067, 1.9853434, 1.9901628, 1.9953368, 2.0008338, 2.0066198, 2.0126596, 2.0189177, 2.0253588, 2.0319487),
    *(2.0386544, 2.0454446, 2.0522895, 2.0591616, 2.0660348, 2.0728851, 2.0796905, 2.0864303, 2.0930859, 2.0996402),
    *(2.1060774, 2.1123834, 2.1185454),
)
"""At the confidence that is nearly always asked for: to compute it takes SciPy, which takes a third of a second."""
_WHOLE = 100.0
"""Below this variance it matters that noise is in whole numbers."""


def radius(moments: Moments, confidence: float) -> Reals:
    """Within how far of the truth each answer lies, in this part of all releases.

    >>> one = Moments(np.array([2e6, 2e6]), np.array([0.0, 3 * 4e12]))
    >>> (radius(one, 0.95) / np.sqrt(2e6)).round(2).tolist()
    [1.96, 2.12]
    """
    excess, variances = moments.excess, moments.variances
    whole = excess > 3
    far = np.empty(variances.shape)
    far[whole] = _of_one_noise(variances[whole], excess[whole], confidence)
    if not whole.all():
        far[~whole] = _of_sums(variances[~whole], excess[~whole], confidence, at_most=moments.at_most)
    return far


def _of_sums(variances: Reals, excess: Reals, confidence: float, *, at_most: bool) -> Reals:
    """Of noise with the kurtosis of Laplace's law or less; where it is known to be *at_most* so large, the farthest of
    all that are. Beyond 85% or so more kurtosis is farther, below it is nearer."""
    parts = np.sqrt(np.clip(excess, 0.0, 3.0) / 3)
    known = quantiles(confidence)
    if at_most:
        known = np.maximum.accumulate(known)
    far = np.interp(parts, np.linspace(0, 1, _GRID), known) * np.sqrt(variances)
    return np.asarray(np.where(variances < _WHOLE, np.maximum(far, np.ceil(far - 0.5)), far))


def quantiles(confidence: float) -> Reals:
    """Of |X| for X of variance 1 and kurtosis 3ρ², for ρ from 0 to 1."""
    return np.array(_AT_USUAL) if confidence == _USUAL else computed_quantiles(confidence)


@lru_cache(maxsize=32)
def computed_quantiles(confidence: float) -> Reals:
    """The same by halving."""
    from scipy.special import gammaincinv, log_ndtr, ndtr

    part = np.linspace(0, 1, _GRID)
    scale, rest = np.sqrt(np.maximum(part, 1e-4) / 2), np.sqrt(np.maximum(1 - part, 1e-12))
    noises = 1 / np.square(np.maximum(part, 0.01))
    chances = (np.arange(_POINTS) + 0.5) / _POINTS
    spreads = np.sqrt(
        gammaincinv(noises[:, None], chances) / noises[:, None]
    )  # Laplace's is normal, of random variance
    spreads /= np.sqrt(np.square(spreads).mean(axis=1, keepdims=True))

    def one_large(far: Reals) -> Reals:
        shift = rest**2 / (2 * scale**2)
        up = np.exp(shift - far / scale + log_ndtr(far / rest - rest / scale))
        down = np.exp(shift + far / scale + log_ndtr(-far / rest - rest / scale))
        return np.asarray(2 * ndtr(-far / rest) + up - down)

    def all_equal(far: Reals) -> Reals:
        return np.asarray(2 * ndtr(-far[:, None] / spreads).mean(axis=1))

    low, high = np.zeros(_GRID), np.full(_GRID, _LARGEST)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        inside = np.maximum(one_large(middle), all_equal(middle)) <= 1 - confidence
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    return high


def _of_one_noise(variances: Reals, excess: Reals, confidence: float) -> Reals:
    """The least k with P(|L| > k) = 2a^(k+1)/(1 + a) ≤ 1 − confidence, times what one step of the noise counts."""
    a = np.maximum(1 / (excess - 2 + np.sqrt(np.square(excess - 2) - 1)), 1e-300)
    steps = np.ceil(np.log((1 - confidence) * (1 + a) / 2) / np.log(a) - 1 - 1e-9)
    step = np.sqrt(variances * np.square(1 - a) / (2 * a))
    return np.asarray(np.maximum(steps, 0) * np.maximum(step, 1.0))
