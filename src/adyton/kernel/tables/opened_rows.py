"""A table as it was opened: its wanted columns in the few types that the kernel computes with. No row was read yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.engines import Engine, engine_of
from adyton.kernel.tables.columns import check_type
from adyton.kernel.tables.engine_formats import check_formats, with_formats
from adyton.kernel.tables.engine_times import with_times
from adyton.kernel.tables.engine_words import Words, with_words
from adyton.kernel.tables.origins import reader_for
from adyton.kernel.tables.read_values import read_values, to_translate
from adyton.kernel.tables.readers import wanted_columns
from adyton.kernel.tables.translating import Translation, translated, translation_of
from adyton.kernel.tables.unit_column import RAW_UNIT, unit_column
from adyton.kernel.tables.written_numbers import plainly
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
        if isinstance(attribute, Times) and not reader.engine.calls:
            check_formats(attribute, sources[name].type, reader.engine)
    translations = {name: translation_of(attribute) for name, attribute in schema.attributes.items()}
    whose = None
    if units:
        schema, whose = unit_column(reader, schema, unit)
    read = [*wanted, *(index for index in range(len(reader.columns)) if index not in wanted)] if keep else wanted
    read = [*read, whose] if whose is not None else read
    exact = {sources[name].name for name, one in schema.attributes.items() if isinstance(one, Identifier)}
    exact |= set() if whose is None else {reader.columns[whose].name}
    table = reader.read(read, exact)
    engine = engine_of(table)
    if not engine.try_out(table):
        raise SchemaError(_UNREADABLE)
    places = {name: f"c{schema.columns.index(schema.column_of(name))}" for name in schema.names}
    table, given = _translated(table, schema, places, translations, engine)
    columns = {name: f"c{place}" for place, name in enumerate(schema.names)}
    moments = {} if engine.calls else {name: one for name, one in schema.attributes.items() if isinstance(one, Times)}
    clocks = {name: (given.get(name, places[name]), one) for name, one in moments.items()}
    table, shown = with_formats(table, clocks, engine)
    clocks = {f"m{columns[name]}": (shown.get(name, column), one) for name, (column, one) in clocks.items()}
    table = with_times(table, clocks, engine)
    table, numbers = _plain_numbers(table, schema, {**places, **given}, engine)
    values, texts, originals = {}, {}, {}
    for place, (name, attribute) in enumerate(schema.attributes.items()):
        column = given.get(name, places[name])
        column = table[column] if isinstance(column, str) else column
        if name in moments:
            value, text = table[f"m{columns[name]}"], column if column.type().is_string() else None
        else:
            number = table[numbers[name]] if name in numbers else None
            told = translations[name] is not None
            value, text = read_values(column, attribute, sources[name], engine, translated=told, number=number)
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


def _translated(
    table: Any,
    schema: Schema,
    places: Mapping[str, str],
    translations: Mapping[str, Translation | None],
    engine: Engine,
) -> tuple[Any, dict[str, Any]]:
    """The table, and the translated texts of attributes that have some: columns, or the names of columns that it has.

    They pass through a function of ours, or become columns of the table where the engine cannot call one.
    """
    words = {}
    for name, translation in translations.items():
        attribute = schema.attributes[name]
        text = None if translation is None else to_translate(table[places[name]], attribute, engine)
        if text is not None and translation is not None:
            words[name] = Words(text, attribute, translation)
    if engine.calls:
        return table, {name: translated(one.text, one.translation) for name, one in words.items()}
    given = {name: f"w{place}" for place, name in enumerate(words)}
    return with_words(table, {given[name]: one for name, one in words.items()}, engine), given


def _plain_numbers(table: Any, schema: Schema, places: Mapping[str, Any], engine: Engine) -> tuple[Any, dict[str, str]]:
    """The table with columns of plain numbers more, and their names: where an engine would write them out repeatedly."""
    readings = {name: one.reading for name, one in schema.attributes.items() if one.reading.numeric}
    if engine.calls or not readings:
        return table, {}
    texts = {name: table[places[name]] for name in readings if table[places[name]].type().is_string()}
    made = {name: f"n{place}" for place, name in enumerate(texts)}
    plain = {made[name]: plainly(text, readings[name], engine) for name, text in texts.items()}
    return engine.fenced(table.mutate(**plain)), made
