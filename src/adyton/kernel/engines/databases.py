"""Database files of DuckDB and SQLite; and which tables of a DuckDB connection may be read, and how."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.engines import LONGEST_NAME, identifier, sql_text
from adyton.kernel.reading.arrow import text_of
from adyton.kernel.reading.readers import Column, Reader, family_of, type_name
from adyton.kernel.reading.texts import LONGEST, WHITE
from adyton.kernel.sealed import quietly
from adyton.messages import listing

_SQLITE = b"SQLite format 3\0"
_ROWS_AT_A_TIME, _TEXTS_AT_A_TIME = 1 << 17, 1 << 12
"""DuckDB fails where the texts of a batch exceed two gigabytes; a text here has at most 256 kB."""


class DuckDbReader(Reader):
    """A table of a DuckDB connection, whose rows are read in this process."""

    def __init__(self, connection: Any, shown: str, *, ours: bool = True) -> None:
        """*shown* is what follows ``from`` in queries."""
        self._connection, self._shown, self.ours = connection, shown, ours
        empty = quietly(lambda: connection.sql(f"select * from {shown} limit 0").to_arrow_table())
        if empty is None:
            raise SchemaError("the columns of the table cannot be listed. Check that it still exists.")
        self.columns = [Column(field.name, type_name(field.type), family_of(field.type)) for field in empty.schema]

    def batches(self, names: Sequence[str], unit: str | None = None) -> Iterator[Sequence[Any]]:
        """In the order in which they are stored; long texts are cut to what is read, durations are texts."""
        known = {column.name: str(column.type) for column in self.columns}
        columns = [_column(identifier(name), known[name]) for name in names]
        columns += [] if unit is None else [_unit(identifier(unit), known[unit])]
        query = f"select {', '.join(columns)} from {self._shown}"
        texts = any(known[name] == "string" for name in names) or unit is not None
        connection = self._connection.cursor() if self.ours else self._connection
        for batch in connection.sql(query).to_arrow_reader(_TEXTS_AT_A_TIME if texts else _ROWS_AT_A_TIME):
            yield batch.columns


def _column(name: str, kind: str) -> str:
    if kind == "interval":
        return f"'PT' || epoch({name}) || 'S'"
    return f"left({name}::varchar, {LONGEST})" if kind == "string" else name


def _unit(name: str, kind: str) -> str:
    if kind not in ("string", "binary"):
        return name
    length = f"strlen({name}::varchar)" if kind == "string" else f"octet_length({name})"  # UUIDs are texts in Arrow
    return f"case when {length} <= {LONGEST_NAME} then {name} end"


def check_stored(connection: Any, name: str, catalog: str | None, database: str | None) -> None:
    """Raise an error unless a name in DuckDB belongs to a stored table, all of whose columns are stored."""

    def listed(columns: str, source: str, named: str, *within: tuple[str, str | None]) -> list[Any] | None:
        where = [f"lower({named}) = {sql_text(name.lower())}"]
        where += [f"{part} = {sql_text(given)}" for part, given in within if given]
        query = f"select {columns} from {source} where {' and '.join(where)}"
        return quietly(lambda: list(connection.execute(query).fetchall()))

    place = ("database_name", catalog), ("schema_name", database)
    kinds = listed("type", "duckdb_tables() join duckdb_databases() using (database_name)", "table_name", *place)
    viewed = listed("1", "duckdb_views()", "view_name", *place)
    if kinds is None or any(kind != "duckdb" for (kind,) in kinds):
        raise SchemaError(
            f"{name!r} is kept by another engine that DuckDB has attached, where it may be a view. Store a copy in "
            "DuckDB with create table … as select."
        )
    if not kinds or viewed or viewed is None:
        raise SchemaError(
            f"{name!r} is a view, not a stored table: its query could do anything to the rows. Store its result with "
            "create table … as select; or, if it shows a file or a frame, open that."
        )
    place = ("table_catalog", catalog), ("table_schema", database)
    computed = listed("column_name", "information_schema.columns", "table_name", *place, ("is_generated", "ALWAYS"))
    if computed or computed is None:
        raise SchemaError(
            f"{name!r} has columns that are computed whenever they are read "
            f"({listing(row[0] for row in computed or [])}). Store the table again with create table … as select."
        )


# ---- in files -------------------------------------------------------------------------------------------------------


def database_reader(path: str, table: str) -> Reader:
    """The reader of a table in a file of DuckDB or SQLite, which differ in the first bytes of the file."""
    with Path(path).open("rb") as file:
        return SqliteReader(path, table) if file.read(len(_SQLITE)) == _SQLITE else DuckDbFile(path, table)


def _only(path: str, table: str, tables: Sequence[str] | None, kind: str) -> str:
    """The name of the requested table, or of the only one."""
    if tables is None:
        raise SchemaError(
            f"{path!r} cannot be opened: it is not a {kind} file, or another program has it open for writing."
        )
    if not table and len(tables) == 1:
        return tables[0]
    if table not in tables:
        asked = f"no table {table!r}" if table else "more than one table, or none"
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
        "arrow_large_buffer_size": "true",  # otherwise a batch with two gigabytes of texts fails
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
    tables = connection.execute(
        "select table_name from information_schema.tables where table_catalog = 'stored' and table_schema = 'main'"
    ).fetchall()
    return sorted(row[0] for row in tables)


class _Text(bytes):
    """A text of SQLite as it is stored: its bytes need not be valid UTF-8."""


def _shown(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _value(value: object) -> str | None:
    return text_of(_shown(value) if isinstance(value, _Text) else value)


def _name(value: object) -> bytes | None:
    """The name of a unit: a text, or the digits of a whole number; None for any other value."""
    if isinstance(value, int):
        return b"%d" % value
    return value.strip(WHITE.encode()) or None if isinstance(value, _Text) else None


class SqliteReader(Reader):
    """A table of a SQLite file, which is opened for reading only.

    Any column may hold any value, whatever type was declared: each value is read independently, as its text.
    """

    def __init__(self, path: str, table: str) -> None:
        full = os.path.abspath(path)
        self.files = [full, f"{full}-wal", f"{full}-journal"]
        self._uri = f"{Path(full).as_uri()}?mode=ro"
        tables = quietly(lambda: [row[0] for row in self._asked(_TABLES)])
        table = _only(path, table, tables, "SQLite")
        self._table = identifier(table)
        columns = quietly(
            lambda: list(self._asked(f"select name, type, hidden from pragma_table_xinfo({sql_text(table)})"))
        )
        computed = [name for name, _, hidden in columns or () if hidden]
        if not columns or computed:
            why = (
                f"has columns that are computed whenever they are read ({listing(computed)})"
                if computed
                else "cannot be read"
            )
            raise SchemaError(f"{table!r} of {path!r} {why}. Store the table again with create table … as select.")
        self.columns = [
            Column(name, kind.lower() or "any", "string", from_text=True, inferred=True) for name, kind, _ in columns
        ]

    def _asked(self, query: str, text: Callable[[bytes], object] = _shown) -> Iterator[tuple[Any, ...]]:
        connection = sqlite3.connect(self._uri, uri=True, check_same_thread=False)
        try:
            connection.text_factory = text
            yield from connection.execute(query)
        finally:
            connection.close()

    def batches(self, names: Sequence[str], unit: str | None = None) -> Iterator[Sequence[Any]]:
        """In the order in which they are stored, whichever columns are requested: no index is used."""
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
"""Without views and virtual tables, whose effect on rows is unknown."""
