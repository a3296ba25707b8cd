"""Groups of cells with similar counts, wherever they lie, found on noisy counts: post-processing, which costs no
privacy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from adyton.arrays import Flags, Places, Reals
from adyton.compiling import compiled
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries import Partition
from adyton.whole import as_shape


def similar_counts(counts: npt.ArrayLike, noise: float, floor: float = -math.inf) -> Partition:
    """The groups with the least cost if each cell is replaced by its group's mean, and each group's sum is noisy.

    A group G costs Σ_{i ∈ G} (y_i − mean)² + noise/|G|: the deviations that the mean hides, and the error that noise of
    this variance in the group's sum adds to its cells. Counts of at most *floor* are first set to 0. Groups are
    numbered from small to large counts. This is the clustering of AHP (Zhang et al., "Towards accurate histogram
    publication under differential privacy", SDM 2014), but optimal where the paper's greedy steps are approximate.

    The best groups are runs of the sorted counts. A run's cost satisfies the quadrangle inequality (1/m is convex in
    m), so the last cut before each place moves only to the right, and all cuts are found in O(n log n) steps (Galil and
    Giancarlo, "Speeding up dynamic programming", 1989).

    >>> similar_counts([0, 90, 1, 0, 93], noise=20).labels.tolist()
    [0, 1, 0, 0, 1]
    """
    values = np.asarray(counts, dtype=np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise BadInput(f"counts must be finite numbers along one axis, given an array of shape {values.shape}.")
    if not (math.isfinite(noise) and noise >= 0):
        raise BadInput(f"noise must be a variance, a finite number of at least 0, given {shorten(noise)}.")
    kept = np.where(values <= floor, 0.0, values)
    order = np.argsort(kept, kind="stable")
    labels = np.empty(values.size, dtype=np.int64)
    labels[order] = _best_runs(kept[order], float(noise))
    return Partition(labels)


@compiled
def _best_runs(values: Reals, noise: float) -> Places:
    """The number of the run that each of the sorted *values* belongs to, for the least Σ (SSE + noise/length).

    Cutting a run where two neighbours are g apart saves at least g²/2 (|A|·|B|/(|A| + |B|) ≥ ½) and costs less than
    2·noise, so wide gaps are always cut. The values between two gaps are close together, and their sums of squares,
    relative to the first value, lose no digits even next to counts of 10¹².
    """
    length = values.size
    opens = np.zeros(length, np.bool_)
    start = 0
    for place in range(1, length + 1):
        if place == length or (values[place] - values[place - 1]) ** 2 > 4 * noise:
            opens[start] = True
            if place - start > 1:
                _cut(values[start:place], noise, opens[start:place])
            start = place
    labels = np.empty(length, np.int64)
    label = -1
    for place in range(length):
        if opens[place]:
            label += 1
        labels[place] = label
    return labels


@compiled
def _cut(values: Reals, noise: float, opens: Flags) -> None:
    """Mark where the best runs of these values start.

    least[j] = min_i least[i] + cost(i, j). The queue holds the starts i that are best for some later end, each with the
    first end for which it is best: by the quadrangle inequality a later start, once better, stays better.
    """
    length = values.size
    sums, squares = np.zeros(length + 1), np.zeros(length + 1)
    for place in range(length):
        shifted = values[place] - values[0]
        sums[place + 1] = sums[place] + shifted
        squares[place + 1] = squares[place] + shifted * shifted
    least, start_of = np.zeros(length + 1), np.zeros(length + 1, np.int64)
    starts, first_ends = np.zeros(length + 1, np.int64), np.ones(length + 1, np.int64)
    head = tail = 0
    for end in range(1, length + 1):
        while head < tail and first_ends[head + 1] <= end:
            head += 1
        start_of[end] = starts[head]
        least[end] = least[starts[head]] + _cost(sums, squares, starts[head], end, noise)
        while True:
            soonest = max(first_ends[tail], end + 1)
            if soonest > length:
                break
            rival = starts[tail]
            if not _beats(least, sums, squares, end, rival, soonest, noise):
                if not _beats(least, sums, squares, end, rival, length, noise):
                    break
                low, high = soonest, length  # at low the rival is better; at high, the new start
                while high - low > 1:
                    middle = (low + high) // 2
                    if _beats(least, sums, squares, end, rival, middle, noise):
                        high = middle
                    else:
                        low = middle
                tail += 1
                starts[tail], first_ends[tail] = end, high
                break
            if tail == head:
                starts[tail], first_ends[tail] = end, soonest
                break
            tail -= 1
    end = length
    while end > 0:
        end = start_of[end]
        opens[end] = True


@compiled
def _beats(least: Reals, sums: Reals, squares: Reals, start: int, rival: int, end: int, noise: float) -> bool:
    own = least[start] + _cost(sums, squares, start, end, noise)
    return bool(own < least[rival] + _cost(sums, squares, rival, end, noise))


@compiled
def _cost(sums: Reals, squares: Reals, start: int, end: int, noise: float) -> float:
    """SSE + noise/length of the values from *start* to before *end*."""
    length = end - start
    total = sums[end] - sums[start]
    return float(squares[end] - squares[start] + (noise - total * total) / length)


_WHOLE, _ROWS, _COLUMNS = 0, 1, 2
"""What to do with a box: keep it whole, or halve its rows or its columns."""


def kd_partition(counts: npt.ArrayLike, domain: int | Sequence[int], price: float) -> Partition:
    """The boxes with the least Σ_boxes (Σ (y_i − mean)² + price), among all that repeated halving of a domain of one or
    two dimensions along either axis can produce.

    DPCube stops halving at a threshold (Xiao, Xiong and Yuan, "Differentially private data release through
    multidimensional partitioning", 2010). Here the best of all such trees is found from the cells upwards: there are
    fewer than 4n boxes, and each is either kept whole or cut in the cheaper way. Groups are numbered in the order of
    the halves.

    >>> kd_partition([[1, 0, 9, 9], [0, 1, 9, 8]], (2, 4), price=3).labels.reshape(2, 4)
    array([[0, 0, 1, 1],
           [0, 0, 1, 1]])
    """
    sides = as_shape(domain)
    values = np.asarray(counts, dtype=np.float64)
    if len(sides) > 2:
        raise BadInput(f"boxes are cut in one or two dimensions, given the domain {sides}.")
    if values.size != math.prod(sides) or not np.isfinite(values).all():
        raise BadInput(f"counts must be {math.prod(sides)} finite numbers, given an array of shape {values.shape}.")
    if not (math.isfinite(price) and price >= 0):
        raise BadInput(f"price must be a finite number of at least 0, given {shorten(price)}.")
    rows, columns = sides if len(sides) == 2 else (1, sides[0])
    labels = _best_boxes(values.reshape(rows, columns), *_halves(rows), *_halves(columns), float(price))
    return Partition(labels.reshape(-1))


@lru_cache(maxsize=64)
def _halves(side: int) -> tuple[Places, Places]:
    """All the intervals that halving an axis produces, each before its halves: (start, end), and the number of the
    first of its two halves, or -1 for a single cell."""
    spans, first = [(0, side)], []
    for start, end in spans:  # the list grows during the loop
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

    Boxes are pairs of an interval of rows and one of columns; halves are listed after their whole, so in a loop from
    the last to the first they are computed before it. The sums of squares of two halves combine to that of the whole by
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
    """Number the boxes that are kept whole, first halves first."""
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
