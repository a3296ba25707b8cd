"""Changes of what a ledger was made for: each needs an explicit word, and each is an event that stays in it."""

from __future__ import annotations

import shlex
import sqlite3
from dataclasses import replace
from fractions import Fraction

from adyton.errors import LedgerMismatch
from adyton.exact import display
from adyton.grid import rounded_down
from adyton.kernel.ledger.records import Account, read_account, to_text
from adyton.kernel.ledger.terms import Terms, differences, given_terms, read_terms, refuse, refuse_unknown, write_terms
from adyton.kernel.ledger.writing import write, write_debit, write_event


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


def accept_terms(connection: sqlite3.Connection, name: str, asked: Terms, accept: frozenset[str]) -> None:
    """Take on other terms than before, where a word allows each part that differs."""
    kept = read_terms(connection)
    if kept is None:
        if read_account(connection).spent:
            if "terms" not in accept:
                refuse_unknown(name)
            write_terms(connection, asked)
            write_event(connection, "terms", "unknown", str(asked))
        return
    asked = given_terms(kept, asked)
    for part in differences(kept, asked):
        if part not in accept:
            refuse(name, part, kept, asked)
        if part == "rows_per_unit" and not (asked.enforced and kept.schema == asked.schema):
            _count_again(connection, name, kept.rows_per_unit, asked.rows_per_unit)
        write_event(connection, part, kept.shown(part), asked.shown(part))
    write_terms(connection, asked)


def _count_again(connection: sqlite3.Connection, name: str, old: int, new: int) -> None:
    """Debit what earlier answers cost larger units beyond what they cost the smaller ones they were made for.

    Two tables that differ by *new* rows are ⌈new/old⌉ steps of at most *old* rows apart, and each step costs what was
    spent. Smaller units than before get no refund.
    """
    account, times = read_account(connection), -(-new // old)
    more = (times - 1) * account.spent
    if not more:
        return
    spent = account.spent + more
    if spent > account.total:
        raise LedgerMismatch(
            f"{name} has spent {display(account.spent)} for units of up to {old} row(s); for units of up to {new} rows "
            f"that is {display(spent)}, and the total is {display(account.total)}. Raise the total first: "
            f"adyton ledger raise {shlex.quote(name)} --total …"
        )
    operator = f"earlier answers, for units of up to {new} rows instead of {old}"
    write_debit(connection, account, more, [account.dataset], operator, "answered")


def _refuse_below_spent(name: str, total: Fraction, found: Account) -> None:
    if total < found.spent:
        raise LedgerMismatch(
            f"{name} cannot have a total of {display(total)}, because {display(found.spent)} is spent already. "
            f"Open it with its total of {display(found.total)}."
        )
