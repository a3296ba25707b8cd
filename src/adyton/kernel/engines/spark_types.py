"""Types, names and texts as Spark has them."""

from __future__ import annotations

from typing import Any

_TYPES = {
    "ByteType": "int8",
    "ShortType": "int16",
    "IntegerType": "int32",
    "LongType": "int64",
    "FloatType": "float64",
    "DoubleType": "float64",
    "DecimalType": "float64",
    "StringType": "string",
    "CharType": "string",
    "VarcharType": "string",
    "BooleanType": "boolean",
    "DateType": "date",
    "TimestampType": "timestamp('UTC')",
    "TimestampNTZType": "timestamp",
    "DayTimeIntervalType": "interval('s')",
}
"""Ibis's types for what columns are read as; no other type can be read."""


def plain_text(query: str) -> str:
    """In the text of a query Spark puts the values of variables in place of ${their names}: not here."""
    return query.replace("${", "\\u0024{")


def read_as(kind: Any) -> str | None:
    """Ibis's type for what a column of a Spark type is read as; None if it cannot be read."""
    return _TYPES.get(type(kind).__name__)


def identifier(name: str) -> str:
    """A name as Spark quotes it."""
    return "`" + name.replace("`", "``") + "`"
