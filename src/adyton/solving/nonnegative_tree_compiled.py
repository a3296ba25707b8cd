"""The loops of non-negative least squares on a tree, compiled: first which leaves are above zero, then how far."""

from __future__ import annotations

import numpy as np

from adyton.arrays import Flags, Integers, Reals
from adyton.compiling import compiled


@compiled
def solve_trials(
    answers: Reals, precisions: Reals, children: Integers, sizes: Integers, top: int, leaves: Reals
) -> None:
    """One trial a row of *answers*; *precisions* has as many rows, or one for all. Writes the sums of the leaves.

    The children of block b are the blocks children[b] … children[b + 1] − 1; leaves come last and have none. The first
    *top* blocks have no parent.
    """
    active = np.empty(leaves.shape[1], dtype=np.bool_)
    for trial in range(answers.shape[0]):
        row = precisions[min(trial, precisions.shape[0] - 1)]
        find_active(answers[trial], row, children, top, active)
        fit_active(answers[trial], row, children, sizes, active, leaves[trial])


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


@compiled
def fit_active(
    answers: Reals, precisions: Reals, children: Integers, sizes: Integers, active: Flags, leaves: Reals
) -> None:
    """Least squares with the other leaves held at zero. Upwards total = offset + slope · price, downwards the prices.

    The leaves that were not measured take what is left of the block measured next above them, by their sizes.
    """
    blocks = answers.size
    inner = blocks - active.size
    offsets, slopes, loose = np.zeros(blocks), np.zeros(blocks), np.zeros(blocks)  # without the block's own measurement
    for block in range(blocks - 1, -1, -1):
        if block >= inner and active[block - inner]:
            slopes[block], loose[block] = np.inf, sizes[block - inner]
        elif block < inner:
            add_children(block, answers, precisions, children, offsets, slopes, loose)
    prices, densities = np.zeros(blocks), np.zeros(blocks)
    for block in range(blocks):
        answer, precision = answers[block], precisions[block]
        price, density = prices[block], densities[block]
        if precision > 0 and slopes[block] == np.inf:
            density = (answer + price / precision - offsets[block]) / loose[block]
            price = 0.0
        elif precision == np.inf:
            price = (answer - offsets[block]) / slopes[block] if slopes[block] > 0 else 0.0
        elif precision > 0:
            # price′ = price + precision · (total − answer) and total = offset + slope · price, solved for the price
            price = (price - precision * (offsets[block] - answer)) / (1 + precision * slopes[block])
        if block >= inner:
            leaves[block - inner] = max(0.0, density * loose[block])
        else:
            prices[children[block] : children[block + 1]] = price
            densities[children[block] : children[block + 1]] = density


@compiled
def add_children(
    block: int, answers: Reals, precisions: Reals, children: Integers, offsets: Reals, slopes: Reals, loose: Reals
) -> None:
    """total(price) of a block is the sum of its children's, each with its own measurement."""
    for child in range(children[block], children[block + 1]):
        precision, slope = precisions[child], slopes[child]
        if precision == 0:
            offsets[block] += offsets[child]
            slopes[block] += slope
            loose[block] += loose[child]
        elif slope == np.inf:
            offsets[block] += answers[child]
            slopes[block] += 1 / precision
        else:
            damping = 1 + precision * slope
            offsets[block] += (offsets[child] + slope * precision * answers[child]) / damping
            slopes[block] += slope / damping
