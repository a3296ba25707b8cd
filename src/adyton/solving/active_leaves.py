"""Which leaves of a tree are above zero where non-negative least squares are best; see :mod:`.nonnegative_tree`."""

from __future__ import annotations

import numpy as np

from adyton.arrays import Flags, Integers, Reals
from adyton.compiling import compiled


@compiled
def find_active(answers: Reals, precisions: Reals, children: Integers, top: int, active: Flags) -> None:
    """Which leaves are above zero at the optimum.

    Blocks keep a list of (price, step, leaf) by rising price: at that price the leaf rises above zero, and the slope of
    total(price) grows by the step. A leaf alone has an endless step at price 0, behind which nothing is ever reached.
    """
    blocks, count = answers.size, active.size
    inner = blocks - count
    active[:] = False
    prices, steps, names = np.zeros(count), np.full(count, np.inf), np.arange(count)
    other_prices, other_steps, other_names = np.empty(count), np.empty(count), np.empty(count, dtype=np.int64)
    first, stop = np.empty(blocks, dtype=np.int64), np.empty(blocks, dtype=np.int64)
    for block in range(blocks - 1, -1, -1):
        if block >= inner:
            first[block], stop[block] = block - inner, block - inner + 1
        else:
            runs, start = children[block + 1] - children[block], children[block]
            first[block] = first[start]
            lengths = stop[start : start + runs]  # overwritten: the children are done with
            begins = first[start : start + runs]
            swapped = False
            while runs > 1:
                if swapped:
                    merge_pairs(other_prices, other_steps, other_names, prices, steps, names, begins, lengths, runs)
                else:
                    merge_pairs(prices, steps, names, other_prices, other_steps, other_names, begins, lengths, runs)
                swapped = not swapped
                runs = (runs + 1) // 2
            stop[block] = lengths[0]
            if swapped:
                low, high = first[block], stop[block]
                prices[low:high] = other_prices[low:high]
                steps[low:high] = other_steps[low:high]
                names[low:high] = other_names[low:high]
        if block < top:
            decide(prices, steps, names, first[block], stop[block], answers[block], precisions[block], active)
        elif precisions[block] > 0:
            stop[block] = weigh(prices, steps, names, first[block], stop[block], answers[block], precisions[block])


@compiled
def merge_pairs(
    prices: Reals,
    steps: Reals,
    names: Integers,
    to_prices: Reals,
    to_steps: Reals,
    to_names: Integers,
    begins: Integers,
    ends: Integers,
    runs: int,
) -> None:
    """Merge neighbouring sorted runs, two at a time, into the other arrays."""
    for pair in range((runs + 1) // 2):
        left, left_end = begins[2 * pair], ends[2 * pair]
        right, right_end = (begins[2 * pair + 1], ends[2 * pair + 1]) if 2 * pair + 1 < runs else (0, 0)
        place = left
        begins[pair] = place
        while left < left_end and right < right_end:
            take_left = prices[left] <= prices[right]
            source = left if take_left else right
            to_prices[place], to_steps[place], to_names[place] = prices[source], steps[source], names[source]
            left += take_left
            right += not take_left
            place += 1
        while left < left_end:
            to_prices[place], to_steps[place], to_names[place] = prices[left], steps[left], names[left]
            left += 1
            place += 1
        while right < right_end:
            to_prices[place], to_steps[place], to_names[place] = prices[right], steps[right], names[right]
            right += 1
            place += 1
        ends[pair] = place


@compiled
def weigh(prices: Reals, steps: Reals, names: Integers, first: int, stop: int, answer: float, precision: float) -> int:
    """Account for the measurement of a block: price′ = price + precision·(total − answer). Returns the new end."""
    slope, total, before, place = 0.0, 0.0, 0.0, first
    for position in range(first, stop):
        price, step = prices[position], steps[position]
        if slope == np.inf:
            if step == np.inf:  # a second leaf that was not measured rises together with the first
                prices[place], steps[place], names[place] = prices[place - 1], 0.0, names[position]
                place += 1
            continue
        total += slope * (price - before) if slope > 0 else 0.0
        before = price
        damping = 1 + precision * slope
        slope += step
        prices[place] = price + precision * (total - answer)
        # slope′ = slope / (1 + precision·slope), so step′ = step / ((1 + precision·slope₀)(1 + precision·slope₁))
        if step == np.inf:
            steps[place] = 1 / (precision * damping)
        else:
            steps[place] = step / (damping * (1 + precision * slope))
        names[place] = names[position]
        place += 1
    return place


@compiled
def decide(
    prices: Reals,
    steps: Reals,
    names: Integers,
    first: int,
    stop: int,
    answer: float,
    precision: float,
    active: Flags,
) -> None:
    """At a block without parent the price is known: those leaves are above zero whose own price is below it."""
    slope, total, before = 0.0, 0.0, 0.0
    rising = True
    for position in range(first, stop):
        price, step = prices[position], steps[position]
        if slope == np.inf:
            active[names[position]] = rising and step == np.inf
            continue
        total += slope * (price - before) if slope > 0 else 0.0
        before = price
        slope += step
        if precision == np.inf:
            rising = rising and total < answer
        else:
            rising = rising and price + precision * (total - answer) < 0
        active[names[position]] = rising
