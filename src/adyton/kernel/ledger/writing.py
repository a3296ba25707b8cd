"""How a ledger is written: inside a transaction, one row at a time, and only where it is as the writer believes.

A statement such as ``UPDATE … WHERE spent = …`` that changes no row, or that would be carried out by itself because
there is no transaction, means that somebody else has been here since the writer looked. Then nothing may be written.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence

from adyton.kernel.ledger.records import DisturbedError, now


def write(connection: sqlite3.Connection, statement: str, values: Sequence[object] = ()) -> int | None:
    """Change exactly one row, inside a transaction; returns the number of a row that was added."""
    if not connection.in_transaction:
        raise DisturbedError
    cursor = connection.execute(statement, values)
    if cursor.rowcount != 1:
        raise DisturbedError
    return cursor.lastrowid


def write_event(connection: sqlite3.Connection, changed: str, old: str, new: str, consent: str | None = None) -> None:
    """Record a change of the ledger's own terms."""
    write(
        connection,
        "INSERT INTO events (time, changed, old, new, process, consent) VALUES (?, ?, ?, ?, ?, ?)",
        (now(), changed, old, new, os.getpid(), consent),
    )
