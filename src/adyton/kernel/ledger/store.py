"""Where a ledger is kept: what a file and a server have in common.

Three properties of databases and their environment shape this module.

*   A connection must not cross a fork: the child would rely on locks that only the parent holds, or write into the
    parent's conversation. Every connection is closed just before a fork, and both processes connect again when they
    next need to.
*   A connection has one transaction at a time. A signal handler runs in the thread that it interrupts, where no lock
    keeps it out: it could undo or commit the interrupted transaction. So a transaction refuses re-entry by its own
    thread.
*   A commit may be confirmed or not. A block that ends without an error was confirmed; after an error, nothing may be
    released that depends on it.
"""

from __future__ import annotations

import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from adyton.errors import LedgerError
from adyton.kernel.ledger.tables import Connection, DamagedError, DisturbedError
from adyton.kernel.sealed import this_process

in_use = threading.RLock()
"""Held while any connection of this process opens, closes or works, and while the process forks."""
_stores: weakref.WeakSet[Store] = weakref.WeakSet()
BUSY_SECONDS = 30.0
"""How long to wait for another process before giving up."""


class Store(ABC):
    """One place where a ledger is kept, and this process's connection to it."""

    def __init__(self, path: str | None, name: str, identity: str | None) -> None:
        self.path, self.name = path, name
        self._identity_of_place = identity
        self._connection: Any = None
        self._process = this_process()
        self._closed = False
        self._under_way = threading.Lock()  # held within a transaction
        _stores.add(self)

    @abstractmethod
    def open(self, fill: Callable[[Connection], None]) -> None:
        """Connect; a ledger that does not exist yet is created, and *fill* writes its first contents."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is something where the ledger would be."""

    @abstractmethod
    def look(self) -> AbstractContextManager[Connection]:
        """A connection for reading only, also if the ledger is not open."""

    @abstractmethod
    def bring_up_to_date(self, connection: Connection) -> None:
        """Convert a ledger of an earlier format, within the current transaction."""

    @abstractmethod
    def _connected(self) -> Any:
        """The connection, made if there is none."""

    @abstractmethod
    def _begin(self, connection: Any, *, write: bool) -> Any:
        """Begin a transaction, and return the connection that has it; writers queue, also across processes."""

    @abstractmethod
    def _commit(self, connection: Any) -> None:
        """End the transaction, durably; an error if that is not certain."""

    @abstractmethod
    def _in_words(self, error: Exception) -> str | None:
        """A sentence about an error of the database, without the ledger's name; None for other errors."""

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Connection]:
        """One transaction: durable when the block ends, undone if it raises. Writers queue, also across processes."""
        with in_use, self.plainly():
            self._refuse_reentry()
            with self._under_way:
                connection = self._connected()
                try:
                    connection = self._begin(connection, write=write)
                    yield connection
                    self._refuse_inherited()
                    self._commit(connection)
                except BaseException:
                    self._undo(connection)
                    raise

    def _undo(self, connection: Any) -> None:
        if self._process == this_process() and connection.in_transaction:
            try:
                connection.execute("ROLLBACK")
            except Exception:
                self.disconnect()  # the database undoes what was not committed

    def _refuse_reentry(self) -> None:
        """Raise an error if a transaction on this ledger is under way: it can only be in this same thread."""
        place = self._identity_of_place
        here = [other for other in _stores if place is not None and other._identity_of_place == place]
        if any(store.under_way for store in (self, *here)):
            raise LedgerError(
                f"{self.name} is already being used in this thread, which a signal handler must have interrupted. "
                "Nothing was spent; ask again when the handler has returned."
            )

    def close(self) -> None:
        """Disconnect permanently; closing twice is allowed."""
        with in_use:
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
        """Close this process's connection; unless the ledger is in memory, the next transaction opens another."""
        if self._connection is not None and self._process == this_process():
            with suppress(Exception):
                self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        with suppress(Exception):
            self.disconnect()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise LedgerError(f"{self.name} was closed. Open it again to use it.")

    def _refuse_inherited(self) -> None:
        """Raise an error in a process that was forked from the connection's process, even within a transaction.

        A transaction belongs to the parent, which continues it. To commit or undo it here, without the parent's locks,
        would overwrite what the parent has written meanwhile.
        """
        if self._process != this_process():
            raise LedgerError(
                f"{self.name} was opened by process {self._process[0]} and cannot be used in process {os.getpid()}, "
                "which was forked from it. Give the ledger a file, and open it in each process."
            )

    @contextmanager
    def plainly(self) -> Iterator[None]:
        """Turn errors of the database into messages that a person can act on."""
        try:
            yield
        except DamagedError as damage:
            raise LedgerError(f"{self.name} is damaged: {damage}. Restore it from a copy.") from None
        except DisturbedError:
            raise LedgerError(f"{self.name} was changed by another process meanwhile. Nothing was spent.") from None
        except Exception as error:
            sentence = self._in_words(error)
            if sentence is None:
                raise
            raise LedgerError(f"{self.name} {sentence}") from None


def _before_fork() -> None:
    in_use.acquire()
    for store in list(_stores):
        if store.path is not None and not store.under_way:  # else a handler forks, and the transaction continues after
            store.disconnect()


def _after_fork_in_parent() -> None:
    in_use.release()


def _after_fork_in_child() -> None:
    global in_use
    in_use = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
