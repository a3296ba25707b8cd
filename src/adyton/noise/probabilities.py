"""The probabilities that the samplers must have, for tests, audits and expected errors. Nothing private comes here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.exact import Rational, positive
from adyton.noise.arguments import read_scores
from adyton.noise.scales import read_ratio
from adyton.noise.source import Ratio, Scale
from adyton.whole import IntegerArray

DIGITS = 50


def discrete_laplace_probability(value: int, scale: Rational) -> Decimal:
    """P(z) = (1 - a)/(1 + a)·a^|z| with a = e^(-1/scale), to about 50 digits.

    >>> round(discrete_laplace_probability(0, 1), 20)
    Decimal('0.46211715726000975850')
    """
    fraction = positive(scale, "scale", computed=True)
    with localcontext() as context:
        context.prec = DIGITS + 2 * len(str(int(fraction)))  # 1 - a loses as many digits as the scale has
        ratio = (-_decimal(1 / fraction)).exp()
        return (1 - ratio) / (1 + ratio) * (-_decimal(abs(value) / fraction)).exp()


def discrete_laplace_cumulative(values: npt.ArrayLike, scale: Rational) -> Reals:
    """P(Z ≤ z): a^(-z)/(1 + a) below zero, 1 - a^(z+1)/(1 + a) from zero on.

    >>> discrete_laplace_cumulative([-1, 0], 1).round(6).tolist()
    [0.268941, 0.731059]
    """
    points = np.asarray(values, dtype=np.float64)
    tail = _tail(points, scale)
    return np.asarray(np.where(points < 0, tail, 1 - tail))


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


def permute_and_flip_probabilities(
    scores: Sequence[int | Fraction] | IntegerArray, sharpness: Rational
) -> list[Decimal]:
    """P(i) = p_i ∫₀¹ Π_{j≠i} (1 - t·p_j) dt with p_j = exp(sharpness·(score_j - max)), to about 50 digits.

    The integral is over the moment t at which i comes in the random order: each other candidate has come before it and
    passed with probability t·p_j. It takes time cubic in the number of candidates.

    >>> [round(p, 6) for p in permute_and_flip_probabilities([3, 3, 2], 1)]
    [Decimal('0.438687'), Decimal('0.438687'), Decimal('0.122626')]
    """
    given, exact_sharpness = read_scores(scores), positive(sharpness, "sharpness", computed=True)
    exact_scores = given.tolist() if isinstance(given, np.ndarray) else given
    best = max(exact_scores)
    with localcontext() as context:
        context.prec = DIGITS + len(exact_scores)  # coefficients of both signs, of up to 2^(number of candidates)
        passes = [(-_decimal(Fraction(exact_sharpness * (best - score)))).exp() for score in exact_scores]
        return [own * _integral(passes[:place] + passes[place + 1 :]) for place, own in enumerate(passes)]


def _tail(points: Reals, scale: Rational) -> Reals:
    """P(Z ≤ z) below zero, P(Z > z) from zero on."""
    rate = float(1 / positive(scale, "scale", computed=True))
    return np.asarray(np.exp(-rate * np.where(points < 0, -points, points + 1)) / (1 + np.exp(-rate)))


def _integral(passes: list[Decimal]) -> Decimal:
    """∫₀¹ Π (1 - t·p) dt, from the coefficients of the product."""
    coefficients = [Decimal(1)]
    for own in passes:
        raised = [Decimal(0), *(-own * coefficient for coefficient in coefficients)]
        coefficients = [low + high for low, high in zip([*coefficients, Decimal(0)], raised, strict=True)]
    return sum((coefficient / (power + 1) for power, coefficient in enumerate(coefficients)), Decimal(0))


def _decimal(fraction: Fraction) -> Decimal:
    return Decimal(fraction.numerator) / Decimal(fraction.denominator)


def _inverse(ratio: Ratio) -> Reals:
    """The reciprocals as doubles; what is beyond their range becomes the largest or smallest of them."""
    if object not in (ratio.numerator.dtype, ratio.denominator.dtype):
        return np.asarray(ratio.denominator / ratio.numerator, dtype=np.float64)
    lowest, highest = Fraction(1, 10**150), Fraction(10) ** 150
    pairs = zip(ratio.numerator.ravel().tolist(), ratio.denominator.ravel().tolist(), strict=True)
    rates = [float(min(max(Fraction(below, above), lowest), highest)) for above, below in pairs]
    return np.array(rates).reshape(ratio.numerator.shape)
