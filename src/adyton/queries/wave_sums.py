"""The sums of products behind :mod:`.cosines`: of int32, int64 and double-precision numbers alike.

Products of 32-bit numbers are taken in 64 bits. The caller has checked that no sum can wrap around.
"""

from __future__ import annotations

import numpy as np

from adyton.arrays import Array, Places
from adyton.compiling import compiled
from adyton.whole import largest

_SMALL = 1 << 31
_SHORTEST = 256
"""Sums of fewer products are not taken apart any further."""


def sums_along(table: Array, values: Array, places: Places) -> Array:
    """Σ_a values[t, a]·table[a + places[r]] for every row t of values and every r."""
    sums = np.zeros((len(values), places.size), dtype=values.dtype)
    _along_the_table(*_alike(table[None], values), places, sums)
    return sums


def table_in_parts(table: Array) -> Array:
    """A table of twice as many numbers as there are values, for :func:`all_sums_along`: three parts out of each.

    With A, B, C the sums along the quarters 0 and 1, 1 and 2, 2 and 3 of a table, and x, y the halves of the values,
    the sums are (A·x + B·y, B·x + C·y) = (P + (A − B)·x, P + (C − B)·y) for P = B·(x + y): three products of half the
    length in place of four (Karatsuba and Ofman, 1962), and so on down to short ones.
    """
    parts = table[None].astype(np.int64)
    while parts.shape[1] > 2 * _SHORTEST and parts.shape[1] % 4 == 0 and largest(parts) < _SMALL // 2:
        half = parts.shape[1] // 2
        middle = parts[:, half // 2 : half // 2 + half]
        parts = np.stack([middle, parts[:, :half] - middle, parts[:, half:] - middle], axis=1).reshape(-1, half)
    return parts.astype(np.int32) if largest(parts) < _SMALL else parts


def all_sums_along(parts: Array, values: Array) -> Array:
    """Σ_a values[t, a]·table[a + c] for every row t of values and every c below their length, of whole numbers.

    What wraps around on the way does no harm: the sums themselves fit.
    """
    length, width = values.shape[1], parts.shape[1] // 2
    pieces: Array = values
    while pieces.shape[1] > width:
        half = pieces.shape[1] // 2
        left, right = pieces[:, :half], pieces[:, half:]
        three = np.empty((len(pieces), 3, half), dtype=pieces.dtype)
        np.add(left, right, out=three[:, 0])
        three[:, 1], three[:, 2] = left, right
        pieces = np.reshape(three, (-1, half))
    sums: Array = np.zeros(pieces.shape, dtype=values.dtype)
    _along_the_table(*_alike(parts, pieces), np.arange(width), sums)
    while sums.shape[1] < length:
        half = sums.shape[1]
        three = sums.reshape(-1, 3, half)
        sums = (three[:, :1] + three[:, 1:]).reshape(-1, 2 * half)
    return sums


def sums_around(table: Array, values: Array, factors: Places, first: int, stride: int = 2) -> Array:
    """Σ_q values[t, q]·table[factors[p]·(first + stride·q) modulo the length of the table] for every t and p."""
    sums = np.zeros((len(values), factors.size), dtype=values.dtype)
    _around_the_circle(*_alike(table, values), factors, first, stride, sums)
    return sums


def _alike(table: Array, values: Array) -> tuple[Array, Array]:
    """Both in one number type, of 32 bits where they fit: products of those are fast, and made in 64 bits."""
    if values.dtype != np.float64 and largest(values) < _SMALL and (table.dtype == np.int32 or largest(table) < _SMALL):
        return np.ascontiguousarray(table, dtype=np.int32), np.ascontiguousarray(values, dtype=np.int32)
    return np.ascontiguousarray(table, dtype=values.dtype), np.ascontiguousarray(values)


@compiled
def _along_the_table(tables: Array, values: Array, places: Places, sums: Array) -> None:
    length = values.shape[1]
    for trial in range(values.shape[0]):
        own, table = values[trial], tables[trial % tables.shape[0]]
        for row in range(places.size):
            part = table[places[row] : places[row] + length]
            total = sums[trial, row]
            for a in range(length):
                total += own[a] * part[a]
            sums[trial, row] = total


@compiled
def _around_the_circle(table: Array, values: Array, factors: Places, first: int, stride: int, sums: Array) -> None:
    period = table.size
    for trial in range(values.shape[0]):
        own = values[trial]
        for place in range(factors.size):
            angle, step = (factors[place] * first) % period, (stride * factors[place]) % period
            total = sums[trial, place]
            for q in range(own.size):
                total += own[q] * table[angle]
                angle += step
                if angle >= period:
                    angle -= period
            sums[trial, place] = total
