"""Answers and intervals from tables that were measured one by one: never over the whole domain."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from adyton.arrays import Reals
from adyton.queries import Queries
from adyton.queries.measurement import Group
from adyton.result.intervals import Interval, Kind, radius
from adyton.result.released import Slice
from adyton.solving.noise_moments import Moments
from adyton.solving.residuals import in_order
from adyton.tasks.questions import Cells, as_boxes

if TYPE_CHECKING:
    from adyton.marginals.tables_release import TablesRelease


NO_BOUNDS = (
    "No bounds: not all of this was measured, and how attributes depend on one another beyond that is not known."
)
APPROXIMATE = (
    "The intervals come from the noise of least squares, meant to hold the true count in {rate} of 100 releases, "
    "without a formal guarantee: what to measure was decided after a look at noisy tables, which they do not account "
    "for."
)


def answered(release: TablesRelease, queries: object) -> Reals:
    """The counts of boxes of cells, each from the table of the attributes that it names."""
    boxes = as_boxes(release.schema, queries)
    tables = {group: release.table(*group).counts for group in {_group(release, box) for box in boxes} if group}
    total = release.model.total
    return np.array([_inside(tables[group], box, group) if (group := _group(release, box)) else total for box in boxes])


def interval_of(release: TablesRelease, queries: object, confidence: float) -> Interval:
    """Answers with bounds: those of least squares, wide enough to hold the answer, too."""
    boxes, squares = as_boxes(release.schema, queries), release.estimated.squares
    centres, variances, fourths = [], [], []
    for box in boxes:
        group = _group(release, box)
        lacking = bool(squares.missing(*group))
        centres.append(0.0 if lacking else _inside(squares.table(*group), box, group))
        two, four = (math.inf, 0.0) if lacking else _law(release, box, group)
        variances.append(two)
        fourths.append(four / two**2 if two else 0.0)
    return _around(
        release, answered(release, queries), np.array(centres), np.array(variances), np.array(fourths), confidence
    )


def table_interval(release: TablesRelease, group: Group, confidence: float) -> Interval:
    """Bounds for every cell of a table, in its shape."""
    counts, squares = release.table(*group).counts, release.estimated.squares
    if squares.missing(*group):
        nothing = np.full(counts.shape, np.inf)
        return _around(release, counts, np.zeros(counts.shape), nothing, np.zeros(counts.shape), confidence)
    variance, fourth = release.law.of(group)
    same = np.ones(counts.shape)
    excess = fourth / variance**2 * same if variance else 0 * same
    return _around(release, counts, squares.table(*group), variance * same, excess, confidence)


def _around(
    release: TablesRelease, counts: Reals, centres: Reals, variances: Reals, excess: Reals, confidence: float
) -> Interval:
    known = np.isfinite(variances)
    finite = np.where(known, variances, 1.0)
    far = np.where(known, radius(Moments(finite, excess * finite**2), confidence), np.inf)
    lower, upper = np.minimum(centres - far, counts), np.maximum(centres + far, counts)
    lower = np.where(known, np.maximum(lower, np.minimum(counts, 0.0)), lower)  # no true count is below 0
    kind, means = _kind(release, confidence)
    note = "" if known.all() else NO_BOUNDS
    return Interval(counts, lower, upper, confidence, kind, note=note, means=means)


def _law(release: TablesRelease, box: dict[str, Cells], group: Group) -> tuple[float, float]:
    """The variance and the fourth cumulant of the sum of a box of cells."""
    if not group:
        return release.law.of(())
    sides = {name: np.isin(np.arange(release.wanted.sides[name]), box[name]).astype(float) for name in group}
    first = sides.pop(group[0])
    two, four = release.law.of_sums(group[0], first[None], sides)
    return float(two[0]), float(four[0])


def _group(release: TablesRelease, box: dict[str, Cells]) -> Group:
    return in_order(tuple(box), release.wanted.sides)


def _inside(table: Reals, box: dict[str, Cells], group: Group) -> float:
    return float(table[np.ix_(*(box[name] for name in group))].sum()) if group else float(table)


def sliced(table: Reals, part: Slice) -> Reals:
    """The counts of a slice out of the table of its attributes."""
    chosen = table[part.cells]
    for cells in part.others.values():
        chosen = chosen[:, cells].sum(axis=1)
    return np.asarray(chosen)


def slice_interval(release: TablesRelease, queries: Queries, part: Slice, confidence: float) -> Interval:
    """About least squares: without bias, so that what follows from the bounds is as right as they are."""
    squares, (kind, means) = release.estimated.squares, _kind(release, confidence)
    if squares.missing(*part.group):
        endless = np.full(queries.count, np.inf)
        return Interval(0 * endless, -endless, endless, confidence, kind, note=NO_BOUNDS)
    centres = np.asarray(queries @ sliced(squares.table(*part.group), part), dtype=np.float64)
    far = radius(_moments(release, queries, part), confidence)
    return Interval(centres, centres - far, centres + far, confidence, kind, means=means)


def _moments(release: TablesRelease, queries: Queries, part: Slice) -> Moments:
    """In closed form."""
    sides = release.wanted.sides
    others = {name: np.isin(np.arange(sides[name]), cells).astype(float) for name, cells in part.others.items()}
    pieces = []
    for rows in queries.rows():
        weights = np.zeros((len(rows), sides[part.attribute]))
        weights[:, part.cells] = rows
        pieces.append(release.law.of_sums(part.attribute, weights, others))
    two, four = (np.concatenate([piece[place] for piece in pieces]) for place in (0, 1))
    return Moments(two, four)


def _kind(release: TablesRelease, confidence: float) -> tuple[Kind, str]:
    """What kind of intervals these are, and what that means where it needs words.

    Where what is measured does not depend on the data, the noise has the same law on all of them.
    """
    if release.algorithm in ("all-pairs", "all-tables") and not release.bought:
        return "exact", ""
    return "approximate", APPROXIMATE.format(rate=f"{100 * confidence:g}")
