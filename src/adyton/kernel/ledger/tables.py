"""The tables of a ledger: the same in a SQLite file and on a PostgreSQL server, and how a row is written.

Budgets are written as text "a/b", so that one third is stored exactly.

Rows are written inside a transaction, one at a time, and only if the ledger is in the state that the writer has read. A
statement such as ``UPDATE … WHERE spent = …`` that changes no row, or that would run outside a transaction, means that
another process has written since. Then nothing may be written.

Entries, events and changes are never changed or removed. Each has in its column ``chain`` a digest of all of its values
that stay as they are, and of the digest before it. So one digest stands for everything that was ever written. A change
says what another row is from now on (:mod:`adyton.kernel.ledger.changes`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from adyton.errors import BadInput

FORMAT = 5
"""The current format. The first had no terms and no grid; debits of the second did not keep their terms; the third had
one data set, no analysts and no chain; the chain of the fourth covered entries and events only. All are converted when
they are opened."""
_WRITTEN = ("number", "time", "amount", "spent_after", "lineage", "operator", "process", "terms")
ENTRY = (*_WRITTEN, "dataset", "analyst", "request")
EVENT = ("number", "time", "changed", "old", "new", "process", "consent", "dataset")
CHANGE = ("number", "what", "name", "value")
"""The columns that the chains of entries, of events and of changes cover. A null analyst is the curator."""
CHAINED = {"entries": ENTRY, "events": EVENT, "changes": CHANGE}
CHANGES = (
    """CREATE TABLE changes (
        number INTEGER PRIMARY KEY,
        what TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, chain TEXT NOT NULL)""",
    "CREATE INDEX changes_of ON changes (what, name, number)",
)
INDEXES = (
    "CREATE INDEX decisions ON events (new) WHERE changed = 'request'",
    "CREATE INDEX requests_begun ON requests (analyst) WHERE status = 'begun'",
)
"""By which a debit finds a consent, however long the ledger is."""
OF_FOURTH = (
    """CREATE TABLE ledger (
        id INTEGER PRIMARY KEY CHECK (id = 1), total TEXT NOT NULL, spent TEXT NOT NULL, created TEXT NOT NULL)""",
    "CREATE TABLE datasets (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """CREATE TABLE entries (
        number INTEGER PRIMARY KEY,
        time TEXT NOT NULL, amount TEXT NOT NULL, spent_after TEXT NOT NULL, lineage TEXT NOT NULL,
        operator TEXT NOT NULL, process INTEGER NOT NULL, terms TEXT, dataset INTEGER NOT NULL, analyst TEXT,
        request TEXT, status TEXT NOT NULL, judged TEXT, chain TEXT NOT NULL)""",
    "CREATE INDEX entries_of_requests ON entries (request)",
    """CREATE TABLE events (
        number INTEGER PRIMARY KEY,
        time TEXT NOT NULL, changed TEXT NOT NULL, old TEXT NOT NULL, new TEXT NOT NULL, process INTEGER NOT NULL,
        consent TEXT, dataset INTEGER, chain TEXT NOT NULL)""",
    """CREATE TABLE terms (
        dataset INTEGER NOT NULL, part TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (dataset, part))""",
    """CREATE TABLE analysts (
        name TEXT PRIMARY KEY, part TEXT, aside INTEGER NOT NULL, spent TEXT NOT NULL, expires TEXT)""",
    """CREATE TABLE requests (
        analyst TEXT NOT NULL, id TEXT NOT NULL, dataset INTEGER NOT NULL, body TEXT NOT NULL, status TEXT NOT NULL,
        made TEXT NOT NULL, holder TEXT, result TEXT, note TEXT, PRIMARY KEY (analyst, id))""",
    "CREATE TABLE answers (entry INTEGER PRIMARY KEY, answer TEXT NOT NULL)",
)
TABLES = (*OF_FOURTH, *CHANGES, *INDEXES)
"""``judged`` are the terms of an entry that became known only after it was written. In ``requests``, the empty analyst
is the curator."""

_FRACTION = re.compile(r"([0-9]{1,2700})/([0-9]{1,2700})", re.ASCII)


class Connection(Protocol):
    """What a ledger needs of a connection: that of SQLite, or one that behaves like it."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is under way."""

    def execute(self, statement: str, values: Sequence[Any] = ..., /) -> Any:
        """Run a statement, with a value for each question mark; returns a cursor."""


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


def write(connection: Connection, statement: str, values: Sequence[object] = ()) -> None:
    """Change exactly one row, inside a transaction."""
    if not connection.in_transaction or connection.execute(statement, values).rowcount != 1:
        raise DisturbedError


def insert(connection: Connection, table: str, row: dict[str, object]) -> None:
    """Add a row, inside a transaction."""
    places = ", ".join("?" * len(row))
    write(connection, f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", tuple(row.values()))


# ---- the chain -------------------------------------------------------------------------------------------------------


def linked(previous: str, values: Iterable[object]) -> str:
    """The digest of a row after the digest *previous*.

    >>> linked("", [1, "a", None])[:12]
    '7316b507fcba'
    """
    try:
        text = json.dumps([previous, *values], separators=(",", ":"))
    except TypeError:
        raise DamagedError("a value has the wrong type") from None
    return hashlib.sha256(text.encode()).hexdigest()


def origin(connection: Connection, table: str) -> str:
    """The digest before the first row: of when the ledger was made, so that no two ledgers have the same chain."""
    row = connection.execute("SELECT created FROM ledger").fetchone()
    if row is None:
        raise DamagedError("the account is missing")
    return linked("", [table, row[0]])


def chain_at(connection: Connection, table: str, number: int) -> str:
    """The digest after so many rows of *table*."""
    if not number:
        return origin(connection, table)
    row = connection.execute(f"SELECT chain FROM {table} WHERE number = ?", (number,)).fetchone()
    if row is None:
        raise DamagedError(f"{_ONE[table]} {number} is missing")
    return str(row[0])


def last(connection: Connection, table: str) -> int:
    """The number of the last row of *table*; 0 if it is empty. Rows are numbered without gaps."""
    return int(connection.execute(f"SELECT max(number) FROM {table}").fetchone()[0] or 0)


def append(connection: Connection, table: str, row: dict[str, object], more: dict[str, object] | None = None) -> int:
    """Add the next row of *table* to its chain; *more* are values that the chain does not cover."""
    before = connection.execute(f"SELECT number, chain FROM {table} ORDER BY number DESC LIMIT 1").fetchone()
    number, previous = before or (0, origin(connection, table))
    columns = CHAINED[table]
    whole = {"number": number + 1, **row}
    chain = linked(previous, (whole[name] for name in columns))
    insert(connection, table, {**whole, **(more or {}), "chain": chain})
    return number + 1


def check_chain(connection: Connection, table: str, after: int = 0) -> None:
    """Compute the chain anew, from the row with the number *after*; a difference is damage."""
    columns = CHAINED[table]
    rows = connection.execute(
        f"SELECT {', '.join(columns)}, chain FROM {table} WHERE number > ? ORDER BY number", (after,)
    )
    chain = chain_at(connection, table, after)
    for *values, kept in rows:
        chain = linked(chain, values)
        if chain != kept:
            raise DamagedError(f"{_ONE[table]} {values[0]} is not as it was written")


def insist_linked(connection: Connection, table: str, number: int) -> None:
    """Raise an error if a single row of *table* is not as it was written after the row before it."""
    query = f"SELECT {', '.join(CHAINED[table])}, chain FROM {table} WHERE number = ?"
    *values, chain = connection.execute(query, (number,)).fetchone()
    if linked(chain_at(connection, table, number - 1), values) != chain:
        raise DamagedError(f"{_ONE[table]} {number} is not as it was written")


class Head(NamedTuple):
    """How far a ledger has come. Kept elsewhere, it shows later whether the ledger was rolled back or replaced."""

    entries: int
    events: int
    changes: int | None
    """None in a head of an early version, whose digest stands for entries and events alone."""
    digest: str
    """It stands for all entries, events and changes until then."""

    def __str__(self) -> str:
        return " ".join(str(part) for part in self if part is not None)

    @classmethod
    def parse(cls, text: str) -> Head:
        """The head that was written as text.

        >>> Head.parse(f"12 3 40 {'0a' * 32}").changes
        40
        """
        parts = _HEAD.fullmatch(text.strip()) if isinstance(text, str) else None
        if parts is None:
            raise BadInput(
                "the head of a ledger is three numbers and a digest, as adyton ledger FILE --head prints it."
            )
        return cls(int(parts[1]), int(parts[2]), None if parts[3] is None else int(parts[3]), parts[4])


def current_head(connection: Connection) -> Head:
    """How far the ledger has come."""
    return head_at(connection, *_lengths(connection))


def head_at(connection: Connection, entries: int, events: int, changes: int | None) -> Head:
    """The head when the ledger had so many entries, events and changes."""
    numbers = [number for number in (entries, events, changes) if number is not None]
    tables = list(CHAINED)[: len(numbers)]
    parts = ", ".join(f"(SELECT chain FROM {table} WHERE number = ?)" for table in tables)
    row = connection.execute(f"SELECT {parts}", numbers).fetchone()
    digests = [
        str(chain) if chain is not None else chain_at(connection, table, number)
        for table, number, chain in zip(tables, numbers, row, strict=True)
    ]
    return Head(entries, events, changes, linked("", digests))


def has_head(connection: Connection, head: Head) -> bool:
    """Whether the ledger once was as far as *head*, or is so now. This reads one row of each chain."""
    lengths = zip(head[:3], _lengths(connection), strict=True)
    return all((number or 0) <= length for number, length in lengths) and head_at(connection, *head[:3]) == head


def _lengths(connection: Connection) -> list[int]:
    """The numbers of entries, events and changes."""
    parts = ", ".join(f"(SELECT max(number) FROM {table})" for table in CHAINED)
    return [int(number or 0) for number in connection.execute(f"SELECT {parts}").fetchone()]


_HEAD = re.compile(r"([0-9]{1,18}) ([0-9]{1,18})(?: ([0-9]{1,18}))? ([0-9a-f]{64})", re.ASCII)
_ONE = {"entries": "entry", "events": "event", "changes": "change"}
