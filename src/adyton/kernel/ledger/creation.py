"""The birth of a ledger file.

A new ledger is completed under another name and linked into place whole. So there is never half a ledger at its path,
two processes that create it at once end up with the same one, and a file that was there before is never touched.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from adyton import drafts
from adyton.errors import LedgerError
from adyton.kernel.ledger.records import (
    MIGRATIONS,
    TABLES,
    read_entries,
    read_events,
    read_terms,
    terms_by_events,
)
from adyton.kernel.ledger.writing import write_terms_of

APPLICATION = 0x41445954
"""SQLite's application_id of a ledger: the letters ADYT."""
FORMAT = 3
"""The present format. The first one had no terms and no grid, and the debits of the second did not keep their terms;
both are brought up to date when they are opened."""
BUSY_SECONDS = 30.0
"""How long to wait for another process before giving up."""


def connect(target: str) -> sqlite3.Connection:
    """A connection that waits its turn and puts every commit on the disk; transactions are begun by hand.

    Every commit is moved from the log to the file itself at once, so that someone who copies only the file, while the
    ledger is open, does not lose debits.
    """
    connection = sqlite3.connect(
        target, uri=target.startswith("file:"), timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        for setting in ("synchronous = FULL", "fullfsync = ON", "wal_autocheckpoint = 1"):
            connection.execute(f"PRAGMA {setting}")
    except BaseException:
        connection.close()
        raise
    return connection


def write_first(connection: sqlite3.Connection, fill: Callable[[sqlite3.Connection], None]) -> None:
    """Mark an empty database as a ledger, with its tables and its first contents."""
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    for table in TABLES:
        connection.execute(table)
    fill(connection)
    connection.execute("COMMIT")


def bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Turn a ledger of an earlier format into one of the present format, within the transaction that is under way."""
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found == FORMAT:
        return
    for number in range(found, FORMAT):
        for statement in MIGRATIONS[number]:
            connection.execute(statement)
    kept = read_terms(connection)
    if kept is not None:
        entries = read_entries(connection)
        for entry, terms in zip(entries, terms_by_events(entries, read_events(connection), kept), strict=True):
            write_terms_of(connection, entry.number, terms)
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def create(path: str, name: str, fill: Callable[[sqlite3.Connection], None]) -> None:
    """Make a whole ledger under another name, then link it into place; whoever links first wins, the others open it."""
    directory = os.path.dirname(path)
    if not os.path.isdir(directory):
        raise LedgerError(f"{name} cannot be created because its directory does not exist. Create the directory first.")
    for ending in ("-wal", "-journal"):
        if os.path.exists(path + ending) and not os.path.lexists(path):
            raise LedgerError(
                f"{name} does not exist, but {name}{ending} is left over from it. "
                "Restore the ledger, or remove what is left over."
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
    """Remove what killed processes have left beside a ledger: drafts that nobody holds, and second names of it.

    A draft that became the ledger has only its name to lose, whoever made it. Nothing is opened that is the ledger:
    closing it again would drop the locks of this process.
    """
    name = re.compile(re.escape(os.path.basename(path)) + r"\.([0-9a-f]{16}|[0-9a-f]{24})\.new")
    with suppress(OSError):
        for draft in [found.path for found in os.scandir(os.path.dirname(path)) if name.fullmatch(found.name)]:
            if os.path.lexists(path) and os.path.samefile(draft, path):
                os.unlink(draft)
            elif len(draft) - len(path) > len(".new") + 17:  # else of a first version
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
    """What the operating system says, without numbers and paths."""
    return (error.strerror or type(error).__name__).lower()
