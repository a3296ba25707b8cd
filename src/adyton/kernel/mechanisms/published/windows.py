"""How far every window of a line is from its mean or its median, in whole numbers.

*Mean.* dev(b) = Σ_{i ∈ b} |x_i − S/L|, for a bucket of L cells with the sum S, is 2h/L with the whole number
h = Σ_{i ∈ b} max(0, L·x_i − S), because what lies above the mean is as much as what lies below it. On a grid of G steps
to a row the deviation is D(b) = ⌊2G·h/L⌋: exactly G·dev(b) where L divides 2G.

*Median.* min_c Σ_{i ∈ b} |x_i − c| is attained at the median: it is the sum of the upper half of the cells less that of
the lower half. With h = ⌊L/2⌋, ℓ the sum of the h smallest cells and m the next larger one, it is S − 2ℓ for an even L
and S − m − 2ℓ for an odd one.

The loop is compiled, in 64 bits: counts beyond a public bound are cut off, so that nothing can wrap around.
"""

from __future__ import annotations

import numpy as np

from adyton.arrays import Integers, Places
from adyton.compiling import compiled
from adyton.whole import IntegerArray, cut_off


def mean_costs(values: IntegerArray, lengths: Integers, grid: int) -> Integers:
    """D of the bucket of each of these lengths that ends at each cell (lengths × cells); 0 where there is none."""
    return _costs(cut_off(values, 2 * max(2 * grid, int(lengths[-1])) * values.size), lengths, 2 * grid, True)


def median_costs(values: IntegerArray, lengths: Integers, grid: int) -> Integers:
    """*grid* times the distance from the median, of the same buckets."""
    return _costs(cut_off(values, 2 * grid * values.size), lengths, grid, False)


def _costs(values: Integers, lengths: Integers, grid: int, by_mean: bool) -> Integers:
    distinct, ranks = np.unique(values, return_inverse=True)
    costs = np.zeros((lengths.size, values.size), dtype=np.int64)
    for row, length in zip(costs, lengths.tolist(), strict=True):
        numbers, sums = np.zeros((2, distinct.size + 1), dtype=np.int64)
        _windows(values, ranks.reshape(-1), distinct, length, grid, by_mean, numbers, sums, row)
    return costs


@compiled
def _windows(
    values: Integers,
    ranks: Places,
    distinct: Integers,
    length: int,
    grid: int,
    by_mean: bool,
    numbers: Integers,
    sums: Integers,
    costs: Integers,
) -> None:
    """Fill *costs* for one length; *grid* is 2G for means.

    *numbers* and *sums* are Fenwick trees, at first zero, over the ranks: how many cells of the window have a rank
    below some rank, and their sum. A whole number is above S/L just if it is above ⌊S/L⌋.
    """
    size, half = len(distinct), length // 2
    highest = 1
    while 2 * highest <= size:
        highest *= 2
    total = 0
    for end in range(len(values)):
        for way in range(2):
            cell = end - way * length
            if cell < 0:
                break
            change = 1 - 2 * way
            total += change * values[cell]
            node = ranks[cell] + 1
            while node <= size:
                numbers[node] += change
                sums[node] += change * values[cell]
                node += node & -node
        if end < length - 1:
            continue
        mean = total // length
        place, below, lower, step = 0, 0, 0, highest
        while step > 0:  # the most ranks that are not above the mean, or that hold no more than half of the cells
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
