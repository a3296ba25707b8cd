"""DuckDB, where somebody works with it: what may be read from it, and how."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.arrays import Array
from adyton.errors import SchemaError
from adyton.kernel.engines.own import sql_text
from adyton.kernel.sealed import quietly
from adyton.messages import listing

if TYPE_CHECKING:
    import pyarrow as pa


class DuckDb:
    """A connection to DuckDB that somebody works with: its rows are read by us, as they come."""

    name = "duckdb"
    title = "DuckDB"

    def __init__(self, backend: Any) -> None:
        self.backend = backend

    def check_stored(self, name: str, catalog: str | None, database: str | None) -> None:
        """Views are refused, because their text is not ours to judge, and so are columns that are computed."""
        check_stored(self.backend.con, name, catalog, database)

    def batches(self, rows: Any, rows_at_a_time: int) -> Iterator[Any]:
        """Rows as Arrow's batches, in their order."""
        return iter(self.backend._to_duckdb_relation(rows).to_arrow_reader(rows_at_a_time))


def identity_of(path: str) -> tuple[int, ...]:
    """What changes when a file is written or replaced; nothing for one that is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


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


def arrow_column(values: Sequence[Any] | Array, kind: str | None = None) -> pa.Array:
    """Numbers and texts as an Arrow array, as ``pyarrow.array()`` makes it; of another kind, if one is given.

    Without the functions that load pandas, half a second, wherever it is installed.
    """
    import pyarrow as pa

    column = _column(values)
    if kind in (None, str(column.type)):
        return column
    if kind == "binary" and column.type == pa.string():
        return column.view(kind)  # the same bytes
    return column.cast(kind)


def _column(values: Sequence[Any] | Array) -> pa.Array:
    import pyarrow as pa
    from pyarrow.lib import StringBuilder

    if isinstance(values, tuple | list) and values and all(type(value) is int for value in values):
        values = np.array(values)
    number = getattr(values, "dtype", None)
    if number in (np.int32, np.int64, np.float64):
        numbers = np.ascontiguousarray(values)
        return pa.Array.from_buffers(pa.from_numpy_dtype(number), numbers.size, [None, pa.py_buffer(numbers)])
    if not (len(values) and all(isinstance(value, str) for value in values)):
        return pa.array(values)
    texts = StringBuilder()
    texts.append_values(values)
    return texts.finish()


def arrow_memtable(table: pa.Table) -> Any:
    """An Arrow table for Ibis, as ``ibis.memtable()`` makes it."""
    import ibis
    from ibis.expr.operations import InMemoryTable
    from ibis.formats.pyarrow import PyArrowTableProxy

    name, schema = ibis.util.gen_name("adyton_memtable"), ibis.schema(table.schema)
    return InMemoryTable(name=name, schema=schema, data=PyArrowTableProxy(table)).to_expr()
