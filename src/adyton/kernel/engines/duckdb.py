"""DuckDB: what may be read from a connection to it, our own or one that somebody works with, and how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.engines import LONGEST_NAME, identifier, sql_text
from adyton.kernel.reading.readers import Column, Family, Reader, type_name
from adyton.kernel.reading.texts import LONGEST
from adyton.kernel.sealed import quietly
from adyton.messages import listing

_ROWS_AT_A_TIME, _TEXTS_AT_A_TIME = 1 << 17, 1 << 12
"""DuckDB puts the texts of a batch into two gigabytes, and fails where they do not fit: a text here has 256 kB."""


class DuckDbReader(Reader):
    """What a connection shows: its rows are read by us, as they come."""

    def __init__(self, connection: Any, shown: str, *, ours: bool = True) -> None:
        """*shown* is what stands behind ``from``."""
        self._connection, self._shown, self.ours = connection, shown, ours
        empty = quietly(lambda: connection.sql(f"select * from {shown} limit 0").to_arrow_table())
        if empty is None:
            raise SchemaError("the columns of the table cannot be told. Check that it still exists.")
        self.columns = [Column(field.name, type_name(field.type), Family.of(field.type)) for field in empty.schema]

    def batches(self, names: Sequence[str], unit: str | None = None) -> Iterator[Sequence[Any]]:
        """In the order in which they are stored; of texts as much as is looked at, durations as texts."""
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
    """An error unless a name of a DuckDB stands for a stored table, all of whose columns are stored."""

    def found(columns: str, source: str, place: str) -> list[Any] | None:
        where = [f"lower({place}) = {sql_text(name.lower())}"]
        where += [f"{part} = {sql_text(given)}" for part, given in parts[source] if given]
        return quietly(
            lambda: list(connection.execute(f"select {columns} from {source} where {' and '.join(where)}").fetchall())
        )

    in_duckdb = [("database_name", catalog), ("schema_name", database)]
    in_standard = [("table_catalog", catalog), ("table_schema", database), ("is_generated", "ALWAYS")]
    parts = {"duckdb_tables()": in_duckdb, "duckdb_views()": in_duckdb, "information_schema.columns": in_standard}
    parts["duckdb_tables() join duckdb_databases() using (database_name)"] = in_duckdb
    stored = found("1", "duckdb_tables()", "table_name")
    viewed = found("1", "duckdb_views()", "view_name")
    kinds = found("type", "duckdb_tables() join duckdb_databases() using (database_name)", "table_name")
    if kinds is None or any(kind != "duckdb" for (kind,) in kinds):
        raise SchemaError(
            f"{name!r} is kept by another engine that DuckDB has attached, where it may be a view. Store a copy in "
            "DuckDB with create table … as select."
        )
    if not stored or viewed or viewed is None:
        raise SchemaError(
            f"{name!r} is a view, not a stored table: its text could do anything to the rows. Store what it shows with "
            "create table … as select; or, if it stands for a file or a frame, open that."
        )
    computed = found("column_name", "information_schema.columns", "table_name")
    if computed or computed is None:
        raise SchemaError(
            f"{name!r} has columns that are computed whenever they are read "
            f"({listing(row[0] for row in computed or [])}). Store the table again with create table … as select."
        )
