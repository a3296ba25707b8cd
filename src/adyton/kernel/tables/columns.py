"""Columns as the kernel sees them: how the value of an attribute is read from an engine's column, without ever failing.

After opening, a column is one of: a signed integer of at most 64 bits, a double, a text, a boolean; an identifier may
be of any type. Not-a-number counts as missing everywhere.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from adyton.schema import Attribute, Boolean, Categorical


def is_missing(column: Any) -> Any:
    """Null or not-a-number."""
    return column.isnull() | column.isnan() if column.type().is_floating() else column.isnull()


def value_of(column: Any, attribute: Attribute) -> Any:
    """The value in the type of the attribute, null where it is missing or cannot be read.

    Predicates and group-by keys see this value; cells are computed from the column itself, which is faster.
    """
    if holds_booleans(attribute):
        return _boolean(column)
    return column.nullif(float("nan")) if column.type().is_floating() else trimmed(column, attribute)


def trimmed(column: Any, attribute: Attribute) -> Any:
    """A text without the spaces around it, where levels are texts; as it is, if a level has spaces around it itself.

    (Looking for them first halves the time; stripping all kinds of white space takes several times as long.)
    """
    import ibis

    if not isinstance(attribute, Categorical) or not holds_levels(attribute, str):
        return column
    spaced = any(str(level) != str(level).strip(" ") for level in attribute.levels)
    if spaced:
        return column
    around = column.startswith(" ") | column.endswith(" ")
    return ibis.ifelse(around, engine_function("trim", str, str)(column), column)


def read_text(column: Any, kind: str) -> Any:
    """A text read as a number or a boolean; null if it is neither.

    Stripping is not only for blanks: DuckDB moves a bare conversion into its CSV reader, which leaves out the whole
    line when the conversion fails.
    """
    return column.strip().try_cast(kind)


def holds_booleans(attribute: Attribute) -> bool:
    """Whether the values of an attribute are false and true."""
    return isinstance(attribute, Boolean) or holds_levels(attribute, bool)


def holds_levels(attribute: Attribute, level_type: type) -> bool:
    """Whether an attribute is categorical with levels of that type."""
    return isinstance(attribute, Categorical) and type(attribute.levels[0]) is level_type


def _boolean(column: Any) -> Any:
    import ibis

    kind = column.type()
    if kind.is_boolean():
        return column
    if kind.is_string():
        return read_text(column, "boolean")
    return ibis.cases((column == 1, True), (column == 0, False), else_=ibis.null("boolean"))


@cache
def engine_function(name: str, takes: type, gives: type) -> Any:
    """A function of one argument that the engine has under this name."""
    import ibis

    return ibis.udf.scalar.builtin(_never_called, name=name, signature=((takes,), gives))


def _never_called(value: Any) -> Any:
    raise AssertionError(value)  # the name stands for the engine's own function
