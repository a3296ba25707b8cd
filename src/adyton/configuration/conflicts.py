"""Candidates that exclude one another in pairs, taken greedily by fixed lines a − ρ·b."""

from __future__ import annotations

import math

import numpy as np

from adyton.arrays import Flags, Places, Reals
from adyton.compiling import compiled
from adyton.configuration.exact_order import overtaken_from, put_in_order
from adyton.configuration.sweep import Reached


def neighbours_of(count: int, pairs: Places) -> tuple[Places, Places]:
    """For each of *count* candidates those that it excludes: the start of its list, and all lists one after another.

    *pairs* may name a pair twice or in both orders; pairs outside, and of a candidate with itself, are left out.
    """
    inside = (pairs >= 0).all(axis=1) & (pairs < count).all(axis=1) & (pairs[:, 0] != pairs[:, 1])
    one, other = pairs[inside].T
    both = np.sort(np.concatenate([one * count + other, other * count + one]))
    both = both[np.diff(both, prepend=-1) > 0]
    starts = np.searchsorted(both, np.arange(count + 1, dtype=np.int64) * count)
    return starts.astype(np.int64), both % max(count, 1)


def in_conflict(a: Reals, b: Reals, starts: Places, neighbours: Places, gains: Reals) -> Reached:
    """The sum of gains that is reached when the highest line is taken that no taken one excludes, again and again."""
    order = np.argsort(-a, kind="stable").astype(np.int64)
    taken = np.zeros(len(a), dtype=np.bool_)

    def one_run(parameter: float) -> tuple[float, float]:
        put_in_order(order, a, b, parameter)
        taken[:] = False
        until = take_in_order(order, a, b, starts, neighbours, taken)
        return math.fsum(gains[taken]), until

    return one_run


@compiled
def take_in_order(order: Places, a: Reals, b: Reals, starts: Places, neighbours: Places, taken: Flags) -> float:
    """Mark what is taken; say until which greater parameter the same is taken.

    Let W be what is taken, and let no two of W exclude each other. Greedy choice by any order takes W if and only if
    every other candidate is excluded by one of W that stands before it (by induction along the order). So a candidate
    stays out at least until it has overtaken the last of those that stand before it now.
    """
    until = math.inf
    for candidate in order:
        free, excluded_until = True, -math.inf
        for place in range(starts[candidate], starts[candidate + 1]):
            other = neighbours[place]
            if taken[other]:  # it stands before the candidate, as all that are taken by now
                free = False
                excluded_until = max(excluded_until, overtaken_from(other, candidate, a, b))
                if excluded_until >= until:
                    break
        if free:
            taken[candidate] = True
        else:
            until = min(until, excluded_until)
    return until
