"""The tree of blocks: every level cuts the cells, in some order, into blocks of neighbours inside the blocks above."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Places
from adyton.errors import BadInput
from adyton.queries.tree_layout import TreeLayout
from adyton.whole import as_shape, freeze, rises, whole


@dataclass(frozen=True, eq=False)
class BlockTree(TreeLayout):
    """Blocks of cells, level by level from the coarsest; blocks are numbered in this order.

    >>> BlockTree(4, [[0, 4], [0, 1, 4]]).children
    (array([0, 2]), array([0, 1, 4]))
    """

    domain: tuple[int, ...]
    boundaries: tuple[Places, ...]
    """For each level where its blocks start, and at the end the number of cells."""
    order: Places | None = None
    """Which cell stands at each place; row-major order if None."""
    children: tuple[Places, ...] = field(init=False)
    """For each level the first part of each block on the level below, or among the cells; at the end their number."""
    even: tuple[int, ...] = field(init=False)
    """For each level how many parts every block has, though the last one may have fewer; 0 if they differ."""
    level_starts: tuple[int, ...] = field(init=False)
    """The number of the first block of each level, and the number of blocks at the end."""

    def __init__(
        self, domain: int | Sequence[int], boundaries: Sequence[npt.ArrayLike], order: npt.ArrayLike | None = None
    ) -> None:
        object.__setattr__(self, "domain", as_shape(domain))
        levels = tuple(freeze(level, "boundaries").reshape(-1) for level in boundaries)
        if not levels:
            raise BadInput("a hierarchy needs at least one level, given none.")
        for level in levels:
            if level.size < 2 or level[0] != 0 or level[-1] != self.cells or not rises(level):
                raise BadInput(f"the boundaries of a level rise from 0 to the number of cells, {self.cells}.")
        children = [freeze(np.searchsorted(fine, coarse), "children") for coarse, fine in itertools.pairwise(levels)]
        if not all(
            np.array_equal(levels[number][first], levels[number - 1]) for number, first in enumerate(children, 1)
        ):
            raise BadInput("every boundary of a level must be a boundary of the levels below it.")
        places = None if order is None else freeze(order, "order").reshape(-1)
        if places is not None and (
            places.size != self.cells or not np.array_equal(np.sort(places), np.arange(self.cells))
        ):
            raise BadInput(f"an order lists each of the {self.cells} cells once.")
        self._keep(levels, places, (*children, levels[-1]))

    def _keep(self, boundaries: tuple[Places, ...], order: Places | None, children: tuple[Places, ...]) -> None:
        object.__setattr__(self, "boundaries", boundaries)
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "children", children)
        object.__setattr__(self, "even", tuple(even(starts) for starts in children))
        object.__setattr__(self, "level_starts", (0, *itertools.accumulate(level.size - 1 for level in boundaries)))

    @staticmethod
    def of_sizes(cells: int, sizes: Sequence[int], *, root: bool = True) -> BlockTree:
        """Equal blocks of the given sizes, each size a multiple of the next, the last one cut where the domain ends.

        The whole domain stands above them if *root*.

        >>> BlockTree.of_sizes(5, [2, 1]).boundaries
        (array([0, 5]), array([0, 2, 4, 5]), array([0, 1, 2, 3, 4, 5]))
        """
        number = whole(cells, "cells", 1)
        levels = [np.append(np.arange(0, number, whole(size, "sizes", 1)), number) for size in sizes]
        if root and (not levels or levels[0].size > 2):
            levels.insert(0, np.array([0, number]))
        return BlockTree(number, levels)

    @property
    def cells(self) -> int:
        """How many cells the domain has."""
        return math.prod(self.domain)

    @property
    def blocks(self) -> int:
        """How many blocks the tree has."""
        return self.level_starts[-1]

    def by_level(self, values: Array) -> list[Array]:
        """Values of all blocks along the last axis, cut into levels."""
        return np.split(values, self.level_starts[1:-1], axis=-1)

    def ordered(self, cells: Array) -> Array:
        """Cells in row-major order, put into the order of the tree."""
        return cells if self.order is None else cells[..., self.order]

    def unordered(self, cells: Array) -> Array:
        """Cells in the order of the tree, put into row-major order."""
        if self.order is None:
            return cells
        result = np.empty_like(cells)
        result[..., self.order] = cells
        return result

    def sums(self, values: Array, level: int) -> Array:
        """What the parts of each block of a level add up to: values of the next level, or of the cells."""
        return sums_of(values, self.children[level], self.even[level])

    def spread(self, values: Array, level: int) -> Array:
        """The value of each block of a level, for each of its parts."""
        return spread_of(values, self.children[level], self.even[level])


_SHORT = 8
"""Blocks of at most this many parts are summed part by part for all blocks at once."""


def block_sums(values: Array, starts: Places) -> Array:
    """The sums over blocks that begin at *starts* (the end of the last one listed too), along the last axis."""
    return sums_of(values, starts, even(starts))


def spread(values: Array, starts: Places) -> Array:
    """Each value repeated over its block; the opposite of :func:`block_sums`."""
    return spread_of(values, starts, even(starts))


def even(starts: Places) -> int:
    """The size of all blocks, of which the last one may be shorter; 0 where they differ."""
    size, blocks = int(starts[1]), starts.size - 1
    return size if starts[-1] <= size * blocks and np.array_equal(starts[:-1], np.arange(blocks) * size) else 0


def sums_of(values: Array, starts: Places, size: int) -> Array:
    """The same, where it is known how :func:`even` the blocks are."""
    if size == 0:
        return np.add.reduceat(values, starts[:-1], axis=-1)
    if size == 1:
        return values
    blocks = starts.size - 1
    full = blocks if starts[-1] == size * blocks else blocks - 1
    equal, rest = values[..., : size * full], values[..., size * full :]
    if size <= _SHORT:
        sums = equal[..., ::size] + equal[..., 1::size]
        for place in range(2, size):
            sums += equal[..., place::size]
    else:
        sums = equal.reshape(*values.shape[:-1], full, size).sum(axis=-1)
    return sums if full == blocks else np.concatenate([sums, rest.sum(axis=-1, keepdims=True)], axis=-1)


def spread_of(values: Array, starts: Places, size: int) -> Array:
    """The same, where it is known how :func:`even` the blocks are."""
    if size and starts[-1] == size * (starts.size - 1):
        return np.repeat(values, size, axis=-1)
    return np.repeat(values, np.diff(starts), axis=-1)
