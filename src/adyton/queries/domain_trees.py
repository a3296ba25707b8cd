"""Trees of blocks and orders of cells, for planning and solving: trees that cut the axes of a domain repeatedly,
orders of cells along a curve, trees above given blocks, and the positions of a tree's blocks.

Measuring needs nothing from here: the constructors of :mod:`adyton.queries.hierarchy` check the queries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from adyton.arrays import Places
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.queries.hierarchy import BlockTree
from adyton.queries.partition import Partition
from adyton.whole import as_shape, halvings, whole


def boxes_in_boxes(domain: int | Sequence[int], branching: int = 2) -> BlockTree:
    """Cut every axis into *branching* nearly equal parts, and each part again, down to cells.

    For sides that are powers of two, the order of the cells is the n-dimensional Morton order.

    >>> tree = boxes_in_boxes((2, 4))
    >>> tree.order.tolist(), [level.tolist() for level in tree.boundaries]
    ([0, 1, 4, 5, 2, 3, 6, 7], [[0, 8], [0, 4, 8], [0, 1, 2, 3, 4, 5, 6, 7, 8]])
    """
    return _boxes_in_boxes(as_shape(domain), whole(branching, "branching", 2))


@lru_cache(maxsize=32)
def _boxes_in_boxes(sides: tuple[int, ...], branching: int) -> BlockTree:
    if len(sides) == 1:
        return BlockTree(sides, _intervals_in_intervals(sides[0], branching))
    digits = [_digits(side, branching) for side in sides]
    depth = max(len(own) for own in digits)
    keys = []
    for level in range(depth):
        key: Places = np.zeros((1,) * len(sides), dtype=np.int64)
        for axis, own in enumerate(digits):
            missing = depth - len(own)
            digit = own[level - missing] if level >= missing else np.zeros(sides[axis], dtype=np.int64)
            key = key * branching + _along(digit, axis, len(sides))
        keys.append(np.broadcast_to(key, sides).reshape(-1))
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
    return BlockTree(sides, levels, order)


def _intervals_in_intervals(cells: int, branching: int) -> list[Places]:
    """The boundaries of each level on a line: block q of p begins at the first cell i with i·p ≥ q·cells."""
    levels, parts = [], 1
    while parts < cells:
        levels.append(-(-np.arange(parts + 1) * cells // parts))
        parts *= branching
    return [*levels, np.arange(cells + 1)]


def halved_boxes(domain: int | Sequence[int]) -> BlockTree:
    """The boxes of :func:`boxes_in_boxes`, halved along one axis at a time, in the order of :func:`halving_axes`.

    >>> tree = halved_boxes((2, 3))
    >>> tree.order.tolist(), [level.tolist() for level in tree.boundaries]
    ([0, 1, 3, 4, 2, 5], [[0, 6], [0, 4, 6], [0, 2, 4, 5, 6], [0, 1, 2, 3, 4, 5, 6]])
    """
    return _halved_boxes(as_shape(domain))


@lru_cache(maxsize=16)
def _halved_boxes(sides: tuple[int, ...]) -> BlockTree:
    digits = [iter(_digits(side, 2)[::-1]) for side in sides]
    codes: Places = np.zeros(sides, dtype=np.int64)
    axes = halving_axes(sides)
    for level, axis in enumerate(axes):
        codes = codes | _along(next(digits[axis]) << level, axis, len(sides))
    flat = codes.reshape(-1)
    order = np.argsort(flat)
    levels = [np.flatnonzero(np.diff(flat[order] >> level, prepend=-1)) for level in range(len(axes), -1, -1)]
    return BlockTree(sides, [np.append(level, flat.size) for level in levels], None if len(sides) == 1 else order)


def halving_axes(domain: tuple[int, ...]) -> tuple[int, ...]:
    """The axis along which the blocks of each level of :func:`halved_boxes` are halves, from the cells upwards.

    >>> halving_axes((2, 8))
    (1, 0, 1, 1)
    """
    depths = [halvings(side) for side in domain]
    axes = range(len(domain) - 1, -1, -1)
    return tuple(axis for done in range(max(depths)) for axis in axes if depths[axis] > done)


def _digits(side: int, branching: int) -> Places:
    """For each cut of an axis, starting with the first, the part that each cell falls into (cuts × cells)."""
    depth = 0
    while branching**depth < side:
        depth += 1
    place = np.arange(side) * branching**depth // side if depth else np.zeros(side, dtype=np.int64)
    powers = branching ** np.arange(depth - 1, -1, -1)
    return np.asarray(place // powers[:, None] % branching)


def _along(values: Places, axis: int, ndim: int) -> Places:
    """Values along one axis, to be broadcast over the others."""
    return values.reshape([-1 if other == axis else 1 for other in range(ndim)])


def hilbert_order(domain: int | Sequence[int]) -> Places:
    """The cells of a two-dimensional domain along a Hilbert curve, which keeps neighbouring cells close.

    The curve is that of the smallest square of side 2^k that contains the domain, without the cells outside.

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


@lru_cache(maxsize=16)
def curve(domain: tuple[int, ...]) -> Places | None:
    """The order of the cells along a Hilbert curve; None for a line, whose cells are already in order."""
    return None if len(domain) == 1 else hilbert_order(domain)


@lru_cache(maxsize=16)
def along_curve(domain: tuple[int, ...]) -> Partition:
    """Each cell as its own group, numbered along the curve: reducing by it puts the cells in order."""
    return Partition(np.argsort(hilbert_order(domain)))


def snake_order(domain: Sequence[int], axis: int) -> Places:
    """The cells of a two-dimensional domain line by line along an axis, back and forth, so that each step is one cell.

    >>> snake_order((2, 3), 0).tolist(), snake_order((2, 3), 1).tolist()
    ([0, 3, 4, 1, 2, 5], [0, 1, 2, 5, 4, 3])
    """
    sides = as_shape(tuple(domain))
    if len(sides) != 2 or axis not in (0, 1):
        raise BadInput(f"a back-and-forth order needs axis 0 or 1 of two dimensions, given axis {axis} of {sides}.")
    table = np.arange(math.prod(sides)).reshape(sides)
    lines = (table.T if axis == 0 else table).copy()
    lines[1::2] = lines[1::2, ::-1]
    return lines.reshape(-1)


def tree_of_halves(cells: int) -> BlockTree:
    """Blocks of … 8, 4, 2 and 1 cells below the whole domain; the last block of each level ends with the domain."""
    return _halves(whole(cells, "cells", 1))


@lru_cache(maxsize=16)
def _halves(cells: int) -> BlockTree:
    return BlockTree.of_sizes(cells, [1 << level for level in range(halvings(cells), -1, -1)])


def tree_above(domain: int | Sequence[int], leaves: npt.ArrayLike, order: npt.ArrayLike | None = None) -> BlockTree:
    """A balanced binary tree above blocks with these boundaries: leaf i is in block ⌊i·2^d/leaves⌋ at depth d.

    >>> tree_above(5, [0, 3, 4, 5]).boundaries
    (array([0, 5]), array([0, 4, 5]), array([0, 3, 4, 5]))
    """
    finest = BlockTree(domain, [leaves], order)
    (bounds,), count = finest.boundaries, finest.blocks
    firsts = [-(-np.arange((1 << depth) + 1) * count >> depth) for depth in range((count - 1).bit_length())]
    children = [*(2 * np.arange(first.size) for first in firsts[:-1]), *firsts[-1:], bounds]
    return _fitting(finest, [*(bounds[first] for first in firsts), bounds], children)


def from_root_to_cells(tree: BlockTree) -> BlockTree:
    """The same tree with the whole domain as its first level, and the cells as its last."""
    levels, children = list(tree.boundaries), list(tree.children)
    if levels[0].size > 2:
        children.insert(0, np.array([0, levels[0].size - 1]))
        levels.insert(0, np.array([0, tree.cells]))
    if levels[-1].size - 1 < tree.cells:
        levels.append(np.arange(tree.cells + 1))
        children.append(levels[-1])
    return _fitting(tree, levels, children)


def _fitting(tree: BlockTree, boundaries: Sequence[Places], children: Sequence[Places]) -> BlockTree:
    """A tree with other levels on the same cells; the levels are known to be nested and are not checked again."""
    other: BlockTree = object.__new__(BlockTree)
    object.__setattr__(other, "domain", tree.domain)
    other._keep(tuple(boundaries), tree.order, tuple(children))
    return other


def layout(tree: BlockTree) -> Layout:
    """The positions of a tree's blocks, cached outside the tree, so that measured queries hold no further fields."""
    if tree not in _LAYOUTS:
        _LAYOUTS[tree] = Layout(tree.boundaries, tree.children, tree.level_starts)
    return _LAYOUTS[tree]


_LAYOUTS: WeakKeyDictionary[BlockTree, Layout] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Layout:
    """Properties of every block that follow from the boundaries of the levels, computed on first use.

    >>> layout(tree_of_halves(4)).sizes.tolist()
    [4, 2, 2, 1, 1, 1, 1]
    """

    boundaries: tuple[Places, ...]
    children: tuple[Places, ...]
    level_starts: tuple[int, ...]

    @cached_property
    def starts(self) -> Places:
        """The first place of each block."""
        return np.concatenate([level[:-1] for level in self.boundaries])

    @cached_property
    def sizes(self) -> Places:
        """How many cells each block has."""
        return np.concatenate([np.diff(level) for level in self.boundaries])

    @cached_property
    def offsets(self) -> Places:
        """The number of the first child of each block above the finest level, followed by the number of blocks."""
        below = zip(self.children[:-1], self.level_starts[1:], strict=False)
        return np.concatenate([*(children[:-1] + first for children, first in below), self.level_starts[-1:]])

    @cached_property
    def levels(self) -> Places:
        """The level of each block."""
        return np.repeat(np.arange(len(self.boundaries)), np.diff(self.level_starts))

    @cached_property
    def _keys(self) -> Places:
        """Level and start of each block as one number, which increases from block to block."""
        return self.levels * int(self.boundaries[0][-1]) + self.starts

    def blocks_at(self, levels: Places, places: Places) -> Places:
        """The blocks of these levels that contain these places."""
        return np.searchsorted(self._keys, levels * int(self.boundaries[0][-1]) + places, side="right") - 1
