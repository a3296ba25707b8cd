"""The ledger's file: connecting to it, and telling plainly what is wrong with it.

Four properties of SQLite shape this module.

*   POSIX drops a process's locks on a file as soon as the process closes *any* descriptor of that file, so a ledger is
    looked at through SQLite and ``stat`` only, never with ``open``.
*   A connection must not cross a fork: the child would believe in locks that only the parent holds. Every connection is
    closed just before a fork, and both sides connect again when they next need to.
*   A connection has one transaction at a time. A signal handler runs in the thread that it interrupts, where no lock
    keeps it out: it could undo or commit what it interrupted. So a transaction refuses re-entry by its own thread.
*   An empty file is a valid database. A truncated ledger must not pass for a new one, so an empty file is refused.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from adyton.errors import LedgerError
from adyton.kernel.ledger.creation import APPLICATION, FORMAT, clear_drafts, connect, create, write_first
from adyton.kernel.ledger.place import examine, state
from adyton.kernel.ledger.records import DamagedError, DisturbedError
from adyton.kernel.sealed import this_process

_in_use = threading.RLock()
"""Held while any connection of this process opens, closes or works, and while the process forks."""
_files: weakref.WeakSet[LedgerFile] = weakref.WeakSet()

_CAUSES = (
    ("locked", "is held by another process. Wait for it to finish, then try again."),
    ("readonly", "cannot be written. Check the permissions of the file and of its directory."),
    ("is full", "cannot be written because the disk is full. Make room, then try again."),
    ("not a database", "is not a ledger. Give the path of a ledger, or of a file that does not exist yet."),
    ("malformed", "is damaged. Restore it from a copy; do not start a new one for the same data."),
    ("no such", "is damaged. Restore it from a copy; do not start a new one for the same data."),
    ("unable to open", "cannot be opened. Check the permissions of the file and of its directory."),
)


class LedgerFile:
    """One ledger file, or one database in memory, and this process's connection to it."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        self._absolute = None if path is None else os.path.realpath(path)
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._process = this_process()
        self._closed = False
        self._under_way = threading.Lock()  # held within a transaction
        self.name = "the ledger in memory" if path is None else path

    def open(self, fill: Callable[[sqlite3.Connection], None]) -> None:
        """Connect; a ledger that does not exist yet is created, with its first contents written by *fill*."""
        with _in_use, self._plainly():
            if self._absolute is None:
                self._connection = connect(":memory:")
                write_first(self._connection, fill)
            else:
                clear_drafts(self._absolute)
                if not os.path.lexists(self._absolute):
                    create(self._absolute, self.name, fill)
                self._connected()
            _files.add(self)

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        """One transaction: durable when the block ends, undone when it raises. Writers queue, across processes too."""
        with _in_use, self._plainly():
            self._refuse_reentry()
            with self._under_way:
                connection = self._connected()
                try:
                    connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                    yield connection
                    self._refuse_inherited()
                    connection.execute("COMMIT")
                except BaseException:
                    if self._process == this_process() and connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise

    def _refuse_reentry(self) -> None:
        """An error if a transaction on this ledger is under way: whoever holds the lock can only be its own thread."""
        here = [other for other in _files if self._absolute is not None and other._absolute == self._absolute]
        if any(file.under_way for file in (self, *here)):
            raise LedgerError(
                f"{self.name} is being used in this very thread, which a signal handler must have interrupted. "
                "Nothing was spent; ask again when the handler has returned."
            )

    @contextmanager
    def look(self) -> Iterator[sqlite3.Connection]:
        """A connection that only reads, for a ledger that need not be open; it leaves nothing behind on the disk.

        A ledger that nobody has open has no write-ahead log, and is then read as a file that does not change: an
        ordinary connection would create the log. If a writer comes meanwhile, what was read is not used.
        """
        assert self._absolute is not None
        with _in_use, self._plainly():
            before = state(examine(self._absolute, self.name))
            quiet = not os.path.exists(self._absolute + "-wal")
            connection = connect(f"{Path(self._absolute).as_uri()}?mode=ro{'&immutable=1' if quiet else ''}")
            try:
                _check_kind(connection, self.name)
                connection.execute("BEGIN")
                yield connection
                self._insist_unchanged(quiet, before)
            except (DamagedError, sqlite3.Error):
                self._insist_unchanged(quiet, before)
                raise
            finally:
                connection.close()

    def _insist_unchanged(self, quiet: bool, before: tuple[int, ...]) -> None:
        assert self._absolute is not None
        if quiet and (before != state(examine(self._absolute, self.name)) or os.path.exists(self._absolute + "-wal")):
            raise ChangedError from None

    def close(self) -> None:
        """Disconnect for good; closing twice is fine."""
        with _in_use:
            self._closed = True
            self.disconnect()

    @property
    def under_way(self) -> bool:
        """Whether a transaction is under way."""
        return self._under_way.locked()

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._closed

    def disconnect(self) -> None:
        """Drop this process's connection; for a file, the next transaction makes another."""
        if self._connection is not None and self._process == this_process():
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        with suppress(Exception):
            self.disconnect()

    def _connected(self) -> sqlite3.Connection:
        if self._closed:
            raise LedgerError(f"{self.name} was closed. Open it again to use it.")
        if self._connection is not None:
            self._refuse_inherited()
        if self._connection is not None and self._connection.in_transaction:
            self._connection.execute("ROLLBACK")  # left open by an interruption: the lock says that it is nobody's
        if self._absolute is None:
            assert self._connection is not None
            return self._connection
        found = examine(self._absolute, self.name)
        if self._identity not in (None, (found.st_dev, found.st_ino)):
            raise LedgerError(f"{self.name} was replaced while it was open. Put the first file back, or open it again.")
        if self._connection is None:
            connection = connect(f"{Path(self._absolute).as_uri()}?mode=rw")
            try:
                _check_kind(connection, self.name)
                if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                    connection.execute("PRAGMA journal_mode = WAL")
            except BaseException:
                connection.close()
                raise
            self._connection, self._process = connection, this_process()
            self._identity = (found.st_dev, found.st_ino)
        return self._connection

    def _refuse_inherited(self) -> None:
        """An error in a process that was forked from the one that made the connection, even within a transaction.

        A transaction belongs to the parent, which goes on with it. To commit or undo it here, without the parent's
        locks, would write over what the parent has written meanwhile.
        """
        if self._process != this_process():
            raise LedgerError(
                f"{self.name} was opened by process {self._process[0]} and cannot be used in process {os.getpid()}, "
                "which was forked from it. Give the ledger a file, and open it in each process."
            )

    @contextmanager
    def _plainly(self) -> Iterator[None]:
        """Turn what SQLite says into what a person can act on."""
        try:
            yield
        except DamagedError as damage:
            raise LedgerError(f"{self.name} is damaged: {damage}. Restore it from a copy.") from None
        except DisturbedError:
            raise LedgerError(f"{self.name} was changed by somebody else meanwhile. Nothing was spent.") from None
        except sqlite3.Error as error:
            for sign, sentence in _CAUSES:
                if sign in str(error):
                    raise LedgerError(f"{self.name} {sentence}") from None
            raise LedgerError(f"{self.name} could not be used: {error}. Check the disk, then try again.") from None


class ChangedError(Exception):
    """A writer came while a quiet ledger was being read: read again."""


def _check_kind(connection: sqlite3.Connection, name: str) -> None:
    """Refuse a database that is not a ledger, or that a newer version wrote, before anything is written to it."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION:
        raise LedgerError(f"{name} is not a ledger: another program wrote it. Give the path of a ledger.")
    if version > FORMAT:
        raise LedgerError(
            f"{name} has ledger format {version}, and this version of Adyton knows format {FORMAT}. Upgrade Adyton."
        )
    if version < 1:
        raise DamagedError("its format number is missing")
    if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise DamagedError("its pages are inconsistent")


def _before_fork() -> None:
    _in_use.acquire()
    for file in list(_files):
        if file.path is not None and not file.under_way:  # else a handler forks, and the transaction goes on after it
            file.disconnect()


def _after_fork_in_parent() -> None:
    _in_use.release()


def _after_fork_in_child() -> None:
    global _in_use
    _in_use = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
