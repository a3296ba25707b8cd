"""How far every window of a line is from its mean, in whole numbers.

dev(b) = Σ_{i ∈ b} |x_i − S/L|, for a bucket of L cells with the sum S, is 2h/L with the whole number
h = Σ_{i ∈ b} max(0, L·x_i − S), because what lies above the mean is as much as what lies below it. On a grid of G steps
to a row the deviation is D(b) = ⌊2G·h/L⌋: exactly G·dev(b) where L divides 2G.

Loops are compiled, in 64 bits: counts beyond a public bound are cut off, so that nothing can wrap around.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Places
from adyton.compiling import compiled
from adyton.whole import IntegerArray, cut_off

_SHORT, _MEDIUM, _VARIED = 8, 256, 64
"""Windows of at most 8 cells are read cell by cell, and those of up to 256 where there are 64 times as many values."""

Numbers = npt.NDArray[np.int32]
"""How many cells of a window have each value."""


def mean_costs(values: IntegerArray, lengths: Integers, grid: int) -> IntegerArray:
    """D of the bucket of each of these lengths that ends at each cell (lengths × cells); 0 where there is none."""
    machine = cut_off(values, 2 * max(2 * grid, int(lengths[-1])) * values.size)
    distinct, ranks = np.unique(machine, return_inverse=True)
    costs = np.zeros((lengths.size, values.size), dtype=np.int64)
    _all_windows(machine, ranks, distinct, lengths, 2 * grid, costs)
    return costs


@compiled
def _excess_on_grid(excess: int, length: int, twice_grid: int) -> int:
    """⌊2G·h/L⌋ without a product larger than 2G·(h/L + L)."""
    if twice_grid % length == 0:
        return twice_grid // length * excess
    return twice_grid * (excess // length) + twice_grid * (excess % length) // length


@compiled
def _short_windows(values: Integers, length: int, twice_grid: int, costs: Integers) -> None:
    """⌊2G·h/L⌋ for the window of L cells that ends at each cell, h = Σ max(0, L·x − S), S the sum over the window."""
    total = 0
    for end in range(values.size):
        total += values[end]
        if end >= length:
            total -= values[end - length]
        if end >= length - 1:
            excess = 0
            for cell in range(end + 1 - length, end + 1):
                excess += max(0, length * values[cell] - total)
            costs[end] = _excess_on_grid(excess, length, twice_grid)


@compiled
def _between(low: int, high: int, bits: int, distinct: Integers, single: Numbers, groups: Integers) -> tuple[int, int]:
    """How many cells of the window have a rank in [low, high), and the sum of their values.

    ``groups`` holds both for every 2^bits ranks, every 2^2bits and every 2^3bits, so that no way is long.
    """
    number, total = 0, 0
    while low < high and low & ((1 << bits) - 1):
        number += single[low]
        total += single[low] * distinct[low]
        low += 1
    for level in range(1, 3):  # up, until the next larger group begins
        while low & ((1 << (level + 1) * bits) - 1) and low + (1 << level * bits) <= high:
            number += groups[level - 1, low >> level * bits, 0]
            total += groups[level - 1, low >> level * bits, 1]
            low += 1 << level * bits
    for level in range(3, 0, -1):  # and down again
        while low + (1 << level * bits) <= high:
            number += groups[level - 1, low >> level * bits, 0]
            total += groups[level - 1, low >> level * bits, 1]
            low += 1 << level * bits
    while low < high:
        number += single[low]
        total += single[low] * distinct[low]
        low += 1
    return number, total


@compiled
def _rank_above(mean: int, place: int, distinct: Integers) -> int:
    """How many of the distinct values are at most *mean*, by steps of doubling size from *place*, where it was last."""
    low, high, step = place, place, 1
    if place < distinct.size and distinct[place] <= mean:
        while high < distinct.size and distinct[high] <= mean:
            low, high, step = high + 1, high + step, 2 * step
        high = min(high, distinct.size)
    else:
        while low > 0 and distinct[low - 1] > mean:
            high, low, step = low - 1, max(0, low - step), 2 * step
    while low < high:
        middle = (low + high) // 2
        if distinct[middle] <= mean:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _long_windows(
    values: Integers, ranks: Places, distinct: Integers, length: int, twice_grid: int, costs: Integers
) -> None:
    """The same as :func:`_short_windows`, with the cells of the window kept by rank.

    h = L·(sum of the cells above the mean) − S·(their number). One cell comes and one goes; the mean moves a little,
    and only the ranks that it passes are read again. A whole number is above S/L just if it is above ⌊S/L⌋.
    """
    bits = 1
    while distinct.size >> 4 * bits:
        bits += 1
    single = np.zeros(distinct.size, dtype=np.int32)
    groups = np.zeros((3, (distinct.size >> bits) + 1, 2), dtype=np.int64)
    total, place, number, above = 0, 0, 0, 0
    for end in range(values.size):
        for way in range(2):
            cell = end if way == 0 else end - length
            if cell < 0:
                break
            change = 1 - 2 * way
            rank, value = ranks[cell], change * values[cell]
            total += value
            single[rank] += change
            for level in range(1, 4):
                groups[level - 1, rank >> level * bits, 0] += change
                groups[level - 1, rank >> level * bits, 1] += value
            if rank >= place:
                number += change
                above += value
        if end < length - 1:
            continue
        new = _rank_above(total // length, place, distinct)
        if new > place:
            less, sum_less = _between(place, new, bits, distinct, single, groups)
            number, above = number - less, above - sum_less
        elif new < place:
            more, sum_more = _between(new, place, bits, distinct, single, groups)
            number, above = number + more, above + sum_more
        place = new
        costs[end] = _excess_on_grid(length * above - number * total, length, twice_grid)


@compiled
def _all_windows(
    values: Integers, ranks: Places, distinct: Integers, lengths: Integers, twice_grid: int, costs: Integers
) -> None:
    """A row of costs for each length; where no window of the length ends, they are left as they are."""
    for number in range(lengths.size):
        length = lengths[number]
        if length <= _SHORT or (length <= _MEDIUM and _VARIED * length < distinct.size):
            _short_windows(values, length, twice_grid, costs[number])
        else:
            _long_windows(values, ranks, distinct, length, twice_grid, costs[number])
