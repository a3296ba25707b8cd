"""How the value of an attribute is read from an engine's column, without ever failing. This is the one place for it.

Opening brings every column into one of a few types: a signed integer of at most 64 bits, a double, a text, a boolean;
an identifier may be of any type. The schema says what a value is read as, not the type of the column: a text is read as
a number where the schema wants numbers, a number as a text where it wants texts. What cannot be read is missing (for a
boolean: outside). Not-a-number counts as missing everywhere. How times are read is written in
:mod:`adyton.kernel.tables.time_columns`.
"""

from __future__ import annotations

from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.engines import Engine, Server
from adyton.kernel.engines.engine import engine_function
from adyton.kernel.reading.readers import Column
from adyton.kernel.tables.written_numbers import plainly
from adyton.schema import Attribute, Boolean, Categorical, Duration, Identifier
from adyton.schema.times import Times

LONGEST_TEXT = 1 << 16
"""In characters, for what the engine hands to functions: it does so for some thousand rows at a time, in vectors of at
most two gigabytes."""


def is_missing(column: Any) -> Any:
    """Null or not-a-number."""
    return column.isnull() | column.isnan() if column.type().is_floating() else column.isnull()


def value_of(column: Any, attribute: Attribute, engine: Engine) -> Any:
    """The value in the type of the attribute, null where it is missing or cannot be read.

    Predicates and group-by keys see this value; cells are computed from the column itself, which is faster.
    """
    if holds_booleans(attribute):
        return _boolean(column, engine)
    return column.nullif(float("nan")) if column.type().is_floating() else trimmed(column, attribute)


def trimmed(column: Any, attribute: Attribute) -> Any:
    """A text without the spaces around it, where levels are texts; as it is, if a level has spaces around it itself.

    (Looking for them first halves the time; stripping all kinds of white space takes several times as long.)
    """
    import ibis

    if not isinstance(attribute, Categorical) or not holds_levels(attribute, str):
        return column
    if attribute.spaced or attribute.recoded:  # the latter was done when the table was opened
        return column
    around = column.startswith(" ") | column.endswith(" ")
    return ibis.ifelse(around, engine_function("trim", str, str)(column), column)


def holds_booleans(attribute: Attribute) -> bool:
    """Whether the values of an attribute are false and true."""
    return isinstance(attribute, Boolean) or holds_levels(attribute, bool)


def holds_levels(attribute: Attribute, level_type: type) -> bool:
    """Whether an attribute is categorical with levels of that type."""
    return isinstance(attribute, Categorical) and type(attribute.levels[0]) is level_type


def check_type(column: Column, attribute: Attribute, engine: type[Engine]) -> None:
    """An error unless values of the column's type can be read as the attribute says.

    Types are public, whoever inferred them. A frame's column may have every type on the list of
    :mod:`adyton.kernel.reading.plain_columns`: a library makes a column of texts out of one of numbers, and its values
    are read as before. On a server, what needs functions of ours is refused.
    """
    kind, calls = column.type, not issubclass(engine, Server)
    number = kind.is_integer() or kind.is_floating() or kind.is_decimal()
    plain = number or kind.is_boolean()
    reading = attribute.reading
    if column.inferred:
        fits, need = plain or _is_single(kind), "a column of texts, numbers or dates"
    elif isinstance(attribute, Times):
        digits = number and (attribute.format is not None or attribute.is_part)
        fits, need = kind.is_date() or kind.is_timestamp() or kind.is_string() or digits, "dates, times or texts"
    elif isinstance(attribute, Duration):
        texts = calls and kind.is_string()
        fits, need = (
            kind.is_interval() or number or texts,
            f"durations{', numbers or texts' if calls else ' or numbers'}",
        )
    elif isinstance(attribute, Identifier) or reading.lookup is not None or reading.first is not None:
        fits, need = plain or kind.is_string() or kind.is_uuid(), "texts or numbers"
    elif holds_booleans(attribute):
        fits, need = plain or kind.is_string(), "a boolean column, or one of 0 and 1"
    elif holds_levels(attribute, str):
        fits, need = (
            kind.is_string() or kind.is_integer() or kind.is_boolean() or (calls and plain),
            "a text column",
        )
    else:
        fits, need = number or kind.is_string(), "a column of numbers"
    if fits:
        return
    advice = "Change the type in the schema, or convert the column."
    if kind.is_date() or kind.is_timestamp():
        advice = 'Declare it as type = "date" or type = "datetime", or convert the column.'
    raise SchemaError(
        f"column {column.name!r} has the type {column.engine_type}, but the schema says {attribute.kind}, "
        f"which needs {need}. {advice}"
    )


def _is_single(kind: Any) -> bool:
    """Whether values of this type have a plain text, or none at all."""
    times = kind.is_temporal() or kind.is_interval()
    return bool(kind.is_string() or times or kind.is_uuid() or kind.is_null() or kind.is_binary())


def prepared(column: Any, attribute: Attribute, engine: Engine) -> Any:
    """The column in one of the few types that the kernel computes with, by conversions that cannot fail."""
    import ibis

    if isinstance(attribute, Identifier):
        return column
    if not column.type().is_string() and _is_single(column.type()):  # of a table in memory, whose types were inferred
        column = column.cast("string") if column.type().is_temporal() else ibis.null("string")
    kind = column.type()
    if kind.is_uint64() and holds_levels(attribute, str):
        return column.cast("string")  # a double would lose digits
    if kind.is_decimal() or kind.is_uint64() or (kind.is_floating() and not kind.is_float64()):
        column = column.cast("float64")
    elif kind.is_unsigned_integer():
        column = column.cast("int64")
    if holds_booleans(attribute):
        return column
    if holds_levels(attribute, str):
        return as_text(column, attribute, engine)
    if kind.is_string():
        plain = not attribute.reading.numeric
        return engine.number(column.strip() if plain else plainly(column, attribute.reading, engine))
    return ibis.null("float64") if kind.is_boolean() else column


def as_text(column: Any, attribute: Attribute, engine: Engine) -> Any:
    """Numbers as people write them, 1 and not 1.0; booleans as the levels spell them."""
    import ibis

    kind = column.type()
    if kind.is_boolean():
        levels = attribute.levels if isinstance(attribute, Categorical) else ()
        true, false = (next((level for level in levels if str(level).lower() == word), word) for word in _BOOLEANS)
        return ibis.cases((column, true), (~column, false), else_=ibis.null("string"))
    if kind.is_floating():
        return engine.number_text(column)
    return column.cast("string") if kind.is_integer() else column


def short_text(column: Any) -> Any:
    """A text, cut where it is so long that those of many rows might not fit into one vector of a function's."""
    import ibis

    return ibis.ifelse(column.length() > LONGEST_TEXT, column.left(LONGEST_TEXT), column)


_BOOLEANS = ("true", "false")


def _boolean(column: Any, engine: Engine) -> Any:
    import ibis

    kind = column.type()
    if kind.is_boolean():
        return column
    if kind.is_string():
        text = column.strip()
        return engine.truth(text).fill_null(_boolean(engine.number(text), engine))
    return ibis.cases((column == 1, True), (column == 0, False), else_=ibis.null("boolean"))
