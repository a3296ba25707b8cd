"""Where tables come from: files, databases and data frames, each looked at before anything is read."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.counting.locations import check_path, is_address, reader_at
from adyton.kernel.engines.spark import SparkReader, is_spark_frame
from adyton.kernel.reading.csv_header import without_ending
from adyton.kernel.reading.csv_reader import CsvReader
from adyton.kernel.reading.files import ParquetReader, database_reader
from adyton.kernel.reading.frames import frame_reader
from adyton.kernel.reading.readers import Reader
from adyton.schema import FileFormat
from adyton.schema.file_format import PLAIN

_CSV = (".csv", ".tsv", ".tab", ".txt")
_PARQUET = (".parquet", ".pq", ".parq")
_DATABASE = (".duckdb", ".ddb", ".db", ".sqlite", ".sqlite3")
_ADVICE = (
    "Give a CSV, Parquet, DuckDB or SQLite file, the address of a PostgreSQL database, a pandas, polars or Spark "
    "frame, an Arrow table or an Ibis table"
)


def reader_for(data: Any, *, multiline: bool = False, file: FileFormat = PLAIN) -> Reader:
    """The reader of any kind of table that can be opened.

    *multiline* allows line ends inside the quotes of CSV, *file* says how its files are written. Several files of one
    kind make one table: given as a list, or by a pattern such as ``week-*.csv``.
    """
    if isinstance(data, str | os.PathLike):
        given = os.fsdecode(data)
        if is_address(given):
            return reader_at(given)
        if not _exists(given):
            check_path(given)
        base, _, table = given.rpartition("#")
        if base.lower().endswith(_DATABASE):
            if not _exists(base):
                raise SchemaError(f"the file {base!r} does not exist. {_ADVICE}.")
            return database_reader(base, table)
        return _reader_of(_files_at(given), given, multiline, file)
    if isinstance(data, list | tuple) and data and all(isinstance(one, str | os.PathLike) for one in data):
        names = [os.fsdecode(one) for one in data]
        for name in names:
            if not _exists(name):
                check_path(name)
        return _reader_of([found for name in names for found in _files_at(name)], ", ".join(names[:3]), multiline, file)
    reader = SparkReader(data) if is_spark_frame(data) else frame_reader(data)
    if reader is None:
        raise SchemaError(f"a {type(data).__name__} cannot be opened as a table. {_ADVICE}.")
    return reader


def _files_at(text: str) -> list[str]:
    """The files that a path or a pattern stands for, in the order of their names."""
    if any(sign in text for sign in "*?[") and not _exists(text):
        found = sorted(path for path in glob.glob(text, recursive=True) if not os.path.isdir(path))
        if not found:
            raise SchemaError(f"there is no file at {text!r}. {_ADVICE}.")
        return found
    path = Path(text)
    base, _, table = text.rpartition("#")
    if not _exists(text) and base and _exists(base):
        raise SchemaError(f"{base!r} is one table, in which {table!r} names nothing. Leave the name of the table out.")
    if not _exists(text):
        raise SchemaError(f"the file {text!r} does not exist. {_ADVICE}.")
    if not path.is_dir():
        return [text]
    every = sorted(str(file) for file in path.rglob("*") if file.is_file())
    files = [name for name in every if _kind(name) == "Parquet"] or [name for name in every if _kind(name) == "CSV"]
    if not files:
        raise SchemaError(f"{text!r} is a directory without Parquet or CSV files. {_ADVICE}.")
    return files


def _kind(name: str) -> str | None:
    """What a file is, by its ending."""
    plain = without_ending(name)
    if plain != name.lower() and name.lower().endswith(".zip") and not Path(plain).suffix:
        return "CSV"
    kinds = {"CSV": _CSV, "Parquet": _PARQUET, "database": _DATABASE}
    return next((kind for kind, endings in kinds.items() if plain.endswith(endings)), None)


def _reader_of(files: Sequence[str], given: str, multiline: bool, file: FileFormat) -> Reader:
    for name in files:
        if Path(name).stat().st_size == 0 and file.header:
            raise SchemaError(f"the file {name!r} is empty: a table has at least a header.")
    kinds = {_kind(name) for name in files}
    if len(kinds) > 1:
        raise SchemaError(f"the files at {given!r} are not of one kind. Give CSV files only, or Parquet files only.")
    if len(set(map(os.path.realpath, files))) < len(files):
        raise SchemaError(f"a file at {given!r} is given twice. Every row would count twice.")
    match kinds.pop():
        case "CSV":
            return CsvReader(files, multiline=multiline, file=file)
        case "Parquet":
            return ParquetReader(files, given)
        case "database" if len(files) == 1:
            return database_reader(files[0], "")
        case "database":
            raise SchemaError(f"{given!r} stands for several databases. Open one of them.")
    raise SchemaError(
        f"the file {files[0]!r} has no known ending ({', '.join(_CSV + _PARQUET + _DATABASE)}). {_ADVICE}."
    )


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False
