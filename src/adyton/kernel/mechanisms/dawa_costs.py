"""What the buckets of a partition cost, in whole numbers, and the partition that costs least.

dev(b) = Σ_{i ∈ b} |x_i − S/L|, for a bucket of L cells with the sum S, is 2h/L with the whole number
h = Σ_{i ∈ b} max(0, L·x_i − S), because what lies above the mean is as much as what lies below it. On a grid of G steps
to a row the deviation is D(b) = ⌊2G·h/L⌋: exactly G·dev(b) where L divides 2G.

Hot loops are compiled, in 64 bits, where a bound that is computed first shows that nothing can wrap around; else the
same numbers are found in Python integers.
"""

from __future__ import annotations

import numpy as np

from adyton.arrays import Integers
from adyton.whole import SAFE, IntegerArray, largest, narrow


def rows_in(values: IntegerArray) -> int:
    """Σ |x_i|, exactly."""
    if values.dtype != object and largest(values) * values.size < SAFE:
        return int(np.abs(values).sum())
    return sum(abs(int(value)) for value in values.tolist())


def window_costs(values: IntegerArray, lengths: Integers, grid: int) -> IntegerArray:
    """D of the bucket of each of these lengths that ends at each cell (lengths × cells); 0 where there is none."""
    if 2 * max(2 * grid, int(lengths[-1])) * rows_in(values) < SAFE:
        from adyton.kernel.mechanisms.dawa_partition_compiled import all_windows

        machine = values.astype(np.int64)
        distinct, ranks = np.unique(machine, return_inverse=True)
        costs = np.zeros((lengths.size, values.size), dtype=np.int64)
        all_windows(machine, ranks, distinct, lengths, 2 * grid, costs)
        return costs
    boxed = np.zeros((lengths.size, values.size), dtype=object)
    for row, length in zip(boxed, lengths.tolist(), strict=True):
        row[length - 1 :] = [2 * grid * excess // length for excess in _excesses(values.tolist(), length)]
    return narrow(boxed)


def _excesses(values: list[int], length: int) -> list[int]:
    """h of every window of this length, with a Fenwick tree over the distinct values, in Python integers."""
    distinct = sorted(set(values))
    place = {value: rank for rank, value in enumerate(distinct, 1)}
    numbers, sums = [0] * (len(distinct) + 1), [0] * (len(distinct) + 1)
    highest = 1 << len(distinct).bit_length()
    total, found = 0, []
    for end, value in enumerate(values):
        for change, moved in ((1, value), (-1, values[end - length])) if end >= length else ((1, value),):
            total += change * moved
            rank = place[moved]
            while rank < len(numbers):
                numbers[rank] += change
                sums[rank] += change * moved
                rank += rank & -rank
        if end < length - 1:
            continue
        rank, below, sum_below, step = 0, 0, 0, highest
        while step:  # the largest rank whose value is at most the mean
            if rank + step < len(numbers) and length * distinct[rank + step - 1] <= total:
                rank += step
                below, sum_below = below + numbers[rank], sum_below + sums[rank]
            step //= 2
        found.append(length * (total - sum_below) - (length - below) * total)
    return found


class LeastCost:
    """The least-cost partitions of a vector, for many trials at once, grown from the left as noise arrives."""

    def __init__(self, costs: IntegerArray, most: int, extra: int, lengths: Integers, trials: int) -> None:
        """``costs`` as :func:`window_costs` gives them, the *most* that disjoint buckets can cost together, and what
        every bucket costs *extra*."""
        cells = costs.shape[1]
        self._costs, self._extra, self._lengths = costs, extra, lengths
        self._totals: IntegerArray = np.zeros((trials, cells + 1), dtype=np.int64)
        self._choices = np.zeros((trials, cells + 1), dtype=np.int32)
        self._end = 0
        self._bound = most

    def grow(self, noise: IntegerArray) -> None:
        """Go on by as many cells as there is noise for (trials × cells × the lengths that fit)."""
        cells = noise.shape[1]
        first, self._end = self._end, self._end + cells
        self._bound += cells * (largest(noise) + abs(self._extra))  # of every |total| so far
        costs = self._costs[:, first : self._end]
        if self._bound < SAFE:
            from adyton.kernel.mechanisms.dawa_partition_compiled import least_costs

            least_costs(costs, noise, self._extra, self._lengths, first, self._totals, self._choices)
        else:
            self._totals = self._totals.astype(object)
            self._grow_in_python(costs.tolist(), noise.tolist(), first)

    def _grow_in_python(self, costs: list[list[int]], noise: list[list[list[int]]], first: int) -> None:
        lengths = self._lengths.tolist()
        for totals, choices, drawn in zip(self._totals, self._choices, noise, strict=True):
            for end, row in enumerate(drawn, first + 1):
                candidates = [
                    totals[end - length] + costs[number][end - first - 1] + row[number]
                    for number, length in enumerate(lengths[: len(row)])
                    if length <= end
                ]
                totals[end] = min(candidates) + self._extra
                choices[end] = candidates.index(min(candidates))

    def total(self) -> int:
        """The least cost of all cells, in the first trial."""
        return int(self._totals[0, -1])

    def labels(self) -> Integers:
        """The number of the bucket of each cell, trial by trial."""
        from adyton.kernel.mechanisms.dawa_partition_compiled import bucket_labels

        labels = np.empty((len(self._choices), self._costs.shape[1]), dtype=np.int64)
        bucket_labels(self._choices, self._lengths, labels)
        return labels
