"""The values of an attribute as its schema says that they are written, before they are sorted into cells.

Claim.  A row's value depends on its own text or number alone, and nothing that it holds makes the engine fail.
Proof.  A value passes through total functions of itself, one after the other: the text of a number, the translation of
a text, the reading of a number, and the comparison with numbers that mean missing.  ∎
"""

from __future__ import annotations

from typing import Any

from adyton.kernel.engines import Engine
from adyton.kernel.tables.columns import as_text, holds_levels, prepared
from adyton.schema import Attribute, Duration, Identifier
from adyton.schema.misfits import unread_as


def to_translate(column: Any, attribute: Attribute, engine: Engine) -> Any | None:
    """The texts of a column that must be translated before they are read; None where it holds numbers or times."""
    if isinstance(attribute, Identifier):
        return _any_text(column, attribute, engine)
    if holds_levels(attribute, str):
        return prepared(column, attribute, engine)
    if attribute.reading.lookup is not None or attribute.reading.first is not None:
        return _any_text(column, attribute, engine)
    return column if column.type().is_string() else None


def read_values(
    column: Any, attribute: Attribute, engine: Engine, *, translated: bool, number: Any | None = None
) -> tuple[Any, Any | None]:
    """The values in one of the few types that the kernel computes with; and the texts of numbers and times, if any.

    *number* is a column with the text of a plain number for each text, where that was made before.
    """
    text = column if column.type().is_string() and unread_as(attribute) is not None else None
    if isinstance(attribute, Duration):
        return read_durations(column, attribute, engine), text
    value = prepared(column, attribute, engine) if number is None else engine.number(number)
    return _without(value, attribute, text) if translated else (value, text)


def read_durations(column: Any, attribute: Duration, engine: Engine) -> Any:
    """A number of the attribute's units, as a double; null where there is none."""
    import ibis

    kind = column.type()
    if kind.is_interval():
        return engine.length(column) / attribute.seconds
    number = kind.is_integer() or kind.is_floating() or kind.is_decimal()
    return column.cast("float64") if number else ibis.null("float64")


def _any_text(column: Any, attribute: Attribute, engine: Engine) -> Any:
    """The text of any value that can be opened."""
    kind = column.type()
    if kind.is_decimal() or (kind.is_floating() and not kind.is_float64()):
        column = column.cast("float64")
    if kind.is_integer() or kind.is_floating() or kind.is_decimal() or kind.is_boolean() or kind.is_string():
        return as_text(column, attribute, engine)
    return column.cast("string")


def _without(value: Any, attribute: Attribute, text: Any | None) -> tuple[Any, Any | None]:
    """Values and texts without the numbers that mean missing."""
    import ibis

    numbers = [word for word in map(_number, attribute.reading.missing) if word is not None]
    kind = value.type()
    if not numbers or not (kind.is_integer() or kind.is_floating()):
        return value, text
    stands_for_none = ibis.literal(False)
    for number in numbers:
        stands_for_none = stands_for_none | (value == number)
    value = ibis.ifelse(stands_for_none.fill_null(False), ibis.null(kind), value)
    if text is not None:
        text = ibis.ifelse(stands_for_none.fill_null(False), ibis.null("string"), text)
    return value, text


def _number(word: object) -> int | float | None:
    """A word for missing that is a number, also where it is written as a text."""
    if isinstance(word, int | float):
        return word
    try:
        number = float(str(word))
    except ValueError:
        return None
    return number if abs(number) <= 2**53 else None
