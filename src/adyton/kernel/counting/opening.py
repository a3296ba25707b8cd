"""Opening a table: what can be wrong with the names and types of its columns is said before a row is read."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.counting.locations import reader_for
from adyton.kernel.counting.rows import Rows, StoredRows, UnitRows
from adyton.kernel.counting.table import PrivateTable
from adyton.kernel.reading.readers import (
    Column,
    Reader,
    file_identity,
    schema_for,
    unit_column,
    wanted_columns,
)
from adyton.kernel.reading.values import ValueReader
from adyton.schema import Attribute, Boolean, Categorical, Duration, Identifier, Schema
from adyton.schema.times import Times


def open_table(data: Any, schema: Schema, unit: str | None = None) -> PrivateTable:
    """Open a table for counting: a path, an address, a data frame, an Arrow table or an Ibis table.

    Where the schema names a unit, or *unit* names a column, the rows of each are cut to what the schema allows.

    >>> import pyarrow
    >>> from adyton.schema import Integer
    >>> open_table(pyarrow.table({"age": [34, 51]}), Schema({"age": Integer(0, 119)}))
    <private table: age>
    """
    reader = checked_reader(data, schema)
    schema = schema_for(reader, schema, unit)
    check_columns(reader, schema)
    schema, whose = unit_column(reader, schema, unit)
    name = None if whose is None else reader.columns[whose].name
    rows: Rows | None = reader.elsewhere(schema, name)
    if rows is None:
        reader.declare(schema.columns, name)
        readers = {one: ValueReader(attribute) for one, attribute in schema.attributes.items()}  # look-ups, too
        stored = StoredRows(schema, readers, reader.batches, _identity(reader), name)
        rows = stored if name is None else UnitRows(stored, schema.rows_per_unit)
    return PrivateTable(rows, schema, from_text=reader.is_text)


def checked_reader(data: Any, schema: Schema) -> Reader:
    """What reads a table with this schema."""
    if not isinstance(schema, Schema):
        raise SchemaError(f"a table is opened with a Schema, given a {type(schema).__name__}.")
    return reader_for(data, multiline=schema.multiline, file=schema.file)


def check_columns(reader: Reader, schema: Schema) -> None:
    """An error if a column of the schema is not there, or cannot be read as its attribute says."""
    wanted = wanted_columns(reader, schema.columns)
    for name, attribute in schema.attributes.items():
        check_type(reader.columns[wanted[schema.columns.index(schema.column_of(name))]], attribute)


def check_type(column: Column, attribute: Attribute) -> None:
    """An error unless values of the column's type can be read as the attribute says.

    Types are public, whoever inferred them. A frame's column may have every type that is made of single values: a
    library makes a column of texts out of one of numbers, and its values are read as before.
    """
    kind, reading = column.type, attribute.reading
    number = kind.is_integer() or kind.is_floating() or kind.is_decimal()
    plain = number or kind.is_boolean()
    if column.inferred:
        times = kind.is_temporal() or kind.is_interval()
        single = kind.is_string() or times or kind.is_uuid() or kind.is_null() or kind.is_binary()
        fits, need = plain or single, "a column of texts, numbers or dates"
    elif isinstance(attribute, Times):
        digits = number and (attribute.format is not None or attribute.is_part)
        fits, need = kind.is_date() or kind.is_timestamp() or kind.is_string() or digits, "dates, times or texts"
    elif isinstance(attribute, Duration):
        fits, need = kind.is_interval() or number or kind.is_string(), "durations, numbers or texts"
    elif isinstance(attribute, Identifier) or reading.lookup is not None or reading.first is not None:
        fits, need = plain or kind.is_string() or kind.is_uuid(), "texts or numbers"
    elif isinstance(attribute, Boolean) or _has_levels(attribute, bool):
        fits, need = plain or kind.is_string(), "a boolean column, or one of 0 and 1"
    elif _has_levels(attribute, str):
        fits, need = plain or kind.is_string(), "a text column"
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


def _has_levels(attribute: Attribute, kind: type) -> bool:
    return isinstance(attribute, Categorical) and type(attribute.levels[0]) is kind


def _identity(reader: Reader) -> Callable[[], Hashable] | None:
    """What the system says about the files; nothing where rows are in a connection of others, and may change."""
    return (lambda: tuple(map(file_identity, reader.files))) if reader.ours else None
