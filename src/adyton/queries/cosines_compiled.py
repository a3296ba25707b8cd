"""The sums of products behind :mod:`.cosines`, compiled: for int32, int64 and double-precision values alike.

Products of 32-bit numbers are taken in 64 bits. The caller has checked that no sum can wrap around.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from adyton.arrays import Places
from adyton.compiling import compiled

Values = npt.NDArray[Any]


@compiled
def along_the_table(table: Values, values: Values, places: Places, sums: Values) -> None:
    """sums[t, r] = Σ_a values[t, a]·table[a + places[r]]."""
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
def around_the_circle(table: Values, values: Values, factors: Places, first: int, stride: int, sums: Values) -> None:
    """sums[t, p] = Σ_q values[t, q]·table[factors[p]·(first + stride·q) modulo the length of the table]."""
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
