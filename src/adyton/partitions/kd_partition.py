"""Boxes inside which noisy counts differ by no more than noise explains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from adyton.arrays import Places, Reals
from adyton.compiling import compiled
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries import Partition
from adyton.whole import as_shape

_WHOLE, _ROWS, _COLUMNS = 0, 1, 2
"""What becomes of a box: it is kept whole, or its rows or columns are halved."""


def kd_partition(counts: npt.ArrayLike, domain: int | Sequence[int], price: float) -> Partition:
    """The boxes, got by halving a domain of one or two dimensions along either axis again and again, with the least
    Σ_boxes (Σ (y_i − mean)² + price).

    DPCube stops halving where a threshold says so (Xiao, Xiong and Yuan, "Differentially private data release through
    multidimensional partitioning", 2010). Here the best of all such trees is found from the cells upwards: there are
    fewer than 4n boxes, and each is either kept whole or cut the cheaper way. Groups are numbered in the order in which
    the halves follow each other.

    >>> kd_partition([[1, 0, 9, 9], [0, 1, 9, 8]], (2, 4), price=3).labels.reshape(2, 4)
    array([[0, 0, 1, 1],
           [0, 0, 1, 1]])
    """
    sides = as_shape(domain)
    values = np.asarray(counts, dtype=np.float64)
    if len(sides) > 2:
        raise BadInput(f"boxes are cut in one or two dimensions, given the domain {sides}.")
    if values.size != math.prod(sides) or not np.isfinite(values).all():
        raise BadInput(f"counts are {math.prod(sides)} finite numbers, given an array of shape {values.shape}.")
    if not (math.isfinite(price) and price >= 0):
        raise BadInput(f"price must be a finite number of at least 0, given {shorten(price)}.")
    rows, columns = sides if len(sides) == 2 else (1, sides[0])
    labels = _best_boxes(values.reshape(rows, columns), *_halves(rows), *_halves(columns), float(price))
    return Partition(labels.reshape(-1))


@lru_cache(maxsize=64)
def _halves(side: int) -> tuple[Places, Places]:
    """All the intervals that halving an axis yields, each before its halves: (start, end), and the number of the first
    of its two halves, or -1 for a single cell."""
    spans, first = [(0, side)], []
    for start, end in spans:  # grows while it is read
        first.append(len(spans) if end - start > 1 else -1)
        if end - start > 1:
            middle = (start + end) // 2
            spans += [(start, middle), (middle, end)]
    return np.array(spans), np.array(first)


@compiled
def _best_boxes(
    values: Reals, row_spans: Places, row_halves: Places, column_spans: Places, column_halves: Places, price: float
) -> Places:
    """The number of the box that each cell belongs to, for the least Σ (SSE + price).

    Boxes are pairs of an interval of rows and one of columns; halves come after what they are halves of, so that from
    the last to the first everything needed is there. The sums of squares of two halves become that of the whole by
    SSE + SSE′ + (m·m′/(m + m′))·(mean − mean′)²: nothing large is subtracted.
    """
    tall, wide = row_halves.size, column_halves.size
    means, spreads, costs = np.empty((tall, wide)), np.empty((tall, wide)), np.empty((tall, wide))
    cuts = np.empty((tall, wide), np.int8)
    for row in range(tall - 1, -1, -1):
        height = row_spans[row, 1] - row_spans[row, 0]
        up = row_halves[row]
        for column in range(wide - 1, -1, -1):
            width = column_spans[column, 1] - column_spans[column, 0]
            left = column_halves[column]
            if up < 0 and left < 0:
                means[row, column] = values[row_spans[row, 0], column_spans[column, 0]]
                spreads[row, column], costs[row, column], cuts[row, column] = 0.0, price, _WHOLE
                continue
            if up >= 0:
                first, second, rows, columns = (up, column), (up + 1, column), True, left >= 0
                part = (row_spans[up, 1] - row_spans[up, 0]) / height
                size = float(height * width)
            else:
                first, second, rows, columns = (row, left), (row, left + 1), False, True
                part = (column_spans[left, 1] - column_spans[left, 0]) / width
                size = float(height * width)
            difference = means[first] - means[second]
            means[row, column] = means[second] + part * difference
            spreads[row, column] = spreads[first] + spreads[second] + size * part * (1 - part) * difference**2
            cost, cut = spreads[row, column] + price, _WHOLE
            if rows and costs[up, column] + costs[up + 1, column] < cost:
                cost, cut = costs[up, column] + costs[up + 1, column], _ROWS
            if columns and costs[row, left] + costs[row, left + 1] < cost:
                cost, cut = costs[row, left] + costs[row, left + 1], _COLUMNS
            costs[row, column], cuts[row, column] = cost, cut
    return _number(cuts, row_spans, row_halves, column_spans, column_halves)


@compiled
def _number(
    cuts: npt.NDArray[np.int8], row_spans: Places, row_halves: Places, column_spans: Places, column_halves: Places
) -> Places:
    """Number the boxes that the cuts leave whole, first halves first."""
    labels = np.empty((row_spans[0, 1], column_spans[0, 1]), np.int64)
    waiting = np.empty((row_halves.size + column_halves.size, 2), np.int64)
    waiting[0] = 0
    open_boxes, label = 1, 0
    while open_boxes:
        open_boxes -= 1
        row, column = waiting[open_boxes]
        cut = cuts[row, column]
        if cut == _WHOLE:
            for place in range(row_spans[row, 0], row_spans[row, 1]):
                labels[place, column_spans[column, 0] : column_spans[column, 1]] = label
            label += 1
            continue
        for half in (1, 0):
            waiting[open_boxes, 0] = row_halves[row] + half if cut == _ROWS else row
            waiting[open_boxes, 1] = column_halves[column] + half if cut == _COLUMNS else column
            open_boxes += 1
    return labels
