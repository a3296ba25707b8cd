"""Groups of cells with similar counts, wherever they lie: found on noisy counts, so that they cost nothing more."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from adyton.arrays import Flags, Places, Reals
from adyton.compiling import compiled
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries import Partition


def similar_counts(counts: npt.ArrayLike, noise: float, floor: float = -math.inf) -> Partition:
    """The groups that cost least if each cell is replaced by its group's mean, and each group's sum is noisy.

    A group G costs Σ_{i ∈ G} (y_i − mean)² + noise/|G|: what the mean hides, and what noise of this variance in the
    group's sum adds to its cells. Counts of at most *floor* are taken for 0 first. Groups are numbered from small to
    large counts. This is the clustering of AHP (Zhang et al., "Towards accurate histogram publication under
    differential privacy", SDM 2014), but with the least cost of all where the paper's greedy steps only come near.

    The best groups are runs of the sorted counts. A run's cost satisfies the quadrangle inequality (1/m is convex in
    m), so the last cut before each place moves only to the right, and all are found in O(n log n) steps (Galil and
    Giancarlo, "Speeding up dynamic programming", 1989).

    >>> similar_counts([0, 90, 1, 0, 93], noise=20).labels.tolist()
    [0, 1, 0, 0, 1]
    """
    values = np.asarray(counts, dtype=np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise BadInput(f"counts are finite numbers along one axis, given an array of shape {values.shape}.")
    if not (math.isfinite(noise) and noise >= 0):
        raise BadInput(f"noise must be a variance, a finite number of at least 0, given {shorten(noise)}.")
    kept = np.where(values <= floor, 0.0, values)
    order = np.argsort(kept, kind="stable")
    labels = np.empty(values.size, dtype=np.int64)
    labels[order] = _best_runs(kept[order], float(noise))
    return Partition(labels)


@compiled
def _best_runs(values: Reals, noise: float) -> Places:
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
def _cut(values: Reals, noise: float, opens: Flags) -> None:
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
