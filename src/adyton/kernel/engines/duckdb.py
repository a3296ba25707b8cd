"""DuckDB: our own engine for files and frames, and one that others work with."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.arrays import Array, Integers
from adyton.errors import SchemaError
from adyton.kernel.engines.engine import Counted, Engine, Result, engine_function, sets_of
from adyton.kernel.engines.own import OURS, sql_text
from adyton.kernel.sealed import quietly
from adyton.messages import listing

if TYPE_CHECKING:
    import pyarrow as pa


PER_THREAD = 32 << 20
"""For a pass over the rows."""
PER_CELL = 128
"""For a hash table that counts."""
SUMS = 1 << 28
"""For sums, and for texts that are counted before they are looked up."""
_MOST_CELLS = 1 << 22
_ROWS_AT_A_TIME = 1 << 20
_ARROW = {"string": "binary", "int64": "int64", "float64": "float64", "int32": "int32"}
"""The types of small tables: texts are compared by their bytes."""


class DuckDb(Engine):
    """A connection to DuckDB."""

    name = "duckdb"
    title = "DuckDB"
    tries = True

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self._memory = Memory(backend.con)
        self._holds_rows = False
        self.files: Sequence[str] = ()
        """What the rows are read from, on an engine of our own."""

    @property
    def steady(self) -> bool:
        """On an engine of our own: frames are copied when they are first counted, and files tell when they change."""
        return self.groups_first

    def moment(self) -> Hashable:
        """What the system says about the files, and nothing that is in them."""
        return tuple(map(_identity, self.files)) if self.steady else None

    def check_stored(self, name: str, catalog: str | None, database: str | None) -> None:
        """Views are refused, because their text is not ours to judge, and so are columns that are computed."""
        check_stored(self.backend.con, name, catalog, database)

    def number(self, text: Any) -> Any:
        """By the engine's own conversion."""
        return text.try_cast("float64")

    def truth(self, text: Any) -> Any:
        """By the engine's own conversion."""
        return text.try_cast("boolean")

    def whole(self, number: Any) -> Any:
        """By the engine's own conversion."""
        return number.try_cast("int64")

    def bits(self, number: Any) -> Any:
        """By way of its strings of bits, to which only a function converts that takes the type from an example."""
        import ibis

        string = engine_function("bitstring", ("string", "int32"), "string")("0", 1)
        bits = engine_function("cast_to_type", ("float64", "string"), "string")(number, string)
        whole = engine_function("cast_to_type", ("string", "int64"), "int64")(bits, ibis.literal(1 << 62))
        return engine_function("hex", "int64", "string")(whole)

    def decimal_text(self, decimal: Any) -> Any:
        """It writes as many as the type has."""
        text = decimal.cast("string")
        trim = engine_function("rtrim", ("string", "string"), "string")
        return trim(trim(text, "0"), ".") if decimal.type().scale else text

    def same_bytes(self, column: Any) -> Any:
        """Under a collation, texts that differ can be equal."""
        return engine_function("encode", str, bytes)(column) if column.type().is_string() else column

    def text_of(self, same_bytes: Any) -> Any:
        """They were a text's, so that they can be read as one."""
        return engine_function("decode", bytes, str)(same_bytes)

    def small(self, number: Any, largest: int) -> Any:
        """In few bits, for which it has fast ways."""
        return number.try_cast("uint16" if largest < 1 << 16 else "int32")

    def bin_of(self, value: Any, edges: Sequence[float]) -> Any:
        """By a function of ours, on whole vectors of values."""
        return _bisect(tuple(edges))(value)

    def length(self, column: Any) -> Any:
        """The engine's epoch."""
        return engine_function("epoch", column.type(), "float64")(column)

    def lookup(self, columns: Mapping[str, Sequence[Any] | Array], kinds: Mapping[str, str]) -> Any:
        """An Arrow table in memory."""
        import pyarrow

        return arrow_memtable(
            pyarrow.table({name: arrow_column(values, _ARROW[kinds[name]]) for name, values in columns.items()})
        )

    def fetched(self, expression: Any) -> dict[str, Array]:
        """Directly, because Ibis and Arrow would load pandas on the way."""
        with self._memory.wider(SUMS):
            return self._found(expression)

    def _found(self, expression: Any) -> dict[str, Array]:
        relation = self.backend._to_duckdb_relation(expression)
        return {name: np.asarray(column) for name, column in relation.fetchnumpy().items()}

    @property
    def groups_first(self) -> bool:
        """On an engine of our own, whose memory is ours to bound."""
        return bool(getattr(self.backend, OURS, False))

    def bounded(self, work: Callable[[], Result]) -> Result | None:
        """Nothing goes to the disk: what takes too much memory is given up. A connection of others is left as it is."""
        with self._memory.limit(SUMS) if self.groups_first else nullcontext():
            return quietly(work)

    def make_room(self) -> None:
        """Up to what DuckDB allows itself."""
        self._holds_rows = True

    def _read(self, work: Callable[[], Result]) -> Result:
        """On an engine of our own first in memory that does not grow with the rows; what needs more is asked again."""
        found = None
        if self.groups_first and not self._holds_rows:
            (found,) = super()._read(lambda: (self._memory.in_passing(work),))
        return super()._read(work) if found is None else found

    def counted(self, rows: Any, sizes: Sequence[int]) -> list[Counted]:
        """One column as it comes, several by grouping sets, of which Ibis has none."""
        if len(rows.columns) == 1 and sizes[0] <= _MOST_CELLS:
            counts = self._counted_as_they_come(rows, sizes[0])
            return [(np.arange(counts.size), counts)]
        with self._memory.wider(PER_CELL * sum(sizes)):
            return self._counted_in_hash_tables(rows)

    def _counted_in_hash_tables(self, rows: Any) -> list[Counted]:
        if len(rows.columns) == 1:
            cells = rows.select(cell=rows[rows.columns[0]])
            found = self._found(cells.group_by("cell").aggregate(rows=cells.count()))
            return [(found["cell"], found["rows"])]
        self.backend._run_pre_execute_hooks(rows)  # makes the small tables known that it is joined with
        query = sets_of(rows.columns, self.backend.compile(rows))
        *columns, counts = self.backend.con.sql(query).fetchnumpy().values()
        lines = [~np.ma.getmaskarray(column) for column in columns]
        return [
            (np.asarray(column)[here], np.asarray(counts)[here]) for column, here in zip(columns, lines, strict=True)
        ]

    def _counted_as_they_come(self, rows: Any, size: int) -> Integers:
        """The engine computes the cells; adding them up here takes less time than a hash table in the engine."""
        cells = rows.select(cell=rows[rows.columns[0]].cast("int32"))
        counts = np.zeros(size, dtype=np.int64)
        for batch in self.batches(cells, max(_ROWS_AT_A_TIME, size)):
            counts += np.bincount(np.from_dlpack(batch.column(0)), minlength=size)
        return counts

    def batches(self, rows: Any, rows_at_a_time: int) -> Iterator[Any]:
        """As they come."""
        return iter(self.backend._to_duckdb_relation(rows).to_arrow_reader(rows_at_a_time))

    def stopping(self) -> Callable[[], None]:
        """Its own way to be interrupted."""
        stop: Callable[[], None] = self.backend.con.interrupt
        return stop


def _identity(path: str) -> tuple[int, ...]:
    """What changes when a file is written or replaced; nothing for one that is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


@cache
def _bisect(edges: tuple[float, ...]) -> Any:
    """Binary search, inside the engine's pass over the rows."""
    import ibis

    inner = np.array(edges)

    def bisect(values: Any) -> Any:
        numbers = values.to_numpy(zero_copy_only=False)
        return arrow_column(np.searchsorted(inner, numbers, side="right").astype(np.int32))

    name = f"bisect_{hashlib.sha256(inner.tobytes()).hexdigest()[:16]}"
    return ibis.udf.scalar.pyarrow(bisect, name=name, signature=(("float64",), "int32"))


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


class Memory:
    """The limit of one connection of our own. Where nothing is said it is DuckDB's: four fifths of the machine's.

    DuckDB keeps the pages of a stored table that it has read, up to the limit.

    Claim.  A count does not fail for the limit, and what it finds does not depend on it.
    Proof.  What fails under a limit is asked again without it. A query gives the same counts in either case.  ∎
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._limits: list[int] = []

    @contextmanager
    def limit(self, size: int) -> Iterator[None]:
        """Within, DuckDB has so many bytes: pages beyond that are let go."""
        self._limits.append(size)
        try:
            self._set()
            yield
        finally:
            self._limits.pop()
            self._set()

    @contextmanager
    def wider(self, size: int) -> Iterator[None]:
        """Within, so many bytes more than a pass over the rows has; without any limit, there is none here either."""
        with self.limit(self._pass() + size) if self._limits else nullcontext():
            yield

    def in_passing(self, work: Callable[[], Result]) -> Result | None:
        """What *work* finds with memory for a pass over the rows; None if it fails, for whatever reason."""

        def limited() -> Result:
            with self.limit(self._pass()):
                return work()

        return quietly(limited)

    def _set(self) -> None:
        self._connection.execute(f"set memory_limit = '{self._limits[-1]}B'" if self._limits else "reset memory_limit")

    def _pass(self) -> int:
        (threads,) = self._connection.execute("select current_setting('threads')").fetchone()
        return (int(threads) + 1) * PER_THREAD


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
