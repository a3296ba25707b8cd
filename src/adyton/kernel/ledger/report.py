"""Everything in a ledger at one moment: read in one go, checked, and shown in a notebook."""

from __future__ import annotations

import html
import sqlite3
from dataclasses import dataclass

from adyton.exact import display
from adyton.kernel.ledger.records import Account, Entry, Event, check, read_account, read_entries, read_events
from adyton.kernel.ledger.terms import Terms, read_terms

_ROWS_IN_NOTEBOOK = 10


@dataclass(frozen=True)
class LedgerReport(Account):
    """A ledger at one moment; ``path`` is None for a ledger in memory, ``terms`` for one that nobody has used."""

    path: str | None
    entries: tuple[Entry, ...]
    events: tuple[Event, ...]
    terms: Terms | None = None

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
    return LedgerReport(account.dataset, account.total, account.spent, path, entries, events, terms)
