"""Tables at an address: ``postgresql://host/clinic`` and ``sc://host`` (Spark Connect). No message repeats an address.

Claim.  Nothing that says who may read the data is shown: no user, password, token, host or parameter.
Proof.  What is shown of an address is made here, from its kind, the last part of its path and the table's name. What
drivers say when they fail is never repeated.  ∎
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

from adyton.errors import BadInput, SchemaError
from adyton.kernel.sealed import quietly
from adyton.kernel.tables.expressions import ExpressionReader
from adyton.kernel.tables.readers import Reader
from adyton.kernel.tables.spark_reader import SparkReader
from adyton.messages import listing, shorten

_POSTGRES, _SPARK = ("postgresql://", "postgres://"), ("sc://",)
_KINDS = "postgresql:// (PostgreSQL) and sc:// (Spark Connect)"
_SECONDS = 15
"""As long is waited for a server that does not answer."""
_SPARK_PORT = 15002
_PROXIES = [name for word in ("grpc_proxy", "https_proxy", "http_proxy") for name in (word, word.upper())]
"""Where one of these is set, the client may reach a server that we do not."""


def is_address(data: Any) -> bool:
    """Whether the data are at an address, and not in a file."""
    return isinstance(data, str) and "://" in data


def table_at(data: Any, table: str | None) -> Any:
    """The data with the name of the table in them, where one was said.

    >>> table_at("postgresql://localhost/clinic", "visits")
    'postgresql://localhost/clinic#visits'
    """
    if table is None:
        return data
    if not isinstance(data, str | os.PathLike) or not isinstance(table, str):
        raise BadInput("table is the name of a table in a database, whose address or file is given beside it as text.")
    if "#" in os.fspath(data):
        raise BadInput(f"the data name a table already, and table = {shorten(table)} names one. Say it once.")
    return f"{os.fspath(data)}#{table}"


def address_name(address: str) -> str:
    """A public name for a table at an address.

    >>> address_name("postgresql://ann:secret@db.example.org:5432/clinic?sslmode=require#visits")
    'clinic.visits'
    """
    base, _, table = address.partition("#")
    place = base.partition("://")[2].partition("?")[0].partition(";")[0].partition("/")[2].strip("/")
    return ".".join(part for part in (unquote(place.rpartition("/")[2]), table) if part) or "table"


def reader_at(address: str) -> Reader:
    """The reader of a table at an address."""
    base, _, table = address.partition("#")
    kind = base.partition("://")[0].lower() + "://"
    if kind not in (*_POSTGRES, *_SPARK):
        raise SchemaError(f"addresses that begin with {shorten(kind)} cannot be opened, {_KINDS} can.")
    if not table:
        raise SchemaError("the address names no table. Say which one with table='…' (--table on the command line).")
    return _postgres(base, table) if kind in _POSTGRES else _spark(base, table)


def _postgres(url: str, table: str) -> Reader:
    try:
        import psycopg
        from ibis.backends.postgres import Backend
    except ImportError:
        raise SchemaError("PostgreSQL needs a driver: pip install 'adyton[postgres]'.") from None

    def connect() -> Any:
        return psycopg.connect(url, autocommit=True, connect_timeout=_SECONDS, application_name="adyton")

    connection = quietly(connect)
    if connection is None:
        raise SchemaError(
            "the PostgreSQL server cannot be reached, or does not let this user in. Check host, port, database, user "
            "and password in the address, or in PGHOST, PGUSER, PGPASSWORD and their like."
        )
    backend = Backend.from_connection(connection)
    backend._can_reconnect = True
    backend.reconnect = lambda: setattr(backend, "con", connect())
    return _of_table(table, lambda database, name: backend.table(name, database=database), lambda: _tables(backend))


def _spark(url: str, table: str) -> Reader:
    try:
        from pyspark.sql.connect.session import SparkSession
    except ImportError:
        raise SchemaError("Spark needs its client: pip install 'adyton[spark]'.") from None
    session = quietly(lambda: SparkSession.builder.remote(url).create()) if _answers(url) else None
    if session is None or quietly(lambda: session.version) is None:
        raise SchemaError("the Spark server cannot be reached, or does not let this user in. Check the address.")
    frame = session.table(table)
    if quietly(lambda: frame.schema) is None:
        raise SchemaError(f"there is no table {shorten(table)} that this user may read. Check its name.")
    return SparkReader(frame)


def _answers(url: str) -> bool:
    """Whether somebody listens at an address of Spark: its client would go on trying for ten minutes."""
    if any(os.environ.get(name) for name in _PROXIES):
        return True

    def tried() -> bool:
        place = urlsplit(url)
        with socket.create_connection((place.hostname or "", place.port or _SPARK_PORT), _SECONDS):
            return True

    return quietly(tried) is True


def _of_table(table: str, find: Callable[[str | None, str], Any], known: Callable[[], list[str]]) -> Reader:
    """The reader of a table, whose name may have its schema before it."""
    database, _, name = table.rpartition(".")
    found = quietly(lambda: find(database or None, name))
    if found is None:
        names = quietly(known)
        there = f" There are {listing(names)}." if names else ""
        raise SchemaError(f"there is no table {shorten(table)} that this user may read.{there}")
    return ExpressionReader(found)


def _tables(backend: Any) -> list[str]:
    return sorted(backend.list_tables())
