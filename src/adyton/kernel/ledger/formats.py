"""Ledgers of earlier formats, which were files: how each is converted to the next, and the last to the current one."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence

from adyton.kernel.ledger.changes import adopt
from adyton.kernel.ledger.records import Entry, Event, entry_of, event_of, number_of_rows, read_names, read_terms
from adyton.kernel.ledger.tables import CHANGES, FORMAT, INDEXES, OF_FOURTH, Connection, DamagedError, append
from adyton.kernel.ledger.terms import NOT_RECORDED, Terms

_RENAMED = ("ledger", "entries", "events", "terms")
_MIGRATIONS = {
    1: (
        "ALTER TABLE events ADD COLUMN consent TEXT",
        "CREATE TABLE terms (part TEXT PRIMARY KEY, value TEXT NOT NULL)",
    ),
    2: ("ALTER TABLE entries ADD COLUMN terms TEXT",),
    3: (
        *(f"ALTER TABLE {table} RENAME TO old_{table}" for table in _RENAMED),
        *OF_FOURTH,
        "INSERT INTO ledger SELECT id, total, spent, created FROM old_ledger",
        "INSERT INTO datasets SELECT 1, dataset FROM old_ledger",
        "INSERT INTO terms SELECT 1, part, value FROM old_terms",
    ),
    4: (*CHANGES, *INDEXES),
}
"""The statements that convert each earlier format to the next."""
_CHAINED = 4
"""The first format with a chain."""
_ENTRY = "number, time, amount, spent_after, lineage, operator, status, process, terms"


def bring_up_to_date(connection: Connection) -> None:
    """Convert a ledger of an earlier format to the current format, within the current transaction."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == FORMAT:
        return
    for number in range(version, FORMAT):
        for statement in _MIGRATIONS[number]:
            connection.execute(statement)
    if version < _CHAINED:
        _chain(connection)
    adopt(connection)
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _chain(connection: Connection) -> None:
    """Write the entries and events of a ledger without a chain anew, with their chain."""
    names = read_names(connection)
    rows = connection.execute(
        "SELECT number, time, changed, old, new, process, consent FROM old_events ORDER BY number"
    ).fetchall()
    events = [event_of((*row, None), names) for row in rows]
    for _, time, changed, old, new, process, consent in rows:
        row = {"time": time, "changed": changed, "old": old, "new": new, "process": process}
        append(connection, "events", {**row, "consent": consent, "dataset": None})
    rows = connection.execute(f"SELECT {_ENTRY} FROM old_entries ORDER BY number").fetchall()
    entries = [entry_of((*row, 1, None, None), names) for row in rows]
    kept = read_terms(connection)
    early = kept is not None and not any(entry.terms or entry.recount for entry in entries)
    of_entries = list(terms_by_events(entries, events, kept)) if early and kept is not None else []
    for place, (number, time, amount, spent_after, lineage, operator, status, process, terms) in enumerate(rows):
        row = {"time": time, "amount": amount, "spent_after": spent_after, "lineage": lineage, "operator": operator}
        own = json.dumps(of_entries[place].to_plain()) if of_entries else terms
        row |= {"process": process, "terms": own, "dataset": 1, "analyst": None, "request": None}
        if append(connection, "entries", row, {"status": status}) != number:
            raise DamagedError(f"entry {place + 1} is missing")
    for table in _RENAMED:
        connection.execute(f"DROP TABLE old_{table}")


def terms_by_events(entries: Sequence[Entry], events: Sequence[Event], kept: Terms) -> Iterator[Terms]:
    """The terms of debits that did not keep them, reconstructed from the events at the time of each debit.

    Events do not say whether a column enforced the unit, nor all of a schema that was changed; and if a clock was set
    back, the smallest rows_per_unit at any time is used. So no answer is taken to protect more than it does.
    """
    times = [entry.time for entry in entries], [event.time for event in events]
    orderly = all(moments == sorted(moments) for moments in times)
    changes = [
        (event.time, number_of_rows(event.old), number_of_rows(event.new))
        for event in events
        if event.changed == "rows_per_unit"
    ]
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
