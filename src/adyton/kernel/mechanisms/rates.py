"""Budgets per unit that the compiled samplers can take: rounded down where they are long fractions."""

from __future__ import annotations

from fractions import Fraction

MOST_BITS = 56
"""Rates that are not small fractions are rounded down to multiples of 2⁻⁵⁶ or of something coarser."""
_DIGITS = 36
_FINE = 1 << 12
"""Rates of at least this many grid steps lose less than 1/4096 by that."""


def machine_rate(rate: Fraction) -> Fraction:
    """The rate itself if its numbers are short, else a rate of at most that, of 37 binary digits or so.

    What is too small or too large for that stays as it is: noise is then drawn in Python's integers. A lower rate is
    more noise, so that whatever is private at the rate given is private at this one.

    >>> machine_rate(Fraction(1, 3)), machine_rate(Fraction(10**30, 3 * 10**30 + 1))
    (Fraction(1, 3), Fraction(91625968981, 274877906944))
    """
    if max(rate.numerator, rate.denominator) <= 1 << MOST_BITS:
        return rate
    bits = _DIGITS - (rate.numerator.bit_length() - rate.denominator.bit_length())
    bits = max(0, min(bits, MOST_BITS))
    steps = (rate.numerator << bits) // rate.denominator
    return Fraction(steps, 1 << bits) if _FINE <= steps <= 1 << MOST_BITS else rate


def is_long(rate: Fraction) -> bool:
    """Whether draws at this rate take Python's integers.

    >>> is_long(Fraction(1, 3)), is_long(Fraction(1, 1 << 90))
    (False, True)
    """
    return max(rate.numerator, rate.denominator) > 1 << MOST_BITS
