"""A ledger in a file: its path, creating it, connecting to it, and messages about problems with it.

Two properties of SQLite and its environment shape this module, beside those in :mod:`adyton.kernel.ledger.store`.

*   POSIX drops a process's locks on a file as soon as the process closes *any* descriptor of that file, so a ledger is
    read through SQLite and ``stat`` only, never with ``open``.
*   An empty file is a valid database. A truncated ledger must not pass for a new one, so an empty file is refused.

A new ledger is completed under another name and then linked into place. So there is never half a ledger at its path,
two processes that create it at the same time get the same ledger, and an existing file is never touched.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from adyton import drafts
from adyton.errors import BadInput, LedgerError
from adyton.kernel.ledger import formats, store
from adyton.kernel.ledger.store import Store
from adyton.kernel.ledger.tables import FORMAT, TABLES, Connection, DamagedError
from adyton.kernel.sealed import this_process
from adyton.messages import shorten

APPLICATION = 0x41445954
"""SQLite's application_id of a ledger: the letters ADYT."""
_CAUSES = (
    ("locked", "is held by another process. Wait for it to finish, then try again."),
    ("readonly", "cannot be written. Check the permissions of the file and of its directory."),
    ("is full", "cannot be written because the disk is full. Make room, then try again."),
    ("not a database", "is not a ledger. Give the path of a ledger, or of a file that does not exist yet."),
    ("malformed", "is damaged. Restore it from a copy; do not start a new one for the same data."),
    ("no such", "is damaged. Restore it from a copy; do not start a new one for the same data."),
    ("unable to open", "cannot be opened. Check the permissions of the file and of its directory."),
)


class LedgerFile(Store):
    """One ledger file, or one database in memory, and this process's connection to it."""

    def __init__(self, path: str | None) -> None:
        self._absolute = None if path is None else os.path.realpath(path)
        super().__init__(path, "the ledger in memory" if path is None else path, self._absolute)
        self._identity: tuple[int, int] | None = None

    def open(self, fill: Callable[[Connection], None]) -> None:
        """Connect; a ledger that does not exist yet is created, and *fill* writes its first contents."""
        with store.in_use, self.plainly():
            if self._absolute is None:
                self._connection = connect(":memory:")
                write_first(self._connection, fill)
            else:
                clear_drafts(self._absolute)
                if not self.exists():
                    create(self._absolute, self.name, fill)
                self._connected()

    def exists(self) -> bool:
        """Whether there is something at its path."""
        return self._absolute is not None and os.path.lexists(self._absolute)

    def bring_up_to_date(self, connection: Connection) -> None:
        """Convert a ledger of an earlier format, within the current transaction."""
        formats.bring_up_to_date(connection)

    @contextmanager
    def look(self) -> Iterator[Connection]:
        """A read-only connection, for a ledger that need not be open; it leaves nothing on the disk.

        A ledger that no process has open has no write-ahead log, and is then read as an immutable file: an ordinary
        connection would create the log. If a process writes meanwhile, the contents read are discarded. A ledger of an
        earlier format is converted in memory.
        """
        assert self._absolute is not None
        with store.in_use, self.plainly():
            before = state(examine(self._absolute, self.name))
            quiet = not os.path.exists(self._absolute + "-wal")
            connection = connect(f"{Path(self._absolute).as_uri()}?mode=ro{'&immutable=1' if quiet else ''}")
            try:
                if _check_kind(connection, self.name) < FORMAT:
                    connection = _in_memory(connection)
                connection.execute("BEGIN")
                formats.bring_up_to_date(connection)
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

    def _connected(self) -> sqlite3.Connection:
        self._refuse_closed()
        if self._connection is not None:
            self._refuse_inherited()
        if self._connection is not None and self._connection.in_transaction:
            self._connection.execute("ROLLBACK")  # left open by an interrupt: nothing else holds the lock
        if self._absolute is None:
            assert isinstance(self._connection, sqlite3.Connection)
            return self._connection
        status = examine(self._absolute, self.name, opening=self._connection is None)
        if self._identity not in (None, (status.st_dev, status.st_ino)):
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
            self._identity = (status.st_dev, status.st_ino)
        assert isinstance(self._connection, sqlite3.Connection)
        return self._connection

    def _begin(self, connection: Any, *, write: bool) -> Any:
        connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
        _check_programs(connection)
        return connection

    def _commit(self, connection: Any) -> None:
        connection.execute("COMMIT")

    def _in_words(self, error: Exception) -> str | None:
        """A sentence about an error of SQLite."""
        if not isinstance(error, sqlite3.Error):
            return None
        for cause, sentence in _CAUSES:
            if cause in str(error):
                return sentence
        return f"could not be used: {error}. Check the disk, then try again."


def file_name(path: object) -> str:
    """A path as text, or an error."""
    if not isinstance(path, str | os.PathLike):
        raise BadInput(f"path must be the name of a file, or None to keep the ledger in memory, given {shorten(path)}.")
    name = os.fsdecode(path)
    if not name or "\0" in name or name == ":memory:":
        raise BadInput(f"path must be the name of a file, or None to keep the ledger in memory, given {name!r}.")
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        raise BadInput(f"path must be a name that a file can have, given {name!r}.") from None
    return name


class ChangedError(Exception):
    """A process wrote to a ledger while it was being read as an immutable file: read again."""


def _in_memory(connection: sqlite3.Connection) -> sqlite3.Connection:
    """A copy of a database in memory; the connection to the database is closed."""
    copy = connect(":memory:")
    try:
        connection.backup(copy)
    finally:
        connection.close()
    return copy


def _check_kind(connection: sqlite3.Connection, name: str) -> int:
    """Refuse a database that is not a ledger, or that a newer version wrote, before writing to it; returns the number
    of its format."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION:
        raise LedgerError(f"{name} is not a ledger: another program wrote it. Give the path of a ledger.")
    if version > FORMAT:
        raise LedgerError(
            f"{name} has ledger format {version}, but this version reads formats up to {FORMAT}. Upgrade Adyton."
        )
    if version < 1:
        raise DamagedError("its format number is missing")
    if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise DamagedError("its pages are inconsistent")
    _check_programs(connection)
    return int(version)


def _check_programs(connection: sqlite3.Connection) -> None:
    """Refuse a ledger in which somebody has put what runs by itself: it could take back a debit while that is written,
    so that nothing of it is ever seen."""
    query = "SELECT count(*) FROM sqlite_master WHERE type IN ('trigger', 'view')"
    if connection.execute(query).fetchone() != (0,):
        raise DamagedError("it has a trigger or a view, which no ledger has")


def connect(target: str) -> sqlite3.Connection:
    """A connection that waits for locks and makes every commit durable; transactions are begun explicitly.

    Every commit is moved from the log to the file itself at once, so that a copy of only the file, made while the
    ledger is open, does not lack debits.
    """
    connection = sqlite3.connect(
        target,
        uri=target.startswith("file:"),
        timeout=store.BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        for setting in ("synchronous = FULL", "fullfsync = ON", "wal_autocheckpoint = 1"):
            connection.execute(f"PRAGMA {setting}")
    except BaseException:
        connection.close()
        raise
    return connection


def write_first(connection: sqlite3.Connection, fill: Callable[[Connection], None]) -> None:
    """Mark an empty database as a ledger, with its tables and its first contents."""
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    for table in TABLES:
        connection.execute(table)
    fill(connection)
    connection.execute("COMMIT")


def create(path: str, name: str, fill: Callable[[Connection], None]) -> None:
    """Make a complete ledger under another name, then link it into place. If two processes do so, the first wins."""
    directory = os.path.dirname(path)
    if not os.path.isdir(directory):
        raise LedgerError(f"{name} cannot be created because its directory does not exist. Create the directory first.")
    for ending in ("-wal", "-journal"):
        if os.path.exists(path + ending) and not os.path.lexists(path):
            raise LedgerError(
                f"{name} does not exist, but {name}{ending} is left over from it. "
                "Restore the ledger, or remove the leftover file."
            )
    try:
        with drafts.held(drafts.begin, lambda: Path(f"{path}.{drafts.token()}.new")) as draft:
            try:
                connection = connect(f"{draft.as_uri()}?mode=rw")
                try:
                    write_first(connection, fill)
                    connection.execute("PRAGMA journal_mode = WAL")
                finally:
                    connection.close()
                _put_in_place(str(draft), path)
            finally:
                _remove(str(draft))
    except OSError as error:
        raise LedgerError(f"{name} cannot be created: {reason(error)}. Choose another place.") from None


def clear_drafts(path: str) -> None:
    """Remove what killed processes left next to a ledger: drafts that no process holds, and second names of the ledger.

    A draft that became the ledger is only a second name of it, which is removed. The ledger itself is never opened
    here: closing it would drop the locks of this process.
    """
    name = re.compile(re.escape(os.path.basename(path)) + r"\.[0-9a-f]{24}\.new")
    with suppress(OSError):
        for draft in [entry.path for entry in os.scandir(os.path.dirname(path)) if name.fullmatch(entry.name)]:
            if os.path.lexists(path) and os.path.samefile(draft, path):
                os.unlink(draft)
            else:
                with drafts.abandoned(Path(draft)) as free:
                    if free:
                        _remove(draft)


def _remove(draft: str) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        with suppress(OSError):
            os.unlink(draft + ending)


def _put_in_place(draft: str, path: str) -> None:
    try:
        os.link(draft, path)
        with suppress(FileNotFoundError):
            os.unlink(draft)  # at once: a ledger with two names is refused
    except FileExistsError:
        return
    except OSError:  # a file system without hard links: reserve the name, then fill it
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            return
        os.replace(draft, path)
    if os.name == "posix":
        directory = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def reason(error: OSError) -> str:
    """The operating system's message, without numbers and paths."""
    return (error.strerror or type(error).__name__).lower()


def examine(path: str, name: str, *, opening: bool = True) -> os.stat_result:
    """The ``stat`` of a file, or an error unless it is a regular file that is not empty. Whether it is a mount point is
    looked up when it is opened: another file that is mounted over an open one has another identity."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise LedgerError(f"{name} does not exist. Check the path of the ledger.") from None
    except OSError as error:
        raise LedgerError(f"{name} cannot be reached: {reason(error)}. Check its path and permissions.") from None
    if stat.S_ISDIR(status.st_mode):
        raise LedgerError(f"{name} is a directory. Give the path of a file.")
    if not stat.S_ISREG(status.st_mode):
        raise LedgerError(f"{name} is not a regular file. Give the path of a file on disk.")
    if status.st_nlink > 1 and not _alone_soon(path):
        raise LedgerError(
            f"{name} has a second name (a hard link), under which others could spend unseen. Remove all names but one."
        )
    if opening and _is_mount_point(path):
        raise LedgerError(
            f"{name} is itself a mount point, so others could spend unseen under its other path. Mount its directory."
        )
    if status.st_size == 0:
        raise LedgerError(f"{name} is empty, so it is not a ledger. Restore it, or remove it if it never was one.")
    return status


def _alone_soon(path: str) -> bool:
    """Whether a file soon has only one name: while a ledger is created, it has two for a moment."""
    for _ in range(100):
        with suppress(OSError):
            if os.stat(path).st_nlink <= 1:
                return True
        time.sleep(0.01)
    return False


def _is_mount_point(path: str) -> bool:
    """Whether a file is a mount point: SQLite would keep a separate write-ahead log for each of its names."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mounts:
            points = [line.split()[4] for line in mounts]
    except (OSError, IndexError):
        return os.path.ismount(path)
    return path.replace(" ", "\\040") in points


def state(status: os.stat_result) -> tuple[int, ...]:
    """Numbers that change when the file changes."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
