"""Several releases as one, with less noise than each of them: which may be combined, and averages of counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from adyton.errors import BadInput
from adyton.messages import listing, shorten
from adyton.result.comparing import Combinable
from adyton.result.noise_model import NoiseModel
from adyton.result.receipt import Receipt

if TYPE_CHECKING:
    from adyton.result.release import Release

MOST = 1000
"""How many releases can be combined at most."""
COMBINED = "combined"
"""The name that a combined release has in place of an algorithm."""
_AnyRelease = TypeVar("_AnyRelease", bound=Combinable)


def combine(releases: Iterable[_AnyRelease]) -> _AnyRelease:
    """One release out of several of the same attributes of the same rows, with less noise than each of them.

    Counts are averaged, each release with the weight 1/(its expected error)²; tables that were measured separately are
    combined by least squares. Combining costs no privacy. Errors of the parts are independent, so
    intervals are exact if those of all parts are. ``combined.epsilon`` is what all parts cost together.

    >>> import pandas, adyton as ad
    >>> table = pandas.DataFrame({"age": [34, 51, 51, 77] * 500})
    >>> session = ad.Session(table, schema=ad.Schema({"age": ad.Integer(0, 119)}), epsilon=1)
    >>> weeks = [session.release(ad.Histogram("age"), epsilon=amount, algorithm="identity") for amount in (0.3, 0.4)]
    >>> both = ad.combine(weeks)
    >>> both.expected_error.per_query < weeks[1].expected_error.per_query, both.median().kind, both
    (True, 'exact', <release: histogram of age, by combined, ε = 0.7>)
    """
    given: list[Any] = list(releases) if isinstance(releases, list | tuple) else [releases]
    if not 2 <= len(given) <= MOST:
        raise BadInput(f"combine takes a list of 2 to {MOST:,} releases, given {shorten(releases)}.")
    if other := next((release for release in given if not isinstance(release, Combinable)), None):
        raise BadInput(f"only releases of counts and of tables are combined, given {shorten(other)}.")
    first = given[0]
    if any(type(release).combined_with is not type(first).combined_with for release in given):
        kinds = listing(list(dict.fromkeys(release.holds for release in given)))
        raise BadInput(f"these releases are of different kinds: {kinds}. Combine releases of one kind.")
    check_same(given)
    made: _AnyRelease = first.combined_with(given[1:])
    return made


def joint_receipt(receipts: Sequence[Receipt]) -> Receipt:
    """One receipt for all: the budget as the last release left it; the sum of budgets, if entry numbers repeat."""
    entries = tuple(entry for receipt in receipts for entry in receipt.entries)
    last = max(receipts, key=lambda receipt: (receipt.created, receipt.spent))
    if len({entry.number for entry in entries}) < len(entries):
        total, spent = (sum((getattr(receipt, of) for receipt in receipts), Fraction(0)) for of in ("total", "spent"))
    else:
        total, spent = (max(getattr(receipt, of) for receipt in receipts) for of in ("total", "spent"))
    return replace(
        last, total=total, spent=spent, entries=entries, private=all(receipt.private for receipt in receipts)
    )


def check_same(releases: Sequence[Any]) -> None:
    """Refuse releases of different attributes, rows or data sets, and the same release twice."""
    first = releases[0]
    for release in releases[1:]:
        if release.schema != first.schema:
            both = " and ".join(listing(given.schema.names) for given in (first, release))
            how = "declared in different ways" if release.schema.names == first.schema.names else f"about {both}"
            raise BadInput(f"only releases of the same attributes are combined; these are {how}.")
        if release.where != first.where:
            raise BadInput(
                f"only releases of the same rows are combined; these have where {shorten(first.where)} and "
                f"{shorten(release.where)}."
            )
        if release.receipt.dataset != first.receipt.dataset:
            raise BadInput(
                f"only releases of the same data set are combined; these are of {shorten(first.receipt.dataset)} and "
                f"{shorten(release.receipt.dataset)}."
            )
    for place, release in enumerate(releases):
        if any(release is other or release.same_noise(other) for other in releases[:place]):
            raise BadInput(f"the same release is given twice, number {place + 1} of the list. Its noise counts once.")


# ---- averages of counts ----------------------------------------------------------------------------------------------


def averaged(releases: Sequence[Release], weights: Sequence[float] | None = None) -> Release:
    """The average, weighted by noise unless weights are given. Combined releases are split into their parts first."""
    parts = [part for release in releases for part in release.parts or (release,)]
    own = _weights(parts) if weights is None else tuple(weights)
    estimate = sum((weight * part.estimate for weight, part in zip(own, parts, strict=True)), np.zeros(1))
    return replace(
        parts[0],
        algorithm=COMBINED,
        options={},
        epsilon=sum((part.epsilon for part in parts), Fraction(0)),
        estimate=np.asarray(estimate),
        choice=None,
        receipt=joint_receipt([part.receipt for part in parts]),
        misfits=None,
        measured=None,
        parts=tuple(parts),
        weights=own,
    )


def noise_of_parts(parts: Sequence[Release]) -> list[NoiseModel]:
    """The noise of each part. Parts made for the same task share one workload object, so that it is recognised as the
    same."""
    first = parts[0]
    return [replace(part.noise, workload=first.workload) if part.task == first.task else part.noise for part in parts]


def _weights(parts: Sequence[Release]) -> tuple[float, ...]:
    """Weights in proportion to 1/E‖error‖² on the queries of the first part."""
    models = noise_of_parts(parts)
    asked = models[0].workload
    squares = []
    for part, model in zip(parts, models, strict=True):
        if part.task != parts[0].task and not model.determines(asked):
            raise BadInput(
                f"the answers to {parts[0].task} do not follow from what was measured for {part.task}. Combine "
                "releases of the same task."
            )
        computed = model.expected_error() if model.workload is asked else None
        squares.append(float((model.resampled_error(asked) if computed is None else computed).total ** 2))
    worth = 1 / np.maximum(squares, 1e-300)
    return tuple((worth / worth.sum()).tolist())
