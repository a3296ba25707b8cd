"""Quantiles: from chosen cells or a cumulative curve to values with bounds; where rows are likely to be; and the
expected error of chosen cells, in rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from adyton.arrays import Reals
from adyton.statistics.grouped import Figures, GroupedNumbers, radius
from adyton.tasks.numbers import quantile_name
from adyton.whole import IntegerArray

FAR = 1.2
"""Bounds are this much wider than evenly spread rows would need."""
NOISE = 2.0
"""The allowance for noise in counts: rows are assumed to be fewer than counted by this many standard errors."""
SURELY = 3.0
"""A quantile is ruled out where counts are this many standard errors away from it."""
SIXTEENTHS = tuple(Fraction(part, 16) for part in range(1, 16))
"""The quantiles of all rows that are chosen first."""
_MOST_PLACES = 1 << 24
"""The largest number of places, of all groups and on all levels."""
_EVEN = 0.25
"""This part of the places is spread evenly over all cells, in case the first look was wrong."""
DENSE = 3.0
"""Near the median a cell has about this many times the average number of rows: typical of public tables."""

_SPARED = 7.0
"""Found on 15 skewed columns: three times the logarithm of the number of empty cells less this is the number of scales
from which on choices are better than trees."""

Coarse = tuple[IntegerArray, IntegerArray, float]
"""The borders of coarse parts, the rows counted in them, and the scale of their noise."""


def chosen_figures(
    numbers: GroupedNumbers,
    chosen: IntegerArray,
    coarse: Coarse | None,
    epsilon: float,
    confidence: float,
) -> list[Figures]:
    """Quantiles from the cells *chosen* with *epsilon*, groups × quantiles; bounds from *coarse* counts made before the
    choice, as in releases of version 0.1. Without counts, the bounds are those of the attribute."""
    figures = []
    for place, (part, scales) in enumerate(
        zip(numbers.task.quantiles, rank_scales(numbers.task.quantiles, epsilon), strict=True)
    ):
        cells = chosen[:, place].astype(np.int64)
        far = FAR * float(radius(scales, confidence))
        low, high = _around(numbers, cells, coarse, far, float(part))
        of_bounds = float(np.sqrt(2 * (scales**2).sum())) / far
        figures.append(_figures(part, numbers.middles[cells], low, high, of_bounds, numbers.gap))
    return figures


def _around(
    numbers: GroupedNumbers, cells: IntegerArray, coarse: Coarse | None, far: float, part: float
) -> tuple[Reals, Reals]:
    """The values that, by the coarse counts, are *far* rows away on either side of a cell; within the range that the
    counts leave possible for the quantile."""
    edges = numbers.edges
    if coarse is None:
        return np.full(len(cells), edges[0]), np.full(len(cells), edges[-1])
    borders, rows, noise = edges[coarse[0]], coarse[1].astype(float), coarse[2]
    first = _outwards(rows, borders, edges[cells], far, noise)
    last = -_outwards(rows[:, ::-1], -borders[::-1], -edges[cells + 1], far, noise)
    first = np.minimum(np.maximum(first, _beyond(rows, borders, noise, part)), edges[cells])
    last = np.maximum(np.minimum(last, -_beyond(rows[:, ::-1], -borders[::-1], noise, 1 - part)), edges[cells + 1])
    below = np.searchsorted(edges, first, side="right") - 1  # values in one cell cannot be distinguished
    above = np.searchsorted(edges, last, side="left")
    return edges[np.maximum(below, 0)], edges[np.minimum(above, len(edges) - 1)]


def _beyond(rows: Reals, borders: Reals, noise: float, part: float) -> Reals:
    """The last border below which there are surely too few rows for the quantile, allowing for the noise of the counts;
    the same holds for all borders before it."""
    parts = rows.shape[1]
    before = np.arange(parts + 1)
    upto = np.concatenate((np.zeros((len(rows), 1)), np.cumsum(rows, axis=1)), axis=1)
    spread = noise * np.sqrt(2 * (before * (1 - part) ** 2 + (parts - before) * part**2))
    surely = upto - part * upto[:, -1:] < -SURELY * spread
    surely[:, 0] = True
    return np.asarray(borders[np.logical_and.accumulate(surely, axis=1).sum(axis=1) - 1])


def _outwards(rows: Reals, borders: Reals, start: Reals, far: float, noise: float) -> Reals:
    """The value below *start* with *far* rows between the two, by the coarse counts less an allowance for their noise.

    Within a part, rows are assumed to be spread evenly.
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


def curve_figures(numbers: GroupedNumbers, counts: Reals, off: float, confidence: float) -> list[Figures]:
    """Quantiles from noisy *counts* of all cells, groups × cells; *off* is the standard error of a count up to a
    value."""
    upto = np.cumsum(counts, axis=1)
    rising = (np.maximum.accumulate(upto, axis=1) + np.minimum.accumulate(upto[:, ::-1], axis=1)[:, ::-1]) / 2
    total = np.maximum(rising[:, -1], 0.0)
    times = math.sqrt(2 * math.log(1 / (1 - confidence)))
    figures = []
    for part in numbers.task.quantiles:
        target = float(part) * total
        cells = [_cell_at(rising, target + shift) for shift in (0.0, -times * off, times * off)]
        value, edges = numbers.middles[cells[0]], numbers.edges
        figures.append(_figures(part, value, edges[cells[1]], edges[cells[2] + 1], 1 / times, numbers.gap))
    return figures


def _cell_at(upto: Reals, target: Reals) -> IntegerArray:
    """The first cell up to which there are *target* rows; the last cell if there are fewer."""
    return np.asarray(np.minimum((upto < target[:, None]).sum(axis=1), upto.shape[1] - 1))


def _figures(part: Fraction, value: Reals, low: Reals, high: Reals, of_bounds: float, gap: int) -> Figures:
    """A quantile with its bounds. The standard error is a public fraction of the width of the bounds."""
    return Figures(quantile_name(part), value, low, high - gap, (high - low) / 2 * of_bounds, "approximate")


def coarse_parts(numbers: GroupedNumbers) -> int:
    """The number of parts in which the rows of a group are counted."""
    return min(len(SIXTEENTHS) + 1, numbers.cells)


def borders(numbers: GroupedNumbers, sixteenths: IntegerArray) -> IntegerArray:
    """The borders of parts with about the same number of rows: where each begins, and where the last one ends. A cell
    with several of the *sixteenths* is a part of its own; the remaining borders halve the widest parts."""
    cells, parts = numbers.cells, coarse_parts(numbers)
    ordered = np.sort(sixteenths)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    inner = np.unique(np.concatenate((ordered, twice + 1)))
    edges = [0, *inner[(inner > 0) & (inner < cells)].tolist()[: parts - 1], cells]
    while len(edges) <= parts:
        widest = int(np.argmax(np.diff(edges)))
        edges.insert(widest + 1, (edges[widest] + edges[widest + 1]) // 2)
    return np.array(edges)


def places_in_all(numbers: GroupedNumbers, levels: int) -> int:
    """The number of places of each line: at least one for each cell."""
    cells = numbers.cells
    return max(cells, min(max(2 * cells, 1 << 13), _MOST_PLACES // (numbers.groups * levels)))


def even_places(cells: int, total: int) -> IntegerArray:
    """The number of places of each cell, *total* in all: about equal."""
    return np.diff(np.arange(cells + 1) * total // cells)


def places(numbers: GroupedNumbers, sixteenths: IntegerArray, total: int) -> IntegerArray:
    """The number of places of each cell, *total* in all: most are where rows are."""
    cells = numbers.cells
    upto = np.concatenate(([0.0], np.cumsum(likely(cells, sixteenths))))
    more = np.rint(upto / upto[-1] * (total - cells)).astype(np.int64)
    return np.asarray(1 + np.diff(np.maximum.accumulate(more)))


def likely(cells: int, sixteenths: IntegerArray, even: float = _EVEN) -> Reals:
    """Which part of all rows each cell has, by the *sixteenths*: as many rows between any two neighbours, evenly
    spread, but for the part *even*, which is spread over all cells."""
    ends = np.concatenate(([0], np.sort(sixteenths), [cells - 1]))
    slopes, part = np.zeros(cells + 1), (1 - even) / (len(ends) - 1)
    for first, last in itertools.pairwise(ends.tolist()):
        slopes[first] += part / (last - first + 1)
        slopes[last + 1] -= part / (last - first + 1)
    return np.asarray(np.maximum(np.cumsum(slopes[:-1]), 0.0) + even / cells)


class Nested(NamedTuple):
    """One of several choices that are nested in one another."""

    place: int
    """The number of its quantile."""
    below: int | None
    above: int | None
    """The numbers of the quantiles that bound the run of rows from which it is chosen; None for an end of all rows."""
    ends: tuple[Fraction, Fraction]
    """Which parts of all rows the run lies between."""
    inside: float
    """Which part of the run lies below the quantile."""


def nested(parts: Sequence[Fraction]) -> list[Nested]:
    """The choices of these quantiles, each after those that bound its run."""
    runs: list[tuple[int, int]] = [(0, len(parts))]
    choices = []
    while runs:
        first, end = runs.pop()
        if first == end:
            continue
        middle = (first + end) // 2
        below, above = parts[first - 1] if first else Fraction(0), parts[end] if end < len(parts) else Fraction(1)
        inside = float((parts[middle] - below) / (above - below))
        sides = first - 1 if first else None, end if end < len(parts) else None
        choices.append(Nested(middle, *sides, (below, above), inside))
        runs += [(first, middle), (middle + 1, end)]
    return choices


def rank_scales(parts: Sequence[Fraction], epsilon: float) -> Reals:
    """For each quantile, the scales of the Laplace noise terms that add up to its error in rows, quantiles × choices.

    Among many places, permute-and-flip chooses a place r rows away with a probability that falls as e^(−|r|/scale),
    where the scale is 2·max(q, 1 − q)/(ε of the level) for the part q of the run of rows. An error at an end of the run
    moves the target inside it: by q times the error of the upper end, and 1 − q times that of the lower end.

    >>> rank_scales([Fraction(1, 2)], 1.0).tolist()
    [[1.0]]
    >>> rank_scales([Fraction(part, 4) for part in (1, 2, 3)], 1.0).tolist()
    [[2.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 1.0, 2.0]]
    """
    count = len(parts)
    level, scales = epsilon / count.bit_length(), np.zeros((count, count))
    for choice in nested(parts):
        inside = choice.inside
        if choice.below is not None:
            scales[choice.place] += (1 - inside) * scales[choice.below]
        if choice.above is not None:
            scales[choice.place] += inside * scales[choice.above]
        scales[choice.place, choice.place] = 2 * max(inside, 1 - inside) / level
    return scales


def competing(
    parts: Sequence[Fraction], epsilon: float, rows: float, before: float, after: float | None = None
) -> bool:
    """Whether empty cells compete with the rows beyond one of the quantiles, if about this many cells lie *before* the
    bulk of the rows and *after* it: a tree of counts is then better than choices.

    Each of E empty cells is chosen with the chance e^(−s), if the rows beyond the quantile are s scales of the choice,
    and the mean square of their distances is E²/3: together they add E³·e^(−s)/3 to the squared error. A tree has a
    larger error than a choice without them, by a factor of two to four.

    >>> competing([Fraction(99, 100)], 0.1, 7000, 20, 980), competing([Fraction(9, 10)], 0.1, 7000, 20, 980)
    (True, False)
    """
    own = np.diag(rank_scales(parts, epsilon))
    for choice in nested(parts):
        part, scale = float(parts[choice.place]), float(own[choice.place])
        low = choice.below is None and part > 0 and part * rows / scale < 3 * math.log(before) - _SPARED
        high = choice.above is None and part < 1 and (1 - part) * rows / scale < 3 * math.log(after or before) - _SPARED
        if low or high:
            return True
    return False


def most_empty(distance: float) -> float:
    """The most empty cells at this distance, in scales, that do not compete."""
    return math.exp(min((distance + _SPARED) / 3, 700))


def rank_errors(
    parts: Sequence[Fraction],
    epsilon: float,
    rows: int | None,
    cells: int,
    empty: Callable[[float], float] = lambda distance: math.inf,
) -> list[float]:
    """An upper bound on the standard error of each chosen quantile, in rows; if the number of *rows* is not known, that
    of many rows in many cells. There are at most as many *empty* cells as this function of their distance says.

    >>> [round(error, 1) for error in rank_errors([Fraction(1, 2)], 0.1, None, 100)]
    [14.1]
    >>> [round(error, 1) for error in rank_errors([Fraction(1, 2)], 0.1, 1000, 100)]
    [6.8]
    """
    scales = rank_scales(parts, epsilon)
    own = np.diag(scales)
    if rows is None:
        return [float(error) for error in np.sqrt(2 * np.square(scales).sum(axis=1))]
    squares = np.empty(len(parts))
    for choice in nested(parts):
        below, above = (float(abs(parts[choice.place] - end)) * rows for end in choice.ends)
        squares[choice.place] = rank_error(below, above, float(own[choice.place]), cells, empty) ** 2
    moved = np.square(scales / own) @ squares
    most = [max(part, 1 - part) * rows for part in parts]
    return [min(math.sqrt(square), float(limit)) for square, limit in zip(moved, most, strict=True)]


def rank_error(
    below: float,
    above: float,
    scale: float,
    cells: int,
    empty: Callable[[float], float] = lambda distance: math.inf,
) -> float:
    """The standard error of a single choice, in rows, with this many rows *below* and *above* the quantile in its run.

    Rows share their cells as is typical, the fewer the nearer the quantile is to an end of all rows. Beyond the last
    rows, on either side, all cells may be empty: each of them is chosen with the chance that its distance gives,
    relative to the right cell, and together they are many.

    >>> round(rank_error(500, 500, 10.0, 100), 1), round(rank_error(900, 100, 10.0, 1000), 1)
    (6.8, 24.9)
    """
    sides = [_side(rest / scale) for rest in (below, above)]
    far = scale * math.sqrt(sum(square for _, square in sides) / max(sum(weight for weight, _ in sides), 1e-300))
    near = far * _shared(DENSE * 2 * min(below, above) / cells / scale)
    chances = [min(cells, empty(rest / scale)) * math.exp(-rest / scale) for rest in (below, above)]
    lost = sum(chance * rest**2 for chance, rest in zip(chances, (below, above), strict=True))
    return math.sqrt((near**2 + lost) / (1 + sum(chances)))


def _shared(width: float) -> float:
    """The error where each cell holds *width* scales of rows, relative to the error where every row has its own cell.

    The quantile may be anywhere in its own cell, which is chosen with weight e^depth; a cell at a distance has weight
    e^(−distance), and its error is the distance.
    """
    if width < 1e-3:
        return 1.0
    inside = (np.arange(64) + 0.5) / 64 * width
    steps = np.arange(1, 2 + math.ceil(40 / width))[:, None] * width
    own = np.exp(np.minimum(np.minimum(inside, width - inside), 300))
    squares, weights = np.zeros(64), own
    for far in (steps - inside, steps - (width - inside)):
        squares = squares + (far**2 * np.exp(-far)).sum(axis=0)
        weights = weights + np.exp(-far).sum(axis=0)
    return float(np.sqrt(np.mean(squares / weights) / 2))


def _side(far: float) -> tuple[float, float]:
    """∫ e^(−r) and ∫ r²·e^(−r) from 0 to *far*."""
    if far > 700:
        return 1.0, 2.0
    if far < 1e-4:
        return far, far**3 / 3
    return -math.expm1(-far), 2 - math.exp(-far) * (far * far + 2 * far + 2)
