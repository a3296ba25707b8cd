"""Exact numbers for budgets and scales: what a person writes as 0.1 is one tenth, not the nearest double.

Also the grid of budgets: every debit is a whole number of public steps, so that sums of debits stay short. Sums of
arbitrary fractions do not: the common denominator of a few hundred odd budgets has thousands of digits, and the ledger
becomes unusable. So the kernel rounds ε *down* to a grid where requests enter, and computes both the noise and the
charge from the rounded number. This

* never charges less than is spent: the noise is computed from the number that is charged;
* never exceeds the budget: its parts, each rounded down, fit into it;
* keeps what people write: the step is 10⁻³² / lcm(1, …, 100), so that one tenth, every decimal of up to 32 digits, and
  the n-th part of such a decimal for every n up to 100 lie on the grid. Three thirds make one, as do twenty twentieths;
* loses less than 10⁻⁷³ per measurement for any other number.

Where a row counts s times (``rows_per_unit``, a group-by, a linear map), the charge s·ε at the root is rounded: budgets
for one row are then multiples of a step divided by s.
"""

from __future__ import annotations

import math
import numbers
import re
from decimal import ROUND_DOWN, Context, Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from adyton.errors import BadInput
from adyton.messages import shorten, without_comma

STEPS = 10**32 * math.lcm(*range(1, 101))
"""The number of steps that make 1: a number of 243 bits."""


def on_grid(value: Fraction) -> bool:
    """Whether a number is a whole number of steps.

    >>> on_grid(Fraction(1, 3)), on_grid(Fraction(1, 10**32)), on_grid(Fraction(1, 101))
    (True, True, False)
    """
    return STEPS % value.denominator == 0


def rounded_down(epsilon: Fraction, stability: int = 1) -> Fraction:
    """The largest budget up to *epsilon* that costs a whole number of steps where a row counts *stability* times.

    >>> rounded_down(Fraction(1, 3)), rounded_down(Fraction(1, 303), 101)
    (Fraction(1, 3), Fraction(1, 303))
    """
    steps = STEPS * max(1, stability)
    return epsilon if steps % epsilon.denominator == 0 else Fraction(math.floor(epsilon * steps), steps)


def rounded_up(amount: Fraction) -> Fraction:
    """*amount* rounded up to a whole number of steps: for a debit that no kernel has rounded."""
    return amount if on_grid(amount) else Fraction(math.ceil(amount * STEPS), STEPS)


Rational: TypeAlias = int | float | str | Fraction | Decimal

_LARGEST_EXPONENT = 400
_MOST_BITS_WRITTEN = 64
_MOST_BITS_COMPUTED = 1 << 14
_SMALLEST_SHARE = Fraction(1, 10**6)
_LONGEST_DECIMAL = 18
_LONGEST_SHOWN = 42
_DIGITS = Context(prec=1000)
_SHORT = Context(prec=12, rounding=ROUND_DOWN)
_RATIO = re.compile(r"\s*([+-]?\d{1,600})\s*/\s*(\d{1,600})\s*\Z", re.ASCII)


def exact(value: object, name: str, *, computed: bool = False) -> Fraction:
    """The fraction that *value* stands for; floats are read by their shortest decimal form.

    A number that a person writes must be below 2⁶⁴, and have a denominator of at most 64 bits or lie on the grid of
    budgets, such as a decimal of up to 32 digits. A number *computed* from such numbers may be longer.

    >>> exact(0.1, "epsilon")
    Fraction(1, 10)
    >>> exact("1/3", "epsilon")
    Fraction(1, 3)
    >>> exact(float("nan"), "epsilon")
    Traceback (most recent call last):
    adyton.errors.BadInput: epsilon must be a finite number, given nan. Write 1, 0.1 or "1/3", with a dot.
    """
    if type(value) is Fraction:
        result: Fraction | None = Fraction(int(value.numerator), int(value.denominator))
    else:
        result = _read_text(value) if type(value) is str else _read(value)
    if result is None:
        how = without_comma(value) or 'Write 1, 0.1 or "1/3", with a dot.'
        raise BadInput(f"{name} must be a finite number, given {shorten(value)}. {how}")
    longest = max(result.numerator.bit_length(), result.denominator.bit_length())
    short = result.denominator.bit_length() <= _MOST_BITS_WRITTEN or on_grid(result)
    writable = short and abs(result) < 1 << _MOST_BITS_WRITTEN
    if not (longest <= _MOST_BITS_COMPUTED if computed else writable):
        raise BadInput(
            f"{name} has too many digits, given {shorten(value)}. Write at most 18 digits before the dot and 32 after "
            "it, or a ratio of whole numbers of at most 18 digits."
        )
    return result


def positive(value: object, name: str, *, computed: bool = False) -> Fraction:
    """Like :func:`exact`, for numbers that must be greater than zero."""
    result = exact(value, name, computed=computed)
    if result.numerator <= 0:
        raise BadInput(f"{name} must be greater than 0, given {shorten(value)}.")
    return result


def budget(value: object, name: str) -> Fraction:
    """Like :func:`positive`, for an ε or a total as a person writes it, rounded down to the grid of budgets.

    >>> budget("1/3", "epsilon")
    Fraction(1, 3)
    """
    result = rounded_down(positive(value, name))
    if not result:
        raise BadInput(f"{name} must be at least 10^-73, given {shorten(value)}.")
    return result


def share(value: object, name: str) -> Fraction:
    """Like :func:`exact`, for a share of a budget: greater than 0 and less than 1.

    Neither the share nor the rest may be tiny: a plan that divides a budget several times could not spend it.

    >>> share(0.02, "total_share")
    Fraction(1, 50)
    """
    result = exact(value, name)
    if not 0 < result < 1:
        raise BadInput(f"{name} must be greater than 0 and less than 1, given {shorten(value)}.")
    if not _SMALLEST_SHARE <= result <= 1 - _SMALLEST_SHARE:
        raise BadInput(f"{name} must be at least 10^-6 and at most 1 - 10^-6, given {shorten(value)}.")
    return result


def as_number(value: Fraction) -> dict[str, str | float | None]:
    """For JSON: the fraction itself, and the nearest float (None beyond the range of floats).

    >>> as_number(Fraction(1, 8))
    {'exact': '1/8', 'float': 0.125}
    """
    try:
        return {"exact": str(value), "float": float(value)}
    except OverflowError:
        return {"exact": str(value), "float": None}


def display(value: Fraction) -> str:
    """A fraction as a person would write it: a decimal where that is exact and short, else a ratio.

    A number that is long in both forms is cut off after twelve digits and marked with ≈.

    >>> display(Fraction(1, 8)), display(Fraction(1, 3)), display(Fraction(2)), display(Fraction(2**99, 3**99))
    ('0.125', '1/3', '2', '≈3.68948163986E-18')
    """
    if max(value.numerator.bit_length(), value.denominator.bit_length()) <= 4 * _LONGEST_SHOWN:
        shown = str(value)
        if value.denominator != 1 and not 10**_LONGEST_DECIMAL % value.denominator:
            scaled = value * 10**_LONGEST_DECIMAL
            shown = f"{Decimal(scaled.numerator).scaleb(-_LONGEST_DECIMAL, _DIGITS):f}".rstrip("0")
        if len(shown) <= _LONGEST_SHOWN:
            return shown
    return f"≈{_SHORT.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(_SHORT)}"


def _read(value: object) -> Fraction | None:
    match value:
        case bool():
            result = None
        case Fraction():
            result = Fraction(int(value.numerator), int(value.denominator))  # not a subclass
        case numbers.Integral():
            result = Fraction(int(value))
        case Decimal():
            result = _read_decimal(str(value))
        case numbers.Real():
            result = _read_decimal(repr(float(value)))
        case str():
            result = _read_text(str(value))
        case _:
            result = None
    return result


@lru_cache(maxsize=256)
def _read_text(text: str) -> Fraction | None:
    ratio = _RATIO.match(text)
    return Fraction(int(ratio[1]), int(ratio[2])) if ratio and int(ratio[2]) else _read_decimal(text)


def _read_decimal(text: str) -> Fraction | None:
    """Read a decimal number with Decimal, which reads "1e999999999" without building a number of a billion digits."""
    if len(text) > 1000:
        return None
    try:
        decimal = Decimal(text)
    except InvalidOperation:
        return None
    if not decimal.is_finite() or (decimal and abs(decimal.adjusted()) > _LARGEST_EXPONENT):
        return None
    return Fraction(decimal)
