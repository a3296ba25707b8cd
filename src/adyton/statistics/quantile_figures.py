"""Quantiles from chosen cells or from a cumulative curve, with approximate bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.statistics.asked import Asked
from adyton.statistics.figures import Figures
from adyton.statistics.laplace_sums import radius
from adyton.statistics.nested_ranks import rank_scales
from adyton.tasks.quantile_parts import quantile_name
from adyton.whole import IntegerArray

FAR = 1.2
"""Bounds go this much farther than evenly spread rows would ask for."""
NOISE = 2.0
"""Rows are taken to be fewer than counted, by this many standard errors of the noise."""

SURELY = 3.0
"""Counts say where a quantile cannot lie if they are so many standard errors away from it."""


def chosen_figures(
    asked: Asked,
    chosen: IntegerArray,
    counted: tuple[IntegerArray, IntegerArray, float] | None,
    epsilon: float,
    confidence: float,
) -> list[Figures]:
    """From the cells that were chosen with *epsilon*, groups × quantiles; bounds from coarse counts around them.

    *counted* are the borders of the coarse parts, the rows in them, and the scale of their noise.
    """
    found = []
    for place, (part, scales) in enumerate(
        zip(asked.task.quantiles, rank_scales(asked.task.quantiles, epsilon), strict=True)
    ):
        cells = chosen[:, place].astype(np.int64)
        far = FAR * float(radius(scales, confidence))
        low, high = _around(asked, cells, counted, far, float(part))
        of_bounds = float(np.sqrt(2 * (scales**2).sum())) / far
        found.append(_figures(part, asked.middles[cells], low, high, of_bounds, asked.gap))
    return found


def _around(
    asked: Asked, cells: IntegerArray, counted: tuple[IntegerArray, IntegerArray, float] | None, far: float, part: float
) -> tuple[Reals, Reals]:
    """The values between which, for all that the coarse counts say, so many rows lie on either side of a cell; no
    farther than the counts say that the quantile can lie."""
    edges = asked.edges
    if counted is None:
        return np.full(len(cells), edges[0]), np.full(len(cells), edges[-1])
    borders, rows, noise = edges[counted[0]], counted[1].astype(float), counted[2]
    first = _outwards(rows, borders, edges[cells], far, noise)
    last = -_outwards(rows[:, ::-1], -borders[::-1], -edges[cells + 1], far, noise)
    first = np.minimum(np.maximum(first, _beyond(rows, borders, noise, part)), edges[cells])
    last = np.maximum(np.minimum(last, -_beyond(rows[:, ::-1], -borders[::-1], noise, 1 - part)), edges[cells + 1])
    below = np.searchsorted(edges, first, side="right") - 1  # within a cell no value is told from another
    above = np.searchsorted(edges, last, side="left")
    return edges[np.maximum(below, 0)], edges[np.minimum(above, len(edges) - 1)]


def _beyond(rows: Reals, borders: Reals, noise: float, part: float) -> Reals:
    """The last border below which, going by the counts less their noise, there are surely too few rows for the
    quantile: it is the same for all borders before."""
    parts = rows.shape[1]
    before = np.arange(parts + 1)
    upto = np.concatenate((np.zeros((len(rows), 1)), np.cumsum(rows, axis=1)), axis=1)
    spread = noise * np.sqrt(2 * (before * (1 - part) ** 2 + (parts - before) * part**2))
    surely = upto - part * upto[:, -1:] < -SURELY * spread
    surely[:, 0] = True
    return np.asarray(borders[np.logical_and.accumulate(surely, axis=1).sum(axis=1) - 1])


def _outwards(rows: Reals, borders: Reals, start: Reals, far: float, noise: float) -> Reals:
    """How far down to go from a place until *far* rows lie between, going by the coarse counts less their noise.

    Within a part rows are taken to be spread evenly.
    """
    parts = rows.shape[1]
    own = np.clip(np.searchsorted(borders, start, side="left") - 1, 0, parts - 1)
    lines, reached = np.arange(len(start)), np.full(len(start), borders[0])
    passed, weight, before = np.zeros(len(start)), np.zeros(len(start)), np.zeros(len(start))
    done = np.zeros(len(start), dtype=bool)
    for step in range(parts):
        part = np.maximum(own - step, 0)
        top = np.minimum(borders[part + 1], start)
        share = np.where(own >= step, (top - borders[part]) / (borders[part + 1] - borders[part]), 0.0)
        passed += rows[lines, part] * share
        weight += share**2
        surely = np.maximum(passed - NOISE * noise * np.sqrt(2 * weight), before)
        inside = (far - before) / np.maximum(surely - before, 1e-300)
        now = ~done & (own >= step) & (surely >= far)
        reached = np.where(now, top - np.clip(inside, 0, 1) * (top - borders[part]), reached)
        done |= now
        before = surely
    return np.asarray(reached)


def curve_figures(asked: Asked, counts: Reals, off: float, confidence: float) -> list[Figures]:
    """From noisy counts of all cells, groups × cells; *off* is the standard error of a count up to a value."""
    upto = np.cumsum(counts, axis=1)
    rising = (np.maximum.accumulate(upto, axis=1) + np.minimum.accumulate(upto[:, ::-1], axis=1)[:, ::-1]) / 2
    total = np.maximum(rising[:, -1], 0.0)
    times = math.sqrt(2 * math.log(1 / (1 - confidence)))
    found = []
    for part in asked.task.quantiles:
        target = float(part) * total
        cells = [_cell_at(rising, target + shift) for shift in (0.0, -times * off, times * off)]
        value, edges = asked.middles[cells[0]], asked.edges
        found.append(_figures(part, value, edges[cells[1]], edges[cells[2] + 1], 1 / times, asked.gap))
    return found


def _cell_at(upto: Reals, target: Reals) -> IntegerArray:
    """The first cell up to which there are so many rows; the last if there is none."""
    return np.asarray(np.minimum((upto < target[:, None]).sum(axis=1), upto.shape[1] - 1))


def _figures(part: Fraction, value: Reals, low: Reals, high: Reals, of_bounds: float, gap: int) -> Figures:
    """From where cells begin and end. The standard error is a public part of the width of the bounds."""
    return Figures(quantile_name(part), value, low, high - gap, (high - low) / 2 * of_bounds, "approximate")


def names_of(parts: Sequence[Fraction]) -> tuple[str, ...]:
    """The names of some quantiles."""
    return tuple(map(quantile_name, parts))
