"""Sums, means and quantiles from the counts of cells, with bounds on the true ones. They cost no budget.

All bounds come from those of weighted sums of counts, whose noise is known, by turning a test around. The true mean μ
has Σ(v_i − μ)·x_i = 0, whatever the data: a mean for which that sum is farther from 0 than its noise goes is ruled out.
The q-quantile is in the first cell j with x_0 + … + x_j − q·Σx ≥ 0: a cell is ruled out if that sum is too far below 0,
or if the one of the cell before it is too far above. Each mean and each cell is tested by itself, so that the true one
is ruled out no more often than the tests are wrong: what is exact for the sums is exact for what is made of them. Where
cells are wider than one number, the least and the greatest number of each are taken, to the safe side. Where the counts
do not tell that there are any rows, nothing is ruled out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.denoising.shrinkage import isotonic
from adyton.queries import Explicit, Prefix, Product, Queries
from adyton.result.cell_numbers import CellNumbers
from adyton.result.figure import Figure
from adyton.result.interval import Interval

Bounds: TypeAlias = Callable[[Queries], Interval]
"""Bounds on sums of the counts: symmetric about an unbiased answer."""

NO_ROWS = "The released counts do not tell that there are any rows."
_LARGEST = 1 << 24
"""Weights that are no whole numbers are rounded to this part of the largest."""
_STEPS, _ROUNDS = 33, 4
"""Means are tested on a grid of so many, which is refined so often."""
_MOST_ENDS = 2048
"""In how many blocks of cells a quantile is looked for; where there are more cells, blocks have several."""


def sum_of(counts: Reals, numbers: CellNumbers, bounds: Bounds) -> Figure:
    """Σ v_i·x_i: the middle of each cell stands for its rows."""
    queries, step = _weighed(np.stack([numbers.least, numbers.greatest]))
    found = bounds(queries)
    lower, upper = float(found.lower[0]) * step, float(found.upper[1]) * step
    lower = max(lower, 0.0) if numbers.least[0] >= 0 else lower
    return Figure.within(float(numbers.middle @ counts), lower, upper, found, "sum", numbers.form)


def mean_of(counts: Reals, numbers: CellNumbers, bounds: Bounds) -> Figure:
    """The sum divided by the number of rows; bounds by Fieller's theorem (1954), within those of the schema."""
    lowest, highest, rows = float(numbers.least[0]), float(numbers.greatest[-1]), float(counts.sum())
    value = min(highest, max(lowest, float(numbers.middle @ counts) / rows)) if rows > 0 else math.nan
    grid = np.union1d(np.linspace(lowest, highest, _STEPS), [value] if rows > 0 else [])
    possible, found = _possible_means(grid, numbers, bounds)
    if found.missing or not possible.any():
        return _told(value, numbers, (lowest, highest), found, "mean")
    first, last = np.flatnonzero(possible)[[0, -1]]
    ends = [(grid[max(0, first - 1)], grid[first]), (grid[min(grid.size - 1, last + 1)], grid[last])]
    for _ in range(_ROUNDS - 1):  # the first of each pair is ruled out, or an end of the schema; the second is not
        lines = [np.linspace(*pair, _STEPS) for pair in ends]
        possible, _ = _possible_means(np.concatenate(lines), numbers, bounds)
        firsts = [int(np.argmax(np.append(some, True))) for some in np.split(possible, 2)]
        ends = [
            (line[max(0, place - 1)], line[min(place, _STEPS - 1)]) for line, place in zip(lines, firsts, strict=True)
        ]
    return _told(value, numbers, (float(ends[0][0]), float(ends[1][0])), found, "mean")


def quantile_of(counts: Reals, numbers: CellNumbers, part: Fraction, bounds: Bounds) -> Figure:
    """The least number that this part of the rows does not exceed; within a cell, rows count as spread evenly."""
    what = f"{float(part):g}-quantile" if part != Fraction(1, 2) else "median"
    cells, curve = counts.size, cumulated(counts)
    rows = float(curve[-1])
    value = math.nan
    if rows > 0:
        cell = min(int(np.searchsorted(curve, float(part) * rows)), cells - 1)
        before = float(curve[cell - 1]) if cell else 0.0
        value = numbers.inside(cell, (float(part) * rows - before) / max(float(curve[cell]) - before, 1e-300))
    ends = np.unique(np.linspace(0, cells - 1, min(cells, _MOST_ENDS)).astype(np.int64))
    found = bounds(_shifted_prefixes(ends, part.limit_denominator(10**6), cells))
    far = found.upper - found.estimate
    low, high = found.estimate < -far, found.estimate > far
    possible = np.flatnonzero(~low & ~np.append(False, high[:-1]))
    first, last = (possible[0], possible[-1]) if possible.size else (0, ends.size - 1)
    start = ends[first - 1] + 1 if first else 0
    limits = float(numbers.least[start]), float(numbers.greatest[ends[last]])
    return _told(value, numbers, limits, found, what)


def cumulated(counts: Reals) -> Reals:
    """The number of rows up to each cell: the nearest curve that does not fall, and does not begin below 0.

    >>> cumulated(np.array([2.0, -1.0, 3.0])).tolist()
    [1.5, 1.5, 4.0]
    """
    return np.maximum(0.0, isotonic(np.cumsum(counts)))


def _told(value: float, numbers: CellNumbers, ends: tuple[float, float], found: Interval, what: str) -> Figure:
    """A figure between these ends; anywhere in the schema's bounds where there are no rows to be seen."""
    if not math.isnan(value):
        return Figure.within(value, *ends, found, what, numbers.form)
    made = Figure.within(value, float(numbers.least[0]), float(numbers.greatest[-1]), found, what, numbers.form)
    made.note = f"{NO_ROWS} {made.note}".rstrip()
    return made


def _possible_means(means: Reals, numbers: CellNumbers, bounds: Bounds) -> tuple[np.ndarray, Interval]:
    """Which of these can be the true mean: Σ(least − μ)·x is not above 0, and Σ(greatest − μ)·x not below."""
    ends = [numbers.least] if numbers.single else [numbers.least, numbers.greatest]
    queries, _ = _weighed(np.concatenate([end - means[:, None] for end in ends]))
    found = bounds(queries)
    far = (found.upper - found.estimate).reshape(len(ends), -1)
    sums = found.estimate.reshape(len(ends), -1)
    return (sums[0] <= far[0]) & (sums[-1] >= -far[-1]), found


def _weighed(rows: Reals) -> tuple[Explicit, float]:
    """Sums with these weights, as whole numbers of a step."""
    largest = float(np.abs(rows).max())
    plain = largest <= _LARGEST and bool((rows == np.rint(rows)).all())
    step = 1.0 if plain or not largest else largest / _LARGEST
    return Explicit.from_rows(np.rint(rows / step).astype(np.int64)), step


def _shifted_prefixes(ends: Integers, part: Fraction, cells: int) -> Queries:
    """For each end, (x_0 + … + x_end − part·Σx), times the denominator of the part."""
    inner = ends < cells - 1
    places, last = np.arange(ends.size), np.full(ends.size, cells - 1)
    own = np.where(inner, part.denominator, part.denominator - part.numerator)
    rest = np.full(int(inner.sum()), -part.numerator)
    outer = Explicit(
        cells,
        np.concatenate([places, places[inner]]),
        np.concatenate([ends, last[inner]]),
        np.concatenate([own, rest]),
        ends.size,
    )
    return Product(outer, Prefix(cells))
