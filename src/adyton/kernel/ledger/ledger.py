"""The ledger: the durable record of what was spent, on what, and how much is left.

A debit is on the disk before :meth:`Ledger.debit` returns, and the kernel touches the data only afterwards: a crash may
lose an answer, never a debit. Sums and comparisons are exact, so twenty debits of 0.05 fit in a total of 1.
"""

from __future__ import annotations

import html
import os
import sqlite3
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from types import TracebackType
from typing import NoReturn, TypeVar, get_args

from adyton.errors import BadInput, LedgerError
from adyton.exact import Rational, budget, display
from adyton.kernel.ledger import arguments
from adyton.kernel.ledger.changes import accept_terms, raise_total, reconcile, take_on
from adyton.kernel.ledger.creation import bring_up_to_date
from adyton.kernel.ledger.file import ChangedError, LedgerFile
from adyton.kernel.ledger.records import (
    Account,
    Budgeted,
    Entry,
    Event,
    Settled,
    checked_total,
    now,
    read_account,
    read_entries,
    read_terms,
    refusal,
    to_text,
)
from adyton.kernel.ledger.report import LedgerReport, read_report
from adyton.kernel.ledger.terms import WORDS, Terms, differences, given_terms
from adyton.kernel.ledger.writing import write, write_debit

__all__ = ["Entry", "Event", "Ledger", "LedgerReport", "Terms"]

_ATTEMPTS = 100
_T = TypeVar("_T")


class Ledger(Budgeted):
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
        word, ``accept={"total"}`` or ``accept={"dataset"}``; the change is recorded in the ledger as an event. A total
        is raised more plainly with :meth:`raise_total`.
        """
        terms = Account(arguments.text(dataset, "dataset"), budget(total, "total"), Fraction(0))
        words = arguments.accepted(accept, ("total", "dataset"))
        file = LedgerFile(None if path is None else arguments.file_name(path))
        file.open(lambda connection: _write_account(connection, terms))
        try:
            with file.transaction(write=True) as connection:
                bring_up_to_date(connection)
                report = read_report(connection, file.path)
                reconcile(connection, file.name, report, terms, words)
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
        return self.budget.dataset

    @property
    def budget(self) -> Account:
        """The account as it is now: what every process has spent of the total."""
        return self._read(read_account)

    @property
    def terms(self) -> Terms | None:
        """Whom the budget protects: what the first debit said; None before it."""
        return self._read(read_terms)

    def debit(self, amount: Fraction, *, lineage: Sequence[str], operator: str, terms: Terms | None = None) -> int:
        """Spend *amount*, durably, and return the number of the entry; a refused debit changes nothing.

        Zero is allowed: in a partition, a child that stays below its most-charged sibling costs nothing more. What lies
        between two steps of the grid of budgets is rounded up; what a kernel asks for lies on it. Other *terms* than
        the ledger's are refused.
        """
        asked = arguments.amount(amount)
        names = arguments.lineage(lineage)
        operator = arguments.text(operator, "operator")
        with self._file.transaction(write=True) as connection:
            account = read_account(connection)
            if asked > account.remaining:
                place = "the ledger in memory" if self.path is None else os.path.basename(self.path)
                raise refusal(asked, account.remaining, account.total, self.path, place=place)
            number = write_debit(connection, account, asked, names, operator)
            take_on(connection, self._file.name, number, terms, used=account.spent > 0)
        return number

    def agree(self, terms: Terms, accept: Collection[str] = ()) -> Terms:
        """Compare *terms* with the ledger's own, and return those in force. Others need a word, and are recorded.

        A ledger that has none takes them on with its first debit.
        """
        words = arguments.accepted(accept, WORDS)
        kept = self.terms
        if kept is not None and not any(differences(kept, given_terms(kept, terms))):
            return given_terms(kept, terms)
        with self._file.transaction(write=True) as connection:
            return accept_terms(connection, self._file.name, terms, words)

    def raise_total(self, total: Rational, *, consent: str) -> None:
        """Raise the total, with the data owner's consent: a name, or words, that the ledger records with the change."""
        words, allowed = arguments.text(consent, "consent"), checked_total(total, "total")
        with self._file.transaction(write=True) as connection:
            raise_total(connection, self._file.name, allowed, words)

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
            write(connection, "UPDATE entries SET status = ? WHERE number = ? AND status = 'debited'", (status, entry))

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
            account = self.budget
        except LedgerError:
            return f"Ledger({name}, not readable)"
        spent, total = display(account.spent), display(account.total)
        return f"Ledger({name}, dataset={account.dataset!r}, spent={spent}, total={total})"

    def _repr_html_(self) -> str:
        try:
            return self.report()._repr_html_()
        except LedgerError:
            return f"<code>{html.escape(repr(self))}</code>"

    def _read(self, what: Callable[[sqlite3.Connection], _T]) -> _T:
        with self._file.transaction(write=False) as connection:
            return what(connection)


def _write_account(connection: sqlite3.Connection, terms: Account) -> None:
    write(
        connection,
        "INSERT INTO ledger (id, dataset, total, spent, created) VALUES (1, ?, ?, ?, ?)",
        (terms.dataset, to_text(terms.total), to_text(terms.spent), now()),
    )
