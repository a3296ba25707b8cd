"""A table as it was opened: its wanted columns in the few types that the kernel computes with. No row was read yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.engines import Engine, engine_of
from adyton.kernel.tables.columns import check_type
from adyton.kernel.tables.engine_times import with_times
from adyton.kernel.tables.origins import reader_for
from adyton.kernel.tables.read_values import read_values
from adyton.kernel.tables.readers import wanted_columns
from adyton.kernel.tables.translating import translation_of
from adyton.kernel.tables.unit_column import RAW_UNIT, unit_column
from adyton.schema import Identifier, Schema
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
    engine: Engine
    schema: Schema
    """What was declared, with the unit where a column was found to be one."""
    unit: str | None = None
    """The column that says whose row it is, as it was read."""
    inferred: bool = False
    """Whether the types of columns may have been inferred from rows, as those of frames are."""
    ours: bool = True
    """Whether the engine is our own, and not one that the caller works with."""
    kept: tuple[str, ...] = ()
    """The names of all columns, where they are kept as they are: as k0, k1, …"""


def opened_rows(
    data: Any, schema: Schema, *, keep: bool = False, units: bool = False, unit: str | None = None
) -> OpenedRows:
    """A path, a data frame, an Arrow table or an Ibis table, as far as it can be opened without reading a row.

    Everything that can be wrong with the names and types of its columns is said here. With *units*, the column that the
    schema names as unit is read, too, or the one that is called *unit*, if there is one.
    """
    if not isinstance(schema, Schema):
        raise SchemaError(f"a table is opened with a Schema, given a {type(schema).__name__}.")
    reader = reader_for(data, multiline=schema.multiline, file=schema.file)
    wanted = wanted_columns(reader, schema.columns)
    sources = {name: reader.columns[wanted[schema.columns.index(schema.column_of(name))]] for name in schema.names}
    for name, attribute in schema.attributes.items():
        check_type(sources[name], attribute, reader.engine)
    translations = {name: translation_of(attribute) for name, attribute in schema.attributes.items()}
    whose = None
    if units:
        schema, whose = unit_column(reader, schema, unit)
    read = [*wanted, *(index for index in range(len(reader.columns)) if index not in wanted)] if keep else wanted
    read = [*read, whose] if whose is not None else read
    owned = () if whose is None else (whose,)
    identifying = [name for name, attribute in schema.attributes.items() if isinstance(attribute, Identifier)]
    table = reader.read(
        read, {*(sources[name].name for name in identifying), *(reader.columns[one].name for one in owned)}
    )
    engine = engine_of(table)
    places = {name: f"c{schema.columns.index(schema.column_of(name))}" for name in schema.names}
    moments = {} if engine.calls else {name: one for name, one in schema.attributes.items() if isinstance(one, Times)}
    table = with_times(table, {f"m{name}": (places[name], one) for name, one in moments.items()}, engine)
    columns = {name: f"c{place}" for place, name in enumerate(schema.names)}
    values, texts, originals = {}, {}, {}
    for place, (name, attribute) in enumerate(schema.attributes.items()):
        if name in moments:
            given = table[places[name]]
            value, text = table[f"m{name}"], given if given.type().is_string() else None
        else:
            value, text = read_values(table[places[name]], attribute, translations[name], sources[name], engine)
        values[columns[name]] = value
        if text is not None:
            texts[name], originals[f"t{place}"] = f"t{place}", text
    kept = {f"k{index}": table[f"c{place}"] for place, index in enumerate(read)} if keep else {}
    names = tuple(column.name for column in reader.columns) if keep else ()
    owner = {} if whose is None else {RAW_UNIT: table[f"c{len(read) - 1}"]}
    rows = table.select(**values, **originals, **kept, **owner)
    return OpenedRows(
        engine.fenced(rows) if texts else rows,
        columns,
        texts,
        reader.is_text,
        engine,
        schema,
        unit=RAW_UNIT if owner else None,
        ours=reader.ours,
        inferred=not reader.is_text and any(column.inferred for column in reader.columns),
        kept=names,
    )
