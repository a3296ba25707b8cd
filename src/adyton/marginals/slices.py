"""Bounds on weighted sums of one attribute's cells, from tables that were measured one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adyton.arrays import Reals
from adyton.marginals.table_answers import APPROXIMATE, NO_BOUNDS, one_law
from adyton.queries import Queries
from adyton.result.intervals import Interval, Kind, radius
from adyton.result.released import Slice
from adyton.solving.noise_moments import Moments

if TYPE_CHECKING:
    from adyton.marginals.tables_release import TablesRelease


def sliced(table: Reals, part: Slice) -> Reals:
    """The counts of a slice out of the table of its attributes."""
    chosen = table[part.cells]
    for cells in part.others.values():
        chosen = chosen[:, cells].sum(axis=1)
    return np.asarray(chosen)


def slice_interval(release: TablesRelease, queries: Queries, part: Slice, confidence: float) -> Interval:
    """About least squares: without bias, so that what follows from the bounds is as right as they are."""
    squares, kind = release.estimated.squares, _kind(release)
    if squares.missing(*part.group):
        endless = np.full(queries.count, np.inf)
        return Interval(0 * endless, -endless, endless, confidence, kind, note=NO_BOUNDS)
    centres = np.asarray(queries @ sliced(squares.table(*part.group), part), dtype=np.float64)
    far = radius(_moments(release, queries, part), confidence)
    means = "" if kind == "exact" else APPROXIMATE.format(rate=f"{100 * confidence:g}")
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


def _kind(release: TablesRelease) -> Kind:
    return "exact" if one_law(release) else "approximate"
