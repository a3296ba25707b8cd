"""Paths, patterns and folders: which files they name, and several files or sheets as one table; Parquet files.

All parts of a table have the same columns. They are read one after the other; the unit of a row does not depend on the
part that it is in, so the rows of a unit are limited over all parts together. The list of files is made at opening: a
file that is added later is not part of the table, and a file that changes is noticed.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from adyton.errors import SchemaError
from adyton.kernel.reading.csv_reader import CsvReader, without_ending
from adyton.kernel.reading.readers import Column, Reader, family_of, type_name
from adyton.kernel.sealed import quietly
from adyton.schema import FileFormat
from adyton.schema.files import PLAIN

ADVICE = (
    "Give a CSV, Parquet, Excel, DuckDB or SQLite file, the address of a PostgreSQL database, a pandas, polars or "
    "Spark frame, an Arrow table or an Ibis table"
)
_KINDS = {
    "CSV": (".csv", ".tsv", ".tab", ".txt"),
    "Parquet": (".parquet", ".pq", ".parq"),
    "Excel": (".xlsx", ".xlsm"),
    "database": (".duckdb", ".ddb", ".db", ".sqlite", ".sqlite3"),
}
_WITH_TABLES = ("Excel", "database")
_IN_FOLDERS = ("Parquet", "CSV", "Excel")
"""If a folder has files of several kinds, those of the first of these kinds are its table."""
_ROWS_AT_A_TIME = 1 << 17
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Place:
    """A file, the requested table or sheet in it, and the values that its folders give to all rows."""

    path: str
    table: str = ""
    fixed: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """A part of a table, and its name in messages."""

    name: str
    reader: Reader
    fixed: Mapping[str, str | None]


def file_reader(given: Sequence[str], *, multiline: bool = False, file: FileFormat = PLAIN) -> Reader:
    """The reader of files: paths, patterns or folders, with the names of tables or sheets after a ``#``."""
    places = [place for text in given for place in _places(text)]
    said = ", ".join(given[:3])
    for place in places:
        if Path(place.path).stat().st_size == 0 and file.header:
            raise SchemaError(f"the file {place.path!r} is empty: a table has at least a header.")
    kinds = {kind_of_file(place.path) for place in places}
    if len(kinds) > 1:
        raise SchemaError(f"the files at {said!r} are not of one kind. Give CSV files only, or Parquet files only.")
    if None in kinds:
        endings = ", ".join(ending for own in _KINDS.values() for ending in own)
        raise SchemaError(f"the file {places[0].path!r} has no known ending ({endings}). {ADVICE}.")
    if kinds == {"Excel"}:
        from adyton.kernel.reading.sheets import sheets_of  # loaded only when needed

        places = [replace(place, table=name) for place in places for name in sheets_of(place.path, place.table)]
    if len({(os.path.realpath(place.path), place.table) for place in places}) < len(places):
        raise SchemaError(f"a file at {said!r} is given twice. Every row would count twice.")
    parts = [_part(place, multiline, file) for place in places]
    return parts[0].reader if len(parts) == 1 and not parts[0].fixed else PartedReader(parts)


def _part(place: Place, multiline: bool, file: FileFormat) -> Part:
    reader: Reader
    match kind_of_file(place.path):
        case "CSV":
            reader = CsvReader(place.path, multiline=multiline, file=file)
        case "Parquet":
            reader = ParquetReader(place.path)
        case "Excel":
            from adyton.kernel.reading.sheets import ExcelReader  # loaded only when needed

            reader = ExcelReader(place.path, place.table, file)
        case _:
            from adyton.kernel.engines.databases import database_reader  # loaded only when needed

            reader = database_reader(place.path, place.table)
    own = {column.name for column in reader.columns}
    fixed = {name: value for name, value in place.fixed.items() if name not in own}
    return Part(f"{place.path}#{place.table}" if place.table else place.path, reader, fixed)


class ParquetReader(Reader):
    """A Parquet file."""

    def __init__(self, path: str) -> None:
        from pyarrow import parquet

        self.files = [os.path.abspath(path)]
        fields = quietly(lambda: list(parquet.read_schema(self.files[0])))
        if fields is None:
            raise SchemaError(
                f"{path!r} cannot be read as Parquet. Check that the file is complete, or write it again."
            )
        families = [family_of(field.type).replace("binary", "string") for field in fields]  # bytes may be texts
        named = zip(fields, families, strict=True)
        self.columns = [Column(field.name, type_name(field.type), family) for field, family in named]

    def batches(self, names: Sequence[str], unit: str | None = None) -> Iterator[Sequence[Any]]:
        """In batches of rows. Columns that are dictionary-encoded in nearly all row groups are read as dictionaries."""
        from pyarrow import parquet

        wanted = [*names, *([] if unit is None else [unit])]
        with parquet.ParquetFile(self.files[0]) as file:
            groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
            places = {file.schema.column(place).path: place for place in range(len(file.schema))}
        rows = sum(group.num_rows for group in groups)

        def listed(name: str) -> bool:
            stored = [group.num_rows for group in groups if group.column(places[name]).has_dictionary_page]
            return bool(sum(stored) * 8 > 7 * rows)

        known = [column.name for column in self.columns if column.type == "string" and column.name != unit]
        texts = [name for name in known if name in wanted and listed(name)]
        with parquet.ParquetFile(self.files[0], read_dictionary=texts) as file:
            columns, threads = list(dict.fromkeys(wanted)), rows > _ROWS_AT_A_TIME
            for batch in file.iter_batches(_ROWS_AT_A_TIME, columns=columns, use_threads=threads):
                yield [batch.column(name) for name in wanted]


class PartedReader(Reader):
    """Several files or sheets as one table, and columns whose values are the names of folders.

    The name of a folder, ``year=2024``, is a text that all rows below it share, read like every other text.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        first, *others = self.parts = parts
        self.columns = _columns(first)
        for part in others:
            _compare(first, part)
        self.files = [file for part in parts for file in part.reader.files]
        self.is_text = first.reader.is_text
        self.doubtful = any(part.reader.doubtful for part in parts)

    def declare(self, names: Sequence[str], unit: str | None) -> None:
        """Announce to every part which columns will be requested."""
        for part in self.parts:
            own = [name for name in names if name not in part.fixed]
            part.reader.declare(own, None if unit in part.fixed else unit)

    def batches(self, names: Sequence[str], unit: str | None = None) -> Iterator[Sequence[Any]]:
        """Part by part, in the order of their names."""
        for part in self.parts:
            stored = [name for name in names if name not in part.fixed] or [part.reader.columns[0].name]
            for arrays in part.reader.batches(stored, None if unit in part.fixed else unit):
                read, rows = dict(zip(stored, arrays, strict=False)), len(arrays[0])
                columns = [read[name] if name in read else _repeated(part.fixed[name], rows) for name in names]
                if unit is not None:
                    columns.append(_repeated(part.fixed[unit], rows) if unit in part.fixed else arrays[-1])
                yield columns


def _columns(part: Part) -> list[Column]:
    folders = [Column(name, "folder", "string", from_text=True, inferred=True) for name in part.fixed]
    return [*part.reader.columns, *folders]


def _compare(first: Part, other: Part) -> None:
    """Raise an error unless both have the same columns, of the same types, in any order. The message does not repeat
    the first line of a text file: it may be a row."""
    ours, theirs = ({column.name: column for column in _columns(part)} for part in (first, other))
    same = "All files of a table have the same columns, of the same types, in any order."
    if len(_columns(first)) != len(_columns(other)) or {*ours} != {*theirs}:
        problem = f"does not name the same columns as {first.name!r}"
        if not first.reader.is_text:
            name, missing = min((name, name not in ours) for name in {*ours} ^ {*theirs} or {*ours})
            has, has_not = (other, first) if missing else (first, other)
            problem = f"differs from {first.name!r}: {has.name!r} has a column {name!r}, and {has_not.name!r} has none"
        raise SchemaError(f"{other.name!r} {problem}. {same}")
    for name, column in ours.items():
        kinds = {(own.type, own.type == "string" or own.engine_type) for own in (column, theirs[name])}
        if len(kinds) > 1:
            raise SchemaError(
                f"the column {name!r} is {column.engine_type} in {first.name!r} and {theirs[name].engine_type} in "
                f"{other.name!r}. {same}"
            )


def _repeated(text: str | None, rows: int) -> Any:
    """The same text for all rows."""
    import pyarrow

    if text is None:
        return pyarrow.nulls(rows, pyarrow.string())
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(rows, np.int32)), pyarrow.array([text]))


def _places(text: str) -> list[Place]:
    """The files that a path or a pattern names, in the order of their names."""
    base, _, table = text.rpartition("#")
    if not exists(text) and base and kind_of_file(base) in _WITH_TABLES:
        return [replace(place, table=table) for place in _places(base)]
    if any(character in text for character in "*?[") and not exists(text):
        matching = sorted(path for path in glob.glob(text, recursive=True) if not os.path.isdir(path))
        if not matching:
            raise SchemaError(f"there is no file at {text!r}. {ADVICE}.")
        folders = [part for part in Path(text).parts[:-1] if not any(character in part for character in "*?[")]
        return [Place(path, fixed=_folder_values(Path(path).parts[len(folders) : -1])) for path in matching]
    if not exists(text) and base and exists(base):
        raise SchemaError(f"{base!r} is a single table, without a part {table!r}. Leave the name of the table out.")
    if not exists(text):
        raise SchemaError(f"the file {text!r} does not exist. {ADVICE}.")
    if not Path(text).is_dir():
        return [Place(text)]
    every = sorted((path for path in Path(text).rglob("*") if path.is_file()), key=str)
    below = {str(path): path.relative_to(text).parts for path in every}
    seen = [path for path, parts in below.items() if not any(part.startswith(("_", ".")) for part in parts)]
    own = next((paths for kind in _IN_FOLDERS if (paths := [path for path in seen if kind_of_file(path) == kind])), [])
    if not own:
        raise SchemaError(f"{text!r} is a directory without Parquet, CSV or Excel files. {ADVICE}.")
    return [Place(path, fixed=_folder_values(below[path][:-1])) for path in own]


def _folder_values(folders: Sequence[str]) -> dict[str, str | None]:
    """The columns that folders called name=value define."""
    pairs = (folder.split("=", 1) for folder in folders if "=" in folder)
    return {unquote(name): None if value == _NO_VALUE else unquote(value) for name, value in pairs}


def kind_of_file(name: str) -> str | None:
    """The kind of a file, by its ending; None if it is none that can be opened."""
    plain = without_ending(name)
    if plain != name.lower() and name.lower().endswith(".zip") and not Path(plain).suffix:
        return "CSV"
    return next((kind for kind, endings in _KINDS.items() if plain.endswith(endings)), None)


def exists(text: str) -> bool:
    """Whether there is a file or a folder of this name."""
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False
