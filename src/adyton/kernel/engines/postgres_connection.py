"""Connections to PostgreSQL: how they are made, kept, and set for the time of one query."""

from __future__ import annotations

import weakref
from typing import Any

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


def backend_at(url: str) -> Any:
    """Ibis's way to a server, which connects anew when a connection was lost, and is closed when nobody has it."""
    from ibis.backends.postgres import Backend

    connection = _connection(url)
    backend, kept = Backend.from_connection(connection), [connection]

    def reconnect() -> None:
        backend.con = kept[0] = _connection(url)

    def close() -> None:
        kept[0].close()

    backend._can_reconnect, backend.reconnect = True, reconnect
    weakref.finalize(backend, close)
    return backend


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
