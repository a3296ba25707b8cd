"""Means of small groups, shrunk towards the mean of all groups: empirical Bayes, with intervals that hold on average.

Let a group have n rows with the mean μ + d, where μ is the mean of all groups and d varies among groups with the
variance τ². The sum of the differences of its rows from μ is measured as r = n·d + η, with noise η whose variance σ² is
known and is the same for every group. The best linear estimate of d is

    w/n·r,  w = n²τ²/(n²τ² + σ²),

with the mean squared error τ²·σ²/(n²τ² + σ²): less than that of r/n, σ²/n², and never more than τ². τ² is learnt from
all groups together, Σ(r² − σ²) against Σn², each weighted by its precision.

Bounds follow Armstrong, Kolesár and Plagborg-Møller, "Robust empirical Bayes confidence intervals", Econometrica 2022:
the estimate of a group is biased by (1 − w)·d, of which nothing is assumed but its mean square; the interval is as wide
as the least favourable distribution of d requires. They hold for 95 of 100 groups on average, not for each group.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from adyton.arrays import Reals

_ROUNDS = 5
_KURTOSIS = 3.0
"""An upper bound on the excess kurtosis of the noise: that of Laplace noise."""
_GRID = np.concatenate([[0.0], np.geomspace(1e-3, 1e4, 57)])
"""Mean squares of biases, relative to the variance of the noise, for which widths are computed."""
_BISECTIONS = 40


def between(sums: Reals, rows: Reals, noise: float, rows_noise: float) -> float:
    """τ²: the variance of the means of groups, from r and the noisy numbers of rows, with the variances of their noise.

    Each group counts by its precision: 1/(n²τ² + σ²)². It is at least its own standard error if all means were equal:
    little is known from few groups, and shrinking too little is honest, too much is not.
    """
    squares = np.maximum(np.square(rows) - rows_noise, 0.0)
    if not squares.any():
        return 0.25  # nothing is known about any group: as large as it can be
    weights, spread = np.ones(sums.shape), 0.0
    for _ in range(_ROUNDS):
        known = float(weights @ squares)
        error = noise * math.sqrt((2 + _KURTOSIS) * float(np.square(weights).sum())) / known
        spread = max(float(weights @ (np.square(sums) - noise)) / known, error)
        weights = 1 / np.square(squares * spread + noise)
        weights /= weights.max()
    return min(spread, 0.25)


def shrunk(sums: Reals, rows: Reals, noise: float, spread: float) -> tuple[Reals, Reals, Reals]:
    """The estimated differences from the mean of all groups, the weights w, and the standard errors."""
    counts = np.maximum(rows, 0.0)
    both = np.square(counts) * spread + noise
    return counts * spread * sums / both, np.square(counts) * spread / both, np.sqrt(spread * noise / both)


@lru_cache(maxsize=16)
def _widths(confidence: float) -> Reals:
    """For biases whose mean square is given by the grid, how many standard deviations of the noise an interval must
    reach to each side: the largest probability of error over all such biases is max over x ≥ m of
    (1 − m/x)·p(0) + m/x·p(x), where p(x) is that for the bias √x (Armstrong et al., Section 4)."""
    points = np.concatenate([[0.0], np.geomspace(1e-4, 1e6, 500)])
    roots = np.sqrt(points)
    low, high = np.full(_GRID.shape, 0.5), np.sqrt((1 + _GRID) / (1 - confidence)) + 3
    from scipy.special import ndtr

    def beyond(far: Reals) -> Reals:
        own = ndtr(roots - far[:, None]) + ndtr(-roots - far[:, None])
        part = np.minimum(_GRID[:, None] / np.maximum(points, 1e-300), 1.0)
        mixed = np.where(points >= _GRID[:, None], (1 - part) * own[:, :1] + part * own, 0.0)
        return np.asarray(mixed.max(axis=1))

    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        wrong = beyond(middle) > 1 - confidence
        low, high = np.where(wrong, middle, low), np.where(wrong, high, middle)
    return high


def reach(weights: Reals, confidence: float) -> Reals:
    """Half of the width of each interval, in standard deviations w·σ/n of the noise that is left in the estimate.

    >>> reach(np.array([1.0, 0.5]), 0.95).round(2).tolist()
    [1.96, 3.26]
    """
    ratios = (1 - weights) / np.maximum(weights, 1e-9)
    return np.interp(ratios, _GRID, _widths(confidence))


def half_widths(weights: Reals, left: Reals, spread: float, confidence: float, longer: float) -> Reals:
    """Half of the width of each interval, from the standard deviations *left* of the noise in the estimates. Noise with
    longer tails than normal noise takes *longer* intervals. By Chebyshev's inequality, √(τ²/0.05) always does for 95%:
    no interval is wider."""
    most = math.sqrt(spread / (1 - confidence))
    return np.minimum(reach(weights, confidence) * left * longer, most)
