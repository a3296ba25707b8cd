"""What a ledger holds, as plain values: the account, its entries and events, and how they are read and checked.

Budgets are written as text "a/b", so that one third stays one third in the file too.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sqlite3
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

from adyton.errors import BudgetExceeded
from adyton.exact import display

Settled: TypeAlias = Literal["answered", "failed"]
Status: TypeAlias = Literal["debited", "answered", "failed"]

LARGEST_BITS = 8192
"""The longest numerator or denominator that is taken. Debits are whole steps of a grid, so that sums stay below 300
bits; ledgers of the first format had no grid, and may hold sums that are longer."""

TABLES = (
    """CREATE TABLE ledger (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        dataset TEXT NOT NULL, total TEXT NOT NULL, spent TEXT NOT NULL, created TEXT NOT NULL)""",
    """CREATE TABLE entries (
        number INTEGER PRIMARY KEY,
        time TEXT NOT NULL, amount TEXT NOT NULL, spent_after TEXT NOT NULL, lineage TEXT NOT NULL,
        operator TEXT NOT NULL, status TEXT NOT NULL, process INTEGER NOT NULL)""",
    """CREATE TABLE events (
        number INTEGER PRIMARY KEY,
        time TEXT NOT NULL, changed TEXT NOT NULL, old TEXT NOT NULL, new TEXT NOT NULL, process INTEGER NOT NULL,
        consent TEXT)""",
    "CREATE TABLE terms (part TEXT PRIMARY KEY, value TEXT NOT NULL)",
)
MIGRATION = ("ALTER TABLE events ADD COLUMN consent TEXT", TABLES[-1])
"""What the first format lacks."""

_FRACTION = re.compile(r"([0-9]{1,2700})/([0-9]{1,2700})", re.ASCII)


@dataclass(frozen=True)
class Account:
    """The one line that a debit reads and rewrites."""

    dataset: str
    total: Fraction
    spent: Fraction

    @property
    def remaining(self) -> Fraction:
        """What may still be spent."""
        return self.total - self.spent if self.spent else self.total

    def afford(self, amount: Fraction, path: str | None, *, stability: int = 1) -> None:
        """Refuse a request that debits more than is left; *path* is that of the ledger."""
        if amount > self.remaining:
            raise refusal(amount, self.remaining, self.total, path, stability=stability)


class Budgeted(ABC):
    """What has a budget, and says how it stands."""

    __slots__ = ()

    @property
    @abstractmethod
    def budget(self) -> Account:
        """The account as it is now, by this process and every other."""

    @property
    def total(self) -> Fraction:
        """All that may ever be spent."""
        return self.budget.total

    @property
    def spent(self) -> Fraction:
        """The sum of all debits so far, by everybody who shares the ledger."""
        return self.budget.spent

    @property
    def remaining(self) -> Fraction:
        """What may still be spent."""
        return self.budget.remaining


def refusal(
    asked: Fraction, left: Fraction, total: Fraction, path: str | None, *, place: str | None = None, stability: int = 1
) -> BudgetExceeded:
    """The error for a request that would debit more than is left, at a source of this stability.

    *path* is that of the ledger, if it has a file. *place*, if it is known, says where so little is left.
    """
    dearer, here = (f", up to {stability} times what it asks for at this source", " here") * (stability > 1) or ("", "")
    costs = f"costs ε = {display(asked)}{dearer}, but {display(left)} of {display(total)} is left"
    if place is not None:
        costs = f"asks for ε = {display(asked)}, but {display(left)} of {display(total)} is left in {place}"
    way = "open the data with a larger total, with the data owner's consent"
    if path is not None:
        file = shlex.quote(os.path.basename(path))
        way = f"raise the total with the data owner's consent (adyton ledger raise {file} --total …)"
    advice = f"{way[0].upper()}{way[1:]}."
    if left:
        advice = f"Ask for at most {display(left / max(1, stability))}{here}, or {way}."
    return BudgetExceeded(f"this request {costs}. {advice}", asked=asked, left=left, total=total)


@dataclass(frozen=True)
class Entry:
    """One debit: how much, for which operator on which source, and what became of it."""

    number: int
    time: str
    amount: Fraction
    spent_after: Fraction
    lineage: tuple[str, ...]
    operator: str
    status: Status
    process: int


@dataclass(frozen=True)
class Event:
    """A change of the ledger's own terms, such as its total or its data set, made with an explicit word."""

    number: int
    time: str
    changed: str
    old: str
    new: str
    process: int
    consent: str | None = None
    """The data owner's consent, in the words that were given; None where none were asked for."""


class DamagedError(Exception):
    """The contents are not what a ledger writes. Turned into a LedgerError with the file's name where it is known."""


class DisturbedError(Exception):
    """Somebody else has written since the writer looked. Turned into a LedgerError; nothing is written."""


def now() -> str:
    """The present moment in UTC, as ISO 8601 text."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def to_text(value: Fraction) -> str:
    """A fraction as the ledger writes it.

    >>> to_text(Fraction(3))
    '3/1'
    """
    return f"{value.numerator}/{value.denominator}"


def to_fraction(text: object) -> Fraction:
    """A fraction from the ledger's own text, and from nothing else.

    >>> to_fraction("1/10")
    Fraction(1, 10)
    """
    parts = _FRACTION.fullmatch(text) if isinstance(text, str) else None
    if parts is None or int(parts[2]) == 0:
        raise DamagedError("a budget is not a fraction")
    return Fraction(int(parts[1]), int(parts[2]))


def fits(value: Fraction) -> bool:
    """Whether a debit is of a sensible length. (What is debited of it is rounded up to the grid, and short.)"""
    return max(value.numerator.bit_length(), value.denominator.bit_length()) <= LARGEST_BITS


def read_account(connection: sqlite3.Connection) -> Account:
    """The account as it is now."""
    row = connection.execute("SELECT dataset, total, spent FROM ledger").fetchone()
    if row is None or not isinstance(row[0], str):
        raise DamagedError("the account is missing")
    return Account(row[0], to_fraction(row[1]), to_fraction(row[2]))


def read_entries(connection: sqlite3.Connection) -> tuple[Entry, ...]:
    """Every debit, oldest first."""
    columns = "number, time, amount, spent_after, lineage, operator, status, process"
    rows = connection.execute(f"SELECT {columns} FROM entries ORDER BY number").fetchall()
    return tuple(_entry(row) for row in rows)


def read_events(connection: sqlite3.Connection) -> tuple[Event, ...]:
    """Every change of terms, oldest first."""
    known = [row[1] for row in connection.execute("PRAGMA table_info(events)")]
    columns = "number, time, changed, old, new, process" + (", consent" if "consent" in known else "")
    rows = connection.execute(f"SELECT {columns} FROM events ORDER BY number").fetchall()
    return tuple(Event(*row) for row in rows)


def check(account: Account, entries: tuple[Entry, ...]) -> None:
    """Recompute what was spent from the debits, and insist that the running sums and the account agree with it."""
    spent = Fraction(0)
    for expected, entry in enumerate(entries, start=1):
        spent += entry.amount
        if entry.number != expected:
            raise DamagedError(f"entry {expected} is missing")
        if entry.spent_after != spent:
            raise DamagedError(f"entry {expected} does not add up")
    if account.spent != spent:
        raise DamagedError("the sum of the debits is not what the account says was spent")
    if account.spent > account.total:
        raise DamagedError("more was spent than the total")


def _entry(row: tuple[int, str, str, str, str, str, str, int]) -> Entry:
    number, time, amount, spent_after, lineage, operator, status, process = row
    try:
        names = json.loads(lineage)
    except (TypeError, ValueError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DamagedError(f"the lineage of entry {number} is not a list of names")
    for known in get_args(Status):
        if status == known:
            return Entry(
                number, time, to_fraction(amount), to_fraction(spent_after), tuple(names), operator, known, process
            )
    raise DamagedError(f"the status of entry {number} is unknown")
