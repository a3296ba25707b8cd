"""Several releases of the same thing, put together: each counts by how little noise it has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.result.released import Released
from adyton.result.same_thing import MOST, check_same

_AnyRelease = TypeVar("_AnyRelease", bound=Released)


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
    given: list[Any] = list(releases) if isinstance(releases, list | tuple) else [releases]
    if not 2 <= len(given) <= MOST or not all(isinstance(one, Released) for one in given):
        raise BadInput(f"combine takes a list of 2 to {MOST:,} releases, given {shorten(releases)}.")
    first = given[0]
    if any(type(one).combined_with is not type(first).combined_with for one in given):
        raise BadInput("some of these releases have a count for every cell, others tables alone. Combine either kind.")
    check_same(given)
    made: _AnyRelease = first.combined_with(given[1:])
    return made
