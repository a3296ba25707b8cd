"""The content of a look-up: a public file that gives every key one value."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from adyton.errors import SchemaError
from adyton.messages import no_such, shorten
from adyton.schema.reading import LookUp, Reading

_MOST_KEYS = 5_000_000
_DELIMITERS = ",;\t|"


def look_up_values(reading: Reading) -> dict[str, str]:
    """The value of every key, by the key in the form in which texts are compared; or an error.

    Lines without a key or a value are left out. A key may be there several times, but with one value only: so one row
    of a private table finds at most one value, and stays one row.
    """
    found = reading.looked_up
    assert found is not None
    compared = replace(reading, trim=True if reading.trim is None else reading.trim)
    values: dict[str, str] = {}
    for written, beside in _lines(found):
        key, value = compared.normal(written), beside.strip()
        if not key or not value:
            continue
        other = values.setdefault(key, value)
        if other != value:
            raise SchemaError(
                f"the look-up {found.file!r} gives the key {shorten(key)} two values, {shorten(other)} and "
                f"{shorten(value)}. Every key must have one."
            )
        if len(values) > _MOST_KEYS:
            raise SchemaError(f"the look-up {found.file!r} has more than {_MOST_KEYS:,} keys. Give a smaller one.")
    if not values:
        raise SchemaError(f"the look-up {found.file!r} has no line with a key and a value.")
    return values


def path_of(lookup: LookUp) -> str:
    """Where the file is: beside the schema's, if its path is no absolute one."""
    return os.path.join(lookup.folder, lookup.file)


def _lines(lookup: LookUp) -> Iterator[tuple[str, str]]:
    path, problem = path_of(lookup), ""
    try:
        rows = _parquet(lookup, path) if path.lower().endswith((".parquet", ".pq")) else _csv(lookup, path)
        yield from rows
    except FileNotFoundError:
        problem = "does not exist. Give its path as seen from the schema's file"
    except UnicodeDecodeError:
        problem = "is not UTF-8 text. Convert it first"
    except (OSError, ValueError, csv.Error) as error:
        if isinstance(error, SchemaError):
            raise
        problem = "cannot be read as CSV or Parquet. Check that it is complete"
    if problem:
        raise SchemaError(f"the look-up {lookup.file!r} {problem}.")


def _csv(lookup: LookUp, path: str) -> Iterator[tuple[str, str]]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        first = file.readline()
        delimiter = max(_DELIMITERS, key=first.count)
        names = [name.strip() for name in next(csv.reader([first], delimiter=delimiter), [])]
        key, value = _places(lookup, names)
        for row in csv.reader(file, delimiter=delimiter):
            if len(row) > max(key, value):
                yield row[key], row[value]


def _parquet(lookup: LookUp, path: str) -> Iterable[tuple[str, str]]:
    from pyarrow import parquet

    names = parquet.read_schema(path).names
    _places(lookup, names)
    table = parquet.read_table(path, columns=[lookup.key, lookup.value])
    keys, values = (map(_text, table.column(name).to_pylist()) for name in (lookup.key, lookup.value))
    return zip(keys, values, strict=True)


def _places(lookup: LookUp, names: list[str]) -> tuple[int, int]:
    for name in (lookup.key, lookup.value):
        if name not in names:
            raise SchemaError(f"in the look-up {lookup.file!r}, {no_such('column', name, names)}")
    return names.index(lookup.key), names.index(lookup.value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
