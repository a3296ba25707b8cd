"""Everything in a ledger at one moment: read in one go, checked, and shown in a notebook."""

from __future__ import annotations

import html
import sqlite3
from dataclasses import dataclass, replace
from fractions import Fraction

from adyton.exact import display
from adyton.kernel.ledger.records import (
    Account,
    Entry,
    Event,
    check,
    counted_for,
    read_account,
    read_entries,
    read_events,
    read_terms,
    terms_by_events,
)
from adyton.kernel.ledger.terms import NOT_RECORDED, Terms

_ROWS_IN_NOTEBOOK = 10


@dataclass(frozen=True)
class LedgerReport(Account):
    """A ledger at one moment; ``path`` is None for a ledger in memory, ``terms`` for one that nobody has used."""

    path: str | None
    entries: tuple[Entry, ...]
    events: tuple[Event, ...]
    terms: Terms | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What the sum does not say: sentences about answers that were made under other terms than the present ones."""
        terms, notes = self.terms, []
        if terms is None:
            return ()
        whose, rows = terms.named_unit, f"{terms.rows_per_unit} row(s)"
        answers = [entry for entry in self.entries if not entry.recount and entry.terms is not None]
        before = [entry for entry in answers if entry.terms and entry.terms.column != terms.column]
        amount = sum((entry.amount for entry in before), Fraction(0))
        if terms.column and amount:
            unsure = all(entry.terms and entry.terms.column == NOT_RECORDED for entry in before)
            notes.append(
                f"ε = {display(amount)} was spent before the column {terms.column} was the unit"
                f"{', or by an early version that did not record it' if unsure else ''}: those answers did not limit "
                f"the rows of a {whose}. They are counted here for one with at most {rows}, and protect one with more "
                "rows less."
            )
        needed = counted_for(terms, answers)
        if needed > self.spent:
            notes.append(
                f"An early version did not count earlier answers again when the terms changed. For a {whose} with at "
                f"most {rows}, what was spent is up to {display(needed)}, not {display(self.spent)}."
            )
        return tuple(notes)

    def _repr_html_(self) -> str:
        shown = self.entries[-_ROWS_IN_NOTEBOOK:]
        rows = "".join(
            f"<tr><td>{entry.number}</td><td>{display(entry.amount)}</td><td>{display(entry.spent_after)}</td>"
            f"<td>{html.escape(entry.operator)}</td><td>{entry.status}</td></tr>"
            for entry in shown
        )
        left = f"{display(self.remaining)} of {display(self.total)} left"
        hidden = len(self.entries) - len(shown)
        return (
            f"<table><caption>Ledger of {html.escape(self.dataset)}: {left}"
            f"{f', {hidden} earlier entries not shown' if hidden else ''}</caption>"
            "<thead><tr><th>entry</th><th>ε</th><th>spent after</th><th>operator</th><th>status</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )


def read_report(connection: sqlite3.Connection, path: str | None) -> LedgerReport:
    """Everything in the ledger, checked: call it inside one transaction, so that the parts belong together."""
    account, entries = read_account(connection), read_entries(connection)
    check(account, entries)
    events, terms = read_events(connection), read_terms(connection)
    if terms is not None and not any(entry.terms or entry.recount for entry in entries):  # of an earlier format
        kept = zip(entries, terms_by_events(entries, events, terms), strict=True)
        entries = tuple(replace(entry, terms=own) for entry, own in kept)
    return LedgerReport(account.dataset, account.total, account.spent, path, entries, events, terms)
