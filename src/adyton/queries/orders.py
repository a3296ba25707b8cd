"""Orders of the cells of a domain, along which a box of cells becomes an interval, or nearly so."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from adyton.arrays import Places
from adyton.errors import BadInput
from adyton.whole import as_shape, whole


def block_tree(domain: int | Sequence[int], branching: int = 2) -> tuple[Places, list[Places]]:
    """Cut every axis into *branching* nearly equal parts, and each part again, down to cells.

    Returns the order of the cells (the n-dimensional Morton order, for powers of two) in which every block is an
    interval, and the boundaries of the blocks of each level, from the whole domain to the cells.

    >>> order, levels = block_tree((2, 4))
    >>> order.tolist(), [level.tolist() for level in levels]
    ([0, 1, 4, 5, 2, 3, 6, 7], [[0, 8], [0, 4, 8], [0, 1, 2, 3, 4, 5, 6, 7, 8]])
    """
    sides = as_shape(domain)
    branching = whole(branching, "branching", 2)
    codes = [_axis_codes(side, branching) for side in sides]
    depth = max(code.shape[0] for code in codes)
    keys = []
    for level in range(depth):
        grid: Places = np.zeros((1,) * len(sides), dtype=np.int64)
        for axis, code in enumerate(codes):
            missing = depth - code.shape[0]
            digits = code[level - missing] if level >= missing else np.zeros(sides[axis], dtype=np.int64)
            shape = [-1 if other == axis else 1 for other in range(len(sides))]
            grid = grid * branching + digits.reshape(shape)
        keys.append(np.broadcast_to(grid, sides).reshape(-1))
    cells = math.prod(sides)
    order = np.lexsort(keys[::-1]) if keys else np.arange(cells)
    changed = np.zeros(cells, dtype=bool)
    changed[0] = True
    levels = [np.array([0, cells])]
    for key in keys:
        ordered = key[order]
        changed[1:] |= ordered[1:] != ordered[:-1]
        boundaries = np.append(np.flatnonzero(changed), cells)
        if boundaries.size > levels[-1].size:
            levels.append(boundaries)
    return order, levels


def _axis_codes(side: int, branching: int) -> Places:
    """For each halving of an axis, from the first, which part each cell falls into (levels × cells)."""
    depth = 0
    while branching**depth < side:
        depth += 1
    place = np.arange(side) * branching**depth // side if depth else np.zeros(side, dtype=np.int64)
    powers = branching ** np.arange(depth - 1, -1, -1)
    return np.asarray(place // powers[:, None] % branching)


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
