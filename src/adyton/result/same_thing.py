"""Whether releases are of the same thing, and what they cost together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from adyton.errors import BadInput
from adyton.messages import listing, shorten
from adyton.result.receipt import Receipt

if TYPE_CHECKING:
    from adyton.result.released import Released

MOST = 1000
"""How many releases can be put together."""


def joint_receipt(receipts: Sequence[Receipt]) -> Receipt:
    """For all of them: the budget as the last one left it; that of several budgets, if entries have the same number."""
    entries = tuple(entry for one in receipts for entry in one.entries)
    last = max(receipts, key=lambda one: (one.created, one.spent))
    if len({entry.number for entry in entries}) < len(entries):
        total, spent = (sum((getattr(one, of) for one in receipts), Fraction(0)) for of in ("total", "spent"))
    else:
        total, spent = (max(getattr(one, of) for one in receipts) for of in ("total", "spent"))
    return replace(last, total=total, spent=spent, entries=entries, private=all(one.private for one in receipts))


def check_same(releases: Sequence[Released]) -> None:
    """Refuse what is not the same thing."""
    first = releases[0]
    for one in releases[1:]:
        if one.schema != first.schema:
            both = " and ".join(listing(given.schema.names) for given in (first, one))
            how = "declared in different ways" if one.schema.names == first.schema.names else f"about {both}"
            raise BadInput(f"only releases of the same attributes are combined; these are {how}.")
        if one.where != first.where:
            raise BadInput(
                f"only releases of the same rows are combined; these have where {shorten(first.where)} and "
                f"{shorten(one.where)}."
            )
        if one.receipt.dataset != first.receipt.dataset:
            raise BadInput(
                f"only releases of the same data set are combined; these are of {shorten(first.receipt.dataset)} and "
                f"{shorten(one.receipt.dataset)}."
            )
    for place, one in enumerate(releases):
        if any(one is other or one.same_noise(other) for other in releases[:place]):
            raise BadInput(f"the same release is given twice, number {place + 1} of the list. Its noise counts once.")
