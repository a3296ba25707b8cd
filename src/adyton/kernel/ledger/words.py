"""The texts of a ledger: its report, and refusals of terms other than its own."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from adyton.errors import LedgerMismatch
from adyton.exact import display
from adyton.kernel.ledger.analysts import Analyst, Balance
from adyton.kernel.ledger.records import Account, DataSet, Entry, Event, counted_for, in_shell
from adyton.kernel.ledger.tables import Head
from adyton.kernel.ledger.terms import NOT_RECORDED, Terms, declared_differences
from adyton.messages import listing

_ROWS_IN_NOTEBOOK = 10
_MOST_DIFFERENCES = 3


@dataclass(frozen=True)
class LedgerReport(Account):
    """A ledger at one moment; ``path`` is None for a ledger in memory, ``terms`` is None for an unused ledger."""

    path: str | None
    entries: tuple[Entry, ...]
    events: tuple[Event, ...]
    terms: Terms | None = None
    further: tuple[DataSet, ...] = ()
    """The other data sets, if there are several; ``dataset`` and ``terms`` are those of the first."""
    analysts: tuple[Analyst, ...] = ()
    head: Head | None = None
    early: tuple[int, int] | None = None
    """How many entries and events an early version has written, whose chain covered nothing else; None: none."""

    @property
    def balance(self) -> Balance:
        """What a debit reads: it says what is left for whom."""
        return Balance(self.total, self.spent, {own.name: own for own in self.analysts})

    @property
    def aside(self) -> Fraction:
        """What is set aside for analysts, and not yet spent by them."""
        return self.balance.committed - self.spent

    @property
    def notes(self) -> tuple[str, ...]:
        """What the sum does not show: sentences about answers that were made under earlier terms."""
        units = dict.fromkeys(terms.named_unit for terms in self._all_terms())
        several = "The data sets protect different units"
        mixed = (f"{several} ({', '.join(units)}): the total holds for one who is one unit in each.",) * (
            len(units) > 1
        )
        early = () if self.early is None else (_not_covered(*self.early),)
        return (*early, *(() if self.terms is None else self._notes(self.terms)), *mixed)

    def _all_terms(self) -> Iterator[Terms]:
        yield from (terms for terms in (self.terms, *(own.terms for own in self.further)) if terms is not None)

    def _notes(self, terms: Terms) -> Iterator[str]:
        entries = [entry for entry in self.entries if entry.dataset in ("", self.dataset)]
        answers = [entry for entry in entries if not entry.recount and entry.terms is not None]
        whose, rows = terms.named_unit, f"{terms.rows_per_unit} row(s)"
        before = [entry for entry in answers if entry.terms and entry.terms.column != terms.column]
        amount = sum((entry.amount for entry in before), Fraction(0))
        if terms.column and amount:
            unsure = all(entry.terms and entry.terms.column == NOT_RECORDED for entry in before)
            yield (
                f"ε = {display(amount)} was spent before the column {terms.column} was the unit"
                f"{', or by an early version that did not record it' if unsure else ''}: those answers did not limit "
                f"the rows of a {whose}. They are counted here as for at most {rows}; they protect a unit with more "
                "rows less."
            )
        needed = counted_for(terms, answers)
        if needed > sum((entry.amount for entry in entries), Fraction(0)):
            yield (
                f"An early version did not count earlier answers again when the terms changed. For a {whose} with at "
                f"most {rows}, up to {display(needed)} is spent, not {display(self.spent)}."
            )

    def _repr_html_(self) -> str:
        """The last entries as a table, for notebooks."""
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


def _not_covered(entries: int, events: int) -> str:
    """What the chain of an early version did not cover."""
    return (
        f"An early version kept this ledger until entry {entries} and event {events}. Its chain did not cover the "
        "total, terms, requests, stored answers and what became of a debit: until then they are as they were found "
        "when a later version first opened it."
    )


def other_account(name: str, word: str, old: str, new: str, *, raised: bool) -> LedgerMismatch:
    """The error for a ledger that is opened with a total or a data set other than its own."""
    phrase = "a total of" if word == "total" else "the data set"
    way = (
        f"adyton ledger raise {in_shell(name)} --total {new}"
        if word == "total" and raised
        else f'Ledger.open(…, accept={{"{word}"}}) in Python'
    )
    keep, more = "Open it with its own total.", ""
    if word == "dataset":
        keep = f"If it is the same table at another place, give dataset={old!r} (--dataset on the command line)."
        more = ' A further table about the same people joins it with accept={"add dataset"}.'
    return LedgerMismatch(
        f"{name} was made for {phrase} {old}, and was opened for {phrase} {new}. {keep}",
        f"(With the data owner's consent, {way} changes and records it.{more})",
    )


def refuse_below_spent(name: str, total: Fraction, balance: Balance) -> None:
    """Raise an error if a total is less than the amount spent."""
    if total < balance.committed:
        aside = balance.committed - balance.spent
        more = f" and {display(aside)} is set aside for analysts" if aside else ""
        raise LedgerMismatch(
            f"{name} cannot have a total of {display(total)}, because {display(balance.spent)} is spent already{more}. "
            f"Open it with its total of {display(balance.total)}."
        )


def too_much_for_units(name: str, balance: Balance, more: Fraction, new: str, old: str) -> LedgerMismatch:
    """The error if earlier answers, counted for other units, cost more than the total."""
    return LedgerMismatch(
        f"{name} has spent {display(balance.spent)}; counted for units of {new}, instead of {old}, that is "
        f"{display(balance.spent + more)}, and the total is {display(balance.total)}"
        f"{', of which a part is set aside' if balance.committed > balance.spent else ''}. Raise the total first: "
        f"adyton ledger raise {in_shell(name)} --total …"
    )


def refuse(name: str, parts: Sequence[str], kept: Terms, asked: Terms) -> None:
    """Raise an error if there are *parts* of the terms that differ and that no word accepts."""
    if not parts:
        return
    old, new = kept.shown(parts[0]), asked.shown(parts[0])
    now = dict(line.split(" ", 1)[::-1] for line in asked.files.splitlines())
    before = (line.partition(" ") for line in kept.files.splitlines())
    changed = [name for digest, _, name in before if now.get(name, digest) != digest] if parts[0] == "schema" else []
    files = f"was first used when the level file {listing(changed)} had other levels"
    differs = {
        "unit": f"protects the unit {old!r}, and is asked to protect the unit {new!r}",
        "rows_per_unit": f"counts up to {old} row(s) for each unit, and is asked to count up to {new} (rows_per_unit)",
        "schema": _other_schema(kept, asked),
    }[parts[0]]
    advice = "Keep its own terms"
    if changed:
        differs, advice = files, "Restore the file"
    words, options = ", ".join(map(repr, parts)), " ".join(f"--accept {part}" for part in parts)
    raise LedgerMismatch(
        f"{name} {differs}: what it has spent would no longer have the same meaning. {advice}.",
        f"(With the data owner's consent, accept={{{words}}} in Python or {options} on the command line changes and "
        "records it.)",
    )


def _other_schema(kept: Terms, asked: Terms) -> str:
    """In which way the schema is not that of the ledger."""
    told = declared_differences(kept, asked)
    if not told:
        old, new = kept.shown("schema"), asked.shown("schema")
        return f"belongs to another schema (its digest begins {old}) than the one given ({new})"
    more = f", and {len(told) - _MOST_DIFFERENCES} more" if len(told) > _MOST_DIFFERENCES else ""
    return f"belongs to another schema than the one given ({'; '.join(told[:_MOST_DIFFERENCES])}{more})"


def refuse_unknown(name: str) -> None:
    """The error for a ledger that has spent something without recording its unit."""
    raise LedgerMismatch(
        f"{name} was written by an early version, which did not record the unit, rows_per_unit and the schema of what "
        "it has spent. Nothing more can be spent with it as it is.",
        "(If the earlier answers were for the present terms, then with the data owner's consent accept={'terms'} in "
        "Python or --accept terms on the command line confirms and records it.)",
    )
