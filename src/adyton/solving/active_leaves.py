"""Which leaves of a tree are above zero where non-negative least squares are best; see :mod:`.nonnegative_tree`.

Blocks keep a list of corners by rising price, *corners[0]* the prices and *corners[1]* the steps, with the *names* of
their leaves: at that price the leaf rises above zero, and the slope of total(price) grows by the step. A leaf alone has
an endless step at price 0, behind which nothing is ever reached.
"""

from __future__ import annotations

import numpy as np

from adyton.arrays import Flags, Places, Reals
from adyton.compiling import compiled


def active_leaves(answers: Reals, precisions: Reals, offsets: Places, top: int, leaves: int) -> Flags:
    """Which leaves are above zero at the optimum; the first *top* blocks have no parent, the last *leaves* no child."""
    corners, names = np.zeros((2, 2, leaves)), np.empty((2, leaves), dtype=np.int64)
    corners[0, 1], names[0] = np.inf, np.arange(leaves)
    active = np.zeros(leaves, dtype=np.bool_)
    climb(answers, precisions, offsets, top, corners, names, np.empty((2, answers.size), dtype=np.int64), active)
    return active


@compiled
def climb(
    answers: Reals,
    precisions: Reals,
    offsets: Places,
    top: int,
    corners: Reals,
    names: Places,
    spans: Places,
    active: Flags,
) -> None:
    """Merge the corners of children and account for measurements, from the leaves to the roots.

    *corners* and *names* hold two lists, one to merge into from the other; *spans* where a block's corners begin and
    end.
    """
    inner = offsets.size - 1
    for block in range(answers.size - 1, -1, -1):
        if block >= inner:
            spans[0, block], spans[1, block] = block - inner, block - inner + 1
        else:
            runs, start = offsets[block + 1] - offsets[block], offsets[block]
            parts = spans[:, start : start + runs]  # overwritten: the children are done with
            low, full = parts[0, 0], 0
            while runs > 1:
                merge_pairs(corners[full], names[full], corners[1 - full], names[1 - full], parts, runs)
                full = 1 - full
                runs = (runs + 1) // 2
            high = parts[1, 0]
            spans[0, block], spans[1, block] = low, high
            if full == 1:
                for place in range(low, high):
                    corners[0, 0, place], corners[0, 1, place] = corners[1, 0, place], corners[1, 1, place]
                    names[0, place] = names[1, place]
        first, stop = spans[0, block], spans[1, block]
        if block < top:
            decide(corners[0], names[0], first, stop, answers[block], precisions[block], active)
        elif precisions[block] > 0:
            spans[1, block] = weigh_in(corners[0], names[0], first, stop, answers[block], precisions[block])


@compiled
def merge_pairs(corners: Reals, names: Places, to_corners: Reals, to_names: Places, spans: Places, runs: int) -> None:
    """Merge neighbouring sorted runs, two at a time, into the other list."""
    for pair in range((runs + 1) // 2):
        left, left_end = spans[0, 2 * pair], spans[1, 2 * pair]
        right, right_end = 0, 0
        if 2 * pair + 1 < runs:
            right, right_end = spans[0, 2 * pair + 1], spans[1, 2 * pair + 1]
        place = left
        spans[0, pair] = place
        while left < left_end or right < right_end:
            take_left = right == right_end or (left < left_end and corners[0, left] <= corners[0, right])
            source = left if take_left else right
            to_corners[0, place], to_corners[1, place] = corners[0, source], corners[1, source]
            to_names[place] = names[source]
            left += take_left
            right += not take_left
            place += 1
        spans[1, pair] = place


@compiled
def weigh_in(corners: Reals, names: Places, first: int, stop: int, answer: float, precision: float) -> int:
    """Account for the measurement of a block: price′ = price + precision·(total − answer). Returns the new end."""
    slope, total, before, place = 0.0, 0.0, 0.0, first
    for position in range(first, stop):
        price, step = corners[0, position], corners[1, position]
        if slope == np.inf:
            if step == np.inf:  # a second leaf that was not measured rises together with the first
                corners[0, place], corners[1, place], names[place] = corners[0, place - 1], 0.0, names[position]
                place += 1
            continue
        total += slope * (price - before) if slope > 0 else 0.0
        before = price
        damping = 1 + precision * slope
        slope += step
        corners[0, place] = price + precision * (total - answer)
        # slope′ = slope / (1 + precision·slope), so step′ = step / ((1 + precision·slope₀)(1 + precision·slope₁))
        if step == np.inf:
            corners[1, place] = 1 / (precision * damping)
        else:
            corners[1, place] = step / (damping * (1 + precision * slope))
        names[place] = names[position]
        place += 1
    return place


@compiled
def decide(
    corners: Reals, names: Places, first: int, stop: int, answer: float, precision: float, active: Flags
) -> None:
    """At a block without parent the price is known: those leaves are above zero whose own price is below it."""
    slope, total, before = 0.0, 0.0, 0.0
    rising = True
    for position in range(first, stop):
        price, step = corners[0, position], corners[1, position]
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
