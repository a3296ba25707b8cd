"""How far every window of a line is from its median, in whole numbers.

min_c Σ_{i ∈ b} |x_i − c| is attained at the median: it is the sum of the upper half of the cells less that of the lower
half. Of L cells with the sum S let h = ⌊L/2⌋, ℓ the sum of the h smallest and m the next larger one: then it is S − 2ℓ
for an even L and S − m − 2ℓ for an odd one. Counts beyond a public bound are cut off, so that nothing can wrap around.
"""

from __future__ import annotations

import numpy as np

from adyton.arrays import Integers, Places
from adyton.compiling import compiled
from adyton.whole import IntegerArray, cut_off


def median_costs(values: IntegerArray, lengths: Integers, grid: int) -> IntegerArray:
    """*grid* times the distance from the median of the window of each length that ends at each cell (lengths × cells);
    0 where there is none."""
    roomy = cut_off(values, 2 * grid * values.size)
    distinct, ranks = np.unique(roomy, return_inverse=True)
    costs = np.zeros((lengths.size, values.size), dtype=roomy.dtype)
    for row, length in zip(costs, lengths.tolist(), strict=True):
        numbers, sums = np.zeros((2, distinct.size + 1), dtype=roomy.dtype)
        _windows(roomy, ranks.reshape(-1), distinct, length, grid, numbers, sums, row)
    return costs


@compiled
def _windows(
    values: Integers,
    ranks: Places,
    distinct: Integers,
    length: int,
    grid: int,
    numbers: Integers,
    sums: Integers,
    costs: Integers,
) -> None:
    """Fill *costs* for one length.

    *numbers* and *sums* are Fenwick trees, at first zero, over the ranks: how many cells of the window have a rank
    below some rank, and their sum.
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
        place, below, lower, step = 0, 0, 0, highest
        while step > 0:  # the most ranks that hold no more than half of the cells
            if place + step <= size and below + numbers[place + step] <= half:
                place += step
                below += numbers[place]
                lower += sums[place]
            step //= 2
        middle = distinct[place]
        lower += (half - below) * middle
        costs[end] = grid * (total - 2 * lower - (length - 2 * half) * middle)
