"""Orders of the cells of a domain, along which a box of cells becomes an interval, or nearly so."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from adyton.arrays import Places
from adyton.errors import BadInput
from adyton.whole import as_shape


def hilbert_order(domain: int | Sequence[int]) -> Places:
    """The cells of a two-dimensional domain along a Hilbert curve, on which neighbours stay neighbours.

    The curve of the smallest square of side 2^k that holds the domain is drawn, and cells outside are left out.

    >>> hilbert_order((2, 2)).tolist()
    [0, 1, 3, 2]
    """
    sides = as_shape(domain)
    if len(sides) != 2:
        raise BadInput(f"a Hilbert curve needs a domain of two dimensions, given the shape {sides}.")
    row, column = (axis.reshape(-1) for axis in np.indices(sides))
    side = 1 << (max(sides) - 1).bit_length()
    distance = np.zeros(row.size, dtype=np.int64)
    x, y = row.copy(), column.copy()
    half = side // 2
    while half:
        right, upper = (x & half) > 0, (y & half) > 0
        distance += half * half * ((3 * right) ^ upper)
        flip = ~upper & right
        x, y = np.where(flip, side - 1 - x, x), np.where(flip, side - 1 - y, y)
        x, y = np.where(~upper, y, x), np.where(~upper, x, y)
        half //= 2
    return np.argsort(distance, kind="stable")


def snake_order(domain: Sequence[int], axis: int) -> Places:
    """The cells of a two-dimensional domain line by line along an axis, to and fro, so that each step is one cell.

    >>> snake_order((2, 3), 0).tolist(), snake_order((2, 3), 1).tolist()
    ([0, 3, 4, 1, 2, 5], [0, 1, 2, 5, 4, 3])
    """
    sides = as_shape(tuple(domain))
    if len(sides) != 2 or axis not in (0, 1):
        raise BadInput(f"to and fro goes along axis 0 or 1 of two dimensions, given axis {axis} of {sides}.")
    table = np.arange(math.prod(sides)).reshape(sides)
    lines = (table.T if axis == 0 else table).copy()
    lines[1::2] = lines[1::2, ::-1]
    return lines.reshape(-1)
