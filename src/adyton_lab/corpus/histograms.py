"""Histograms of public columns, at a fine resolution, and histograms at another resolution.

A column that is nearly constant, or that only numbers the rows, has no shape worth learning from: None.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from adyton.arrays import Integers, Reals

LINE_BINS, PLANE_BINS, CATEGORY_CELLS = 8192, 256, 1024
"""Bins of a number, bins of each of two numbers, cells that the levels of a category are spread over."""
FEW_VALUES, FEW_LEVELS = 32, 8
"""A number needs more distinct values than that, a category at least as many levels."""


def regrid(counts: Reals, domain: tuple[int, ...]) -> Reals:
    """The counts on an equi-width *domain* with as many axes: cells are added up, and cut in proportion.

    With n cells given and m asked for, everything lies between 0 and n·m: old cells are m long, new ones n. Their
    borders together cut the axis into pieces, each a share length/m of one old cell and part of one new cell. Where
    m divides n every share is 1, and the sums are plain ones.

    >>> regrid(np.array([1.0, 2.0, 3.0]), (2,)), regrid(np.array([1.0, 2.0]), (4,))
    (array([2., 4.]), array([0.5, 0.5, 1. , 1. ]))
    """
    for axis, (old, new) in enumerate(zip(counts.shape, domain, strict=True)):
        if old == new:
            continue
        starts = np.arange(new, dtype=np.int64) * old
        borders = np.union1d(starts, np.arange(old, dtype=np.int64) * new)
        shares = np.diff(borders, append=old * new) / new
        pieces = np.take(counts, borders // new, axis=axis)
        pieces *= shares if axis == counts.ndim - 1 else shares[:, None]
        counts = np.add.reduceat(pieces, np.searchsorted(borders, starts), axis=axis)
    return counts


def draw(shape: Reals, scale: int, seed: int) -> Integers:
    """*scale* rows, drawn independently from a distribution over the cells."""
    random = np.random.default_rng(seed)
    return random.multinomial(scale, shape.reshape(-1) / shape.sum()).reshape(shape.shape).astype(np.int64)


def of_numbers(values: Reals) -> Reals | None:
    """A number's histogram: a bin per value where whole numbers are close together, else equi-width bins.

    Values that are missing (not finite) are left out.

    >>> of_numbers(np.array([float("nan"), *range(40), 0])).tolist()[:3], of_numbers(np.arange(40.0))
    ([2.0, 1.0, 1.0], None)
    """
    present = values[np.isfinite(values)]
    distinct, times = np.unique(present, return_counts=True)
    if distinct.size <= FEW_VALUES or _only_numbers_rows(distinct, times):
        return None
    cells, bins = _cells(present, LINE_BINS)
    return np.bincount(cells, minlength=bins).astype(np.float64)


def of_pair(left: Reals, right: Reals) -> Reals | None:
    """Two numbers' histogram on a square, over the rows that have both."""
    present = np.isfinite(left) & np.isfinite(right)
    if np.count_nonzero(present) <= FEW_VALUES:
        return None
    row, rows = _cells(left[present], PLANE_BINS)
    column, columns = _cells(right[present], PLANE_BINS)
    counts = np.bincount(row * columns + column, minlength=rows * columns).reshape(rows, columns)
    return regrid(counts.astype(np.float64), (PLANE_BINS, PLANE_BINS))


def of_category(levels: Mapping[str, int]) -> Reals | None:
    """A category's histogram, smoothed: levels in alphabetical order, each spread by a Gaussian kernel.

    Level k lies at the place k, and the bandwidth is Scott's: h = σ·n^(−1/5), with σ the standard deviation of the
    places over the n rows. A cell holds the kernels' mass Σ_k c_k·(Φ((b − k)/h) − Φ((a − k)/h)) between its borders a
    and b; what falls outside of the levels is lost. With more levels than cells it is free text, and no category.

    >>> of_category(dict(zip("abcdefgh", range(1, 9)))).shape, of_category({"yes": 1, "no": 3})
    ((1024,), None)
    """
    times = np.array([levels[level] for level in sorted(levels)], dtype=np.float64)
    if not FEW_LEVELS <= times.size <= CATEGORY_CELLS or times.min() == times.max():
        return None
    from scipy.special import ndtr

    places, rows = np.arange(times.size), times.sum()
    deviation = np.sqrt(np.average(np.square(places - np.average(places, weights=times)), weights=times))
    bandwidth = deviation * rows ** (-1 / 5)
    borders = np.linspace(-0.5, times.size - 0.5, CATEGORY_CELLS + 1)
    below = times @ ndtr((borders - places[:, None]) / bandwidth)
    return np.asarray(np.maximum(np.diff(below), 0.0))


def _only_numbers_rows(distinct: Reals, times: Integers) -> bool:
    """Whether every whole number from the least to the greatest occurs equally often: 1, 2, 3, …"""
    consecutive = float(distinct[-1]) - float(distinct[0]) == distinct.size - 1 and _whole(distinct)
    return bool(consecutive and times.min() == times.max())


def _cells(values: Reals, most: int) -> tuple[Integers, int]:
    """The bin of each value, and the number of bins: at most *most*."""
    low, high = float(values.min()), float(values.max())
    if high - low < most and (low == high or _whole(values)):
        return (values - low).astype(np.int64), int(high - low) + 1
    if not np.isfinite(high - low):
        values, low, high = values / 4, low / 4, high / 4
    return np.minimum((values - low) / (high - low) * most, most - 1).astype(np.int64), most


def _whole(values: Reals) -> bool:
    return bool(np.array_equal(values, np.rint(values)))
