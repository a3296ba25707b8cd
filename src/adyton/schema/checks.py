"""Small checks that the schema's classes share; every message says what was given and what is allowed."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterable
from typing import TypeVar

from adyton.errors import SchemaError

LARGEST_NUMBER = 2**53

Number = TypeVar("Number", int, float)


def shorten(value: object) -> str:
    """A value as it may appear in a message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def listing(names: Iterable[object], limit: int = 20) -> str:
    """Names for a message, the first *limit* of them.

    >>> listing(["age", "sex"])
    "'age', 'sex'"
    """
    shown = [shorten(name) for name in names]
    more = f" and {len(shown) - limit} more" if len(shown) > limit else ""
    return ", ".join(shown[:limit]) + more


def suggestion(given: object, allowed: Iterable[object]) -> str:
    """`` Did you mean …?`` when one of the allowed names is close, else nothing.

    >>> suggestion("agee", ["age", "sex"])
    " Did you mean 'age'?"
    """
    names = [name for name in allowed if isinstance(name, str)]
    close = difflib.get_close_matches(given, names, n=1) if isinstance(given, str) and len(given) <= 200 else []
    return f" Did you mean {close[0]!r}?" if close else ""


def whole_number(value: object, name: str) -> int:
    """An int (not a bool) between −2⁵³ and 2⁵³, where doubles and integers agree."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise SchemaError(f"{name} must be a whole number, given {shorten(value)}. Write it without quotes or point.")
    return _bounded(int(value), name)


def real_number(value: object, name: str) -> float:
    """A finite float between −2⁵³ and 2⁵³."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise SchemaError(f"{name} must be a number, given {shorten(value)}. Write it without quotes.")
    if isinstance(value, numbers.Integral):
        return float(_bounded(int(value), name))
    number = float(value)
    if not math.isfinite(number):
        raise SchemaError(f"{name} must be finite, given {number}. Write the widest bound that makes sense publicly.")
    return _bounded(number, name)


def _bounded(number: Number, name: str) -> Number:
    if abs(number) > LARGEST_NUMBER:
        raise SchemaError(f"{name} must lie between −2^53 and 2^53, given {shorten(number)}. Write a tighter bound.")
    return number


def writable(text: str, name: str) -> str:
    """A text that every engine and file format can hold: valid Unicode, no NUL."""
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise SchemaError(f"{name} holds a NUL or half a surrogate pair: {shorten(text)}. Write plain Unicode text.")
    return text
