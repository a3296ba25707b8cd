"""PostgreSQL: rows stay in the server, which has no conversions that never fail; what it is given is guarded.

Claim.  No value of a column makes the server fail.
Proof.  Texts are brought to the collation of their bytes, in which all are ordered. A text becomes a number only if it
has the shape of one and at most so many signs, by way of exact decimals, which reach further than any such text. A
decimal becomes a double only within the range of doubles. Times are brought between the years 1 and 9999 before their
parts are taken. The server evaluates a branch of a CASE only where its condition holds, and no guarded value is a
constant or an aggregate, which alone it would look at before.  ∎
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from adyton.arrays import Array
from adyton.errors import SchemaError
from adyton.kernel.engines.engine import Counted, engine_function, sets_of
from adyton.kernel.engines.own import OURS, sql_text
from adyton.kernel.engines.postgres_connection import SETTINGS, connected
from adyton.kernel.engines.postgres_tables import fingerprint, identifier, kind_query, problem_of, quoted, unchanged
from adyton.kernel.engines.server import Server
from adyton.kernel.engines.written import FAR, MODERATE, PLAIN, SHORT, is_number, is_special, special
from adyton.kernel.sealed import quietly

_LARGEST, _SMALLEST = "1.7976931348623157e308", "2.4703282292062329e-324"
"""Decimals beyond the first are infinite as doubles; those below the second are zero."""
_TYPES = {"string": "text", "int64": "bigint", "float64": "double precision", "int32": "integer"}
_FEW_KEYS = 1 << 22
_HASHED = "select set_config('enable_sort', 'off', true), set_config('hash_mem_multiplier', '1000', true)"
"""For many tables in one pass: it takes their keys for many more than there can be, and would sort rows for each."""
_WHOLE = {"int16": "smallint", "int32": "integer", "int64": "bigint"}
_ONE_MOMENT = "begin isolation level repeatable read read only"
_IN_TRANSACTION = 2
_LONG_TEXT = 1 << 18
"""In bytes. The server's functions take four times the memory of a text, and fail beyond a gigabyte."""


class Postgres(Server):
    """A connection to PostgreSQL."""

    name = "postgres"
    title = "PostgreSQL"
    _held: tuple[Any, object] | None = None
    """A connection with a transaction that sees one moment, and a mark of it."""

    @property
    def steady(self) -> bool:
        """On a connection of our own, where no transaction of others is in the way."""
        return bool(getattr(self.backend, OURS, False))

    def hold(self) -> None:
        """By a transaction that stays open: whatever others change, it sees the rows as they were."""
        if self.steady and self.moment() is None:
            connection = connected(self.backend)
            if quietly(lambda: connection.execute(_ONE_MOMENT)) is not None:
                self._held = connection, object()

    def moment(self) -> Hashable:
        """The transaction, as long as it is there."""
        if self._held is None:
            return None
        connection, mark = self._held
        answers = connection is self.backend.con and quietly(lambda: connection.execute("select")) is not None
        if answers and connection.info.transaction_status == _IN_TRANSACTION:
            return mark
        self._held = None
        quietly(lambda: connection.execute("rollback"))
        return None

    def check_stored(self, name: str, catalog: str | None, database: str | None) -> None:
        """Views, foreign tables and tables under row security are refused: what they show is not ours to judge."""
        found = quietly(lambda: self._rows(kind_query(quoted(name, database)))[1])
        if not found:
            raise SchemaError(f"the table {name!r} cannot be found. Check its name, and that you may read it.")
        problem = problem_of(*found[0])
        if problem:
            raise SchemaError(f"{name!r} {problem}. Store what it shows with create table … as select, and open that.")

    def plain(self, table: Any, exact: Collection[str] = ()) -> Any:
        """Texts by their bytes, decimals as doubles."""
        import ibis

        columns, kinds = [], {}
        for name, kind in table.schema().items():
            column = identifier(name)
            kinds[name] = kind
            if kind.is_string() or kind.is_uuid():
                column, kinds[name] = _text(f"{column}::text"), "string"
            elif kind.is_decimal() and name in exact:
                column = f"nullif({column}::numeric, 'NaN')"
            elif kind.is_decimal():
                column, kinds[name] = _double(f"{column}::numeric"), "float64"
            elif kind.is_floating():
                column, kinds[name] = f"{column}::double precision", "float64"
            elif (whole := str(kind.copy(nullable=True))) in _WHOLE:
                column = f"{column}::{_WHOLE[whole]}"  # object identifiers are called whole numbers, too
            columns.append(f"{column} as {identifier(name)}")
        identity = fingerprint(table)
        found = quietly(lambda: self._rows(f"select {identity}")[1])
        if not found:
            raise SchemaError("what the table is cannot be told. Check that the server can be reached.")
        given = f"({self.backend.compile(table)}) as given where {unchanged(identity, found[0][0])}"
        query = f"select {', '.join(columns)} from {given}"
        return self.backend.sql(query, schema=ibis.schema(kinds))

    def try_out(self, table: Any) -> bool:
        """None of its rows are asked for."""
        return quietly(lambda: self._rows(self.backend.compile(table.limit(0)))) is not None

    def fenced(self, table: Any) -> Any:
        """Behind an offset, which the server does not look through."""
        name = self._steps.add(f"select * from ({self.backend.compile(table)}) as fenced offset 0")
        return self.backend.sql(f"select * from {name}", schema=table.schema())

    def number(self, text: Any) -> Any:
        """Digits directly, others as decimals; with more digits in the exponent, infinite or zero."""
        import ibis

        fits = is_number(text)
        clean = text.replace("_", "").replace("+", "")
        short = fits & (text.length() <= SHORT) & clean.re_search(PLAIN)
        moderate = fits & clean.re_search(MODERATE)
        digits = ibis.ifelse(short, clean, "0").cast("float64")
        decimal = ibis.ifelse(moderate, clean, "0").cast("decimal")
        double = ibis.cases(
            (decimal > ibis.literal(float(_LARGEST)), float("inf")),
            (decimal < ibis.literal(-float(_LARGEST)), -float("inf")),
            (decimal.abs() < ibis.literal(5e-324), 0.0),
            else_=decimal.cast("float64"),
        )
        zero = clean.re_search(FAR) | ~clean.re_search("^[^eE]*[1-9]")
        infinite = ibis.ifelse(clean.startswith("-"), -float("inf"), float("inf"))
        return ibis.cases(
            (short, digits),
            (moderate, double),
            (is_special(text, self.text_end), special(text)),
            (fits, ibis.ifelse(zero, 0.0, infinite)),
            else_=ibis.null("float64"),
        )

    def bits(self, number: Any) -> Any:
        """As the server would send them."""
        sent = engine_function("float8send", "float64", "binary")(number)
        digits = engine_function("encode", ("binary", "string"), "string")(sent, "hex")
        return engine_function("ltrim", ("string", "string"), "string")(digits, "0").upper()

    def decimal_text(self, decimal: Any) -> Any:
        """Each value has as many as it was given."""
        return engine_function("trim_scale", decimal.type(), decimal.type())(decimal).cast("string")

    def hexadecimal(self, raw: Any) -> Any:
        """Of bytes that are too many for the server's functions, the digest."""
        import ibis

        digits = engine_function("encode", ("binary", "string"), "string")(raw, "hex").upper().nullif("")
        length = engine_function("octet_length", "binary", "int32")(raw)
        digest = engine_function("md5", "binary", "string")(raw)
        return ibis.ifelse(length > _LONG_TEXT, "digest " + digest, digits)

    def bin_of(self, value: Any, edges: Sequence[float]) -> Any:
        """By the server's binary search."""
        import ibis

        search = engine_function("width_bucket", ("float64", "array<float64>"), "int32")
        return search(value, ibis.literal(list(edges), "array<float64>").cast("array<float64>"))

    def passed(self, value: Any, places: Sequence[int]) -> Any:
        """By the same search."""
        return self.bin_of(value.cast("float64"), places)

    def seconds(self, column: Any) -> Any:
        """Infinite times have infinite seconds; days beyond the calendar would have none, and are clamped before."""
        import ibis

        kind, inside = column.type(), ibis.literal(True)
        if kind.is_date():
            first, last = ibis.date(1, 1, 1), ibis.date(9999, 12, 31)
            inside, column = column.between(first, last), ibis.greatest(ibis.least(column, last), first)
        else:
            column = engine_function("date_trunc", ("string", kind), kind)("second", column)
        number = engine_function("date_part", ("string", kind), "float64")("epoch", column)
        clamped = ibis.greatest(ibis.least(number, 1e15), -1e15).cast("int64")
        return ibis.ifelse(inside & column.notnull(), clamped, ibis.null("int64"))

    def length(self, column: Any) -> Any:
        """The server's epoch."""
        return engine_function("date_part", ("string", "interval"), "float64")("epoch", column)

    def lookup(self, columns: Mapping[str, Sequence[Any] | Array], kinds: Mapping[str, str]) -> Any:
        """Arrays in the query's text, side by side: nothing is written into the database."""
        import ibis

        parts = [f"unnest({_array(values)}::{_TYPES[kinds[name]]}[]) as {name}" for name, values in columns.items()]
        return self.backend.sql(f"select {', '.join(parts)}", schema=ibis.schema(dict(kinds)))

    def fetched(self, expression: Any) -> dict[str, Array]:
        """Row by row: there are at most as many as cells. (Without rows, Python would take them for doubles.)"""
        names, rows = self._rows(self.backend.compile(expression))
        kind = None if rows else np.int64
        return {name: np.array(column, kind) for name, column in zip(names, _columns(names, rows), strict=True)}

    def counted(self, rows: Any, sizes: Sequence[int]) -> list[Counted]:
        """By grouping sets, of which Ibis has none."""
        hashed = (_HASHED,) if len(sizes) > 1 and sum(sizes) <= _FEW_KEYS else ()
        rows = self.fenced(rows) if len(sizes) > 1 else rows  # else it computes every key anew for every set
        names, found = self._rows(sets_of(rows.columns, self.backend.compile(rows)), *hashed)
        *columns, counts = _columns(names, found)
        lines = [[place for place, value in enumerate(column) if value is not None] for column in columns]
        return [
            (np.array([column[place] for place in here], np.int64), np.array(counts, np.int64)[here])
            for column, here in zip(columns, lines, strict=True)
        ]

    def batches(self, rows: Any, rows_at_a_time: int) -> Iterator[Any]:
        """All at once."""
        import pyarrow

        names, found = self._rows(self.backend.compile(rows))
        return iter(pyarrow.table(dict(zip(names, _columns(names, found), strict=True))).to_batches(rows_at_a_time))

    def stopping(self) -> Callable[[], None]:
        """A request to cancel, on a connection of its own."""

        def stop() -> None:
            self.backend.con.cancel()  # the one that there is then: it may have connected anew

        return stop

    def _rows(self, query: str, *settings: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The names and rows of a result; inside a transaction that is open, if there is one, whose settings stay."""
        connection = connected(self.backend)
        with connection.transaction(force_rollback=True), connection.cursor(binary=True) as cursor:
            for setting in (SETTINGS, *settings):
                cursor.execute(setting)
            cursor.execute(self._steps.before(query))
            return [column.name for column in cursor.description], cursor.fetchall()


def _text(column: str) -> str:
    """A text by its bytes; of one that is too long to be anything, what tells it from others."""
    short = f"case when octet_length({column}) > {_LONG_TEXT} then 'digest ' || md5({column}) else {column} end"
    return f'(({short}) collate "C")'


def _double(column: str) -> str:
    """A decimal as a double: infinite or zero where it is beyond the range of doubles."""
    return (
        f"(case when {column} = 'NaN'::numeric then 'NaN'::double precision "
        f"when {column} > {_LARGEST} then 'Infinity'::double precision "
        f"when {column} < -{_LARGEST} then '-Infinity'::double precision "
        f"when abs({column}) < {_SMALLEST} then 0::double precision else {column}::double precision end)"
    )


def _columns(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> list[Sequence[Any]]:
    return list(zip(*rows, strict=True)) if rows else [() for _ in names]


def _array(values: Sequence[Any] | Array) -> str:
    """Values as the literal of an array. No text of the server has a NUL: one that has is null here."""
    return sql_text("{" + ",".join(map(_element, values)) + "}")


def _element(value: Any) -> str:
    if not isinstance(value, str):
        return repr(value.item() if isinstance(value, np.generic) else value)
    return "null" if "\0" in value else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
