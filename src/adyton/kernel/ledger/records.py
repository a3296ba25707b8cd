"""The contents of a ledger: the account, its entries and events, and how they are read, checked and written.

Budgets are written as text "a/b", so that one third is stored exactly.

Rows are written inside a transaction, one at a time, and only if the ledger is in the state that the writer has read. A
statement such as ``UPDATE … WHERE spent = …`` that changes no row, or that would run outside a transaction, means that
another process has written since. Then nothing may be written.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

from adyton.errors import BadInput, BudgetExceeded
from adyton.exact import Rational, budget, display, positive
from adyton.kernel.ledger.terms import NOT_RECORDED, Terms

Settled: TypeAlias = Literal["answered", "failed"]
Status: TypeAlias = Literal["debited", "answered", "failed"]

TABLES = (
    """CREATE TABLE ledger (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        dataset TEXT NOT NULL, total TEXT NOT NULL, spent TEXT NOT NULL, created TEXT NOT NULL)""",
    """CREATE TABLE entries (
        number INTEGER PRIMARY KEY,
        time TEXT NOT NULL, amount TEXT NOT NULL, spent_after TEXT NOT NULL, lineage TEXT NOT NULL,
        operator TEXT NOT NULL, status TEXT NOT NULL, process INTEGER NOT NULL, terms TEXT)""",
    """CREATE TABLE events (
        number INTEGER PRIMARY KEY,
        time TEXT NOT NULL, changed TEXT NOT NULL, old TEXT NOT NULL, new TEXT NOT NULL, process INTEGER NOT NULL,
        consent TEXT)""",
    "CREATE TABLE terms (part TEXT PRIMARY KEY, value TEXT NOT NULL)",
)
MIGRATIONS = {
    1: ("ALTER TABLE events ADD COLUMN consent TEXT", TABLES[-1]),
    2: ("ALTER TABLE entries ADD COLUMN terms TEXT",),
}
"""The statements that convert each earlier format to the next."""
RECOUNT = "recount"
"""In place of an entry's terms: it is not an answer, but the additional cost of earlier answers for larger units."""
_LONGEST_TEXT = 1 << 24
LARGEST_TOTAL = 1000

_FRACTION = re.compile(r"([0-9]{1,2700})/([0-9]{1,2700})", re.ASCII)


@dataclass(frozen=True)
class Account:
    """The data set, its total and the amount spent: the row that a debit reads and rewrites."""

    dataset: str
    total: Fraction
    spent: Fraction

    @property
    def remaining(self) -> Fraction:
        """What may still be spent."""
        return self.total - self.spent if self.spent else self.total

    def afford(self, amount: Fraction, path: str | None, *, stability: int = 1) -> None:
        """Refuse a request that would debit more than is left; *path* is the ledger's."""
        if amount > self.remaining:
            raise refusal(amount, self.remaining, self.total, path, stability=stability)


def refusal(
    asked: Fraction, left: Fraction, total: Fraction, path: str | None, *, place: str | None = None, stability: int = 1
) -> BudgetExceeded:
    """The error for a request that would debit more than is left, at a source of this stability.

    *path* is the ledger's, if it has a file. *place*, if known, names the ledger in the message.
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


def checked_total(epsilon: Rational, name: str = "epsilon", *, simulated: bool = False) -> Fraction:
    """A total budget within the limit, or an error."""
    total = positive(epsilon, name, computed=True) if simulated else budget(epsilon, name)
    if total > LARGEST_TOTAL:
        raise BadInput(
            f"a total of ε = {display(total)} protects nothing; at most {LARGEST_TOTAL} is allowed. "
            "Useful budgets are about 0.01 to 10."
        )
    return total


class Budgeted(ABC):
    """The base of everything that has a budget and reports it."""

    __slots__ = ()

    @property
    @abstractmethod
    def budget(self) -> Account:
        """The current account, including what other processes have spent."""

    @property
    def total(self) -> Fraction:
        """The most that may ever be spent."""
        return self.budget.total

    @property
    def spent(self) -> Fraction:
        """The sum of all debits so far, by all users of the ledger."""
        return self.budget.spent

    @property
    def remaining(self) -> Fraction:
        """What may still be spent."""
        return self.budget.remaining


@dataclass(frozen=True)
class Entry:
    """One debit: its amount, the operator and the source, and its outcome."""

    number: int
    time: str
    amount: Fraction
    spent_after: Fraction
    lineage: tuple[str, ...]
    operator: str
    status: Status
    process: int
    terms: Terms | None = None
    """Whom the debit protects; None if that is not known, and for entries that are not answers."""
    recount: bool = False
    """Whether it is not an answer, but the additional cost of earlier answers for larger units than before."""


@dataclass(frozen=True)
class Event:
    """A change of the ledger's own terms, such as its total or its data set, which an explicit word allowed."""

    number: int
    time: str
    changed: str
    old: str
    new: str
    process: int
    consent: str | None = None
    """The data owner's consent, as given; None if no consent was asked for."""


class DamagedError(Exception):
    """The contents were not written by a ledger. Turned into a LedgerError with the file's name."""


class DisturbedError(Exception):
    """Another process has written since the ledger was read. Turned into a LedgerError; nothing is written."""


def now() -> str:
    """The current time in UTC, as ISO 8601 text."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def to_text(value: Fraction) -> str:
    """A fraction as the ledger writes it.

    >>> to_text(Fraction(3))
    '3/1'
    """
    return f"{value.numerator}/{value.denominator}"


def to_fraction(text: object) -> Fraction:
    """The fraction that :func:`to_text` wrote; any other text is damage.

    >>> to_fraction("1/10")
    Fraction(1, 10)
    """
    parts = _FRACTION.fullmatch(text) if isinstance(text, str) else None
    if parts is None or int(parts[2]) == 0:
        raise DamagedError("a budget is not a fraction")
    return Fraction(int(parts[1]), int(parts[2]))


def read_account(connection: sqlite3.Connection) -> Account:
    """The current account."""
    row = connection.execute("SELECT dataset, total, spent FROM ledger").fetchone()
    if row is None or not isinstance(row[0], str):
        raise DamagedError("the account is missing")
    return Account(row[0], to_fraction(row[1]), to_fraction(row[2]))


def read_terms(connection: sqlite3.Connection) -> Terms | None:
    """The terms of a ledger; None if it has none yet."""
    exists = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'terms'").fetchone()
    parts = dict(connection.execute("SELECT part, value FROM terms").fetchall()) if exists else {}
    if not parts:
        return None
    unit, schema = parts.get("unit") or None, parts.get("schema")
    of_second_format = None if unit is None else NOT_RECORDED
    column = parts["column"] or None if "column" in parts else of_second_format
    plain = {"unit": unit, "rows_per_unit": _rows(parts.get("rows_per_unit")), "schema": schema}
    try:
        return replace(Terms.from_plain({**plain, "column": column}), files=str(parts.get("files", "")))
    except ValueError:
        raise DamagedError("its terms are incomplete") from None


def _rows(text: object) -> int:
    """A number of rows, from the text in the terms and events of a ledger."""
    if not isinstance(text, str) or not re.fullmatch("[0-9]{1,19}", text):
        raise DamagedError("its terms are incomplete")
    return int(text)


def read_entries(connection: sqlite3.Connection) -> tuple[Entry, ...]:
    """Every debit, oldest first."""
    known = [row[1] for row in connection.execute("PRAGMA table_info(entries)")]
    columns = "number, time, amount, spent_after, lineage, operator, status, process"
    columns += ", terms" if "terms" in known else ", NULL"
    rows = connection.execute(f"SELECT {columns} FROM entries ORDER BY number").fetchall()
    return tuple(_entry(row) for row in rows)


def read_events(connection: sqlite3.Connection) -> tuple[Event, ...]:
    """Every change of terms, oldest first."""
    known = [row[1] for row in connection.execute("PRAGMA table_info(events)")]
    columns = "number, time, changed, old, new, process" + (", consent" if "consent" in known else "")
    rows = connection.execute(f"SELECT {columns} FROM events ORDER BY number").fetchall()
    for row in rows:
        texts = isinstance(row[5], int) and all(isinstance(text, str) for text in row[1:5])
        if not texts or not all(isinstance(consent, str | None) for consent in row[6:]):
            raise DamagedError(f"event {row[0]} has a value of the wrong type")
    return tuple(Event(*row) for row in rows)


def terms_by_events(entries: Sequence[Entry], events: Sequence[Event], kept: Terms) -> Iterator[Terms]:
    """The terms of debits that did not keep them, reconstructed from the events at the time of each debit.

    Events do not say whether a column enforced the unit, nor all of a schema that was changed; and if a clock was set
    back, the smallest rows_per_unit at any time is used. So no answer is taken to protect more than it does.
    """
    times = [entry.time for entry in entries], [event.time for event in events]
    orderly = all(moments == sorted(moments) for moments in times)
    changes = [(event.time, _rows(event.old), _rows(event.new)) for event in events if event.changed == "rows_per_unit"]
    changed = {event.changed for event in events}
    for entry in entries:
        rows = next((old for time, old, _ in changes if time >= entry.time), kept.rows_per_unit)
        unsure = [pair for time, *pair in changes if time == entry.time or not orderly]
        yield Terms(
            min([rows, *itertools.chain.from_iterable(unsure)]),
            kept.schema if "schema" not in changed else "changed since",
            kept.unit if "unit" not in changed else None,
            None if kept.unit is None and "unit" not in changed else NOT_RECORDED,
        )


def counted_for(terms: Terms, entries: Sequence[Entry]) -> Fraction:
    """The cost of all answers so far for one unit of these terms, each by the terms under which it was made."""
    unknown = Terms(1, "", None, NOT_RECORDED)
    answers = (entry for entry in entries if not entry.recount)
    return sum(((entry.terms or unknown).times(terms) * entry.amount for entry in answers), Fraction(0))


def check(account: Account, entries: tuple[Entry, ...]) -> None:
    """Recompute the amount spent from the debits; the running sums and the account must agree with it."""
    spent = Fraction(0)
    for expected, entry in enumerate(entries, start=1):
        spent += entry.amount
        if entry.number != expected:
            raise DamagedError(f"entry {expected} is missing")
        if entry.spent_after != spent:
            raise DamagedError(f"entry {expected} does not add up")
    if account.spent != spent:
        raise DamagedError("the sum of the debits differs from the amount spent in the account")
    if account.spent > account.total:
        raise DamagedError("more was spent than the total")


def _entry(row: tuple[Any, ...]) -> Entry:
    number, time, amount, spent_after, lineage, operator, status, process, terms = row
    names = _from_json(lineage, f"the lineage of entry {number}")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DamagedError(f"the lineage of entry {number} is not a list of names")
    if not isinstance(time, str) or not isinstance(operator, str) or not isinstance(process, int):
        raise DamagedError(f"entry {number} has a value of the wrong type")
    if status not in get_args(Status):
        raise DamagedError(f"the status of entry {number} is unknown")
    recount = terms == RECOUNT
    try:
        made = None if terms is None or recount else Terms.from_plain(_from_json(terms, f"the terms of entry {number}"))
    except ValueError:
        raise DamagedError(f"the terms of entry {number} are incomplete") from None
    sums = to_fraction(amount), to_fraction(spent_after)
    return Entry(number, time, *sums, tuple(names), operator, status, process, made, recount)


def _from_json(text: object, what: str) -> Any:
    """The value of a JSON text of a ledger; a text that cannot be read is damage."""
    try:
        if isinstance(text, str) and len(text) <= _LONGEST_TEXT:
            return json.loads(text)
    except (ValueError, RecursionError, MemoryError):
        pass
    raise DamagedError(f"{what} cannot be read")


def read_checked(
    connection: sqlite3.Connection,
) -> tuple[Account, tuple[Entry, ...], tuple[Event, ...], Terms | None]:
    """Everything in the ledger, checked. Call it inside a transaction, so that the parts are consistent."""
    account, entries = read_account(connection), read_entries(connection)
    check(account, entries)
    events, terms = read_events(connection), read_terms(connection)
    if terms is not None and not any(entry.terms or entry.recount for entry in entries):  # of an earlier format
        kept = zip(entries, terms_by_events(entries, events, terms), strict=True)
        entries = tuple(replace(entry, terms=own) for entry, own in kept)
    return account, entries, events, terms


def write(connection: sqlite3.Connection, statement: str, values: Sequence[object] = ()) -> int | None:
    """Change exactly one row, inside a transaction; returns the number of an added row."""
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
    """Add an entry, if the account is still as it was read; returns its number."""
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
    """Adopt these terms."""
    for part, value in {**terms.to_plain(), "files": terms.files}.items():
        text = "" if value is None else str(value)
        write(connection, "INSERT OR REPLACE INTO terms (part, value) VALUES (?, ?)", (part, text))


def write_terms_of(connection: sqlite3.Connection, entry: int, terms: Terms) -> None:
    """Record whom a debit protects."""
    write(connection, "UPDATE entries SET terms = ? WHERE number = ?", (json.dumps(terms.to_plain()), entry))
