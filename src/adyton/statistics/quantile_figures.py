"""Quantiles from chosen cells or from a cumulative curve, with approximate bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.statistics.asked import Asked
from adyton.statistics.figures import Figures
from adyton.tasks.quantile_parts import quantile_name
from adyton.whole import IntegerArray

COARSE = 16
"""How many parts of the range are counted beside chosen quantiles, for their bounds."""


def rank_scale(part: Fraction, epsilon: float) -> float:
    """How many rows a chosen cell lies beside its quantile, on average, at worst: 2·max(q, 1 − q)/ε.

    With many cells to a row, permute-and-flip chooses ranks with a probability that falls by e^(−|rank|/scale).
    """
    return 2 * float(max(part, 1 - part)) / epsilon


def chosen_figures(
    asked: Asked, chosen: IntegerArray, coarse: IntegerArray | None, epsilons: tuple[float, float], confidence: float
) -> list[Figures]:
    """From the cells that were chosen, groups × quantiles; bounds from coarse counts around them.

    *epsilons* are those of each quantile, and of the coarse counts.
    """
    own, beside = epsilons
    found = []
    for place, part in enumerate(asked.task.quantiles):
        value = asked.middles[chosen[:, place].astype(np.int64)]
        rows = rank_scale(part, own)
        far = rows * math.log(1 / (1 - confidence))
        low, high = _around(asked, chosen[:, place].astype(np.int64), coarse, far, 1 / beside if beside else 0.0)
        found.append(_figures(part, value, low, high, math.sqrt(2) * rows / far))
    return found


def _around(
    asked: Asked, cells: IntegerArray, coarse: IntegerArray | None, far: float, noise: float
) -> tuple[Reals, Reals]:
    """The values between which, for all that the coarse counts say, so many rows lie on either side of a cell."""
    edges = asked.edges
    if coarse is None:
        return np.full(len(cells), edges[0]), np.full(len(cells), edges[-1])
    borders, rows = edges[coarse_borders(asked)], coarse.astype(float)
    first = _outwards(rows, borders, edges[cells], far, noise)
    last = -_outwards(rows[:, ::-1], -borders[::-1], -edges[cells + 1], far, noise)
    below = np.searchsorted(edges, first, side="right") - 1  # within a cell no value is told from another
    above = np.searchsorted(edges, last, side="left")
    return edges[np.maximum(below, 0)], edges[np.minimum(above, len(edges) - 1)]


def _outwards(rows: Reals, borders: Reals, start: Reals, far: float, noise: float) -> Reals:
    """How far down to go from a place until *far* rows lie between, if they lie as densely as the coarse counts say.

    The density is the largest that parts below the place have together, less the noise that such a sum may well have
    (three times its scale, times the root of how many are added up).
    """
    parts = rows.shape[1]
    own = np.clip(np.searchsorted(borders, start, side="left") - 1, 0, parts - 1)
    lines, density = np.arange(len(start)), np.zeros(len(start))
    passed, weight = np.zeros(len(start)), np.zeros(len(start))
    for step in range(parts):
        part = np.maximum(own - step, 0)
        top = np.minimum(borders[part + 1], start)
        share = np.where(own >= step, (top - borders[part]) / (borders[part + 1] - borders[part]), 0.0)
        passed += rows[lines, part] * share
        weight += share**2
        width = np.maximum(start - borders[part], 1e-300)
        density = np.maximum(density, (passed - 3 * noise * np.sqrt(weight)) / width)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.maximum(start - far / density, borders[0]))


def coarse_borders(asked: Asked) -> IntegerArray:
    """Which edges of cells are those of the coarse parts."""
    cells = asked.attribute.base_size
    parts = min(COARSE, cells)
    return np.array([part * cells // parts for part in range(parts + 1)])


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
        found.append(_figures(part, value, edges[cells[1]], edges[cells[2] + 1], 1 / times))
    return found


def _cell_at(upto: Reals, target: Reals) -> IntegerArray:
    """The first cell up to which there are so many rows; the last if there is none."""
    return np.asarray(np.minimum((upto < target[:, None]).sum(axis=1), upto.shape[1] - 1))


def _figures(part: Fraction, value: Reals, low: Reals, high: Reals, of_bounds: float) -> Figures:
    """The standard error is a public part of the width of the bounds."""
    return Figures(quantile_name(part), value, low, high, (high - low) / 2 * of_bounds, "approximate")


def names_of(parts: Sequence[Fraction]) -> tuple[str, ...]:
    """The names of some quantiles."""
    return tuple(map(quantile_name, parts))
