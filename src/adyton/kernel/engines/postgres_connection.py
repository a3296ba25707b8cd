"""Connections to PostgreSQL: how they are made, kept, and set for the time of one query."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.engines.own import OURS
from adyton.kernel.sealed import quietly

_MEMORY = 64 << 20
"""A hash table of a hundred thousand cells should not go to the disk; what the server allows beyond that stays."""
_FIXED = {
    "enable_mergejoin": "off",
    "enable_nestloop": "off",
    "standard_conforming_strings": "on",
    "array_nulls": "on",
    "extra_float_digits": "1",
    "DateStyle": "ISO",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
}
_OWN_FIRST = "concat_ws(', ', 'pg_catalog', nullif(current_setting('search_path'), ''))"
_ENOUGH = f"greatest(pg_size_bytes(current_setting('work_mem')), {_MEMORY}) / 1024 || 'kB'"
_VALUES = {name: f"'{value}'" for name, value in _FIXED.items()} | {"search_path": _OWN_FIRST, "work_mem": _ENOUGH}
SETTINGS = f"select {', '.join(f'set_config({name!r}, {value}, true)' for name, value in _VALUES.items())}"
"""For one query: the server cannot know how small our tables are, and would sort all rows to join them. What is set for
this user or this database does not change what texts mean, and functions are the server's own."""
_PATIENCE = {
    "connect_timeout": 15,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
    "application_name": "adyton",
}
"""As long is waited for a server that does not answer: seconds, and milliseconds for what was sent."""
_IDLE = 0
_NO_SERVER = (
    "the PostgreSQL server cannot be reached, or does not let this user in. Check host, port, database, user and "
    "password in the address, or in PGHOST, PGUSER, PGPASSWORD and their like."
)
_NO_PASSWORD = "the PostgreSQL server asks for a password, and has got none. Put it into ~/.pgpass or PGPASSWORD."
_WRONG_PASSWORD = (
    "the PostgreSQL server was reached, but does not let this user in. Check database, user and password in the "
    "address, or in PGDATABASE, PGUSER, PGPASSWORD and ~/.pgpass."
)


def backend_at(url: str) -> Any:
    """Ibis's way to a server; if there is none, an error that repeats neither the address nor what the server says."""
    try:
        import ibis.backends.postgres
        import psycopg

        _ = ibis.backends.postgres, psycopg
    except ImportError:
        raise SchemaError("PostgreSQL needs a driver: pip install 'adyton[postgres]'.") from None
    refusals: list[str] = []
    backend = quietly(lambda: _backend(url, refusals.append))
    if backend is None:
        raise SchemaError(refusals[0] if refusals else _NO_SERVER)
    return backend


def _backend(url: str, refused: Callable[[str], None]) -> Any:
    """What connects anew when a connection was lost, and is closed when nobody has it."""
    import psycopg
    from ibis.backends.postgres import Backend

    try:
        connection = _connection(url)
    except psycopg.OperationalError as error:
        refused(_refusal(error.pgconn))
        raise
    backend, kept = Backend.from_connection(connection), [connection]

    def reconnect() -> None:
        backend.con = kept[0] = _connection(url)

    def close() -> None:
        kept[0].close()

    backend._can_reconnect, backend.reconnect = True, reconnect
    setattr(backend, OURS, True)
    weakref.finalize(backend, close)
    return backend


def _refusal(attempt: Any) -> str:
    """How far an attempt to connect came. What the server said, maybe in another language, is not read."""
    if attempt is None or not (attempt.needs_password or attempt.used_password):
        return _NO_SERVER
    return _NO_PASSWORD if attempt.needs_password else _WRONG_PASSWORD


def _connection(url: str) -> Any:
    """A connection to the address, which may say itself how long it waits."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    given: dict[str, Any] = {**_PATIENCE, **conninfo_to_dict(url), "client_encoding": "utf8"}
    return psycopg.connect(**given, autocommit=True)


def connected(backend: Any) -> Any:
    """The connection of Ibis; a new one if it was lost while nothing was asked, so that no count is lost for that."""
    connection = backend.con
    open_work = not connection.closed and connection.info.transaction_status != _IDLE
    if open_work or not getattr(backend, "_can_reconnect", True):
        return connection

    def answers() -> bool:
        with connection.transaction():
            return True

    if not quietly(answers):
        backend.reconnect()
    return backend.con
