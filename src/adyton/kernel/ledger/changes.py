"""What a ledger says beside its entries and events, chained as well: totals, data sets, terms, analysts, requests, what
became of debits, and stored answers.

These rows change. So after each write, a *change* says what the row is from now on: a digest of its values, or that it
is gone. Changes are appended to a chain of their own, which is a part of the head. A row that was edited by others
differs from its last change; a change that was edited breaks the chain; and both together differ from a head that was
noted elsewhere. One step costs one row, however long the ledger is.

The total stands in the changes as it is: what may be spent is read from there, and each total but the first has an
event.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from adyton.exact import display
from adyton.kernel.ledger.tables import (
    CHANGE,
    Connection,
    DamagedError,
    append,
    check_chain,
    last,
    linked,
    origin,
    to_fraction,
)

TOTAL = "total"
MADE, ADOPTED = "made", "adopted"
"""The first change: of a new ledger, with a random name, so that no two ledgers have the same chain; or of one that an
early version has kept, with its numbers of entries and events then."""
ANCHORED = "anchored"
"""The change of a ledger whose head is kept in a file outside of it: from then on, that file must be there. Data sets
with one ledger may have several, so it names the file."""
_GONE = ""
"""In place of a digest: there is no such row any more."""


class _Kind(NamedTuple):
    """Rows of a kind: their table, by what they are named, and what is covered. The last column, which may be long, has
    a digest of its own, so that the others can be checked without reading it."""

    table: str
    key: tuple[str, ...]
    covered: tuple[str, ...]
    long: str = "NULL"


_ANSWER = "(SELECT answer FROM answers WHERE entry = number)"
_KINDS = {
    TOTAL: _Kind("ledger", ("id",), ("total",)),
    "data set": _Kind("datasets", ("number",), ("name",)),
    "terms": _Kind("terms", ("dataset", "part"), ("value",)),
    "analyst": _Kind("analysts", ("name",), ("part", "aside", "expires")),
    "request": _Kind("requests", ("analyst", "id"), ("dataset", "body", "status", "made", "holder", "note"), "result"),
    "debit": _Kind("entries", ("number",), ("status", "judged"), _ANSWER),
}
_UNSETTLED = ("debited", None)
"""A debit to which nothing has happened since: it needs no change."""


def begin(connection: Connection) -> None:
    """Record the first contents of a new ledger."""
    append(connection, "changes", {"what": MADE, "name": secrets.token_hex(16), "value": ""})
    _record_all(connection)


def adopt(connection: Connection) -> None:
    """Record everything as an early version has left it. The same contents give the same changes."""
    name = f"{last(connection, 'entries')} {last(connection, 'events')}"
    append(connection, "changes", {"what": ADOPTED, "name": name, "value": ""})
    _record_all(connection)


def _record_all(connection: Connection) -> None:
    for what in _KINDS:
        for name, digest in sorted(_digests(connection, what)):
            if what != "debit" or digest != _value(what, _UNSETTLED, None):
                append(connection, "changes", {"what": what, "name": name, "value": digest})


def record(connection: Connection, what: str, *key: object) -> None:
    """Add what a row is from now on, in the transaction that has written it."""
    append(connection, "changes", {"what": what, "name": _name(key), "value": _present(connection, what, key)})


def is_recorded(connection: Connection, what: str, name: str) -> bool:
    """Whether a change says that something was done."""
    query = "SELECT number FROM changes WHERE what = ? AND name = ?"
    return connection.execute(query, (what, name)).fetchone() is not None


def record_once(connection: Connection, what: str, name: str) -> None:
    """Add a change that says that something was done, unless there is one."""
    if not is_recorded(connection, what, name):
        append(connection, "changes", {"what": what, "name": name, "value": ""})


def insist_unchanged(connection: Connection, what: str, *key: object) -> None:
    """Raise an error if a row is not as it was written, or if it is missing."""
    if _present(connection, what, key) != (_last_value(connection, what, key) or _default(what)):
        raise DamagedError(f"the {what} {_name(key)} is not as it was written")


def read_total(connection: Connection) -> Fraction:
    """What may be spent in all: as it was set last. The account must say the same."""
    value = _last_value(connection, TOTAL, (1,))
    row = connection.execute("SELECT total FROM ledger").fetchone()
    if row is None or value is None:
        raise DamagedError("the account is missing")
    if to_fraction(row[0]) != to_fraction(value):
        raise DamagedError("the total is not the one that was set last")
    return to_fraction(value)


def adopted(connection: Connection) -> tuple[int, int] | None:
    """How many entries and events an early version has written; None if it has written nothing."""
    row = connection.execute("SELECT what, name FROM changes WHERE number = 1").fetchone()
    if row is None:
        raise DamagedError("change 1 is missing")
    numbers = str(row[1]).split()
    if row[0] != ADOPTED or len(numbers) != 2 or not all(number.isdecimal() for number in numbers):
        return None
    return int(numbers[0]), int(numbers[1])


def check_changes(connection: Connection, events: Sequence[tuple[str, str]], *, answers: bool) -> None:
    """Compare every row with its last change, and totals with their *events*: what was changed, and its new value. With
    *answers*, stored answers and results are read, too, which may be long."""
    check_chain(connection, "changes")
    rows = connection.execute("SELECT what, name, value FROM changes ORDER BY number").fetchall()
    kept = {(what, name): value for what, name, value in rows if what in _KINDS}
    for what in _KINDS:
        for name, digest in _digests(connection, what, long=answers):
            value = kept.pop((what, name), _default(what))
            if digest != (value if answers else _short(value)):
                raise DamagedError(f"the {what} {name} is not as it was written")
    for (what, name), value in kept.items():
        if value != _GONE:
            raise DamagedError(f"the {what} {name} is missing")
    query = "SELECT count(*) FROM answers WHERE entry NOT IN (SELECT number FROM entries)"
    if connection.execute(query).fetchone()[0]:
        raise DamagedError("there is an answer without a debit")
    totals = [display(to_fraction(value)) for what, _, value in rows if what == TOTAL]
    before = (adopted(connection) or (0, 0))[1]
    if totals[1:] != [new for changed, new in events[before:] if changed == TOTAL]:
        raise DamagedError("its totals differ from its events")


# ---- digests ---------------------------------------------------------------------------------------------------------


def _name(key: Sequence[object]) -> str:
    """The name of a row: an analyst's has no colon, and the curator's is empty."""
    return ":".join(map(str, key))


def _value(what: str, covered: Sequence[Any], long: str | None) -> str:
    if what == TOTAL:
        return str(covered[0])
    return f"{linked('', covered)} {'' if long is None else hashlib.sha256(long.encode()).hexdigest()}"


def _short(value: str) -> str:
    """The part of a digest that does not cover the long column."""
    return value.partition(" ")[0]


def _default(what: str) -> str:
    return _value(what, _UNSETTLED, None) if what == "debit" else _GONE


def _digests(connection: Connection, what: str, *, long: bool = True) -> Iterator[tuple[str, str]]:
    """The name of each row of a kind, and the digest of what it is. Long columns are read one at a time."""
    kind, texts = _KINDS[what], f"{_KINDS[what].long} IS NOT NULL" if long else "NULL"
    columns = ", ".join((*kind.key, *kind.covered, texts))
    for row in connection.execute(f"SELECT {columns} FROM {kind.table}"):
        key, value = row[: len(kind.key)], _value(what, row[len(kind.key) : -1], None)
        if row[-1]:
            value = _present(connection, what, key)
        yield _name(key), value if long else _short(value)


def _present(connection: Connection, what: str, key: Sequence[object]) -> str:
    """The digest of a row as it is now."""
    kind = _KINDS[what]
    where = " AND ".join(f"{column} = ?" for column in kind.key)
    columns = ", ".join((*kind.covered, kind.long))
    row = connection.execute(f"SELECT {columns} FROM {kind.table} WHERE {where}", tuple(key)).fetchone()
    return _GONE if row is None else _value(what, row[:-1], row[-1])


def _last_value(connection: Connection, what: str, key: Sequence[object]) -> str | None:
    """What the last change of a row says, if its link in the chain holds; None if it has none."""
    columns = ", ".join(f"c.{column}" for column in CHANGE)
    row = connection.execute(
        f"SELECT {columns}, c.chain, p.chain FROM changes c LEFT JOIN changes p ON p.number = c.number - 1"
        " WHERE c.what = ? AND c.name = ? ORDER BY c.number DESC LIMIT 1",
        (what, _name(key)),
    ).fetchone()
    if row is None:
        return None
    *values, chain, previous = row
    if linked(previous or origin(connection, "changes"), values) != chain:
        raise DamagedError(f"change {values[0]} is not as it was written")
    return str(values[-1])
