"""The recursion of :mod:`adyton.kernel.mechanisms.bucket_weights`, compiled."""

from __future__ import annotations

import math
from typing import Any

from adyton.compiling import compiled


@compiled
def add_up(
    places: Any,
    sums: Any,
    squares: Any,
    grid: int,
    binary_rate: float,
    longest: int,
    powers: Any,
    mantissas: Any,
    exponents: Any,
) -> None:
    """Fill the table: Z_j(end) = Σ_start Z_{j−1}(start)·2^{−binary_rate·cost}, in row *end* and column j.

    At first it holds 1 for no steps in no buckets, and elsewhere 0 with the lowest exponent. Only the states from which
    the rest of the steps can still be cut are needed. ``powers`` holds 1, 1/2, 1/4, … and at last 0. Mantissas are
    from 1/2 to 1. Exponents are settled first, so that whole rows are added without asking about each number.
    """
    steps, buckets = mantissas.shape[0] - 1, mantissas.shape[1]
    for end in range(1, steps):
        rest = steps - end
        fewest = max(1, buckets - rest)
        most = min(end, buckets - (rest + longest - 1) // longest)
        for adding in range(2):
            for start in range(max(0, end - longest), end):
                first = max(fewest, (start + longest - 1) // longest + 1)
                last = min(most, start + 1)
                if first > last:
                    continue
                size, total = places[end] - places[start], sums[end] - sums[start]
                exponent = binary_rate * (grid * (squares[end] - squares[start]) - grid * total * total // size)
                halvings = int(exponent)
                tops, before = exponents[end, first : last + 1], exponents[start, first - 1 : last]
                if adding:
                    factor = 2.0 ** (halvings - exponent)
                    row, earlier = mantissas[end, first : last + 1], mantissas[start, first - 1 : last]
                    add_row(row, tops, earlier, before, factor, halvings, powers)
                else:
                    raise_tops(tops, before, halvings)
        for number in range(fewest, most + 1):
            mantissa, shift = math.frexp(mantissas[end, number])
            mantissas[end, number] = mantissa
            exponents[end, number] += shift


@compiled
def raise_tops(tops: Any, before: Any, halvings: int) -> None:
    """The larger of the exponents *tops* and *before* − halvings, in place."""
    kind = tops.dtype.type
    step = kind(halvings)
    for place in range(len(tops)):
        tops[place] = max(tops[place], kind(before[place] - step))


@compiled
def add_row(row: Any, tops: Any, earlier: Any, before: Any, factor: float, halvings: int, powers: Any) -> None:
    """Add *earlier*·2^before·factor·2^(−halvings), number by number, to row·2^tops.

    *earlier* and the factor are from 1/2 to 1: a term that is 2⁶³ times smaller than the largest is less than a
    rounding of the sum, and left out.
    """
    kind = tops.dtype.type
    step, smallest = kind(halvings), kind(len(powers) - 1)
    for place in range(len(row)):
        gap = min(smallest, kind(tops[place] + step - before[place]))
        row[place] += earlier[place] * factor * powers[gap]
