"""Files that know the types of their columns: Parquet, and tables of DuckDB and SQLite files."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.engines import identifier, sql_text
from adyton.kernel.engines.duckdb import DuckDbReader, check_stored
from adyton.kernel.reading.plain_columns import text_of
from adyton.kernel.reading.readers import Column, Family, Reader, type_name
from adyton.kernel.reading.texts import WHITE
from adyton.kernel.sealed import quietly
from adyton.messages import listing

_ROWS_AT_A_TIME = 1 << 17
_SQLITE = b"SQLite format 3\0"


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
        self.columns = [Column(field.name, type_name(field.type), _stored(field.type)) for field in fields]

    def batches(self, names: Sequence[str], unit: str | None = None) -> Iterator[Sequence[Any]]:
        """Row group by row group. Texts are read once for each row group, where nearly all of these list them once."""
        from pyarrow import parquet

        wanted = [*names, *([] if unit is None else [unit])]
        with parquet.ParquetFile(self.files[0]) as file:
            groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
            places = {file.schema.column(place).path: place for place in range(len(file.schema))}
        texts = [one.name for one in self.columns if one.name in wanted and one.type.is_string() and one.name != unit]

        def listed(name: str) -> bool:
            stored = [group.num_rows for group in groups if group.column(places[name]).has_dictionary_page]
            return bool(sum(stored) * 8 > 7 * sum(group.num_rows for group in groups))

        texts = list(filter(listed, texts))
        with parquet.ParquetFile(self.files[0], read_dictionary=texts) as file:
            for batch in file.iter_batches(_ROWS_AT_A_TIME, columns=list(dict.fromkeys(wanted))):
                yield [batch.column(name) for name in wanted]


def _stored(kind: Any) -> Family:
    """Bytes in a file that does not say what they are, are texts."""
    found = Family.of(kind)
    return Family("string") if found == "binary" else found


def database_reader(path: str, table: str) -> Reader:
    """The reader of a table in a file of DuckDB or SQLite: which of them it is, the file says itself."""
    with Path(path).open("rb") as file:
        return SqliteReader(path, table) if file.read(len(_SQLITE)) == _SQLITE else DuckDbFile(path, table)


def _only(path: str, table: str, tables: Sequence[str] | None, kind: str) -> str:
    """The name of the table that is asked for, or of the only one."""
    if tables is None:
        raise SchemaError(
            f"{path!r} cannot be opened: it is not a {kind} file, or another program has it open for writing."
        )
    if not table and len(tables) == 1:
        return tables[0]
    if table not in tables:
        asked = f"no table {table!r}" if table else "not exactly one table"
        raise SchemaError(f"{path!r} has {asked}. It has {listing(tables) or 'none'}. Write {path + '#table'!r}.")
    return table


class DuckDbFile(DuckDbReader):
    """A stored table of a DuckDB file, which is opened for reading only."""

    def __init__(self, path: str, table: str) -> None:
        self.files = [os.path.abspath(path), os.path.abspath(path) + ".wal"]
        connection = _own_duckdb()
        table = _only(path, table, quietly(lambda: _attach(connection, path)), "DuckDB or SQLite")
        check_stored(connection, table, "stored", "main")
        super().__init__(connection, f"stored.main.{identifier(table)}")


def _own_duckdb() -> Any:
    """A fresh engine in memory that writes nothing to disk and installs nothing."""
    import duckdb

    settings = {
        "temp_directory": "",
        "memory_limit": "1GB",
        "arrow_large_buffer_size": "true",  # else a batch whose texts have two gigabytes fails
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


class _Text(bytes):
    """A text of SQLite as it is stored: its bytes need not be one."""


def _shown(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _value(value: object) -> str | None:
    return text_of(_shown(value) if isinstance(value, _Text) else value)


def _name(value: object) -> bytes | None:
    """What names a unit: a text, or a whole number, which is no text's; a number with a fraction names nobody."""
    if isinstance(value, int):
        return b"whole %d" % value
    name = value.strip(WHITE.encode()) if isinstance(value, _Text) else b""
    return b"text " + name if name else None


class SqliteReader(Reader):
    """A table of a SQLite file, which is opened for reading only.

    Any value may stand in any of its columns, whatever type was declared: each is read by itself, as its text.
    """

    def __init__(self, path: str, table: str) -> None:
        full = os.path.abspath(path)
        self.files = [full, f"{full}-wal", f"{full}-journal"]
        self._uri = f"{Path(full).as_uri()}?mode=ro"
        tables = quietly(lambda: [row[0] for row in self._asked(_TABLES)])
        table = _only(path, table, tables, "SQLite")
        self._table = identifier(table)
        found = quietly(
            lambda: list(self._asked(f"select name, type, hidden from pragma_table_xinfo({sql_text(table)})"))
        )
        computed = [name for name, _, hidden in found or () if hidden]
        if not found or computed:
            why = (
                f"has columns that are computed whenever they are read ({listing(computed)})"
                if computed
                else "cannot be read"
            )
            raise SchemaError(f"{table!r} of {path!r} {why}. Store the table again with create table … as select.")
        text = Family("string")
        self.columns = [
            Column(name, kind.lower() or "any", text, from_text=True, inferred=True) for name, kind, _ in found
        ]

    def _asked(self, query: str, text: Callable[[bytes], object] = _shown) -> Iterator[tuple[Any, ...]]:
        connection = sqlite3.connect(self._uri, uri=True, check_same_thread=False)
        try:
            connection.text_factory = text
            yield from connection.execute(query)
        finally:
            connection.close()

    def batches(self, names: Sequence[str], unit: str | None = None) -> Iterator[Sequence[Any]]:
        """In the order in which they are stored, whatever columns are asked for: no index is used."""
        import pyarrow

        wanted = [*names, *([] if unit is None else [unit])]
        rows = self._asked(f"select {', '.join(map(identifier, wanted))} from {self._table} not indexed", _Text)
        while batch := list(islice(rows, _ROWS_AT_A_TIME)):
            columns = list(zip(*batch, strict=True))
            values = [pyarrow.array(map(_value, column), pyarrow.large_string()) for column in columns[: len(names)]]
            whose = [pyarrow.array(map(_name, column), pyarrow.large_binary()) for column in columns[len(names) :]]
            yield values + whose


_TABLES = (
    "select name from sqlite_master where type = 'table' and name not like 'sqlite!_%' escape '!' "
    "and sql not like 'create virtual%' order by name"
)
"""Views and virtual tables are none: what they do to rows is not ours to judge."""
