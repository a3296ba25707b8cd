"""Our own engine: a DuckDB in memory that writes nothing to disk, and the sources that it reads when a query runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.sealed import quietly

OURS = "opened_by_adyton"
"""Marks an engine of our own."""


def connect() -> Any:
    """A fresh engine in memory that writes nothing to disk, installs nothing and looks at none of our variables."""
    import ibis

    connection = ibis.duckdb.connect(
        ":memory:",
        temp_directory="",
        autoinstall_known_extensions=False,
        autoload_known_extensions=False,
        allow_community_extensions=False,
        python_enable_replacements=False,
    )
    setattr(connection, OURS, True)
    connection.con.execute("set enable_progress_bar = false")
    connection.con.execute("set perfect_ht_threshold = 18")  # keys of 16 bits, or null: an array, no hash table
    return connection


def view(connection: Any, query: str, complaint: str) -> Any:
    """A view in our own engine; *complaint* is the message if the engine refuses, whatever it says."""
    if quietly(lambda: connection.con.execute(f"create temp view source as {query}")) is None:
        raise SchemaError(complaint)
    return connection.table("source")


def sql_text(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def sql_path(path: str) -> str:
    """A path as a literal of SQL, for functions that expand patterns: its brackets and stars stand for themselves.

    It is made absolute, because the engine reads the file later, when the working directory may be another.
    """
    return sql_text("".join(f"[{sign}]" if sign in "*?[" else sign for sign in os.path.abspath(path)))


def take(table: Any, names: Sequence[str]) -> Any:
    """Those columns of an Ibis table, as c0, c1, …"""
    return table.select(**{f"c{index}": table[name] for index, name in enumerate(names)})


class Stream:
    """Columns whose types are known and whose rows are fetched when a query runs: inside a measurement, once paid for.

    *batches* is called anew by every query. The engine asks through Arrow's interface for streams.
    """

    def __init__(self, kinds: Sequence[Any], batches: Callable[[], Iterator[Any]]) -> None:
        import pyarrow

        self.schema = pyarrow.schema([(f"c{index}", kind) for index, kind in enumerate(kinds)])
        self.batches = batches

    def table(self) -> Any:
        """The columns c0, c1, … as an Ibis table of an engine of our own."""
        connection = connect()
        connection.con.register("source", self)
        return take(connection.table("source"), self.schema.names)

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        import pyarrow

        return pyarrow.RecordBatchReader.from_batches(self.schema, self.batches()).__arrow_c_stream__(requested_schema)
