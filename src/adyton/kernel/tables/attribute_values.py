"""The values of all attributes, from the columns that a reader has read.

Columns are made on the way, each once: translated texts, times in the usual shape, the times themselves, and plain
numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adyton.kernel.engines import Engine, Server
from adyton.kernel.reading.readers import Column
from adyton.kernel.tables.engine_formats import with_formats
from adyton.kernel.tables.engine_times import with_times
from adyton.kernel.tables.engine_words import Words, with_words
from adyton.kernel.tables.read_values import read_values, to_translate
from adyton.kernel.tables.translating import Translation
from adyton.kernel.tables.written_numbers import plainly
from adyton.schema import Schema
from adyton.schema.times import Times


@dataclass(frozen=True)
class _Prepared:
    """What values are read from, as columns of the table, by attribute."""

    table: Any
    columns: Mapping[str, Any]
    """What was given, translated where the schema says so."""
    times: Mapping[str, Any] = field(default_factory=dict)
    """Times that are read already."""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    """The same numbers, in texts that are plain."""


def attribute_values(
    table: Any,
    schema: Schema,
    sources: Mapping[str, Column],
    translations: Mapping[str, Translation | None],
    engine: Server,
) -> tuple[Any, dict[str, tuple[Any, Any | None]]]:
    """The table, perhaps with columns more; and for every attribute its value, and the text that it was read from.

    Column *c k* of the table is the one that the schema names as its k-th.
    """
    places = {name: f"c{schema.columns.index(schema.column_of(name))}" for name in schema.names}
    words = _words(table, schema, places, translations, engine)
    prepared = _in_server(table, schema, places, words, engine)
    found = {}
    for name, attribute in schema.attributes.items():
        column = prepared.columns[name]
        if name in prepared.times:
            found[name] = prepared.times[name], column if column.type().is_string() else None
            continue
        told, number = translations[name] is not None, prepared.numbers.get(name)
        found[name] = read_values(column, attribute, engine, translated=told, number=number)
    return prepared.table, found


def _words(
    table: Any,
    schema: Schema,
    places: Mapping[str, str],
    translations: Mapping[str, Translation | None],
    engine: Engine,
) -> dict[str, Words]:
    """The texts that are to be translated."""
    words = {}
    for name, translation in translations.items():
        if translation is None:
            continue
        attribute = schema.attributes[name]
        text = to_translate(table[places[name]], attribute, engine)
        if text is not None:
            words[name] = Words(text, attribute, translation)
    return words


def _in_server(
    table: Any, schema: Schema, places: Mapping[str, str], words: Mapping[str, Words], engine: Server
) -> _Prepared:
    """Step by step. Each step makes another table, so that columns go by their names until the last."""
    made = {name: f"w{place}" for place, name in enumerate(words)}
    table = with_words(table, {made[name]: one for name, one in words.items()}, engine)
    given = {**places, **made}
    clocks = {name: (given[name], one) for name, one in schema.attributes.items() if isinstance(one, Times)}
    table, shown = with_formats(table, clocks, engine)
    times = {name: f"m{place}" for place, name in enumerate(clocks)}
    shaped = {times[name]: (shown.get(name, column), one) for name, (column, one) in clocks.items()}
    table = with_times(table, shaped, engine)
    table, numbers = _with_plain_numbers(table, schema, given, engine)
    named = ({name: table[column] for name, column in columns.items()} for columns in (given, times, numbers))
    return _Prepared(table, *named)


def _with_plain_numbers(
    table: Any, schema: Schema, given: Mapping[str, str], engine: Server
) -> tuple[Any, dict[str, str]]:
    """The table with columns of plain numbers more, and their names: inside a value, they would be made many times."""
    readings = {name: one.reading for name, one in schema.attributes.items() if one.reading.numeric}
    texts = {name: table[given[name]] for name in readings if table[given[name]].type().is_string()}
    if not texts:
        return table, {}
    made = {name: f"n{place}" for place, name in enumerate(texts)}
    plain = {made[name]: plainly(text, readings[name], engine) for name, text in texts.items()}
    return engine.fenced(table.mutate(**plain)), made
