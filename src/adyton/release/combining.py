"""Several releases of the same thing, put together: each counts by how little noise it has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

from adyton.errors import BadInput
from adyton.messages import listing, shorten
from adyton.release.receipt import Receipt
from adyton.release.released import Released

_AnyRelease = TypeVar("_AnyRelease", bound=Released)

MOST = 1000
"""How many releases can be put together."""


def combine(releases: Iterable[_AnyRelease]) -> _AnyRelease:
    """One release out of several of the same attributes of the same rows, with less noise than each of them.

    Counts of cells are averaged, each release with the weight 1/(its expected error)²; tables that were measured one by
    one go into one least squares. It costs nothing: what was paid for the parts was paid. Errors of the parts are
    independent, so that intervals are exact where those of all parts are. ``combined.epsilon`` is what all cost.

    >>> import pandas, adyton as ad
    >>> table = pandas.DataFrame({"age": [34, 51, 51, 77] * 500})
    >>> session = ad.Session(table, schema=ad.Schema({"age": ad.Integer(0, 119)}), epsilon=1)
    >>> weeks = [session.release(ad.Histogram("age"), epsilon=one, algorithm="identity") for one in ("0.3", "0.4")]
    >>> both = ad.combine(weeks)
    >>> both.expected_error.per_query < weeks[1].expected_error.per_query, both.median().kind, both
    (True, 'exact', <release: histogram of age, by combined, ε = 0.7>)
    """
    given = list(releases) if isinstance(releases, list | tuple) else [releases]
    if not 2 <= len(given) <= MOST or not all(isinstance(one, Released) for one in given):
        raise BadInput(f"combine takes a list of 2 to {MOST:,} releases, given {shorten(releases)}.")
    first = given[0]
    if any(type(one).combined_with is not type(first).combined_with for one in given):
        raise BadInput("some of these releases have a count for every cell, others tables alone. Combine either kind.")
    _check_same(given)
    return first.combined_with(given[1:])


def joint_receipt(receipts: Sequence[Receipt]) -> Receipt:
    """For all of them: the budget as the last one left it; that of several budgets, if entries have the same number."""
    entries = tuple(entry for one in receipts for entry in one.entries)
    last = max(receipts, key=lambda one: (one.created, one.spent))
    if len({entry.number for entry in entries}) < len(entries):
        total, spent = (sum((getattr(one, of) for one in receipts), Fraction(0)) for of in ("total", "spent"))
    else:
        total, spent = (max(getattr(one, of) for one in receipts) for of in ("total", "spent"))
    return replace(last, total=total, spent=spent, entries=entries, private=all(one.private for one in receipts))


def _check_same(releases: Sequence[Released]) -> None:
    """Refuse what is not the same thing."""
    first = releases[0]
    for one in releases[1:]:
        if one.schema != first.schema:
            same = one.schema.names == first.schema.names
            how = "declared in different ways" if same else f"one has {listing(first.schema.names)}"
            other = "" if same else f", another {listing(one.schema.names)}"
            raise BadInput(f"only releases of the same attributes are combined; these are {how}{other}.")
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
