"""Changes of what a ledger was made for: each needs an explicit word, and each is an event that stays in it."""

from __future__ import annotations

import shlex
import sqlite3
from dataclasses import replace
from fractions import Fraction

from adyton.errors import LedgerMismatch
from adyton.exact import display
from adyton.grid import rounded_down
from adyton.kernel.ledger.records import (
    RECOUNT,
    Account,
    counted_for,
    read_account,
    read_entries,
    read_terms,
    to_text,
)
from adyton.kernel.ledger.terms import Terms, differences, given_terms, recorded, refuse, refuse_unknown
from adyton.kernel.ledger.writing import write, write_debit, write_event, write_terms, write_terms_of


def reconcile(
    connection: sqlite3.Connection, name: str, found: Account, asked: Account, accept: frozenset[str]
) -> None:
    """Compare the total and the data set with those asked for; change them only where a word allows it."""
    if rounded_down(found.total) == asked.total:  # a ledger of the first format may lie between two steps of the grid
        asked = replace(asked, total=found.total)
    # Writing the row, even unchanged, shows now rather than at the first debit whether the ledger can be written.
    write(
        connection,
        "UPDATE ledger SET dataset = ?, total = ? WHERE spent = ?",
        (asked.dataset, to_text(asked.total), to_text(found.spent)),
    )
    parts = (
        ("total", display(found.total), display(asked.total), "a total of", found.total != asked.total),
        ("dataset", found.dataset, asked.dataset, "the data set", found.dataset != asked.dataset),
    )
    for word, old, new, phrase, differs in parts:
        if not differs:
            continue
        if word not in accept:
            way = (
                f"adyton ledger raise {shlex.quote(name)} --total {new}"
                if word == "total" and asked.total > found.total
                else f'Ledger.open(…, accept={{"{word}"}}) in Python'
            )
            keep = (
                f"If it is the same table at another place, give dataset={old!r} (--dataset on the command line), or"
                if word == "dataset"
                else "Open it with what it has, or"
            )
            raise LedgerMismatch(
                f"{name} was made for {phrase} {old}, and was opened for {phrase} {new}. {keep} "
                f"use another ledger. (With the data owner's consent, {way} changes and records it.)"
            )
        if word == "total":
            _refuse_below_spent(name, asked.total, found)
        write_event(connection, word, old, new)


def raise_total(connection: sqlite3.Connection, name: str, total: Fraction, consent: str) -> None:
    """Allow more than before."""
    found = read_account(connection)
    _refuse_below_spent(name, total, found)
    if total <= found.total:
        raise LedgerMismatch(
            f"{name} has a total of {display(found.total)}, which {display(total)} does not raise. Give a larger one."
        )
    write(
        connection,
        "UPDATE ledger SET total = ? WHERE total = ? AND spent = ?",
        (to_text(total), to_text(found.total), to_text(found.spent)),
    )
    write_event(connection, "total", display(found.total), display(total), consent)


def take_on(connection: sqlite3.Connection, name: str, entry: int, terms: Terms | None, *, used: bool) -> None:
    """Insist that a debit is for the ledger's own terms, and record them with it. A ledger that has none yet takes on
    those of the debit.

    One that was *used* before there were terms does not: nobody knows whom its earlier debits protect.
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
    """Take on other terms than before, where a word allows each part that differs; returns those in force."""
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
    """Debit what earlier answers cost units of other terms, beyond what was debited. There are no refunds."""
    account = read_account(connection)
    needed = counted_for(asked, read_entries(connection))
    if needed <= account.spent:
        return
    rows = asked.rows_per_unit
    new, old = f"up to {rows} rows", str(kept.rows_per_unit)
    if rows == kept.rows_per_unit:
        new, old = f"the kind {asked.shown('unit')}", kept.shown("unit")
    if needed > account.total:
        raise LedgerMismatch(
            f"{name} has spent {display(account.spent)}; counted for units of {new}, instead of {old}, that is "
            f"{display(needed)}, and the total is {display(account.total)}. Raise the total first: "
            f"adyton ledger raise {shlex.quote(name)} --total …"
        )
    operator = f"earlier answers, for units of {new} instead of {old}"
    write_debit(connection, account, needed - account.spent, [account.dataset], operator, "answered", RECOUNT)


def _refuse_below_spent(name: str, total: Fraction, found: Account) -> None:
    if total < found.spent:
        raise LedgerMismatch(
            f"{name} cannot have a total of {display(total)}, because {display(found.spent)} is spent already. "
            f"Open it with its total of {display(found.total)}."
        )
