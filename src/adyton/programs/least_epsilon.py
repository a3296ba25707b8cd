"""The least ε with which an error meets a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from adyton.errors import BadInput
from adyton.kernel.ledger.records import LARGEST_TOTAL
from adyton.messages import shorten

LARGEST, SMALLEST = Fraction(LARGEST_TOTAL), Fraction(1, 10**6)
_DIGITS = 4


def least_epsilon(error_at: Callable[[Fraction], float], target: float, given: object) -> Fraction:
    """Halve the interval between an ε that is too small and one that is enough, until four digits are certain.

    The error falls as 1/ε until the noise is so small that most of it is rounded away, and then faster.
    """
    enough = _rounded_up(Fraction(max(1e-9, error_at(Fraction(1)) / target)))
    while enough < LARGEST and error_at(enough) > target:
        enough = min(LARGEST, enough * 2)
    enough = min(enough, LARGEST)
    if error_at(enough) > target:
        raise BadInput(f"no ε up to {LARGEST} has an error of at most {shorten(given)}. Ask for less accuracy.")
    few = enough / 2
    while few > SMALLEST and error_at(few) <= target:
        enough, few = few, few / 2
    while _rounded_up(few) < (middle := _rounded_up((few + enough) / 2)) < enough:
        if error_at(middle) <= target:
            enough = middle
        else:
            few = middle
    return enough


def _rounded_up(value: Fraction) -> Fraction:
    """To so many significant digits.

    >>> _rounded_up(Fraction(1, 3))
    Fraction(1667, 5000)
    """
    unit = Fraction(10) ** (math.floor(math.log10(value)) - _DIGITS + 1)
    return math.ceil(value / unit) * unit
