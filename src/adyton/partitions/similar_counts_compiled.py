"""The best runs of sorted counts, compiled."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Places, Reals
from adyton.compiling import compiled


@compiled
def best_runs(values: Reals, noise: float) -> Places:
    """The number of the run that each of the rising *values* belongs to, for the least Σ (SSE + noise/length).

    Cutting a run where two neighbours are g apart saves at least g²/2 (|A|·|B|/(|A| + |B|) ≥ ½) and costs less than
    2·noise, so wide gaps are always cut. What lies between them is close together, and its sums of squares, taken from
    its first value, lose no digits even beside counts of 10¹².
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
def _cut(values: Reals, noise: float, opens: npt.NDArray[np.bool_]) -> None:
    """Mark where the best runs of these values open.

    least[j] = min_i least[i] + cost(i, j). The queue holds the starts i that are best for some end to come, and from
    which end on: by the quadrangle inequality a later start, once better, stays better.
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
