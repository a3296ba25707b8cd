"""The sums of products behind :mod:`.cosines`: of int32, int64 and double-precision numbers alike.

Products of 32-bit numbers are taken in 64 bits. The caller has checked that no sum can wrap around.
"""

from __future__ import annotations

import numpy as np

from adyton.arrays import Array, Places
from adyton.compiling import compiled
from adyton.whole import largest

_SMALL = 1 << 31


def sums_along(table: Array, values: Array, places: Places) -> Array:
    """Σ_a values[t, a]·table[a + places[r]] for every row t of values and every r."""
    sums = np.zeros((len(values), places.size), dtype=values.dtype)
    _along_the_table(*_alike(table, values), places, sums)
    return sums


def sums_around(table: Array, values: Array, factors: Places, first: int, stride: int = 2) -> Array:
    """Σ_q values[t, q]·table[factors[p]·(first + stride·q) modulo the length of the table] for every t and p."""
    sums = np.zeros((len(values), factors.size), dtype=values.dtype)
    _around_the_circle(*_alike(table, values), factors, first, stride, sums)
    return sums


def _alike(table: Array, values: Array) -> tuple[Array, Array]:
    """Both in one number type, of 32 bits where they fit: products of those are fast, and made in 64 bits."""
    if values.dtype != np.float64 and largest(values) < _SMALL and largest(table) < _SMALL:
        return np.ascontiguousarray(table, dtype=np.int32), np.ascontiguousarray(values, dtype=np.int32)
    return np.ascontiguousarray(table, dtype=values.dtype), np.ascontiguousarray(values)


@compiled
def _along_the_table(table: Array, values: Array, places: Places, sums: Array) -> None:
    length = values.shape[1]
    for trial in range(values.shape[0]):
        own = values[trial]
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
