"""The law of discrete Laplace noise, and whether a sample follows it: for audits, expected errors and tests.

Nothing private comes here.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Reals
from adyton.exact import Rational, positive
from adyton.noise.source import Ratio, Scale, read_ratio


def discrete_laplace_probabilities(edges: npt.ArrayLike, scale: Rational) -> Reals:
    """The probabilities of the classes that rising *edges* cut: Z ≤ e₁, e₁ < Z ≤ e₂, …, Z > e_k.

    Within either half they are differences of tails, so the rarest classes keep their precision.

    >>> discrete_laplace_probabilities([-1, 0], 1).round(6).tolist()
    [0.268941, 0.462117, 0.268941]
    """
    points, rate = np.asarray(edges, dtype=np.float64), float(1 / positive(scale, "scale", computed=True))
    # P(Z ≤ z) below zero, P(Z > z) from zero on
    tail = np.exp(-rate * np.where(points < 0, -points, points + 1)) / (1 + np.exp(-rate))
    left = np.diff(np.where(points < 0, tail, 0.5), prepend=0.0, append=0.5)  # each class's part below the median
    right = np.diff(np.where(points < 0, -0.5, -tail), prepend=-0.5, append=0.0)  # and above it
    return np.asarray(left + right)


def discrete_laplace_variance(scale: Scale) -> Reals:
    """The variance 2a/(1 - a)² with a = e^(-1/scale), in the shape of the scales.

    >>> discrete_laplace_variance([1, 1000]).round(4).tolist()
    [1.8413, 1999999.8333]
    """
    rate = _inverse(read_ratio(scale))
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(2 * np.exp(-rate) / np.expm1(-rate) ** 2)


def discrete_laplace_radius(scale: Rational, confidence: float) -> int:
    """The least k with P(|Z| ≤ k) ≥ confidence, where P(|Z| > k) = 2·a^(k+1)/(1 + a).

    >>> discrete_laplace_radius(10, 0.95)
    30
    """
    exactly = positive(scale, "scale", computed=True)
    outside = (1 - confidence) * (1 + math.exp(-min(float(1 / exactly), 700.0))) / 2  # a^(k+1) must not exceed this
    return max(0, math.ceil(exactly * Fraction(-math.log(outside))) - 1)


def _inverse(ratio: Ratio) -> Reals:
    """The reciprocals as doubles; what is beyond their range becomes the largest or smallest of them."""
    if object not in (ratio.numerator.dtype, ratio.denominator.dtype):
        return np.asarray(ratio.denominator / ratio.numerator, dtype=np.float64)
    lowest, highest = Fraction(1, 10**150), Fraction(10) ** 150
    pairs = zip(ratio.numerator.ravel().tolist(), ratio.denominator.ravel().tolist(), strict=True)
    rates = [float(min(max(Fraction(below, above), lowest), highest)) for above, below in pairs]
    return np.array(rates).reshape(ratio.numerator.shape)


SMALLEST_EXPECTATION = 20
"""Classes that expect fewer draws are merged: the chi-square law is then close enough far into its tail."""

_LEVELS = np.concatenate((10.0 ** -np.arange(6, 1, -0.5), np.arange(1, 50) / 50, 1 - 10.0 ** -np.arange(2, 6.5, 0.5)))


def laplace_fit(sample: npt.ArrayLike, scale: Rational) -> float:
    """The p-value of a sample against the discrete Laplace distribution, on classes that reach far into both tails."""
    values = np.asarray(sample).ravel()
    spread = float(positive(scale, "scale", computed=True))
    rest = 2 * np.minimum(_LEVELS, 1 - _LEVELS)  # the quantiles of the continuous Laplace: ±scale·ln(rest)
    edges = np.unique(np.rint(np.sign(0.5 - _LEVELS) * spread * np.log(rest)))
    observed = np.bincount(np.searchsorted(edges, values, side="left"), minlength=edges.size + 1)
    return counts_fit(observed, discrete_laplace_probabilities(edges, scale))


def counts_fit(observed: npt.ArrayLike, probabilities: npt.ArrayLike) -> float:
    """The p-value of counts against the probabilities of their classes; neighbouring rare classes are merged."""
    from scipy import stats

    counts = np.asarray(observed, dtype=np.float64)
    expected = np.asarray(probabilities, dtype=np.float64) * counts.sum()
    groups = _merge(expected)
    seen, foreseen = np.bincount(groups, counts), np.bincount(groups, expected)
    if seen.size < 2:
        return 1.0
    return float(stats.chisquare(seen, foreseen * (seen.sum() / foreseen.sum())).pvalue)


def same_law(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """The p-value of two samples being drawn from one distribution, over about 50 classes of the pooled draws."""
    from scipy import stats

    samples = [np.asarray(sample).ravel() for sample in (first, second)]
    edges = np.unique(np.quantile(np.concatenate(samples), _LEVELS, method="lower"))
    table = np.stack([np.bincount(np.searchsorted(edges, own), minlength=edges.size + 1) for own in samples])
    groups = _merge(table.sum(axis=0) * (min(own.size for own in samples) / table.sum()))
    merged = np.stack([np.bincount(groups, row) for row in table])
    return float(stats.chi2_contingency(merged).pvalue) if merged.shape[1] > 1 else 1.0


def _merge(expected: Reals) -> Integers:
    """Group numbers for neighbouring classes, so that each group expects enough."""
    groups = np.zeros(expected.size, dtype=np.int64)
    left = float(expected.sum())
    held, group = 0.0, 0
    for place, value in enumerate(expected):
        groups[place] = group
        held, left = held + value, left - value
        if held >= SMALLEST_EXPECTATION and left >= SMALLEST_EXPECTATION:
            held, group = 0.0, group + 1
    return groups
