"""Where tables come from: files, databases and data frames, each looked at before anything is read."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.engines.duckdb import check_stored
from adyton.kernel.engines.own import sql_text
from adyton.kernel.reading.csv_header import without_ending
from adyton.kernel.reading.csv_reader import CsvReader
from adyton.kernel.reading.frames import frame_reader
from adyton.kernel.reading.readers import Column, Family, Reader, type_name
from adyton.kernel.sealed import quietly
from adyton.kernel.tables.locations import check_path, is_address, reader_at
from adyton.kernel.tables.spark_reader import SparkReader, is_spark_frame
from adyton.messages import listing
from adyton.schema import FileFormat
from adyton.schema.file_format import PLAIN

_CSV = (".csv", ".tsv", ".tab", ".txt")
_PARQUET = (".parquet", ".pq", ".parq")
_DATABASE = (".duckdb", ".ddb", ".db")
_ROWS_AT_A_TIME = 1 << 17
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


class ParquetReader(Reader):
    """One or several Parquet files of the same types."""

    local = True

    def __init__(self, files: Sequence[str], given: str) -> None:
        from pyarrow import parquet

        if not files:
            raise SchemaError(f"there is no Parquet file at {given!r}. {_ADVICE}.")
        self.files = [os.path.abspath(file) for file in files]
        schemas = [quietly(lambda file=file: list(parquet.read_schema(file))) for file in self.files]  # type: ignore[misc]
        if any(schema is None for schema in schemas):
            raise SchemaError(
                f"{given!r} cannot be read as Parquet. Check that the file is complete, or write it again."
            )
        first, *others = ([(field.name, field.type) for field in schema or ()] for schema in schemas)
        if any(other != first for other in others):
            raise SchemaError(f"the Parquet files at {given!r} differ in columns or types. Write them with the same.")
        self.columns = [Column(name, type_name(kind), _stored(kind)) for name, kind in first]

    def batches(self, names: Sequence[str], unit: str | None = None) -> Iterator[Sequence[Any]]:
        """Row group by row group. Texts that a file says once are read once."""
        from pyarrow import parquet

        wanted = [*names, *([] if unit is None else [unit])]
        texts = [column.name for column in self.columns if column.name in wanted and column.type.is_string()]
        for path in self.files:
            with parquet.ParquetFile(path, read_dictionary=texts) as file:
                for batch in file.iter_batches(_ROWS_AT_A_TIME, columns=list(dict.fromkeys(wanted))):
                    yield [batch.column(name) for name in wanted]


def _stored(kind: Any) -> Family:
    """Bytes in a file that does not say what they are, are texts."""
    found = Family.of(kind)
    return Family("string") if found == "binary" else found


class DatabaseReader(Reader):
    """A stored table of a DuckDB file, which is opened for reading only."""

    local = True

    def __init__(self, path: str, table: str) -> None:
        if not _exists(path):
            raise SchemaError(f"the file {path!r} does not exist. {_ADVICE}.")
        self.files = [os.path.abspath(path), os.path.abspath(path) + ".wal"]
        connection = _own_duckdb()
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
        check_stored(connection, table, "stored", "main")
        self._connection, self._table = connection, f"stored.main.{sql_name(table)}"
        empty = quietly(lambda: connection.sql(f"select * from {self._table} limit 0").to_arrow_table())
        if empty is None:
            raise SchemaError(f"{table!r} of {path!r} cannot be read.")
        self.columns = [Column(field.name, type_name(field.type), Family.of(field.type)) for field in empty.schema]

    def batches(self, names: Sequence[str], unit: str | None = None) -> Iterator[Sequence[Any]]:
        """In the order in which they are stored."""
        intervals = {column.name for column in self.columns if column.type.is_interval()}
        columns = [f"'PT' || epoch({sql_name(name)}) || 'S'" if name in intervals else sql_name(name) for name in names]
        columns += [] if unit is None else [sql_name(unit)]
        query = f"select {', '.join(columns)} from {self._table}"
        for batch in self._connection.cursor().sql(query).to_arrow_reader(_ROWS_AT_A_TIME):
            yield batch.columns


def sql_name(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def _own_duckdb() -> Any:
    """A fresh engine in memory that writes nothing to disk and installs nothing."""
    import duckdb

    settings = {
        "temp_directory": "",
        "memory_limit": "1GB",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "python_enable_replacements": "false",
    }
    connection = duckdb.connect(":memory:", config=settings)
    connection.execute("set enable_progress_bar = false")
    return connection


def _attach(connection: Any, path: str) -> list[str]:
    """Attach a database file for reading, and list its tables and views."""
    connection.execute(f"attach {sql_text(path)} as stored (read_only)")
    found = connection.execute(
        "select table_name from information_schema.tables where table_catalog = 'stored' and table_schema = 'main'"
    ).fetchall()
    return sorted(row[0] for row in found)
