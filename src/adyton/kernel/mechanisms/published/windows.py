"""The deviation of every window of a line from its mean or its median, in whole numbers.

*Mean.* dev(b) = Σ_{i ∈ b} |x_i − S/L|, for a bucket of L cells with the sum S, is 2h/L with the whole number
h = Σ_{i ∈ b} max(0, L·x_i − S), because deviations above and below the mean have equal sums. On a grid of G steps per
row the deviation is D(b) = ⌊2G·h/L⌋: exactly G·dev(b) if L divides 2G.

*Median.* min_c Σ_{i ∈ b} |x_i − c| is attained at the median: it is the sum of the upper half of the cells less that of
the lower half. With h = ⌊L/2⌋, ℓ the sum of the h smallest cells and m the next larger cell, it is S − 2ℓ for even L
and S − m − 2ℓ for odd L.

The loop is compiled, in 64 bits: counts are clipped to a public bound, so that nothing can wrap around.
"""

from __future__ import annotations

import numpy as np

from adyton.arrays import Integers, Places
from adyton.compiling import compiled
from adyton.whole import IntegerArray, cut_off


def mean_costs(values: IntegerArray, lengths: Integers, grid: int) -> IntegerArray:
    """D of the bucket of each length that ends at each cell (lengths × cells); 0 if there is no such bucket."""
    machine = cut_off(values, 2 * max(2 * grid, int(lengths[-1])) * values.size)
    return _costs(machine, lengths, 2 * grid, True)


def median_costs(values: IntegerArray, lengths: Integers, grid: int) -> IntegerArray:
    """*grid* times the deviation from the median, of the same buckets."""
    machine = cut_off(values, 2 * grid * values.size)
    return _costs(machine, lengths, grid, False)


def prefix_costs(values: IntegerArray, grid: int) -> IntegerArray:
    """⌊grid·h/L⌋ of the first cell, of the first two, and so on; in Python integers if the values are."""
    return np.asarray(_costs(values, None, grid, True)[0])


def _costs(values: IntegerArray, lengths: Integers | None, grid: int, by_mean: bool) -> IntegerArray:
    """A row for each length; without lengths, one row for the windows that begin with the first cell."""
    distinct, ranks = np.unique(values, return_inverse=True)
    loop = _windows.function if values.dtype == object else _windows
    every = [values.size] if lengths is None else lengths.tolist()
    costs = np.zeros((len(every), values.size), dtype=values.dtype)
    for row, length in zip(costs, every, strict=True):
        starts = np.arange(values.size) - length + 1 if lengths is not None else np.zeros_like(values)
        numbers, sums = np.zeros((2, distinct.size + 1), dtype=values.dtype)
        loop(values, ranks.reshape(-1), distinct, starts, grid, by_mean, numbers, sums, row)
    return costs


@compiled
def _windows(
    values: IntegerArray,
    ranks: Places,
    distinct: IntegerArray,
    starts: IntegerArray,
    grid: int,
    by_mean: bool,
    numbers: IntegerArray,
    sums: IntegerArray,
    costs: IntegerArray,
) -> None:
    """Fill *costs* for windows whose starts never decrease; compiled for 64-bit arrays, else run as plain Python.

    *numbers* and *sums* are Fenwick trees over the ranks, initially zero: how many cells of the window have a rank
    below some rank, and their sum. A whole number is above S/L if and only if it is above ⌊S/L⌋.
    """
    size, highest = len(distinct), 1
    while 2 * highest <= size:
        highest *= 2
    total, first = 0 * values[0], 0
    for end in range(len(values)):
        for way in range(2):
            if way == 1 and first >= starts[end]:
                break
            cell, change = (first, -1) if way == 1 else (end, 1)
            first += way
            total += change * values[cell]
            node = ranks[cell] + 1
            while node <= size:
                numbers[node] += change
                sums[node] += change * values[cell]
                node += node & -node
        if starts[end] < 0:
            continue
        length = end + 1 - starts[end]
        mean, half = total // length, length // 2
        place, below, lower, step = 0, 0 * total, 0 * total, highest
        while step > 0:  # the most ranks that are not above the mean, or that contain at most half of the cells
            after = place + step
            if after <= size and (distinct[after - 1] <= mean if by_mean else below + numbers[after] <= half):
                place = after
                below += numbers[after]
                lower += sums[after]
            step //= 2
        if by_mean:
            excess = length * (total - lower) - (length - below) * total
            costs[end] = grid * (excess // length) + grid * (excess % length) // length
        else:
            middle = distinct[place]
            lower += (half - below) * middle
            costs[end] = grid * (total - 2 * lower - (length - 2 * half) * middle)
