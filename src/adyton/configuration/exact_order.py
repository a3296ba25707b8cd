"""The exact order of lines a − ρ·b at a parameter ρ, and the first parameter at which two of them change places.

Numbers a and b are doubles on a grid on which differences are exact (:func:`on_grid`, :func:`logarithms`); ρ is any
double. Then nothing below is approximate.

*Sign of a − ρ·b.* Let p be the double nearest to ρ·b. Rounding keeps order, and a rounds to itself: so a > p tells
a > ρ·b, and a < p tells a < ρ·b. Only where a = p does the error of p decide, and that is a double which Dekker's
product gives exactly. Where a or b is 0 the signs decide, so that no product is too small for this: else |a| ≥ 2⁻²⁰⁰.

*Ties.* Equal lines stand in the order of their numbers. So at every ρ there is one order, and it is transitive.

*Change of places.* If i stands before j at ρ, then j comes before i at some greater parameter only if b_i > b_j, at
q = (a_i − a_j)/(b_i − b_j), and stays there. The quotient in doubles, q′, is q correctly rounded: a double below q′ is
below q, a double above q′ is above q. So the first *double* at which j stands before i is q′ or the next one, and the
exact order at q′ says which. A sweep that goes on at the first lattice point from there misses nothing: points are
doubles. And it goes on: at the point where it stands, j does not stand before i yet.
"""

from __future__ import annotations

import math

import numpy as np

from adyton.arrays import Flags, Places, Reals
from adyton.compiling import compiled

LARGEST = 2.0**200
"""Numbers of instances are clamped to this: sums and products of them are finite."""
_UNIT = 2.0**-40
"""Logarithms are multiples of this; they are below 2¹⁰."""


def clamped(values: Reals) -> Reals:
    """Numbers between 0 and 2²⁰⁰; what is no number counts as 0.

    >>> clamped(np.array([3.0, -1.0, math.nan]))
    array([3., 0., 0.])
    """
    return np.clip(np.nan_to_num(values, nan=0.0), 0.0, LARGEST)


def on_grid(values: Reals, largest: float) -> Reals:
    """Finite values rounded to multiples of 2⁻⁵¹ of the power of two above *largest*: sums and differences are exact.

    >>> on_grid(np.array([1 / 3, 7.6]), 2.0**49)
    array([0.5, 7.5])
    """
    if not 0 < largest < math.inf:
        return np.asarray(values, dtype=np.float64)
    unit = max(math.ldexp(1.0, math.frexp(largest)[1] - 51), 1 / LARGEST)
    return np.asarray(np.rint(values / unit) * unit)


def logarithms(values: Reals) -> Reals:
    """Logarithms of positive numbers, rounded to multiples of 2⁻⁴⁰.

    One at a time: vector loops may round a number differently at different places of an array.
    """
    return np.array([round(math.log(value) / _UNIT) * _UNIT for value in values.tolist()], dtype=np.float64)


@compiled
def sign(a: float, b: float, parameter: float) -> int:
    """The sign of a − parameter·b: 1, 0 or −1, exactly."""
    if a == 0.0 or b == 0.0 or parameter == 0.0:
        product = b if parameter > 0.0 else -b
        if b == 0.0 or parameter == 0.0:
            product = 0.0
    else:
        product = parameter * b
    if a != product:
        return 1 if a > product else -1
    if a == 0.0:
        return 0
    split = 134217729.0 * parameter  # 2²⁷ + 1: each factor is cut into halves of 26 bits, whose products are exact
    high = split - (split - parameter)
    low = parameter - high
    split = 134217729.0 * b
    upper = split - (split - b)
    lower = b - upper
    error = ((high * upper - product) + high * lower + low * upper) + low * lower
    if error == 0.0:
        return 0
    return -1 if error > 0.0 else 1


@compiled
def lost_from(a: float, b: float, keeps_ties: bool) -> float:
    """The first double at which a − ρ·b is below 0, or also at 0 unless ties are kept; it is not yet so before.

    Infinity if it never is.
    """
    if not b > 0.0:
        return math.inf
    turn = a / b
    if turn == math.inf:
        return math.inf
    there = sign(a, b, turn)
    if there < 0 or (there == 0 and not keeps_ties):
        return turn
    return float(np.nextafter(turn, math.inf))


@compiled
def comes_before(one: int, other: int, a: Reals, b: Reals, parameter: float) -> bool:
    """Whether candidate *one* stands before *other*: its line is higher, or as high and its number smaller."""
    there = sign(a[one] - a[other], b[one] - b[other], parameter)
    return there > 0 or (there == 0 and one < other)


@compiled
def overtaken_from(first: int, second: int, a: Reals, b: Reals) -> float:
    """The first double at which *second* stands before *first*, which now stands before it; infinity if never."""
    return lost_from(a[first] - a[second], b[first] - b[second], first < second)


@compiled
def put_in_order(order: Places, a: Reals, b: Reals, parameter: float) -> None:
    """Sort the numbers of candidates, the highest line first. Quick where they are nearly sorted already."""
    for place in range(1, len(order)):
        moved = order[place]
        gap = place
        while gap > 0 and comes_before(moved, order[gap - 1], a, b, parameter):
            order[gap] = order[gap - 1]
            gap -= 1
        order[gap] = moved


@compiled
def first_of(a: Reals, b: Reals, still_open: Flags, parameter: float) -> int:
    """The open candidate that stands before all others; −1 if none is open."""
    best = -1
    for candidate in range(len(a)):
        if still_open[candidate] and (best < 0 or comes_before(candidate, best, a, b, parameter)):
            best = candidate
    return best


@compiled
def first_is_overtaken(best: int, a: Reals, b: Reals, still_open: Flags) -> float:
    """The first double at which an open candidate stands before the one that is first now; infinity if never."""
    soonest = math.inf
    for candidate in range(len(a)):
        if still_open[candidate] and b[candidate] < b[best]:
            soonest = min(soonest, overtaken_from(best, candidate, a, b))
    return soonest
