"""The words of a ledger: refusals, what its report says besides the sum, and its table in a notebook."""

from __future__ import annotations

import html
import os
import shlex
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from adyton.errors import BudgetExceeded, LedgerMismatch
from adyton.exact import display
from adyton.kernel.ledger.terms import NOT_RECORDED, Terms
from adyton.messages import listing

if TYPE_CHECKING:
    from adyton.kernel.ledger.records import Account, Entry, LedgerReport

_ROWS_IN_NOTEBOOK = 10


def refusal(
    asked: Fraction, left: Fraction, total: Fraction, path: str | None, *, place: str | None = None, stability: int = 1
) -> BudgetExceeded:
    """The error for a request that would debit more than is left, at a source of this stability.

    *path* is that of the ledger, if it has a file. *place*, if it is known, says where so little is left.
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


def other_account(name: str, word: str, old: str, new: str, *, raised: bool) -> LedgerMismatch:
    """The error for a ledger that is opened with another total or for another data set than it was made for."""
    phrase = "a total of" if word == "total" else "the data set"
    way = (
        f"adyton ledger raise {shlex.quote(name)} --total {new}"
        if word == "total" and raised
        else f'Ledger.open(…, accept={{"{word}"}}) in Python'
    )
    keep = (
        f"If it is the same table at another place, give dataset={old!r} (--dataset on the command line), or"
        if word == "dataset"
        else "Open it with what it has, or"
    )
    return LedgerMismatch(
        f"{name} was made for {phrase} {old}, and was opened for {phrase} {new}. {keep} "
        f"use another ledger. (With the data owner's consent, {way} changes and records it.)"
    )


def refuse_below_spent(name: str, total: Fraction, found: Account) -> None:
    """An error if a total is less than what was spent."""
    if total < found.spent:
        raise LedgerMismatch(
            f"{name} cannot have a total of {display(total)}, because {display(found.spent)} is spent already. "
            f"Open it with its total of {display(found.total)}."
        )


def too_much_for_units(name: str, account: Account, needed: Fraction, new: str, old: str) -> LedgerMismatch:
    """The error where earlier answers, counted for other units, cost more than the total."""
    return LedgerMismatch(
        f"{name} has spent {display(account.spent)}; counted for units of {new}, instead of {old}, that is "
        f"{display(needed)}, and the total is {display(account.total)}. Raise the total first: "
        f"adyton ledger raise {shlex.quote(name)} --total …"
    )


def refuse(name: str, parts: Sequence[str], kept: Terms, asked: Terms) -> None:
    """An error if there are parts of the terms that differ and that no word accepts."""
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
        "schema": f"belongs to another schema (its digest begins {old}) than the one given ({new})",
    }[parts[0]]
    advice = "Use what it was made for, or another ledger"
    if changed:
        differs, advice = files, "Restore the file, or use another ledger"
    words, options = ", ".join(map(repr, parts)), " ".join(f"--accept {part}" for part in parts)
    raise LedgerMismatch(
        f"{name} {differs}: what it has spent would no longer mean the same. {advice}. (With the data owner's "
        f"consent, accept={{{words}}} in Python or {options} on the command line changes and records it.)"
    )


def refuse_unknown(name: str) -> None:
    """The error for a ledger that has spent something on units that it does not name."""
    raise LedgerMismatch(
        f"{name} was written by an early version, which did not record the unit, rows_per_unit and the schema of what "
        "it has spent. Use another ledger. (With the data owner's consent, if the earlier answers were for what is "
        "asked for now, accept={'terms'} in Python or --accept terms on the command line says so and records it.)"
    )


def notes(report: LedgerReport, terms: Terms, answers: Sequence[Entry], needed: Fraction) -> Iterator[str]:
    """What the sum does not say: sentences about answers that were made under other terms than the present ones.

    *needed* is what they cost a unit of the present terms.
    """
    whose, rows = terms.named_unit, f"{terms.rows_per_unit} row(s)"
    before = [entry for entry in answers if entry.terms and entry.terms.column != terms.column]
    amount = sum((entry.amount for entry in before), Fraction(0))
    if terms.column and amount:
        unsure = all(entry.terms and entry.terms.column == NOT_RECORDED for entry in before)
        yield (
            f"ε = {display(amount)} was spent before the column {terms.column} was the unit"
            f"{', or by an early version that did not record it' if unsure else ''}: those answers did not limit "
            f"the rows of a {whose}. They are counted here for one with at most {rows}, and protect one with more "
            "rows less."
        )
    if needed > report.spent:
        yield (
            f"An early version did not count earlier answers again when the terms changed. For a {whose} with at "
            f"most {rows}, what was spent is up to {display(needed)}, not {display(report.spent)}."
        )


def table(report: LedgerReport) -> str:
    """The last entries as HTML, for notebooks."""
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
