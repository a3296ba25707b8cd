"""PostgreSQL: rows stay in the server. Its conversions can fail on some values, so values are guarded first.

Claim.  No value of a column makes a query fail, and every row that is counted is a row of a stored table, once.
Proof.  Texts are cut to a public length and compared bytewise (collation "C"), which orders all of them. Decimals
become doubles only within the range of doubles. Dates outside the years 1 to 9999 become null before anything is
computed with them, and a number of seconds exists for every time. The server evaluates a branch of a CASE only where
its condition holds, and no guarded value is a constant or an aggregate, the only expressions that it evaluates earlier.
A table that is opened is stored, as are all that inherit from it, and shows every row to everybody. Before each query
the table is locked against changes and checked again; nothing is answered if its name means something else by then, or
if a column has another type: a conversion that was total might no longer be so.  ∎
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

import numpy as np

from adyton.arrays import Integers
from adyton.errors import KernelFailure, SchemaError
from adyton.kernel.engines import LONGEST_NAME, identifier, sql_text
from adyton.kernel.engines.server import Server, ServerReader, arrow
from adyton.kernel.engines.sql import StoredColumn
from adyton.kernel.reading.readers import Column
from adyton.kernel.reading.texts import LONGEST
from adyton.kernel.sealed import quietly
from adyton.messages import listing, shorten, suggestion

_MEMORY = 64 << 20
"""A hash table of a hundred thousand cells should not go to the disk; a larger setting of the server stays."""
_FIXED = {"standard_conforming_strings": "on", "extra_float_digits": "1", "DateStyle": "ISO", "TimeZone": "UTC"}
_FIXED |= {"cursor_tuple_fraction": "1"}
_OWN_FIRST = "concat_ws(', ', 'pg_catalog', nullif(current_setting('search_path'), ''))"
_ENOUGH = f"greatest(pg_size_bytes(current_setting('work_mem')), {_MEMORY}) / 1024 || 'kB'"
_VALUES = {name: f"'{value}'" for name, value in _FIXED.items()} | {"search_path": _OWN_FIRST, "work_mem": _ENOUGH}
_SETTINGS = f"select {', '.join(f'set_config({name!r}, {value}, true)' for name, value in _VALUES.items())}"
"""Set for each query: settings of the user or the database do not change the meaning of texts, and functions are the
server's own."""
_PATIENCE = {
    "connect_timeout": 15,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
    "application_name": "adyton",
}
"""How long to wait for a server that does not answer: in seconds, except the last limit, which is in milliseconds."""
_NO_SERVER = (
    "the PostgreSQL server cannot be reached, or does not let this user in. Check host, port, database, user and "
    "password in the address, or in PGHOST, PGUSER, PGPASSWORD and similar variables."
)
_NO_PASSWORD = "the PostgreSQL server asks for a password, and none was given. Put it into ~/.pgpass or PGPASSWORD."
_WRONG_PASSWORD = (
    "the PostgreSQL server was reached, but does not let this user in. Check database, user and password in the "
    "address, or in PGDATABASE, PGUSER, PGPASSWORD and ~/.pgpass."
)
_FAMILIES = {
    "integer": ("int2", "int4", "int8", "oid"),
    "floating": ("float4", "float8"),
    "decimal": ("numeric", "money"),
    "boolean": ("bool",),
    "string": ("text", "varchar", "bpchar", "name", "citext"),
    "uuid": ("uuid",),
    "binary": ("bytea",),
    "date": ("date",),
    "timestamp": ("timestamp", "timestamptz"),
    "time": ("time", "timetz"),
    "interval": ("interval",),
}
_LARGEST, _SMALLEST = "1.7976931348623157e308", "2.4703282292062329e-324"
"""Decimals beyond the first are infinite as doubles; those below the second are zero."""
_ROWS_AT_A_TIME = 1 << 16
_IDLE, _IN_TRANSACTION = 0, 2
_ONE_MOMENT = "begin isolation level repeatable read read only"
_DIGESTED = 200
"""The largest number of characters of each text that go into the digest of a row: all must fit into one text."""


class Postgres(Server):
    """A connection to PostgreSQL: our own, which is renewed when it was lost, or the user's."""

    title = "PostgreSQL"
    streams = True

    def __init__(self, connected: Callable[[], Any], renew: Callable[[], None] | None, *, ours: bool) -> None:
        self._current, self._renew, self._ours = connected, renew, ours
        self._query = threading.Lock()
        self._held: tuple[Any, object] | None = None
        """A connection with a transaction that sees a single state of the rows, and an object that identifies it."""
        self._expected: tuple[str, str, Any] | None = None
        """A query that locks the tables against changes, a query for their definition, and its expected answer."""

    @classmethod
    def at(cls, url: str) -> Postgres:
        """The server at an address; if there is none, an error that does not repeat the address."""
        try:
            import psycopg
        except ImportError:
            raise SchemaError("PostgreSQL needs a driver: pip install 'adyton[postgres]'.") from None
        refusals: list[str] = []

        def first() -> Any:
            try:
                return connected_to(url)
            except psycopg.OperationalError as error:
                refusals.append(refusal_of(error.pgconn))
                raise

        connection = quietly(first)
        if connection is None:
            raise SchemaError(refusals[0] if refusals else _NO_SERVER)
        kept = [connection]

        def renew() -> None:
            kept[0] = connected_to(url)

        def close() -> None:
            kept[0].close()

        server = cls(lambda: kept[0], renew, ours=True)
        weakref.finalize(server, close)
        return server

    # ---- moments ----------------------------------------------------------------------------------------------------

    @property
    def steady(self) -> bool:
        """Only on our own connection, on which no other transaction is open."""
        return self._ours

    def hold(self) -> None:
        """Open a transaction that stays open: whatever others change, it sees the rows as they were."""
        if self.steady and self.moment() is None:
            connection = self.connection()
            if quietly(lambda: connection.execute(_ONE_MOMENT)) is not None:
                self._held = connection, object()

    def moment(self) -> Hashable:
        """The object that identifies the transaction, as long as it is open."""
        if self._held is None:
            return None
        connection, mark = self._held
        answers = connection is self._current() and quietly(lambda: connection.execute("select")) is not None
        if answers and connection.info.transaction_status == _IN_TRANSACTION:
            return mark
        self._held = None
        quietly(lambda: connection.execute("rollback"))
        return None

    def connection(self) -> Any:
        """The connection; a new one if it was lost between two queries, so that no count fails because of that."""
        connection = self._current()
        open_work = not connection.closed and connection.info.transaction_status != _IDLE
        if open_work or self._renew is None:
            return connection

        def answers() -> bool:
            with connection.transaction():
                return True

        if not quietly(answers):
            self._renew()
        return self._current()

    # ---- queries ----------------------------------------------------------------------------------------------------

    def fetched(self, query: str, kinds: Sequence[str], *, many: bool = False) -> Iterator[Sequence[Any]]:
        """In batches as they arrive; inside an open transaction, if there is one, whose settings are restored."""
        with self._cursor("adyton_rows" if many else "") as cursor:
            if many:
                cursor.execute(query)
                batches = iter(lambda: cursor.fetchmany(_ROWS_AT_A_TIME), [])
            else:  # the server uses all its workers
                rows = cursor.stream(query, binary=True, size=_ROWS_AT_A_TIME if _sends_chunks() else 1)
                batches = iter(lambda: list(islice(rows, _ROWS_AT_A_TIME)), [])
            for batch in batches:
                columns = _numbers(batch, len(kinds)) if {*kinds} == {"integer"} else None
                own: Iterable[Any] = zip(*batch, strict=True) if columns is None else columns
                yield [arrow(column, kind) for column, kind in zip(own, kinds, strict=True)]

    @contextmanager
    def _cursor(self, name: str) -> Iterator[Any]:
        """A cursor for one query, if the tables are defined as before; with a *name*, it sends some rows at a time."""
        with self._query:  # a query that was interrupted twice may still be under way
            connection = self.connection()
            with connection.transaction(force_rollback=True), connection.cursor(binary=True) as cursor:
                cursor.execute(_SETTINGS)
                if self._expected is not None:
                    lock, query, expected = self._expected
                    cursor.execute(lock)
                    if cursor.execute(query).fetchone() != expected:
                        raise KernelFailure
                if name:
                    with connection.cursor(name, binary=True) as cursor:  # noqa: PLW2901
                        yield cursor
                else:
                    yield cursor

    def asked(self, query: str) -> list[tuple[Any, ...]]:
        """The result of a query about tables and types."""
        with self.connection().transaction(force_rollback=True), self._current().cursor(binary=True) as cursor:
            cursor.execute(_SETTINGS)
            return list(cursor.execute(query).fetchall())

    def expect(self, lock: str, query: str) -> bool:
        """From now on answer queries only if the tables are defined as they are now; False if that is unknown."""
        facts = quietly(lambda: self.asked(query))
        self._expected = (lock, query, facts[0]) if facts else None
        return bool(facts)

    def stop(self) -> None:
        """Request cancellation, on a separate connection."""
        self._current().cancel()  # the connection may be a new one by then

    # ---- expressions ------------------------------------------------------------------------------------------------

    real = "'{!r}'::float8".format
    divided = "({} / {})".format
    floor = "floor({})::bigint".format
    double = "{}::float8".format
    is_nan = "{} = 'NaN'::float8".format  # NaN equals itself in PostgreSQL
    hidden = "encode(sha256(convert_to({}, 'UTF8')), 'hex')".format
    total = "coalesce(sum({}), 0)::text".format  # sums of whole numbers are decimals

    def column(self, column: Column) -> StoredColumn:
        """Texts in bytewise collation, decimals as doubles, times as seconds."""
        name, kind = identifier(column.name), str(column.type)
        seconds = f"greatest(least(date_part('epoch', date_trunc('second', {name})), 1e15), -1e15)::bigint"
        in_years = f"{name} between '0001-01-01'::date and '9999-12-31'::date"
        plain = {
            "integer": f"{name}::bigint" if column.engine_type not in ("smallint", "integer") else name,
            "floating": f"{name}::float8",
            "decimal": _double(f"{name}::numeric"),
            "boolean": name,
            "date": f"(case when {in_years} then {name} - '1970-01-01'::date end)",
            "timestamp": f"(case when {name} is not null then {seconds} end)",
            "interval": f"date_part('epoch', {name})",
        }
        if kind not in plain:
            text = f"{name}::text"
            cut = f"case when octet_length({text}) > {LONGEST} then left({text}, {LONGEST}) else {text} end"
            return StoredColumn(f'(({cut}) collate "C")', "string")
        zoned = {"timestamp with time zone": "universal"}.get(column.engine_type, kind)
        return StoredColumn(plain[kind], "floating" if kind == "decimal" else zoned)

    def unit(self, column: Column) -> StoredColumn:
        """A whole number, or a text of limited length: the server's functions fail on very long texts."""
        name = identifier(column.name)
        match str(column.type):
            case "integer":
                return StoredColumn(f"{name}::bigint", "integer")
            case "uuid":
                text = f"{name}::text"
            case "decimal":
                text = f"trim_scale(nullif({name}::numeric, 'NaN'))::text"
            case "binary":
                text = f"case when octet_length({name}) <= {LONGEST_NAME} then nullif(encode({name}, 'hex'), '') end"
            case _:
                short = f"octet_length({name}::text) <= {LONGEST_NAME}"
                text = f"case when {short} then nullif(btrim({name}::text, E' \\t\\n\\r\\x0b\\f'), '') end"
        return StoredColumn(f'(({text}) collate "C")', "string")

    def digest(self, columns: Sequence[StoredColumn]) -> str:
        """A digest of the row as the server writes it."""
        parts = [f"left({own.sql}, {_DIGESTED})" if own.kind == "string" else own.sql for own in columns]
        return f"md5(row({', '.join(parts)})::text)"


class PostgresReader(ServerReader):
    """A stored table of PostgreSQL, or an expression over one."""

    def __init__(self, server: Postgres, shown: str, tables: Sequence[str], fields: Collection[str] | None) -> None:
        """*shown* follows ``from`` in queries, *tables* are the stored tables in it; for an expression, *fields* are
        columns that it uses in addition to those it shows."""
        self.server, self._shown, self._tables, self._fields = server, shown, tables, fields or ()
        self.ours = server.steady
        columns = quietly(lambda: _columns(server, shown) if fields is None else _shown_columns(server, shown))
        if not columns:
            raise SchemaError("the columns of the table cannot be listed. Check that it still exists, and has any.")
        self.columns = columns

    def source(self, names: Collection[str]) -> str:
        """What follows ``from``; queries are answered only as long as the table's definition has not changed."""
        assert isinstance(self.server, Postgres)
        columns = ", ".join(map(identifier, dict.fromkeys(names)))
        shown = f"(select {columns} from {self._shown}) as stored"
        fingerprint = _fingerprint(self._tables, sorted({*names, *self._fields}))
        if not self.server.expect(f"select * from {shown} limit 0", f"select {fingerprint}"):
            raise SchemaError("the definition of the table cannot be read. Check that the server can be reached.")
        return shown


def postgres_reader(url: str, table: str) -> PostgresReader:
    """The reader of a table at an address."""
    server = Postgres.at(url)
    place = quietly(lambda: _place_of(server.connection(), table))
    if place is None:
        names = quietly(lambda: _names_of(server.connection())) or []
        there = f" There are {listing(names)}.{suggestion(table, names)}" if names else ""
        raise SchemaError(f"there is no table {shorten(table)} that this user may read.{there}")
    check_stored(server, place[1], place[0])
    return PostgresReader(server, quoted(place[1], place[0]), [quoted(place[1], place[0])], None)


_TYPE = "format_type(t.oid, null), t.typname::text, t.typtype::text, t.typbasetype::bigint"


def _columns(server: Postgres, table: str) -> list[Column]:
    """The columns of a stored table, including those that this user may not read."""
    columns = server.asked(
        f"select a.attname::text, {_TYPE} from pg_attribute a join pg_type t on t.oid = a.atttypid where a.attrelid = "
        f"to_regclass({sql_text(table)}) and a.attnum > 0 and not a.attisdropped order by a.attnum"
    )
    return [_column(server, name, *kind) for name, *kind in columns]


def _shown_columns(server: Postgres, shown: str) -> list[Column]:
    connection = server.connection()
    with connection.transaction(force_rollback=True), connection.cursor() as cursor:
        cursor.execute(_SETTINGS)
        cursor.execute(f"select * from {shown} limit 0")
        described = [(column.name, column.type_code) for column in cursor.description]
    kinds = {number: server.asked(f"select {_TYPE} from pg_type t where t.oid = {number}") for _, number in described}
    return [_column(server, name, *kinds[number][0]) for name, number in described]


def _column(server: Postgres, name: str, shown_as: str, base: str, kind: str, below: int) -> Column:
    """A domain has the type that it restricts; an enumeration has texts."""
    if kind == "d":
        return _column(server, name, *server.asked(f"select {_TYPE} from pg_type t where t.oid = {below}")[0])
    family = next((family for family, names in _FAMILIES.items() if base in names), "unknown")
    return Column(name, shown_as, "string" if kind == "e" else family)


def _sends_chunks() -> bool:
    """Whether the client's library can fetch many rows of a result at a time, as it can since version 17."""
    from psycopg import capabilities

    return bool(quietly(capabilities.has_stream_chunked))


def _numbers(rows: Sequence[tuple[Any, ...]], width: int) -> Iterable[Integers] | None:
    """The columns of rows that hold only whole numbers, in a tenth of the time; None if any value is null."""
    flat = quietly(lambda: np.fromiter(chain.from_iterable(rows), np.int64, len(rows) * width))
    return None if flat is None else np.ascontiguousarray(flat.reshape(-1, width).T)


def _double(column: str) -> str:
    """A decimal as a double: infinite or zero where it is beyond the range of doubles."""
    return (
        f"(case when {column} = 'NaN'::numeric then 'NaN'::float8 when {column} > {_LARGEST} then 'Infinity'::float8 "
        f"when {column} < -{_LARGEST} then '-Infinity'::float8 when abs({column}) < {_SMALLEST} then 0::float8 "
        f"else {column}::float8 end)"
    )


# ---- connections ----------------------------------------------------------------------------------------------------


def connected_to(url: str) -> Any:
    """A connection to the address, which may set other time limits."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    given: dict[str, Any] = {**_PATIENCE, **conninfo_to_dict(url), "client_encoding": "utf8"}
    return psycopg.connect(**given, autocommit=True)


def refusal_of(attempt: Any) -> str:
    """A message about how far an attempt to connect got. The server's own message, in any language, is not read."""
    if attempt is None or not (attempt.needs_password or attempt.used_password):
        return _NO_SERVER
    return _NO_PASSWORD if attempt.needs_password else _WRONG_PASSWORD


# ---- what a name means ----------------------------------------------------------------------------------------------

_STORED = ("r", "p", "m")
_WHAT = {"v": "a view", "f": "a foreign table"}
_INHERITING = (
    "with recursive family(oid) as (select c.oid union select i.inhrelid from pg_inherits i join family f "
    "on i.inhparent = f.oid) select from family join pg_class l using (oid) where l.relkind = 'f'"
)


def quoted(name: str, database: str | None) -> str:
    """The name of a table, with its schema if there is one."""
    return ".".join(identifier(part) for part in (database, name) if part)


def check_stored(server: Postgres, name: str, database: str | None) -> None:
    """Views, foreign tables and tables under row security are refused: what they do to rows is unknown."""
    query = (
        "select c.relkind::text, row_security_active(c.oid), current_setting('server_encoding'), "
        f"exists ({_INHERITING}), "
        "exists (select from pg_attribute a where a.attrelid = c.oid and a.attgenerated = 'v') "
        f"from pg_class c where c.oid = to_regclass({sql_text(quoted(name, database))})"
    )
    facts = quietly(lambda: server.asked(query))
    if not facts:
        raise SchemaError(f"the table {name!r} cannot be found. Check its name, and that you may read it.")
    problem = _problem(*facts[0])
    if problem:
        raise SchemaError(f"{name!r} {problem}. Store what it shows with create table … as select, and open that.")


def _problem(kind: str, secured: bool, encoding: str, foreign: bool, computed: bool) -> str:
    """What is wrong with a table; an empty text if nothing is wrong."""
    if kind not in _STORED or foreign:
        return f"is {_WHAT.get('f' if foreign else kind, 'another object')}, not a stored table"
    if secured:
        return "has row security, which shows different rows to different users"
    if computed:
        return "has columns that are computed whenever they are read"
    return "" if encoding == "UTF8" else f"is in a database with the encoding {encoding}; UTF8 is needed"


def _fingerprint(tables: Sequence[str], used: Sequence[str]) -> str:
    """An SQL expression for the definition of tables: their kinds, and the used columns with their types."""
    names = ", ".join(map(sql_text, used))
    parts = [
        "(select concat(c.relkind, row_security_active(c.oid), (select string_agg(a.attname || a.atttypid::text, ',' "
        f"order by a.attname) from pg_attribute a where a.attrelid = c.oid and a.attname in ({names}))) "
        f"from pg_class c where c.oid = to_regclass({sql_text(table)}))"
        for table in tables
    ]
    return f"concat({', '.join(parts)})"


def _place_of(connection: Any, table: str) -> tuple[str, str] | None:
    """The schema and the name of a table given as name or as schema.name."""
    dots = [place for place, character in enumerate(table) if character == "."]
    query = (
        "select n.nspname, c.relname from pg_catalog.pg_class c join pg_catalog.pg_namespace n "
        "on n.oid = c.relnamespace where c.oid = pg_catalog.to_regclass(%s)"
    )
    for name, within in ((table, None), *((table[dot + 1 :], table[:dot]) for dot in dots)):
        place = connection.execute(query, [quoted(name, within)]).fetchone()
        if place and place[1] == name:  # the server truncates long names
            return str(place[0]), str(place[1])
    return None


def _names_of(connection: Any) -> list[str]:
    """The tables that the user may read, with their schema where the name alone is not enough."""
    tables = connection.execute(
        "select n.nspname, c.relname, pg_catalog.pg_table_is_visible(c.oid) from pg_catalog.pg_class c "
        "join pg_catalog.pg_namespace n on n.oid = c.relnamespace where c.relkind in ('r', 'p', 'm', 'v', 'f') "
        "and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg\\_t%' "
        "and pg_catalog.has_schema_privilege(n.oid, 'usage') and pg_catalog.has_any_column_privilege(c.oid, 'select')"
    )
    return sorted(name if visible else f"{schema}.{name}" for schema, name, visible in tables.fetchall())
