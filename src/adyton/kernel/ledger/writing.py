"""How a ledger is written: inside a transaction, one row at a time, and only where it is as the writer believes.

A statement such as ``UPDATE … WHERE spent = …`` that changes no row, or that would be carried out by itself because
there is no transaction, means that somebody else has been here since the writer looked. Then nothing may be written.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from fractions import Fraction

from adyton.kernel.ledger.records import Account, DisturbedError, Status, now, to_text
from adyton.kernel.ledger.terms import Terms


def write(connection: sqlite3.Connection, statement: str, values: Sequence[object] = ()) -> int | None:
    """Change exactly one row, inside a transaction; returns the number of a row that was added."""
    if not connection.in_transaction:
        raise DisturbedError
    cursor = connection.execute(statement, values)
    if cursor.rowcount != 1:
        raise DisturbedError
    return cursor.lastrowid


def write_debit(
    connection: sqlite3.Connection,
    account: Account,
    amount: Fraction,
    lineage: Sequence[str],
    operator: str,
    status: Status = "debited",
    terms: str | None = None,
) -> int:
    """Add an entry to an account that is as the writer believes; returns its number."""
    spent = account.spent + amount
    number = write(
        connection,
        "INSERT INTO entries (time, amount, spent_after, lineage, operator, status, process, terms)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (now(), to_text(amount), to_text(spent), json.dumps(lineage), operator, status, os.getpid(), terms),
    )
    write(
        connection,
        "UPDATE ledger SET spent = ? WHERE spent = ? AND total = ?",
        (to_text(spent), to_text(account.spent), to_text(account.total)),
    )
    assert number is not None
    return number


def write_event(connection: sqlite3.Connection, changed: str, old: str, new: str, consent: str | None = None) -> None:
    """Record a change of the ledger's own terms."""
    write(
        connection,
        "INSERT INTO events (time, changed, old, new, process, consent) VALUES (?, ?, ?, ?, ?, ?)",
        (now(), changed, old, new, os.getpid(), consent),
    )


def write_terms(connection: sqlite3.Connection, terms: Terms) -> None:
    """Take on these terms."""
    for part, value in terms.to_plain().items():
        text = "" if value is None else str(value)
        write(connection, "INSERT OR REPLACE INTO terms (part, value) VALUES (?, ?)", (part, text))


def write_terms_of(connection: sqlite3.Connection, entry: int, terms: Terms) -> None:
    """Record whom a debit protects."""
    write(connection, "UPDATE entries SET terms = ? WHERE number = ?", (json.dumps(terms.to_plain()), entry))
