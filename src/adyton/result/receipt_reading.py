"""Receipts, and what was bought on the way, from plain values that a stranger may have written."""

from __future__ import annotations

import math
from fractions import Fraction

from adyton.choice.bought import Bought
from adyton.errors import BadInput
from adyton.kernel.ledger.records import LARGEST_TOTAL
from adyton.kernel.recorder import Debit
from adyton.messages import shorten
from adyton.result.misfits import Counted, Misfits
from adyton.result.receipt import Receipt
from adyton.schema.misfits import FATES, REASONS, Misfit
from adyton.schema.plain_values import as_amount, as_date, as_real, as_text, of_kind, part_of
from adyton.whole import SAFE, whole


def read_receipt(plain: object, rows_per_unit: int, *, enforced: bool = False) -> Receipt:
    """The receipt: its parts, each of its own type. Older ones do not say whether the limit was enforced."""
    rows = whole(part_of(plain, "rows_per_unit"), "rows_per_unit", 1)
    if rows != rows_per_unit:
        raise BadInput(f"the record says rows_per_unit = {shorten(rows)}, the schema says {rows_per_unit}.")
    of_schema = of_kind(dict, plain, "the record").get("enforced", enforced)
    if of_schema is not enforced:
        raise BadInput(f"the record says enforced = {shorten(of_schema)}, the schema says {enforced}.")
    total = as_amount(part_of(plain, "total"), "the total", most=Fraction(LARGEST_TOTAL))
    spent, remaining = (
        as_amount(part_of(plain, word), f"what is {word}", zero=True, most=total) for word in ("spent", "remaining")
    )
    if spent + remaining != total:
        raise BadInput("what is spent and what is remaining do not add up to the total.")
    ledger = part_of(plain, "ledger")
    return Receipt(
        dataset=as_text(part_of(plain, "dataset"), "dataset"),
        unit=as_text(part_of(plain, "unit"), "unit"),
        rows_per_unit=rows,
        ledger=None if ledger is None else as_text(ledger, "ledger"),
        total=total,
        spent=spent,
        entries=tuple(_entry(one, total) for one in of_kind(list, part_of(plain, "entries"), "entries")),
        created=as_date(part_of(plain, "created"), "created"),
        versions={
            as_text(name, "the name of a version"): as_text(version, "a version")
            for name, version in of_kind(dict, part_of(plain, "versions"), "versions").items()
        },
        private=of_kind(bool, part_of(plain, "private"), "private"),
        enforced=enforced,
    )


def _entry(plain: object, total: Fraction) -> Debit:
    """A line of the ledger, without a time."""
    return Debit(
        whole(part_of(plain, "number"), "the number of an entry", 1),
        as_amount(part_of(plain, "epsilon"), "the amount of an entry", zero=True, most=total),
        as_text(part_of(plain, "operator"), "the operator of an entry"),
        tuple(as_text(one, "lineage") for one in of_kind(list, part_of(plain, "lineage"), "lineage")),
    )


def read_bought(plain: object, epsilon: Fraction) -> Bought:
    """A feature that was bought."""
    return Bought(
        as_text(part_of(plain, "name"), "the name of a feature"),
        as_text(part_of(plain, "words"), "the words of a feature"),
        as_real(part_of(plain, "value"), "the value of a feature"),
        as_real(part_of(plain, "deviation"), "the deviation of a feature"),
        as_amount(part_of(plain, "epsilon"), "the price of a feature", zero=True, most=epsilon),
    )


def read_figures(plain: object, name: str) -> dict[str, float]:
    """A number for each algorithm; what is unknown, or was too large to write, is infinite."""
    return {
        as_text(key, name): math.inf if figure is None else as_real(figure, name)
        for key, figure in of_kind(dict, plain, name).items()
    }


def read_misfits(plain: object, epsilon: Fraction) -> Misfits | None:
    """The rows that did not fit, if they were counted; older files know nothing of it."""
    if plain is None:
        return None
    part = as_amount(part_of(plain, "share"), "the share of the misfits", most=Fraction(1))
    if as_amount(part_of(plain, "epsilon"), "the price of the misfits", most=epsilon) != part * epsilon:
        raise BadInput("the price of the misfits is not their share of what was charged.")
    return Misfits(
        part * epsilon,
        part,
        _count(part_of(plain, "fits")),
        max(0.0, as_real(part_of(plain, "deviation"), "the deviation of the misfits")),
        [_misfit(one) for one in of_kind(list, part_of(plain, "misfits"), "misfits")],
    )


def _misfit(plain: object) -> Counted:
    reason, fate = part_of(plain, "reason"), part_of(plain, "fate")
    if reason not in REASONS or fate not in FATES:
        raise BadInput(f"a misfit has a reason and a fate, given {shorten(reason)} and {shorten(fate)}.")
    return Counted(
        Misfit(as_text(part_of(plain, "attribute"), "attribute"), reason, fate), _count(part_of(plain, "count"))
    )


def _count(plain: object) -> int:
    """A noisy number of rows."""
    if whole(plain, "a number of misfits", -SAFE) > SAFE:
        raise BadInput(f"a number of misfits must not be beyond ±2^62, given {shorten(plain)}.")
    return whole(plain, "a number of misfits", -SAFE)
