"""The ledger: the durable record of what was spent, on what, and how much is left.

A debit is on the disk before :meth:`Ledger.debit` returns, and the kernel touches the data only afterwards: a crash may
lose an answer, never a debit. Sums and comparisons are exact, so twenty debits of 0.05 fit in a total of 1.
"""

from __future__ import annotations

import html
import json
import os
import sqlite3
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from types import TracebackType
from typing import NoReturn, TypeVar, get_args

from adyton.errors import BadInput, LedgerError, LedgerMismatch
from adyton.exact import Rational, display, positive
from adyton.kernel.ledger import arguments
from adyton.kernel.ledger.file import ChangedError, LedgerFile
from adyton.kernel.ledger.records import (
    Account,
    Entry,
    Event,
    LedgerReport,
    Settled,
    fits,
    now,
    read_account,
    read_entries,
    read_report,
    to_text,
)

__all__ = ["Entry", "Event", "Ledger", "LedgerReport"]

_ATTEMPTS = 100
_ROWS_IN_NOTEBOOK = 10
_T = TypeVar("_T")


class Ledger:
    """An open ledger; make one with :meth:`open`. Threads and processes may use the same ledger at once.

    >>> ledger = Ledger.open(None, total=1, dataset="visits")
    >>> ledger.debit(Fraction(1, 4), lineage=["root", "vectorize"], operator="laplace")
    1
    >>> ledger.settle(1, "answered")
    >>> ledger
    Ledger(in memory, dataset='visits', spent=0.25, total=1)
    """

    def __init__(self, file: LedgerFile) -> None:
        if not isinstance(file, LedgerFile):
            raise BadInput(
                "open a ledger with Ledger.open(path, total=…, dataset=…); look at one with Ledger.read(path)."
            )
        self._file = file

    @classmethod
    def open(
        cls, path: str | os.PathLike[str] | None, *, total: Rational, dataset: str, accept: Collection[str] = ()
    ) -> Ledger:
        """Open the ledger at *path*, or create it; ``None`` keeps it in memory, for this process alone.

        An existing ledger must have the same *total* and *dataset*. The data owner may change them with an explicit
        word, ``accept={"total"}`` or ``accept={"dataset"}``; the change is recorded in the ledger as an event.
        """
        terms = Account(arguments.text(dataset, "dataset"), positive(total, "total"), Fraction(0))
        words = arguments.accepted(accept)
        file = LedgerFile(None if path is None else arguments.file_name(path))
        file.open(lambda connection: _write_account(connection, terms))
        try:
            with file.transaction(write=True) as connection:
                report = read_report(connection, file.path)
                _reconcile(connection, file.name, report, terms, words)
        except BaseException:
            file.close()
            raise
        return cls(file)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> LedgerReport:
        """A look at the ledger at *path*, open elsewhere or not. Nothing is created and nothing changes."""
        file = LedgerFile(arguments.file_name(path))
        for _ in range(_ATTEMPTS):
            try:
                with file.look() as connection:
                    report = read_report(connection, file.path)
            except ChangedError:
                continue
            return report
        raise LedgerError(f"{file.name} is being written without a pause. Try again later.")

    @property
    def path(self) -> str | None:
        """Where the ledger is kept, as it was given; None for a ledger in memory."""
        return self._file.path

    @property
    def dataset(self) -> str:
        """The data set that the ledger belongs to."""
        return self._account().dataset

    @property
    def total(self) -> Fraction:
        """All that may ever be spent."""
        return self._account().total

    @property
    def spent(self) -> Fraction:
        """The sum of all debits so far, by this process and every other."""
        return self._account().spent

    @property
    def remaining(self) -> Fraction:
        """What may still be spent."""
        return self._account().remaining

    def debit(self, amount: Fraction, *, lineage: Sequence[str], operator: str) -> int:
        """Spend *amount*, durably, and return the number of the entry; a refused debit changes nothing.

        Zero is allowed: in a partition, a child that stays below its most-charged sibling costs nothing more.
        """
        asked = arguments.amount(amount)
        names = json.dumps(arguments.lineage(lineage))
        operator = arguments.text(operator, "operator")
        with self._file.transaction(write=True) as connection:
            account = read_account(connection)
            spent = account.spent + asked
            if spent > account.total:
                account.refuse(asked, self._file.name if self.path is None else os.path.basename(self.path))
            if not fits(spent):
                raise BadInput("the budget asked for cannot be added exactly. Write it with fewer digits.")
            number = connection.execute(
                "INSERT INTO entries (time, amount, spent_after, lineage, operator, status, process)"
                " VALUES (?, ?, ?, ?, ?, 'debited', ?)",
                (now(), to_text(asked), to_text(spent), names, operator, os.getpid()),
            ).lastrowid
            connection.execute("UPDATE ledger SET spent = ?", (to_text(spent),))
        assert number is not None
        return number

    def settle(self, entry: int, status: Settled) -> None:
        """Say what became of a debit. What was spent stays spent either way."""
        if status not in get_args(Settled):
            raise BadInput(f'status must be "answered" or "failed", given {status!r}.')
        if isinstance(entry, bool) or not isinstance(entry, int):
            raise BadInput(f"entry must be the number that debit returned, given {entry!r}.")
        with self._file.transaction(write=True) as connection:
            row = None
            if 0 < entry < 2**63:  # what SQLite can hold
                row = connection.execute("SELECT status FROM entries WHERE number = ?", (entry,)).fetchone()
            if row is None:
                raise BadInput(f"{self._file.name} has no entry {entry}.")
            if row[0] != "debited":
                raise BadInput(f"entry {entry} of {self._file.name} was already settled as {row[0]!r}.")
            connection.execute("UPDATE entries SET status = ? WHERE number = ?", (status, entry))

    def entries(self) -> list[Entry]:
        """Every debit, oldest first."""
        return list(self._read(read_entries))

    def report(self) -> LedgerReport:
        """Everything in the ledger at one moment, checked against itself."""
        return self._read(lambda connection: read_report(connection, self._file.path))

    def close(self) -> None:
        """Let go of the file; the ledger can be opened again. A ledger in memory is gone."""
        self._file.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a ledger cannot be pickled or copied. Pass its path, and open it there with Ledger.open.")

    def __repr__(self) -> str:
        name = "in memory" if self.path is None else repr(os.path.basename(self.path))
        if self._file.closed:
            return f"Ledger({name}, closed)"
        try:
            account = self._account()
        except LedgerError:
            return f"Ledger({name}, not readable)"
        spent, total = display(account.spent), display(account.total)
        return f"Ledger({name}, dataset={account.dataset!r}, spent={spent}, total={total})"

    def _repr_html_(self) -> str:
        try:
            report = self.report()
        except LedgerError:
            return f"<code>{html.escape(repr(self))}</code>"
        shown = report.entries[-_ROWS_IN_NOTEBOOK:]
        rows = "".join(
            f"<tr><td>{entry.number}</td><td>{display(entry.amount)}</td><td>{display(entry.spent_after)}</td>"
            f"<td>{html.escape(entry.operator)}</td><td>{entry.status}</td></tr>"
            for entry in shown
        )
        left = f"{display(report.remaining)} of {display(report.total)} left"
        hidden = len(report.entries) - len(shown)
        return (
            f"<table><caption>Ledger of {html.escape(report.dataset)}: {left}"
            f"{f', {hidden} earlier entries not shown' if hidden else ''}</caption>"
            "<thead><tr><th>entry</th><th>ε</th><th>spent after</th><th>operator</th><th>status</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )

    def _read(self, what: Callable[[sqlite3.Connection], _T]) -> _T:
        with self._file.transaction(write=False) as connection:
            return what(connection)

    def _account(self) -> Account:
        return self._read(read_account)


def _write_account(connection: sqlite3.Connection, terms: Account) -> None:
    connection.execute(
        "INSERT INTO ledger (id, dataset, total, spent, created) VALUES (1, ?, ?, ?, ?)",
        (terms.dataset, to_text(terms.total), to_text(terms.spent), now()),
    )


def _reconcile(
    connection: sqlite3.Connection, name: str, found: LedgerReport, asked: Account, accept: frozenset[str]
) -> None:
    """Compare the terms in the file with those asked for; change them only where a word allows it."""
    # Writing the row, even unchanged, shows now rather than at the first debit whether the ledger can be written.
    connection.execute("UPDATE ledger SET dataset = ?, total = ?", (asked.dataset, to_text(asked.total)))
    terms = (
        ("total", display(found.total), display(asked.total), "a total of", found.total != asked.total),
        ("dataset", found.dataset, asked.dataset, "the data set", found.dataset != asked.dataset),
    )
    for word, old, new, phrase, differs in terms:
        if not differs:
            continue
        if word not in accept:
            raise LedgerMismatch(
                f"{name} was made for {phrase} {old}, and was opened for {phrase} {new}. Open it with what it has, or "
                "use another ledger. (In Python, and with the data owner's consent, "
                f'Ledger.open(…, accept={{"{word}"}}) changes and records it.)'
            )
        if word == "total" and asked.total < found.spent:
            raise LedgerMismatch(
                f"{name} cannot have a total of {new}, because {display(found.spent)} is spent already. "
                f"Open it with its total of {old}."
            )
        connection.execute(
            "INSERT INTO events (time, changed, old, new, process) VALUES (?, ?, ?, ?, ?)",
            (now(), word, old, new, os.getpid()),
        )
