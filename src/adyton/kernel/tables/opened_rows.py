"""A table as it was opened: its wanted columns in the few types that the kernel computes with. No row was read yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.engines import Engine, engine_of
from adyton.kernel.reading.readers import RAW_UNIT, Column, EngineReader, Reader, unit_column, wanted_columns
from adyton.kernel.tables.attribute_values import attribute_values
from adyton.kernel.tables.columns import check_type
from adyton.kernel.tables.engine_formats import check_formats
from adyton.kernel.tables.origins import reader_for
from adyton.kernel.tables.translating import translation_of
from adyton.schema import Identifier, Schema
from adyton.schema.times import Times

_UNREADABLE = (
    "the columns of the schema cannot be read. Check that this user may read all of them, that the table still exists, "
    "and that no two of its columns have names that differ in capitals alone."
)


@dataclass(frozen=True)
class OpenedRows:
    """An Ibis table with a column for every attribute."""

    rows: Any
    columns: Mapping[str, str]
    """The column of every attribute."""
    texts: Mapping[str, str]
    """The column of the text that a number or a time was read from."""
    from_text: bool
    engine: Engine
    schema: Schema
    """What was declared, with the unit where a column was found to be one."""
    unit: str | None = None
    """The column that says whose row it is, as it was read."""
    kept: tuple[str, ...] = ()
    """The names of all columns, where they are kept as they are: as k0, k1, …"""


def checked_reader(data: Any, schema: Schema) -> Reader:
    """What reads a table with this schema."""
    if not isinstance(schema, Schema):
        raise SchemaError(f"a table is opened with a Schema, given a {type(schema).__name__}.")
    return reader_for(data, multiline=schema.multiline, file=schema.file)


def check_columns(reader: Reader, schema: Schema) -> tuple[list[int], dict[str, Column]]:
    """Where the columns of the schema are, and the column of each attribute; an error if one cannot be read."""
    wanted = wanted_columns(reader, schema.columns)
    sources = {name: reader.columns[wanted[schema.columns.index(schema.column_of(name))]] for name in schema.names}
    for name, attribute in schema.attributes.items():
        check_type(sources[name], attribute, reader.engine)
        if isinstance(attribute, Times):
            check_formats(attribute, sources[name].type, reader.engine)
    return wanted, sources


def opened_rows(
    reader: Reader, schema: Schema, *, keep: bool = False, units: bool = False, unit: str | None = None
) -> OpenedRows:
    """A table in an engine, as far as it can be opened without reading a row.

    Everything that can be wrong with the names and types of its columns is said here. With *units*, the column that the
    schema names as unit is read, too, or the one that is called *unit*, if there is one.
    """
    assert isinstance(reader, EngineReader)
    wanted, sources = check_columns(reader, schema)
    translations = {name: translation_of(attribute) for name, attribute in schema.attributes.items()}
    schema, whose = unit_column(reader, schema, unit) if units else (schema, None)
    read = [*wanted, *(index for index in range(len(reader.columns)) if index not in wanted)] if keep else wanted
    read = read if whose is None else [*read, whose]
    exact = {sources[name].name for name, one in schema.attributes.items() if isinstance(one, Identifier)}
    exact |= set() if whose is None else {reader.columns[whose].name}
    table = reader.read(read, exact, unit=whose is not None)
    engine = engine_of(table)
    if not engine.try_out(table):
        raise SchemaError(_UNREADABLE)
    table, found = attribute_values(table, schema, sources, translations, engine)
    columns = {name: f"c{place}" for place, name in enumerate(found)}
    texts = {name: f"t{place}" for place, (name, (_, text)) in enumerate(found.items()) if text is not None}
    values = {columns[name]: value for name, (value, _) in found.items()}
    values |= {texts[name]: found[name][1] for name in texts}
    kept = {f"k{index}": table[f"c{place}"] for place, index in enumerate(read)} if keep else {}
    owner = {} if whose is None else {RAW_UNIT: table[f"c{len(read) - 1}"]}
    rows = table.select(**values, **kept, **owner)
    return OpenedRows(
        engine.fenced(rows) if texts else rows,  # a value and its text are made of the same
        columns,
        texts,
        reader.is_text,
        engine,
        schema,
        unit=RAW_UNIT if owner else None,
        kept=tuple(column.name for column in reader.columns) if keep else (),
    )
