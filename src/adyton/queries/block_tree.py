"""The tree of blocks: every level cuts the cells, in some order, into blocks of neighbours inside the blocks above."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Places
from adyton.errors import BadInput
from adyton.queries.base import Partition
from adyton.remembered import cached_property
from adyton.whole import as_shape, freeze, halvings, rises, whole


@dataclass(frozen=True, eq=False)
class BlockTree:
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

    @staticmethod
    def of_halves(cells: int) -> BlockTree:
        """Blocks of … 8, 4, 2 and 1 cells inside the whole domain, the last of each level cut where the domain ends."""
        return _of_halves(whole(cells, "cells", 1))

    @staticmethod
    def of_leaves(domain: int | Sequence[int], leaves: npt.ArrayLike, order: npt.ArrayLike | None = None) -> BlockTree:
        """A balanced binary tree above blocks with these boundaries: leaf i is in block ⌊i·2^d/leaves⌋ at depth d.

        >>> BlockTree.of_leaves(5, [0, 3, 4, 5]).boundaries
        (array([0, 5]), array([0, 4, 5]), array([0, 3, 4, 5]))
        """
        finest = BlockTree(domain, [leaves], order)
        (bounds,), count = finest.boundaries, finest.blocks
        firsts = [-(-np.arange((1 << depth) + 1) * count >> depth) for depth in range((count - 1).bit_length())]
        children = [*(2 * np.arange(first.size) for first in firsts[:-1]), *firsts[-1:], bounds]
        return finest._with((*(bounds[first] for first in firsts), bounds), tuple(children))

    @staticmethod
    def of_groups(groups: Partition) -> BlockTree:
        """The whole domain, the groups of a partition of all cells, and the cells in their groups.

        >>> BlockTree.of_groups(Partition([1, 0, 1])).order
        array([1, 0, 2])
        """
        tree = BlockTree(groups.cells, [np.append(0, np.cumsum(groups.sizes))])
        object.__setattr__(tree, "order", np.argsort(groups.labels, kind="stable"))
        (bounds,), root, cells = tree.boundaries, np.array([0, groups.cells]), np.arange(groups.cells + 1)
        return tree._with((root, bounds, cells), (np.array([0, groups.groups]), bounds, cells))

    @property
    def slots(self) -> Places:
        """Where the leaves of a tree :meth:`of_leaves` stand among the 2^depth places of its last level."""
        count = self.boundaries[-1].size - 1
        return (np.arange(count) << self.depth) // count

    @property
    def cells(self) -> int:
        """How many cells the domain has."""
        return math.prod(self.domain)

    @property
    def blocks(self) -> int:
        """How many blocks the tree has."""
        return self.level_starts[-1]

    @property
    def depth(self) -> int:
        """How many levels there are below the first one."""
        return len(self.boundaries) - 1

    @property
    def starts(self) -> Places:
        """The first place of each block."""
        return _layout(self).starts

    @property
    def sizes(self) -> Places:
        """How many cells each block has."""
        return _layout(self).sizes

    @property
    def offsets(self) -> Places:
        """The number of the first child of each block above the finest level, and at the end the number of blocks."""
        return _layout(self).offsets

    @property
    def levels(self) -> Places:
        """The level of each block."""
        return _layout(self).levels

    def blocks_at(self, levels: Places, places: Places) -> Places:
        """The blocks of these levels that hold these places."""
        return np.searchsorted(_layout(self).keys, levels * self.cells + places, side="right") - 1

    def blocks_of(self, partition: Partition) -> Places:
        """The smallest blocks that hold the groups of a partition.

        >>> BlockTree.of_halves(4).blocks_of(Partition([0, 0, 1, 2])).tolist()
        [1, 5, 6]
        """
        places = np.argsort(self.ordered(partition.labels), kind="stable")
        ends = np.cumsum(partition.sizes)
        first, last = places[ends - partition.sizes], places[ends - 1]
        blocks = np.zeros(partition.groups, dtype=np.int64)
        for start, level in zip(self.level_starts, self.boundaries, strict=False):
            holder = np.searchsorted(level, first, side="right") - 1
            blocks = np.where(last < level[holder + 1], start + holder, blocks)
        return blocks

    def from_root_to_cells(self) -> BlockTree:
        """The same tree with the whole domain as its first level, and the cells as its last."""
        levels, children = list(self.boundaries), list(self.children)
        if levels[0].size > 2:
            children.insert(0, np.array([0, levels[0].size - 1]))
            levels.insert(0, np.array([0, self.cells]))
        if levels[-1].size - 1 < self.cells:
            levels.append(np.arange(self.cells + 1))
            children.append(levels[-1])
        return self._with(tuple(levels), tuple(children))

    def _with(self, boundaries: tuple[Places, ...], children: tuple[Places, ...]) -> BlockTree:
        """Other levels on the same cells, which fit each other."""
        tree = object.__new__(BlockTree)
        object.__setattr__(tree, "domain", self.domain)
        tree._keep(boundaries, self.order, children)
        return tree

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


def _layout(tree: BlockTree) -> BlockLayout:
    """The layout of a tree, kept beside it: what is measured holds its own fields only."""
    found = _LAYOUTS.get(tree)
    if found is None:
        found = _LAYOUTS[tree] = BlockLayout(tree.boundaries, tree.children, tree.level_starts)
    return found


_LAYOUTS: WeakKeyDictionary[BlockTree, BlockLayout] = WeakKeyDictionary()


@lru_cache(maxsize=16)
def _of_halves(cells: int) -> BlockTree:
    return BlockTree.of_sizes(cells, [1 << level for level in range(halvings(cells), -1, -1)])


@dataclass(frozen=True, eq=False)
class BlockLayout:
    """What follows for every block from where the levels are cut, found when it is first asked for."""

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
        """The number of the first child of each block above the finest level, and at the end the number of blocks."""
        below = zip(self.children[:-1], self.level_starts[1:], strict=False)
        return np.concatenate([*(children[:-1] + first for children, first in below), self.level_starts[-1:]])

    @cached_property
    def levels(self) -> Places:
        """The level of each block."""
        return np.repeat(np.arange(len(self.boundaries)), np.diff(self.level_starts))

    @cached_property
    def keys(self) -> Places:
        """Levels and starts as one number, which rises from block to block."""
        return self.levels * int(self.boundaries[0][-1]) + self.starts


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
