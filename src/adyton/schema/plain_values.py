"""Values read from files that anybody may have written: each has its type, or causes an error that names it.

And the other way round: values as JSON can hold them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from adyton.errors import BadInput
from adyton.exact import exact
from adyton.messages import shorten
from adyton.schema.reading import writable

_GREATEST = 1e300
_WORDS: dict[type, str] = {bool: "true or false", dict: "a mapping", list: "a list", str: "a text"}
_Kind = TypeVar("_Kind")

_PLAIN = {str, int, float, bool, type(None)}
"""The types that JSON can hold unchanged."""


def part_of(plain: object, key: str) -> Any:
    """The value of a key in a mapping."""
    if not isinstance(plain, Mapping) or key not in plain:
        raise BadInput(f"the part {key!r} is missing.")
    return plain[key]


def of_kind(kind: type[_Kind], value: object, name: str) -> _Kind:
    """A value of this type."""
    if not isinstance(value, kind):
        raise BadInput(f"{name} must be {_WORDS[kind]}, given {shorten(value)}.")
    return value


def as_text(value: object, name: str) -> str:
    """A text that can be written in UTF-8."""
    return writable(of_kind(str, value, name), name)


def as_real(value: object, name: str) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _GREATEST:
        raise BadInput(f"{name} must be a finite number, given {shorten(value)}.")
    return float(value)


def as_amount(plain: object, name: str, *, most: Fraction, zero: bool = False) -> Fraction:
    """An exact part of a budget."""
    number = exact(part_of(plain, "exact"), name, computed=True)
    if not 0 <= number <= most or (number == 0 and not zero):
        least = "at least" if zero else "greater than"
        raise BadInput(f"{name} must be {least} 0 and at most {float(most):g}, given {shorten(number)}.")
    return number


def as_date(value: object, name: str) -> str:
    """A day; for a time, as in older releases, its day in UTC."""
    text = as_text(value, name)
    try:
        moment = datetime.fromisoformat(text)
        day = moment if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadInput(f"{name} must be a date such as 2026-11-15, given {shorten(text)}.") from None
    return day.date().isoformat()


def as_plain(value: object) -> Any:
    """A value as JSON can hold it. Exact numbers become texts, which the algorithms accept like numbers."""
    match value:
        case Mapping():
            return {str(name): as_plain(part) for name, part in value.items()}
        case list() | tuple() | set() | frozenset() if set(map(type, value)) <= _PLAIN:  # fast for millions of labels
            return list(value)
        case list() | tuple() | set() | frozenset():
            return [as_plain(part) for part in value]
        case np.generic():
            return value.item()
        case Fraction() | Decimal():
            return str(value)
    return value
