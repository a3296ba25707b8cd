"""The interface of a source of randomness, and how its arguments are read: sizes, bounds, exponents, scores and scales.

Mechanisms draw from a source without knowing its kind. Arguments that are not allowed are refused before any draw.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, TypeAlias, cast

import numpy as np

from adyton.arrays import Flags, Integers, Places, Reals
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.exact import Rational, exact, positive
from adyton.messages import shorten
from adyton.noise.bits import Bounds, Refine
from adyton.whole import IntegerArray, maybe_whole, whole, whole_array


@dataclass(frozen=True, eq=False)
class Ratio:
    """An array of fractions ``numerator / denominator``: two arrays of whole numbers that broadcast together."""

    numerator: IntegerArray
    denominator: IntegerArray

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of fractions."""
        own, other = np.shape(self.numerator), np.shape(self.denominator)
        return own if own == other else np.broadcast_shapes(own, other)


Size: TypeAlias = int | tuple[int, ...]
Scale: TypeAlias = Rational | Sequence[Rational] | Ratio


class NoiseSource(Protocol):
    """A source of randomness."""

    @property
    def private(self) -> bool:
        """Whether answers with this noise are private: exact sampling from a cryptographic generator."""

    def discrete_laplace(self, size: Size, scale: Scale) -> IntegerArray:
        """Integers with P(z) proportional to exp(-|z| / scale); the scales broadcast to *size* from the right."""

    def uniform_integers(self, size: Size, bound: int) -> IntegerArray:
        """Integers that take each value of 0 … bound - 1 with the same probability."""

    def bernoulli_exp(self, gamma: Rational) -> bool:
        """True with probability exp(-gamma), for gamma at least 0."""

    def coins(self, lower: Bounds, upper: Bounds, refine: Refine) -> Flags:
        """Coins with real probabilities lower/2⁶² ≤ p ≤ upper/2⁶²; refine(i, digits) refines the i-th."""

    def permute_and_flip(self, scores: Sequence[int | Fraction] | IntegerArray, sharpness: Rational) -> int:
        """The index of a large score: of the candidates in random order, the first accepted by a coin with
        P(heads) = exp(sharpness·(score - max)).

        With sharpness = ε / (2Δ), Δ the sensitivity of every score, the choice is ε-differentially private; with
        ε / Δ if one more row can only raise the scores, or only lower them.
        """

    def permute_and_flips(self, scores: IntegerArray, allowed: Flags, sharpness: Rational) -> Places:
        """For every row of scores, an independent choice among its allowed columns; −1 if no column is allowed."""

    def exponential_choices(self, count: int, multiplicities: Integers, gaps: Integers, rate: Rational) -> Places:
        """*count* independent choices of j with probability ∝ multiplicities[j]·exp(−rate·gaps[j]).

        Multiplicities are whole numbers from 1 that add up to less than 2⁶⁰, gaps are whole numbers from 0.
        """


def checked_noise(given: object) -> NoiseSource:
    """A source of randomness, or an error for anything else."""
    if isinstance(given, type) or not isinstance(getattr(given, "private", None), bool):
        raise BadInput(f"noise must be a source of randomness such as ad.noise.ExactNoise(), given {shorten(given)}.")
    return cast("NoiseSource", given)


def read_size(size: Size) -> tuple[int, ...]:
    """The shape that *size* stands for.

    >>> read_size(3), read_size((2, 5))
    ((3,), (2, 5))
    """
    lengths = size if isinstance(size, tuple | list) else (size,)
    return tuple([whole(length, "size", 0) for length in lengths])


def read_gamma(gamma: Rational) -> Fraction:
    """The exponent of a coin that shows heads with probability exp(-gamma)."""
    fraction = gamma if isinstance(gamma, Fraction) else exact(gamma, "gamma", computed=True)
    if fraction < 0:
        raise BadInput(f"gamma must be at least 0, given {shorten(gamma)}.")
    return fraction


def read_scores(scores: Sequence[int | Fraction] | IntegerArray) -> list[int | Fraction] | IntegerArray:
    """Scores as an array of machine integers, else as a list of exact numbers. Messages never show a score."""
    if isinstance(scores, np.ndarray):
        if scores.ndim != 1:
            raise BadInput(f"scores must have one dimension, given {scores.ndim}.")
        if scores.dtype.kind in "iu" and scores.size:
            return scores
        given = scores.tolist()
    elif isinstance(scores, Sequence) and not isinstance(scores, str | bytes):
        given = list(scores)
    else:
        raise BadInput(f"scores must be a sequence of whole numbers or fractions, given a {type(scores).__name__}.")
    if not given:
        raise BadInput("scores must have at least one candidate, given none.")
    exact_scores = [score if isinstance(score, Fraction) else maybe_whole(score) for score in given]
    if any(score is None for score in exact_scores):
        raise BadInput("scores must be whole numbers or fractions. Round real scores to a public grid first.")
    return [score for score in exact_scores if score is not None]


_SMALL = 1 << 56
_LOG_2 = math.log(2)
_LARGEST_REAL = Fraction(10) ** 300


@dataclass(frozen=True, eq=False)
class Scales:
    """Flat arrays of numerators and denominators; element i has scale number i modulo their length."""

    numerators: IntegerArray
    denominators: IntegerArray

    def __len__(self) -> int:
        return int(self.numerators.size)

    def pair(self, element: int) -> tuple[int, int]:
        """The numerator and denominator of an element's scale, as Python integers."""
        place = element % self.numerators.size
        return int(self.numerators[place]), int(self.denominators[place])

    @cached_property
    def reals(self) -> Reals:
        """The scales in double precision; those beyond its range become 10³⁰⁰."""
        if object not in (self.numerators.dtype, self.denominators.dtype):
            return np.asarray(self.numerators / self.denominators)
        return np.array([float(min(fraction, _LARGEST_REAL)) for fraction in self.fractions()])

    @cached_property
    def largest_real(self) -> float:
        """The largest scale, in double precision."""
        return float(self.reals.max())

    @cached_property
    def shifts(self) -> Reals:
        """ln(2/(1 + e^(-1/s))) for each scale s: the shift of an exponential variable before it is rounded down."""
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            return np.asarray(_LOG_2 - np.log1p(np.exp(-1 / self.reals)))

    def fractions(self) -> list[Fraction]:
        """The scales as fractions."""
        return [Fraction(*self.pair(element)) for element in range(len(self))]

    def within(self, numerator_limit: int, denominator_limit: int) -> tuple[Integers, Integers]:
        """Both arrays as int64, with numerator 0 in place of each scale that reaches a limit. (Scales are public.)"""
        fits = (self.numerators < numerator_limit) & (self.denominators < denominator_limit)
        numerators = np.where(fits, self.numerators, 0).astype(np.int64)
        denominators = np.where(fits, self.denominators, 1).astype(np.int64)
        return numerators, denominators


def read_scales(scale: Scale, shape: tuple[int, ...]) -> Scales:
    """The scales for a sample of this shape; they broadcast to it from the right.

    >>> read_scales(["0.5", 3], (4, 2)).fractions()
    [Fraction(1, 2), Fraction(3, 1)]
    """
    if type(scale) is Fraction:
        return _one_scale(scale)
    ratio = read_ratio(scale)
    trailing = shape[len(shape) - len(ratio.shape) :] if len(ratio.shape) <= len(shape) else None
    if trailing is None or any(own not in (1, length) for own, length in zip(ratio.shape, trailing, strict=True)):
        raise BadInput(
            f"scale of shape {ratio.shape} does not broadcast to size {shape}. "
            "Give one scale, or one for each place of the last dimensions."
        )
    if all(own == 1 for own in ratio.shape):
        trailing = ratio.shape
    return Scales(_broadcast(ratio.numerator, trailing).ravel(), _broadcast(ratio.denominator, trailing).ravel())


@lru_cache(maxsize=256)
def _one_scale(scale: Fraction) -> Scales:
    """One scale for all elements: the usual case, cached because the same scale recurs."""
    ratio = read_ratio(scale)
    return Scales(ratio.numerator.ravel(), ratio.denominator.ravel())


def _broadcast(values: IntegerArray, shape: tuple[int, ...]) -> IntegerArray:
    return values if values.shape == shape else np.broadcast_to(values, shape)


def read_ratio(scale: Scale) -> Ratio:
    """Positive fractions, in their given shape."""
    if isinstance(scale, np.ndarray) and scale.dtype.kind in "iu":
        scale = Ratio(scale, np.ones(1, dtype=np.int64))
    if isinstance(scale, Ratio):
        return _lowest_terms(scale)
    if isinstance(scale, np.ndarray):
        return _read_each(scale.ravel().tolist(), scale.shape)
    if isinstance(scale, Sequence) and not isinstance(scale, str | bytes):
        return _read_each(list(scale), (len(scale),))
    return _read_each([scale], ())


def _read_each(given: list[object], shape: tuple[int, ...]) -> Ratio:
    fractions = [positive(scale, "scale", computed=True) for scale in given]
    return Ratio(
        whole_array([fraction.numerator for fraction in fractions], shape),
        whole_array([fraction.denominator for fraction in fractions], shape),
    )


def _lowest_terms(ratio: Ratio) -> Ratio:
    """The ratio in lowest terms if that could make the numbers fit 64 bits; small numbers are left unchanged."""
    try:
        shape = ratio.shape
    except ValueError:
        raise BadInput("the numerators and denominators of scale do not broadcast together.") from None
    numerator, denominator = (
        _broadcast(_positive_integers(part), shape) for part in (ratio.numerator, ratio.denominator)
    )
    if object not in (numerator.dtype, denominator.dtype) and int(numerator.max(initial=0)) < _SMALL:
        return Ratio(numerator, denominator)
    common = np.gcd(numerator, denominator)
    return Ratio(np.asarray(numerator // common), np.asarray(denominator // common))


def _positive_integers(given: IntegerArray) -> IntegerArray:
    """Positive whole numbers as int64 if all fit, else as Python integers."""
    array = np.asarray(given)
    if array.dtype == np.int64 and array.size and array.min() > 0:
        return array
    values = array.ravel().tolist() if array.dtype.kind not in "i" else []
    if array.dtype.kind not in "iu" and not all(
        isinstance(value, int) and not isinstance(value, bool) for value in values
    ):
        raise BadInput(f"a scale given as a Ratio must have whole numbers, given dtype {array.dtype}.")
    array = array.astype(np.int64) if array.dtype.kind == "i" else whole_array(values, array.shape)
    if not np.all(array > 0):
        raise BadInput("scale must be greater than 0: both parts of a Ratio must be positive.")
    return array
