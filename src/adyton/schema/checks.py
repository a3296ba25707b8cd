"""Small checks that the schema's classes share; every message says what was given and what is allowed."""

from __future__ import annotations

import math
import numbers
from typing import TypeVar

from adyton.errors import SchemaError
from adyton.messages import shorten

LARGEST_NUMBER = 2**53

Number = TypeVar("Number", int, float)


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


def column_name(given: object, name: str) -> str | None:
    """The name of a column that is not the attribute's own; None if none is given."""
    if given is None:
        return None
    if not isinstance(given, str) or not given:
        raise SchemaError(f"{name} must be the name of a column, given {shorten(given)}.")
    return writable(given, f"the name in {name}")
