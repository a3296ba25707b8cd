"""A ledger on a PostgreSQL server: the tables of a file, in a schema of their own.

Four properties of servers and networks shape this module.

*   Two writers must not both read what only one of them may spend. So a writer locks the row of the account first, and
    whatever it reads after that was committed before, because each statement sees what is committed when it begins.
*   A server may confirm a commit before it is on the disk. So every transaction asks for ``synchronous_commit``.
*   A connection may be lost at any moment, also between a commit and its confirmation. Then it is not known whether a
    debit was written, and nothing is answered: the debit stands or was not made, and never is there an answer without.
*   Settings of the user, of the database or of a pool of connections may change what statements mean. So every
    transaction makes its own, and names of tables are looked up in the ledger's schema only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from adyton.errors import BadInput, LedgerError
from adyton.kernel.ledger import store
from adyton.kernel.ledger.changes import adopt
from adyton.kernel.ledger.store import Store
from adyton.kernel.ledger.tables import CHANGES, FORMAT, INDEXES, TABLES, Connection, DamagedError, DisturbedError
from adyton.kernel.sealed import this_process
from adyton.messages import shorten

try:
    import psycopg
    from psycopg import errors
except ImportError:
    raise LedgerError("a ledger in PostgreSQL needs a driver: pip install 'adyton[postgres]'.") from None

from adyton.kernel.engines import identifier, sql_text
from adyton.kernel.engines.postgres import connected_to, refusal_of

MARK = "adyton_ledger"
"""A table with the number of the format: it distinguishes a ledger from what other programs keep in a schema."""
_FIRST = 4
"""The first format on servers."""
_DEFAULT = "adyton"
"""The schema where the address names none."""
_LONGEST_NAME = 63
_TOLD = ("host", "port", "user", "dbname")
"""Settings in an address that are shown: others may be passwords."""
_STALLED_SECONDS = 60
"""After this time the server undoes the transaction of a process that has stopped, so that others can go on."""
_BUSY = (1, 2, 3)
"""States of a connection in which a transaction is open: a statement runs, none runs, one has failed."""
_PRIVILEGES = "Check the privileges of its user: it reads and writes the ledger's tables, and creates them at first."
_WORDS: tuple[tuple[tuple[type[psycopg.Error], ...], str], ...] = (
    ((errors.LockNotAvailable,), "is held by another process. Wait for it to finish, then try again."),
    ((errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction), f"cannot be written. {_PRIVILEGES}"),
    ((errors.DiskFull,), "cannot be written because the server's disk is full. Make room, then try again."),
    ((errors.DuplicateTable,), "is not a ledger: its schema has tables of other programs. Name another schema."),
    (
        (errors.UndefinedTable, errors.UndefinedColumn, errors.InvalidSchemaName),
        "is damaged. Restore it from a copy; do not start a new one for the same data.",
    ),
    (
        (psycopg.OperationalError, psycopg.InterfaceError),
        "cannot be reached: the connection was lost. Nothing was spent; try again.",
    ),
)
_UNKNOWN = (
    "did not confirm what was written: the connection was lost at that moment. If a debit was written, it counts as "
    "spent; nothing was answered for it. Look into the ledger before you ask again."
)


class LedgerServer(Store):
    """A ledger at an address ``postgresql://user@host/database?schema=name``, and this process's connection to it.

    The address may have a password, which is kept for connecting again and shown nowhere.
    """

    def __init__(self, address: str) -> None:
        where, self._schema, shown = parsed(address)
        self._connect: Callable[[], psycopg.Connection[Any]] = lambda: _connected(where, shown)
        super().__init__(shown, shown, shown)

    def open(self, fill: Callable[[Connection], None]) -> None:
        """Connect; a ledger that does not exist yet is created, and *fill* writes its first contents."""
        with store.in_use, self.plainly():
            if not self._kept():
                self._create(fill)

    def exists(self) -> bool:
        """Whether the schema has a ledger."""
        with store.in_use, self.plainly():
            try:
                return self._kept()
            finally:
                self.disconnect()

    def bring_up_to_date(self, connection: Connection) -> None:
        """Convert a ledger of the fourth format, the first on servers, within the current transaction."""
        if connection.execute(f"SELECT format FROM {MARK}").fetchone() == (_FIRST,):
            for statement in (*CHANGES, *INDEXES):
                connection.execute(statement.replace(" INTEGER", " BIGINT"))
            adopt(connection)
            connection.execute(f"UPDATE {MARK} SET format = {FORMAT}")

    @contextmanager
    def look(self) -> Iterator[Connection]:
        """A transaction for reading only, of a ledger that need not be open. One of an earlier format is converted in
        temporary tables, which are gone when the transaction is undone."""
        try:
            with store.in_use, self.plainly():
                version = self._format()
                if version is None:
                    raise LedgerError(f"{self.name} does not exist. Check the address and the schema of the ledger.")
            if version == FORMAT:
                with self.transaction(write=False) as connection:
                    yield connection
            else:
                with store.in_use, self.plainly(), self._undone() as connection:
                    for statement in CHANGES:
                        made = statement.replace("CREATE TABLE", "CREATE TEMP TABLE")
                        connection.execute(made.replace(" INTEGER", " BIGINT"))
                    adopt(connection)
                    yield connection
        finally:
            self.disconnect()

    @contextmanager
    def _undone(self) -> Iterator[ServerConnection]:
        """One state of the ledger, in a transaction that may write, and is undone."""
        connection = self._begin(self._connected(), write=True, kept=False)
        try:
            connection.execute("ROLLBACK AND CHAIN")
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            connection.execute(f"SET LOCAL search_path TO {identifier(self._schema)}, pg_temp")
            yield connection
        finally:
            self._undo(connection)

    def _kept(self) -> bool:
        """Whether there is a ledger."""
        return self._format() is not None

    def _format(self) -> int | None:
        """The format of the ledger, None if there is none; an error if it is of a newer version."""
        connection = self._begin(self._connected(), write=False, kept=False)
        try:
            mark = sql_text(f"{identifier(self._schema)}.{MARK}")
            found = connection.execute(f"SELECT to_regclass({mark})").fetchone() != (None,)
            rows = connection.execute(f"SELECT format FROM {MARK}").fetchall() if found else [(FORMAT,)]
        finally:
            self._undo(connection)
        version = int(rows[0][0]) if len(rows) == 1 else 0
        if version < _FIRST:
            raise DamagedError("its format number is missing")
        if version > FORMAT:
            raise LedgerError(
                f"{self.name} has ledger format {version}, but this version reads formats up to {FORMAT}. Upgrade "
                "Adyton."
            )
        return version if found else None

    def _create(self, fill: Callable[[Connection], None]) -> None:
        """Make all tables in one transaction. If two processes do so, the first wins, and the second finds them."""
        name = identifier(self._schema)
        connection = self._begin(self._connected(), write=True, kept=False)
        try:
            connection.execute("SELECT pg_advisory_xact_lock(hashtext(?))", (f"adyton {self._schema}",))
            if connection.execute("SHOW server_encoding").fetchone() != ("UTF8",):
                raise LedgerError(f"{self.name} is in a database without the encoding UTF8. Use another database.")
            if connection.execute(f"SELECT to_regclass({sql_text(f'{name}.{MARK}')})").fetchone() == (None,):
                if connection.execute(f"SELECT to_regnamespace({sql_text(name)})").fetchone() == (None,):
                    connection.execute(f"CREATE SCHEMA {name}")
                for table in (f"CREATE TABLE {MARK} (format INTEGER PRIMARY KEY)", *TABLES):
                    connection.execute(table.replace(" INTEGER", " BIGINT"))
                connection.execute(f"INSERT INTO {MARK} VALUES (?)", (FORMAT,))
                fill(connection)
            self._commit(connection)
        finally:
            self._undo(connection)

    def _connected(self) -> ServerConnection:
        self._refuse_closed()
        if self._connection is not None:
            self._refuse_inherited()
        if self._connection is None or not self._connection.usable:
            self.disconnect()
            self._connection, self._process = ServerConnection(self._connect()), this_process()
        assert isinstance(self._connection, ServerConnection)
        return self._connection

    def _begin(self, connection: ServerConnection, *, write: bool, kept: bool = True) -> ServerConnection:
        """Begin a transaction with our own settings. A connection that was lost since the last one is renewed."""
        kind = "READ COMMITTED READ WRITE" if write else "REPEATABLE READ READ ONLY"
        statements = (
            f"BEGIN ISOLATION LEVEL {kind}",
            f"SET LOCAL search_path TO {identifier(self._schema)}, pg_temp",
            "SET LOCAL synchronous_commit TO on",
            "SET LOCAL statement_timeout TO 0",
            f"SET LOCAL lock_timeout TO {int(store.BUSY_SECONDS * 1000)}",
            f"SET LOCAL idle_in_transaction_session_timeout TO {_STALLED_SECONDS * 1000}",
            *(["SELECT id FROM ledger FOR UPDATE"] if write and kept else []),
        )
        try:
            last = connection.execute("; ".join(statements))
        except (psycopg.OperationalError, psycopg.InterfaceError):
            if connection.in_transaction:  # another process holds the account
                raise
            self.disconnect()
            connection = self._connected()
            last = connection.execute("; ".join(statements))
        while last.nextset():
            pass
        if write and kept and last.fetchall() != [(1,)]:
            self._undo(connection)
            raise DamagedError("the account is missing")
        return connection

    def _commit(self, connection: ServerConnection) -> None:
        try:
            ended = connection.execute("COMMIT").statusmessage
        except psycopg.Error:
            self.disconnect()
            raise LedgerError(f"{self.name} {_UNKNOWN}") from None
        if ended != "COMMIT":  # so the server answers where a statement had failed
            raise DisturbedError

    def _in_words(self, error: Exception) -> str | None:
        """A sentence about an error of the driver or the server. The server's own message is not repeated."""
        for kinds, sentence in _WORDS:
            if isinstance(error, kinds):
                return sentence
        if isinstance(error, psycopg.Error):
            return f"could not be used ({type(error).__name__}). Check the server's log, then try again."
        return None

    def __repr__(self) -> str:
        return f"<{self.name}>"


class ServerConnection:
    """A connection of psycopg with the statements of SQLite."""

    def __init__(self, raw: psycopg.Connection[Any]) -> None:
        self._raw = raw

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return not self._raw.closed and self._raw.info.transaction_status in _BUSY

    @property
    def usable(self) -> bool:
        """Whether the next transaction can begin, as far as is known here."""
        return not self._raw.closed and not self.in_transaction

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> psycopg.Cursor[Any]:
        """Run a statement, with a value for each question mark."""
        return self._raw.execute(statement.replace("?", "%s").encode(), values or None)

    def close(self) -> None:
        """Disconnect."""
        self._raw.close()


def _connected(where: str, shown: str) -> psycopg.Connection[Any]:
    try:
        connection: psycopg.Connection[Any] = connected_to(where)
    except psycopg.OperationalError as error:
        reason = refusal_of(error.pgconn)
    except psycopg.Error:
        reason = "its address cannot be read. Write postgresql://user@host/database?schema=name."
    else:
        connection.prepare_threshold = None  # a pool may pass each transaction to another connection
        return connection
    raise LedgerError(f"{shown} cannot be opened: {reason}")


def parsed(address: str) -> tuple[str, str, str]:
    """Of an address: what the driver needs to know, the schema, and the address without password and other settings.

    >>> parsed("postgresql://ann:secret@db:5433/clinic?sslmode=require&schema=visits")[1:]
    ('visits', 'postgresql://ann@db:5433/clinic?schema=visits')
    """
    base, _, query = address.partition("?")
    settings = [setting for setting in query.split("&") if setting]
    own = [unquote(setting.partition("=")[2]) for setting in settings if setting.startswith("schema=")] or [_DEFAULT]
    schema = own[0]
    if len(own) > 1 or not schema.isidentifier() or not schema.isascii() or len(schema) > _LONGEST_NAME:
        raise BadInput(f"schema in the address of a ledger is a short name like visits, given {shorten(schema)}.")
    rest = "&".join(setting for setting in settings if not setting.startswith("schema="))
    kind, _, place = base.partition("://")
    user, at, server = place.rpartition("@")
    told = [setting for setting in settings if setting.partition("=")[0] in _TOLD]
    shown = f"{kind}://{user.partition(':')[0]}{at}{server}?{'&'.join([*told, f'schema={schema}'])}"
    return f"{base}?{rest}" if rest else base, schema, shown
