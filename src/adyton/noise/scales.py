"""The scales of a sample: one for all elements or one for each, as exact ratios of whole numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.errors import BadInput
from adyton.exact import positive
from adyton.noise.source import Ratio, Scale
from adyton.remembered import cached_property
from adyton.whole import IntegerArray, whole_array

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
        """The scales in double precision; what is beyond its range becomes 10³⁰⁰."""
        if object not in (self.numerators.dtype, self.denominators.dtype):
            return np.asarray(self.numerators / self.denominators)
        return np.array([float(min(fraction, _LARGEST_REAL)) for fraction in self.fractions()])

    @cached_property
    def largest_real(self) -> float:
        """The largest of them."""
        return float(self.reals.max())

    @cached_property
    def shifts(self) -> Reals:
        """ln(2/(1 + e^(-1/s))) for each scale s: what is added to an exponential variable before it is rounded down."""
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            return np.asarray(_LOG_2 - np.log1p(np.exp(-1 / self.reals)))

    def fractions(self) -> list[Fraction]:
        """The scales, one by one."""
        return [Fraction(*self.pair(element)) for element in range(len(self))]

    def within(self, numerator_limit: int, denominator_limit: int) -> tuple[Integers, Integers]:
        """Both arrays as int64, with numerator 0 in place of each scale that reaches a limit. (Scales are public.)"""
        fits = (self.numerators < numerator_limit) & (self.denominators < denominator_limit)
        numerators = np.where(fits, self.numerators, 0).astype(np.int64)
        denominators = np.where(fits, self.denominators, 1).astype(np.int64)
        return numerators, denominators


def read_scales(scale: Scale, shape: tuple[int, ...], name: str = "scale") -> Scales:
    """The scales for a sample of this shape; they broadcast to it from the right.

    >>> read_scales(["0.5", 3], (4, 2)).fractions()
    [Fraction(1, 2), Fraction(3, 1)]
    """
    if type(scale) is Fraction:
        return _one_scale(scale, name)
    ratio = read_ratio(scale, name)
    trailing = shape[len(shape) - len(ratio.shape) :] if len(ratio.shape) <= len(shape) else None
    if trailing is None or any(own not in (1, length) for own, length in zip(ratio.shape, trailing, strict=True)):
        raise BadInput(
            f"{name} of shape {ratio.shape} does not broadcast to size {shape}. "
            "Give one scale, or one for each place of the last dimensions."
        )
    if all(own == 1 for own in ratio.shape):
        trailing = ratio.shape
    return Scales(_broadcast(ratio.numerator, trailing).ravel(), _broadcast(ratio.denominator, trailing).ravel())


@lru_cache(maxsize=256)
def _one_scale(scale: Fraction, name: str) -> Scales:
    """One scale for all elements: the usual case, and the same one again and again."""
    ratio = read_ratio(scale, name)
    return Scales(ratio.numerator.ravel(), ratio.denominator.ravel())


def _broadcast(values: IntegerArray, shape: tuple[int, ...]) -> IntegerArray:
    return values if values.shape == shape else np.broadcast_to(values, shape)


def read_ratio(scale: Scale, name: str = "scale") -> Ratio:
    """Positive fractions, in the shape they were given in."""
    if isinstance(scale, np.ndarray) and scale.dtype.kind in "iu":
        scale = Ratio(scale, np.ones(1, dtype=np.int64))
    if isinstance(scale, Ratio):
        return _lowest_terms(scale, name)
    if isinstance(scale, np.ndarray):
        return _read_each(scale.ravel().tolist(), scale.shape, name)
    if isinstance(scale, Sequence) and not isinstance(scale, str | bytes):
        return _read_each(list(scale), (len(scale),), name)
    return _read_each([scale], (), name)


def _read_each(given: list[object], shape: tuple[int, ...], name: str) -> Ratio:
    fractions = [positive(one, name, computed=True) for one in given]
    return Ratio(
        whole_array([fraction.numerator for fraction in fractions], shape),
        whole_array([fraction.denominator for fraction in fractions], shape),
    )


def _lowest_terms(ratio: Ratio, name: str) -> Ratio:
    """In lowest terms where that could make the numbers fit 64 bits; small ones are taken as they are."""
    try:
        shape = ratio.shape
    except ValueError:
        raise BadInput(f"the numerators and denominators of {name} do not broadcast together.") from None
    numerator, denominator = (
        _broadcast(_positive_integers(part, name), shape) for part in (ratio.numerator, ratio.denominator)
    )
    if object not in (numerator.dtype, denominator.dtype) and int(numerator.max(initial=0)) < _SMALL:
        return Ratio(numerator, denominator)
    common = np.gcd(numerator, denominator)
    return Ratio(np.asarray(numerator // common), np.asarray(denominator // common))


def _positive_integers(given: IntegerArray, name: str) -> IntegerArray:
    """As int64 where all fit, else as Python integers."""
    array = np.asarray(given)
    if array.dtype == np.int64 and array.size and array.min() > 0:
        return array
    values = array.ravel().tolist() if array.dtype.kind not in "i" else []
    if array.dtype.kind not in "iu" and not all(
        isinstance(value, int) and not isinstance(value, bool) for value in values
    ):
        raise BadInput(f"{name} as a Ratio takes whole numbers, given dtype {array.dtype}.")
    array = array.astype(np.int64) if array.dtype.kind == "i" else whole_array(values, array.shape)
    if not np.all(array > 0):
        raise BadInput(f"{name} must be greater than 0: both parts of a Ratio must be positive.")
    return array
