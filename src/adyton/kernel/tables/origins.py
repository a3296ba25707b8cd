"""Where tables come from: files, databases and data frames, each looked at before anything is read."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.engines.duckdb import check_stored
from adyton.kernel.engines.own import connect, sql_path, sql_text, view
from adyton.kernel.sealed import quietly
from adyton.kernel.tables.csv_bytes import without_ending
from adyton.kernel.tables.csv_reader import CsvReader
from adyton.kernel.tables.frame_readers import frame_reader
from adyton.kernel.tables.locations import check_path, is_address, reader_at
from adyton.kernel.tables.readers import Reader, TableReader
from adyton.kernel.tables.spark_reader import SparkReader, is_spark_frame
from adyton.messages import listing
from adyton.schema import FileFormat
from adyton.schema.file_format import PLAIN

_CSV = (".csv", ".tsv", ".tab", ".txt")
_PARQUET = (".parquet", ".pq", ".parq")
_DATABASE = (".duckdb", ".ddb", ".db")
_FORGIVING = "hive_partitioning=false, utf8_validation='replace'"
"""Bytes that are no text must not stop the engine: that would show that some row holds them."""
_ADVICE = (
    "Give a CSV, Parquet or DuckDB file, the address of a PostgreSQL database, a pandas, polars or Spark frame, an "
    "Arrow table or an Ibis table"
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
            return DatabaseReader(base, table)
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
    kinds = {"CSV": _CSV, "Parquet": _PARQUET, "DuckDB": _DATABASE}
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
        case "DuckDB" if len(files) == 1:
            return DatabaseReader(files[0], "")
        case "DuckDB":
            raise SchemaError(f"{given!r} stands for several DuckDB files. Open one of them.")
    raise SchemaError(
        f"the file {files[0]!r} has no known ending ({', '.join(_CSV + _PARQUET + _DATABASE)}). {_ADVICE}."
    )


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False


class ParquetReader(TableReader):
    """One or several Parquet files of the same types."""

    def __init__(self, files: Sequence[str], given: str) -> None:
        if not files:
            raise SchemaError(f"there is no Parquet file at {given!r}. {_ADVICE}.")
        complaint = f"{given!r} cannot be read as Parquet. Check that the file is complete, or write it again."
        self.files = [os.path.abspath(file) for file in files]
        connection = connect()
        paths = ", ".join(sql_path(file) for file in files)
        super().__init__(view(connection, f"select * from read_parquet([{paths}], {_FORGIVING})", complaint))
        if len(files) > 1:
            self._check_types(connection, files, given, complaint)

    def _check_types(self, connection: Any, files: Sequence[str], given: str, complaint: str) -> None:
        first: Any = None
        for file in files:
            describe = f"describe select * from read_parquet({sql_path(file)})"
            rows = quietly(connection.con.execute(describe).fetchall)
            if rows is None:
                raise SchemaError(complaint)
            types = [row[:2] for row in rows]
            first = types if first is None else first
            if types != first:
                raise SchemaError(
                    f"the Parquet files at {given!r} differ in columns or types. Write them with the same."
                )


class DatabaseReader(TableReader):
    """A stored table of a DuckDB file, which is opened for reading only."""

    def __init__(self, path: str, table: str) -> None:
        if not _exists(path):
            raise SchemaError(f"the file {path!r} does not exist. {_ADVICE}.")
        self.files = [os.path.abspath(path), os.path.abspath(path) + ".wal"]
        connection = connect()
        tables = quietly(lambda: _attach(connection, path))
        if tables is None:
            raise SchemaError(
                f"{path!r} cannot be opened: it is not a DuckDB file, or another program has it open for writing."
            )
        if not table and len(tables) == 1:
            table = tables[0]
        if table not in tables:
            asked = f"no table {table!r}" if table else "not exactly one table"
            raise SchemaError(f"{path!r} has {asked}. It has {listing(tables) or 'none'}. Write {path + '#table'!r}.")
        check_stored(connection.con, table, "stored", "main")
        name = table.replace('"', '""')
        super().__init__(
            view(connection, f'select * from stored.main."{name}"', f"{table!r} of {path!r} cannot be read.")
        )


def _attach(connection: Any, path: str) -> list[str]:
    """Attach a database file for reading, and list its tables and views."""
    connection.con.execute(f"attach {sql_text(path)} as stored (read_only)")
    found = connection.con.execute(
        "select table_name from information_schema.tables where table_catalog = 'stored' and table_schema = 'main'"
    ).fetchall()
    return sorted(row[0] for row in found)
