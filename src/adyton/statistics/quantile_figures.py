"""Quantiles from chosen cells or from a cumulative curve, with approximate bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.statistics.asked import Asked
from adyton.statistics.figures import Figures
from adyton.tasks.numbers import quantile_name
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
    """The values between which so many rows lie on either side of a cell, by cautious coarse counts."""
    edges = asked.edges
    first, last = np.full(len(cells), edges[0]), np.full(len(cells), edges[-1])
    if coarse is None:
        return first, last
    borders = edges[coarse_borders(asked)]
    for group, cell in enumerate(cells.tolist()):
        rows = np.maximum(coarse[group].astype(float) - noise, 0.0)
        upto = np.concatenate([[0.0], np.cumsum(rows)])
        left, right = np.interp([edges[cell], edges[cell + 1]], borders, upto)
        first[group] = _back(left - far, upto, borders)
        last[group] = -_back(upto[-1] - right - far, upto[-1] - upto[::-1], -borders[::-1])
    return np.minimum(first, edges[cells]), np.maximum(last, edges[cells + 1])


def _back(rank: float, upto: Reals, borders: Reals) -> float:
    """The least place that has at most so many rows before it."""
    if rank <= 0:
        return float(borders[0])
    place = int(np.searchsorted(upto, rank, side="left"))
    part = (rank - upto[place - 1]) / (upto[place] - upto[place - 1])
    return float(borders[place - 1] + part * (borders[place] - borders[place - 1]))


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
