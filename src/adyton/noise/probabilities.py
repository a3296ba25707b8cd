"""The probabilities of discrete Laplace noise, for audits and expected errors. Nothing private comes here."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.exact import Rational, positive
from adyton.noise.scales import read_ratio
from adyton.noise.source import Ratio, Scale


def discrete_laplace_probabilities(edges: npt.ArrayLike, scale: Rational) -> Reals:
    """The probabilities of the classes that rising *edges* cut: Z ≤ e₁, e₁ < Z ≤ e₂, …, Z > e_k.

    Within either half they are differences of tails, so the rarest classes keep their precision.

    >>> discrete_laplace_probabilities([-1, 0], 1).round(6).tolist()
    [0.268941, 0.462117, 0.268941]
    """
    points = np.asarray(edges, dtype=np.float64)
    tail = _tail(points, scale)
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


def _tail(points: Reals, scale: Rational) -> Reals:
    """P(Z ≤ z) below zero, P(Z > z) from zero on."""
    rate = float(1 / positive(scale, "scale", computed=True))
    return np.asarray(np.exp(-rate * np.where(points < 0, -points, points + 1)) / (1 + np.exp(-rate)))


def _inverse(ratio: Ratio) -> Reals:
    """The reciprocals as doubles; what is beyond their range becomes the largest or smallest of them."""
    if object not in (ratio.numerator.dtype, ratio.denominator.dtype):
        return np.asarray(ratio.denominator / ratio.numerator, dtype=np.float64)
    lowest, highest = Fraction(1, 10**150), Fraction(10) ** 150
    pairs = zip(ratio.numerator.ravel().tolist(), ratio.denominator.ravel().tolist(), strict=True)
    rates = [float(min(max(Fraction(below, above), lowest), highest)) for above, below in pairs]
    return np.array(rates).reshape(ratio.numerator.shape)
