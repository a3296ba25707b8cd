"""The ledger: the durable record of what was spent, on what, and how much is left.

A debit is on the disk before :meth:`Ledger.debit` returns, and the kernel reads the data only afterwards: a crash may
lose an answer, never a debit. Sums and comparisons are exact, so twenty debits of 0.05 fit in a total of 1. A change of
a ledger's total, data set or terms needs an explicit word, and is recorded as an event.
"""

from __future__ import annotations

import html
import os
import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from types import TracebackType
from typing import NoReturn, TypeVar, get_args

from adyton.errors import BadInput, LedgerError, LedgerMismatch
from adyton.exact import Rational, budget, display, rounded_down, rounded_up
from adyton.kernel.ledger.file import ChangedError, LedgerFile, bring_up_to_date, file_name
from adyton.kernel.ledger.records import (
    RECOUNT,
    Account,
    Budgeted,
    Entry,
    Settled,
    checked_total,
    counted_for,
    now,
    read_account,
    read_checked,
    read_entries,
    read_terms,
    refusal,
    to_text,
    write,
    write_debit,
    write_event,
    write_terms,
    write_terms_of,
)
from adyton.kernel.ledger.terms import (
    WORDS,
    Terms,
    accepted,
    checked_text,
    differences,
    given_terms,
    recorded,
)
from adyton.kernel.ledger.words import (
    LedgerReport,
    other_account,
    refuse,
    refuse_below_spent,
    refuse_unknown,
    too_much_for_units,
)

LARGEST_BITS = 8192
"""The longest numerator or denominator of a debit. Debits are whole steps of a grid, so that sums stay below 300 bits;
ledgers of the first format had no grid, and may have longer sums."""
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
            raise BadInput("open a ledger with Ledger.open(path, total=…, dataset=…); read one with Ledger.read(path).")
        self._file = file

    @classmethod
    def open(
        cls, path: str | os.PathLike[str] | None, *, total: Rational, dataset: str, accept: Collection[str] = ()
    ) -> Ledger:
        """Open the ledger at *path*, or create it; ``None`` keeps it in memory, for this process only.

        An existing ledger must have the same *total* and *dataset*. The data owner may change them with an explicit
        word, ``accept={"total"}`` or ``accept={"dataset"}``; the change is recorded in the ledger as an event. The
        simpler way to raise a total is :meth:`raise_total`.
        """
        terms = Account(checked_text(dataset, "dataset"), budget(total, "total"), Fraction(0))
        words = accepted(accept, ("total", "dataset"))
        file = LedgerFile(None if path is None else file_name(path))
        file.open(lambda connection: _write_account(connection, terms))
        try:
            with file.transaction(write=True) as connection:
                bring_up_to_date(connection)
                reconcile(connection, file.name, read_checked(connection)[0], terms, words)
        except BaseException:
            file.close()
            raise
        return cls(file)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> LedgerReport:
        """Read the ledger at *path*, whether it is open elsewhere or not. Nothing is created or changed."""
        file = LedgerFile(file_name(path))
        for _ in range(_ATTEMPTS):
            try:
                with file.look() as connection:
                    report = _report(connection, file.path)
            except ChangedError:
                continue
            return report
        raise LedgerError(f"{file.name} is being written continuously. Try again later.")

    @property
    def path(self) -> str | None:
        """The path of the ledger, as given; None for a ledger in memory."""
        return self._file.path

    @property
    def dataset(self) -> str:
        """The data set to which the ledger belongs."""
        return self.budget.dataset

    @property
    def budget(self) -> Account:
        """The current account: what all processes have spent of the total."""
        return self._read(read_account)

    @property
    def terms(self) -> Terms | None:
        """Whom the budget protects: the terms of the first debit, or those accepted since; None before a debit."""
        return self._read(read_terms)

    def debit(self, amount: Fraction, *, lineage: Sequence[str], operator: str, terms: Terms | None = None) -> int:
        """Spend *amount*, durably, and return the number of the entry; a refused debit changes nothing.

        Zero is allowed: in a partition, a child that stays below its most-charged sibling costs nothing more. An amount
        between two steps of the grid of budgets is rounded up; a kernel's debits lie on the grid. *terms* other than
        the ledger's are refused.
        """
        asked = _amount(amount)
        names = _lineage(lineage)
        operator = checked_text(operator, "operator")
        with self._file.transaction(write=True) as connection:
            account = read_account(connection)
            if asked > account.remaining:
                place = "the ledger in memory" if self.path is None else os.path.basename(self.path)
                raise refusal(asked, account.remaining, account.total, self.path, place=place)
            number = write_debit(connection, account, asked, names, operator)
            take_on(connection, self._file.name, number, terms, used=account.spent > 0)
        return number

    def agree(self, terms: Terms, accept: Collection[str] = ()) -> Terms:
        """Compare *terms* with the ledger's own, and return those in force. A change needs a word, and is recorded.

        A ledger without terms adopts them with its first debit.
        """
        words = accepted(accept, WORDS)
        kept = self.terms
        if kept is not None and not any(differences(kept, given_terms(kept, terms))):
            return given_terms(kept, terms)
        with self._file.transaction(write=True) as connection:
            return accept_terms(connection, self._file.name, terms, words)

    def raise_total(self, total: Rational, *, consent: str) -> None:
        """Raise the total, with the data owner's consent: a name or a text that the ledger records with the change."""
        words, allowed = checked_text(consent, "consent"), checked_total(total, "total")
        name = self._file.name
        with self._file.transaction(write=True) as connection:
            account = read_account(connection)
            refuse_below_spent(name, allowed, account)
            if allowed <= account.total:
                raise LedgerMismatch(
                    f"{name} has a total of {display(account.total)}, and {display(allowed)} is not larger. Give a "
                    "larger total."
                )
            write(
                connection,
                "UPDATE ledger SET total = ? WHERE total = ? AND spent = ?",
                (to_text(allowed), to_text(account.total), to_text(account.spent)),
            )
            write_event(connection, "total", display(account.total), display(allowed), words)

    def settle(self, entry: int, status: Settled) -> None:
        """Record the outcome of a debit. The amount stays spent either way."""
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
        """Everything in the ledger at one moment, checked for consistency."""
        return self._read(lambda connection: _report(connection, self._file.path))

    def close(self) -> None:
        """Close the file; the ledger can be opened again. A ledger in memory is lost."""
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


def _amount(amount: object) -> Fraction:
    """A debit: exact, never a refund, and a whole number of steps of the grid of budgets."""
    if isinstance(amount, bool) or not isinstance(amount, int | Fraction):
        raise BadInput(f"a debit must be a Fraction or an int, given {type(amount).__name__}.")
    exactly = Fraction(amount)
    if max(exactly.numerator.bit_length(), exactly.denominator.bit_length()) > LARGEST_BITS:
        raise BadInput("a debit has too many digits. Write it with fewer.")
    if exactly < 0:
        raise BadInput(f"a debit must not be negative, given {display(exactly)}.")
    return rounded_up(exactly)


def _lineage(lineage: object) -> list[str]:
    """The names of the steps from the root to the source."""
    if isinstance(lineage, str) or not isinstance(lineage, Sequence):
        raise BadInput(f"lineage must be a sequence of names, given {type(lineage).__name__}.")
    return [checked_text(name, "a name in the lineage") for name in lineage]


def _report(connection: sqlite3.Connection, path: str | None) -> LedgerReport:
    account, entries, events, terms = read_checked(connection)
    return LedgerReport(account.dataset, account.total, account.spent, path, entries, events, terms)


def _write_account(connection: sqlite3.Connection, terms: Account) -> None:
    write(
        connection,
        "INSERT INTO ledger (id, dataset, total, spent, created) VALUES (1, ?, ?, ?, ?)",
        (terms.dataset, to_text(terms.total), to_text(terms.spent), now()),
    )


def reconcile(
    connection: sqlite3.Connection, name: str, account: Account, asked: Account, accept: frozenset[str]
) -> None:
    """Compare the total and the data set with those asked for; change them only if a word allows it."""
    if rounded_down(account.total) == asked.total:  # a ledger of the first format may lie between two steps of the grid
        asked = replace(asked, total=account.total)
    # Writing the row, even unchanged, shows now rather than at the first debit whether the ledger can be written.
    write(
        connection,
        "UPDATE ledger SET dataset = ?, total = ? WHERE spent = ?",
        (asked.dataset, to_text(asked.total), to_text(account.spent)),
    )
    parts = (
        ("total", display(account.total), display(asked.total), account.total != asked.total),
        ("dataset", account.dataset, asked.dataset, account.dataset != asked.dataset),
    )
    for word, old, new, differs in parts:
        if not differs:
            continue
        if word not in accept:
            raise other_account(name, word, old, new, raised=asked.total > account.total)
        if word == "total":
            refuse_below_spent(name, asked.total, account)
        write_event(connection, word, old, new)


def take_on(connection: sqlite3.Connection, name: str, entry: int, terms: Terms | None, *, used: bool) -> None:
    """Check that a debit has the ledger's own terms, and record them with it. A ledger without terms adopts those of
    the debit.

    A ledger that was *used* before there were terms does not: it is not known whom its earlier debits protect.
    """
    kept = read_terms(connection)
    if kept is None and terms is not None:
        if used:
            refuse_unknown(name)
        write_terms(connection, terms)
    elif kept is not None and terms is not None:
        refuse(name, list(differences(kept, terms)), kept, terms)
        _record_column(connection, kept, terms)
    made = terms or kept
    if made is not None:
        write_terms_of(connection, entry, made)


def accept_terms(connection: sqlite3.Connection, name: str, asked: Terms, accept: frozenset[str]) -> Terms:
    """Adopt other terms than before, if a word allows each part that differs; returns those in force."""
    kept = read_terms(connection)
    if kept is None:
        if read_account(connection).spent:
            if "terms" not in accept:
                refuse_unknown(name)
            write_terms(connection, asked)
            write_event(connection, "terms", "unknown", str(asked))
            for entry in read_entries(connection):
                write_terms_of(connection, entry.number, asked)
        return asked
    asked = given_terms(kept, asked)
    kept = _record_column(connection, kept, asked)
    changed = list(differences(kept, asked))
    refuse(name, [part for part in changed if part not in accept], kept, asked)
    if changed:
        _count_again(connection, name, kept, asked)
        write_terms(connection, asked)
    for part in changed:
        write_event(connection, part, kept.shown(part), asked.shown(part))
    return asked


def _record_column(connection: sqlite3.Connection, kept: Terms, asked: Terms) -> Terms:
    """Fill in whether a column enforces the unit, in a ledger of an earlier format that is used with its own schema."""
    known = recorded(kept, asked)
    if known != kept:
        write_terms(connection, known)
        for entry in read_entries(connection):
            if entry.terms is not None and recorded(entry.terms, asked) != entry.terms:
                write_terms_of(connection, entry.number, recorded(entry.terms, asked))
    return known


def _count_again(connection: sqlite3.Connection, name: str, kept: Terms, asked: Terms) -> None:
    """Debit the cost of earlier answers for units of other terms, beyond the amount debited. There are no refunds."""
    account = read_account(connection)
    needed = counted_for(asked, read_entries(connection))
    if needed <= account.spent:
        return
    rows = asked.rows_per_unit
    new, old = f"up to {rows} rows", str(kept.rows_per_unit)
    if rows == kept.rows_per_unit:
        new, old = f"the kind {asked.shown('unit')}", kept.shown("unit")
    if needed > account.total:
        raise too_much_for_units(name, account, needed, new, old)
    operator = f"earlier answers, for units of {new} instead of {old}"
    write_debit(connection, account, needed - account.spent, [account.dataset], operator, "answered", RECOUNT)


class Tally(Budgeted):
    """What a simulated kernel has spent. Public data need no durable record."""

    path = None
    """A simulation keeps no file."""

    def __init__(self, total: Fraction, dataset: str) -> None:
        self.dataset = dataset
        self._account = Account(dataset, total, Fraction(0))
        self._debits = 0

    @property
    def budget(self) -> Account:
        """The current account."""
        return self._account

    def debit(self, amount: Fraction, *, lineage: Sequence[str], operator: str, terms: Terms | None = None) -> int:
        """Spend *amount* and return the number of the debit; a refused debit changes nothing."""
        before, total = self._account.spent, self._account.total
        spent = before + amount if before else amount
        if spent > total:
            raise refusal(amount, self._account.remaining, total, None, place="this simulation")
        self._account = Account(self.dataset, total, spent)
        self._debits += 1
        return self._debits

    def settle(self, entry: int, status: Settled) -> None:
        """Do nothing: the outcome of a simulated debit is not recorded."""


def ledger_for(
    given: Ledger | Tally | str | os.PathLike[str] | None,
    total: Fraction,
    dataset: str | None,
    otherwise: str,
    *,
    private: bool,
) -> Ledger | Tally:
    """The ledger of a data set, which is named *otherwise* if no name is given.

    A ledger that is already open must have the same total and data set.
    """
    if isinstance(given, Tally) and private:
        raise BadInput("the tally of a simulation is not a ledger. Give the path of a ledger, or none.")
    if dataset is not None:
        checked_text(dataset, "dataset")
    if isinstance(given, Ledger | Tally):
        ledger = given
    else:
        ledger = Ledger.open(given, total=total, dataset=otherwise if dataset is None else dataset)
    held = ledger.total if isinstance(ledger, Tally) else rounded_down(ledger.total)
    for word, here, there in (("total", total, held), ("dataset", dataset, ledger.dataset)):
        if here not in (None, there):
            raise LedgerMismatch(
                f"the ledger is open for the {word} {_shown(there)}, but the kernel was asked for {_shown(here)}. Give "
                "both the same."
            )
    return ledger


def _shown(term: Fraction | str | None) -> str:
    return display(term) if isinstance(term, Fraction) else str(term)
