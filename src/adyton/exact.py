"""Exact numbers for budgets and scales: what a person writes as 0.1 is one tenth, not the nearest double."""

from __future__ import annotations

import numbers
import re
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import TypeAlias

from adyton.errors import BadInput
from adyton.messages import shorten

Rational: TypeAlias = int | float | str | Fraction | Decimal

_LARGEST_EXPONENT = 400
_LARGEST_BITS = 2048
_LONGEST_DECIMAL = 18
_LEAST_SHARE = Fraction(1, 1 << 30)
_DIGITS = Context(prec=1000)
_RATIO = re.compile(r"\s*([+-]?\d{1,600})\s*/\s*(\d{1,600})\s*\Z", re.ASCII)


def exact(value: object, name: str) -> Fraction:
    """The fraction that *value* stands for; floats are read by their shortest decimal form.

    >>> exact(0.1, "epsilon")
    Fraction(1, 10)
    >>> exact("1/3", "epsilon")
    Fraction(1, 3)
    >>> exact(float("nan"), "epsilon")
    Traceback (most recent call last):
    adyton.errors.BadInput: epsilon must be a finite number, given nan. Write it like 1, "0.1" or "1/3".
    """
    result = _read(value)
    if result is None:
        raise BadInput(f'{name} must be a finite number, given {shorten(value)}. Write it like 1, "0.1" or "1/3".')
    if max(result.numerator.bit_length(), result.denominator.bit_length()) > _LARGEST_BITS:
        raise BadInput(f"{name} has more than {_LARGEST_BITS} bits. Write it with fewer digits.")
    return result


def positive(value: object, name: str) -> Fraction:
    """Like :func:`exact`, for numbers that must be greater than zero."""
    result = exact(value, name)
    if result <= 0:
        raise BadInput(f"{name} must be greater than 0, given {shorten(value)}.")
    return result


def share(value: object, name: str) -> Fraction:
    """Like :func:`exact`, for the part of a budget: greater than 0 and less than 1.

    >>> share(0.02, "total_share")
    Fraction(1, 50)
    """
    result = exact(value, name)
    if not 0 < result < 1:
        raise BadInput(f"{name} must be greater than 0 and less than 1, given {shorten(value)}.")
    if not _LEAST_SHARE <= result <= 1 - _LEAST_SHARE:
        raise BadInput(f"{name} is too near to 0 or 1 to be told from it, given {shorten(value)}. Try 0.02 or 0.98.")
    return result


def as_number(value: Fraction) -> dict[str, str | float | None]:
    """For JSON: the fraction itself, and the nearest float for programs that want one (None beyond their range).

    >>> as_number(Fraction(1, 8))
    {'exact': '1/8', 'float': 0.125}
    """
    try:
        return {"exact": str(value), "float": float(value)}
    except OverflowError:
        return {"exact": str(value), "float": None}


def display(value: Fraction) -> str:
    """A fraction as a person would write it: a decimal where that is exact and short, else a ratio.

    >>> display(Fraction(1, 8)), display(Fraction(1, 3)), display(Fraction(2))
    ('0.125', '1/3', '2')
    """
    if value.denominator == 1 or 10**_LONGEST_DECIMAL % value.denominator:
        return str(value)
    scaled = value * 10**_LONGEST_DECIMAL
    return f"{Decimal(scaled.numerator).scaleb(-_LONGEST_DECIMAL, _DIGITS):f}".rstrip("0")


def _read(value: object) -> Fraction | None:
    match value:
        case bool():
            result = None
        case Fraction():
            result = Fraction(int(value.numerator), int(value.denominator))  # not a subclass with a will of its own
        case numbers.Integral():
            result = Fraction(int(value))
        case Decimal():
            result = _read_decimal(str(value))
        case numbers.Real():
            result = _read_decimal(repr(float(value)))
        case str():
            ratio = _RATIO.match(value)
            result = Fraction(int(ratio[1]), int(ratio[2])) if ratio and int(ratio[2]) else _read_decimal(value)
        case _:
            result = None
    return result


def _read_decimal(text: str) -> Fraction | None:
    """Through Decimal, which reads "1e999999999" without building a number of a billion digits."""
    if len(text) > 1000:
        return None
    try:
        decimal = Decimal(text)
    except InvalidOperation:
        return None
    if not decimal.is_finite() or (decimal and abs(decimal.adjusted()) > _LARGEST_EXPONENT):
        return None
    return Fraction(decimal)
