"""What a ledger and whoever opens it agree on: its total, its data set, and whom its numbers protect.

Nothing of it changes without a word that allows the change; each change is an event of the ledger, and costs again what
earlier answers cost under the new terms.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from adyton.exact import display, rounded_down
from adyton.kernel.ledger.analysts import Balance, read_balance
from adyton.kernel.ledger.changes import TOTAL, record
from adyton.kernel.ledger.records import (
    RECOUNT,
    Account,
    Debiting,
    counted_for,
    judge,
    read_entries,
    read_names,
    read_terms,
    write_debit,
    write_event,
    write_terms,
)
from adyton.kernel.ledger.tables import Connection, insert, to_text, write
from adyton.kernel.ledger.terms import ADD, Terms, differences, given_terms, recorded
from adyton.kernel.ledger.words import (
    other_account,
    refuse,
    refuse_below_spent,
    refuse_unknown,
    too_much_for_units,
)


def reconcile(connection: Connection, name: str, balance: Balance, asked: Account, accept: frozenset[str]) -> int:
    """Compare the total and the data set with those asked for; change them only if a word allows it. Returns the number
    of the data set."""
    if rounded_down(balance.total) == asked.total:  # a ledger of the first format may lie between two steps of the grid
        asked = replace(asked, total=balance.total)
    # Writing the row, even unchanged, shows now rather than at the first debit whether the ledger can be written.
    write(connection, "UPDATE ledger SET total = ? WHERE spent = ?", (to_text(asked.total), to_text(balance.spent)))
    if balance.total != asked.total:
        old, new = display(balance.total), display(asked.total)
        if "total" not in accept:
            raise other_account(name, "total", old, new, raised=asked.total > balance.total)
        refuse_below_spent(name, asked.total, balance)
        record(connection, TOTAL, 1)
        write_event(connection, TOTAL, old, new)
    names = read_names(connection)
    numbers = [number for number, own in names.items() if own == asked.dataset]
    if numbers:
        return numbers[0]
    if ADD in accept:
        number = max(names) + 1
        insert(connection, "datasets", {"number": number, "name": asked.dataset})
        record(connection, "data set", number)
        write_event(connection, "data sets", ", ".join(names.values()), ", ".join([*names.values(), asked.dataset]))
        return number
    if "dataset" not in accept or len(names) > 1:
        raise other_account(name, "dataset", " and ".join(names.values()), asked.dataset, raised=False)
    write(connection, "UPDATE datasets SET name = ? WHERE number = 1", (asked.dataset,))
    record(connection, "data set", 1)
    write_event(connection, "dataset", names[1], asked.dataset)
    return 1


def take_on(connection: Connection, name: str, dataset: int, terms: Terms | None, *, used: bool) -> Terms | None:
    """Check that a debit has the own terms of its data set, and return those to record with it. A data set without
    terms adopts those of the debit.

    One that was *used* before there were terms does not: it is not known whom its earlier debits protect.
    """
    kept = read_terms(connection, dataset)
    if kept is None and terms is not None:
        if used and spent_on(connection, dataset):
            refuse_unknown(name)
        write_terms(connection, terms, dataset)
    elif kept is not None and terms is not None:
        refuse(name, list(differences(kept, terms)), kept, terms)
        kept = _record_column(connection, dataset, kept, terms)
        if terms.declared and not kept.declared:  # an early version wrote the ledger
            write_terms(connection, replace(kept, declared=terms.declared), dataset)
    return terms or kept


def spent_on(connection: Connection, dataset: int) -> Fraction:
    """What was spent on a data set."""
    entries = read_entries(connection, "dataset = ?", dataset)
    return sum((entry.amount for entry in entries), Fraction(0))


def accept_terms(connection: Connection, name: str, dataset: int, asked: Terms, accept: frozenset[str]) -> Terms:
    """Adopt other terms than before, if a word allows each part that differs; returns those in force."""
    kept = read_terms(connection, dataset)
    if kept is None:
        if spent_on(connection, dataset):
            if "terms" not in accept:
                refuse_unknown(name)
            write_terms(connection, asked, dataset)
            write_event(connection, "terms", "unknown", str(asked), dataset=dataset)
            for entry in read_entries(connection, "dataset = ?", dataset):
                judge(connection, entry.number, asked)
        return asked
    asked = given_terms(kept, asked)
    kept = _record_column(connection, dataset, kept, asked)
    changed = list(differences(kept, asked))
    refuse(name, [part for part in changed if part not in accept], kept, asked)
    if changed:
        _count_again(connection, name, dataset, kept, asked)
        write_terms(connection, asked, dataset)
    for part in changed:
        write_event(connection, part, kept.shown(part), asked.shown(part), dataset=dataset)
    return asked


def _record_column(connection: Connection, dataset: int, kept: Terms, asked: Terms) -> Terms:
    """Fill in whether a column enforces the unit, in a ledger of an earlier format that is used with its own schema."""
    known = recorded(kept, asked)
    if known != kept:
        write_terms(connection, known, dataset)
        for entry in read_entries(connection, "dataset = ?", dataset):
            if entry.terms is not None and recorded(entry.terms, asked) != entry.terms:
                judge(connection, entry.number, recorded(entry.terms, asked))
    return known


def _count_again(connection: Connection, name: str, dataset: int, kept: Terms, asked: Terms) -> None:
    """Debit the cost of earlier answers for units of other terms, beyond the amount debited. There are no refunds."""
    balance, spent = read_balance(connection), spent_on(connection, dataset)
    more = counted_for(asked, read_entries(connection, "dataset = ?", dataset)) - spent
    if more <= 0:
        return
    rows = asked.rows_per_unit
    new, old = f"up to {rows} rows", str(kept.rows_per_unit)
    if rows == kept.rows_per_unit:
        new, old = f"the kind {asked.shown('unit')}", kept.shown("unit")
    if more > balance.left(None):
        raise too_much_for_units(name, balance, more, new, old)
    operator = f"earlier answers, for units of {new} instead of {old}"
    lineage = [read_names(connection)[dataset]]
    write_debit(connection, balance, more, lineage, operator, Debiting(dataset), RECOUNT)
