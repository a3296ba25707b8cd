"""Public files next to a schema: look-ups, which give every key one value, and lists of levels."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from adyton.errors import SchemaError
from adyton.messages import listing, no_such, shorten
from adyton.schema.reading import Reading, writable

_MOST = 5_000_000
_DELIMITERS = ",;\t|"
_LEVELS_FILE = 'Write levels_file = "zips.txt", or levels_file = {file = "zips.csv", column = "zip"}.'


@dataclass(frozen=True)
class LevelsFile:
    """A public file of levels: one per line, or those of a *column* of a CSV or Parquet file with a header."""

    file: str
    column: str | None = None
    folder: str = field(default="", compare=False, repr=False)
    """The folder of the schema's file."""
    digest: str = field(default="", compare=False, repr=False)
    """The digest of the levels, once they are read."""

    @classmethod
    def of(cls, given: object, folder: str = "") -> LevelsFile:
        """From an entry of a schema file in that folder."""
        if isinstance(given, cls):
            return given
        plain = {"file": given} if isinstance(given, str | os.PathLike) else given
        if not isinstance(plain, Mapping) or not {"file"} <= set(plain) <= {"file", "column"}:
            shown = listing(given) if isinstance(given, Mapping) else shorten(given)
            raise SchemaError(f"levels_file is a file, or a file and a column, given {shown}. {_LEVELS_FILE}")
        for name, value in plain.items():
            if not isinstance(value, str | os.PathLike) or not value:
                raise SchemaError(f"the {name} of a levels_file must be a text, given {shorten(value)}. {_LEVELS_FILE}")
            writable(os.fsdecode(value), f"the {name} of a levels_file")
        return cls(os.fsdecode(plain["file"]), plain.get("column"), folder)

    @property
    def name(self) -> str:
        """The name of the file, and of the column, for messages."""
        return self.file if self.column is None else f"{self.file}, column {self.column}"

    def levels(self) -> tuple[str, ...]:
        """The levels, each once, in the order of their first occurrence; blank lines are left out."""
        columns = () if self.column is None else (self.column,)
        levels: dict[str, None] = {}
        for written in public_lines(self.file, self.folder, columns, "level file"):
            if len(written) > 1:
                raise SchemaError(
                    f"the level file {self.file!r} has lines of several fields. Say which of them is the level: "
                    f'levels_file = {{file = "{self.file}", column = "…"}}.'
                )
            if level := "".join(written).strip():
                levels[level] = None
            if len(levels) > _MOST:
                raise SchemaError(f"the level file {self.file!r} has more than {_MOST:,} levels. Give a smaller one.")
        if not levels:
            raise SchemaError(f"the level file {self.file!r} has no levels. Write one in each line.")
        return tuple(levels)

    def read(self, levels: Sequence[object]) -> LevelsFile:
        """The same file, with the digest of its levels."""
        return replace(self, digest=hashlib.sha256("\n".join(map(str, levels)).encode()).hexdigest())


def look_up_values(reading: Reading) -> dict[str, str]:
    """The value of every key, with keys in the form in which texts are compared; or an error.

    Lines without a key or a value are left out. A key may occur several times, but only with the same value: so a row
    of a private table finds at most one value, and remains one row.
    """
    lookup = reading.looked_up
    assert lookup is not None
    compared = replace(reading, trim=True if reading.trim is None else reading.trim)
    values: dict[str, str] = {}
    for written, beside in public_lines(lookup.file, lookup.folder, (lookup.key, lookup.value), "look-up"):
        key, value = compared.normal(written), beside.strip()
        if not key or not value:
            continue
        other = values.setdefault(key, value)
        if other != value:
            raise SchemaError(
                f"the look-up {lookup.file!r} gives the key {shorten(key)} two values, {shorten(other)} and "
                f"{shorten(value)}. Every key must have one."
            )
        if len(values) > _MOST:
            raise SchemaError(f"the look-up {lookup.file!r} has more than {_MOST:,} keys. Give a smaller one.")
    if not values:
        raise SchemaError(f"the look-up {lookup.file!r} has no line with a key and a value.")
    return values


def public_lines(file: str, folder: str, columns: Sequence[str], what: str) -> Iterator[Sequence[str]]:
    """The texts of some columns of a CSV or Parquet file, line by line; without columns, all fields of every line of a
    file without a header. A relative path starts at the *folder*; *what* describes the file in messages."""
    path, called = os.path.join(folder, file), f"the {what} {file!r}"
    if path.lower().endswith((".parquet", ".pq")):
        yield from _parquet(path, columns, called)
        return
    text = public_text(path, called, "Give the path, as seen from the schema's file, of a CSV or Parquet file")
    if not columns:
        yield from (
            csv_rows(text, called, ",")
            if path.lower().endswith(".csv")
            else ([line] for line in io.StringIO(text, newline=None))
        )
        return
    rows = csv_rows(text, called)
    places = _places(columns, [name.strip() for name in next(rows, [])], called)
    yield from ([row[place] for place in places] for row in rows if len(row) > max(places))


def public_text(path: str | os.PathLike[str], what: str, advice: str, encoding: str = "utf-8") -> str:
    """The text of a public file, or an error that says *what* it is and why it cannot be read, with the *advice*."""
    problem = "cannot be read"
    try:
        with open(path, encoding=encoding, newline="") as file:
            return file.read().removeprefix("\ufeff")
    except FileNotFoundError:
        problem = "does not exist"
    except IsADirectoryError:
        problem = "is a directory"
    except UnicodeDecodeError:
        problem = f"is not {encoding.upper()} text"
    except (OSError, ValueError):
        pass
    raise SchemaError(f"{what} {problem}. {advice}.")


def csv_rows(text: str, what: str, delimiter: str | None = None) -> Iterator[list[str]]:
    """The rows of a CSV text; by default the delimiter is the most frequent one in the first line."""
    first = text.partition("\n")[0]
    try:
        yield from csv.reader(io.StringIO(text, newline=""), delimiter=delimiter or max(_DELIMITERS, key=first.count))
    except csv.Error:
        raise SchemaError(f"{what} cannot be read as CSV. Check that it is complete.") from None


def _parquet(path: str, columns: Sequence[str], what: str) -> Iterator[Sequence[str]]:
    from pyarrow import parquet

    table = None
    with suppress(OSError, ValueError):
        table = parquet.read_table(path)
    if table is None:
        raise SchemaError(f"{what} cannot be read. Check that it exists and is complete.")
    if not columns:
        raise SchemaError(f"{what} has columns. Say which of them: {listing(table.column_names)}.")
    _places(columns, table.column_names, what)
    yield from zip(*(map(_text, table.column(name).to_pylist()) for name in columns), strict=True)


def _places(columns: Sequence[str], names: list[str], what: str) -> list[int]:
    for name in columns:
        if name not in names:
            raise SchemaError(f"in {what}, {no_such('column', name, names)}")
    return [names.index(name) for name in columns]


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
