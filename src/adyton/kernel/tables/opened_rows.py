"""A table as it was opened: its wanted columns in the few types that the kernel computes with. No row was read yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.tables.columns import check_type, prepared
from adyton.kernel.tables.origins import reader_for
from adyton.kernel.tables.readers import Column, wanted_columns
from adyton.kernel.tables.spellings import spelled
from adyton.kernel.tables.time_columns import read_durations, read_times
from adyton.schema import Attribute, Schema
from adyton.schema.durations import Duration
from adyton.schema.misfits import unread_as
from adyton.schema.times import Times


@dataclass(frozen=True)
class OpenedRows:
    """An Ibis table with a column for every attribute."""

    rows: Any
    columns: Mapping[str, str]
    """The column of every attribute."""
    texts: Mapping[str, str]
    """The column of the text that a number or a time was read from."""
    from_text: bool
    tries: bool
    """Whether the engine has conversions that never fail."""
    kept: tuple[str, ...] = ()
    """The names of all columns, where they are kept as they are: as k0, k1, …"""


def opened_rows(data: Any, schema: Schema, *, keep: bool = False) -> OpenedRows:
    """A path, a data frame, an Arrow table or an Ibis table, as far as it can be opened without reading a row.

    Everything that can be wrong with the names and types of its columns is said here.
    """
    if not isinstance(schema, Schema):
        raise SchemaError(f"a table is opened with a Schema, given a {type(schema).__name__}.")
    reader = reader_for(data, multiline=schema.multiline)
    wanted = wanted_columns(reader, schema.columns)
    sources = {name: reader.columns[wanted[schema.columns.index(schema.column_of(name))]] for name in schema.names}
    for name, attribute in schema.attributes.items():
        check_type(sources[name], attribute, reader.tries)
    read = [*wanted, *(index for index in range(len(reader.columns)) if index not in wanted)] if keep else wanted
    table = reader.read(read)
    given = {name: table[f"c{schema.columns.index(schema.column_of(name))}"] for name in schema.names}
    columns = {name: f"c{place}" for place, name in enumerate(schema.names)}
    texts = {
        name: f"t{place}"
        for place, (name, attribute) in enumerate(schema.attributes.items())
        if given[name].type().is_string() and unread_as(attribute) is not None
    }
    originals = {text: given[name] for name, text in texts.items()}
    values = {columns[name]: _value(given[name], one, sources[name]) for name, one in schema.attributes.items()}
    kept = {f"k{index}": table[f"c{place}"] for place, index in enumerate(read)} if keep else {}
    names = tuple(column.name for column in reader.columns) if keep else ()
    return OpenedRows(table.select(**values, **originals, **kept), columns, texts, reader.is_text, reader.tries, names)


def _value(column: Any, attribute: Attribute, source: Column) -> Any:
    """The column as the kernel computes with it."""
    if isinstance(attribute, Times):
        return read_times(column, attribute, written_by_us=bool(source.type.is_temporal()))
    if isinstance(attribute, Duration):
        return read_durations(column, attribute)
    value = prepared(column, attribute)
    return spelled(value, attribute) if source.inferred else value
