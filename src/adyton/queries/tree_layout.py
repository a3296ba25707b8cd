"""What else is known about a tree of blocks, for those who plan and solve: other ways to make one, and where its blocks
stand. A measurement needs none of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Places
from adyton.compiling import cached_property
from adyton.whole import halvings, whole

if TYPE_CHECKING:
    from adyton.queries.block_tree import BlockTree
    from adyton.queries.partition import Partition


class TreeLayout:
    """Ways to make a tree of blocks, and the places of its blocks."""

    plain: ClassVar[type[Any]]
    """The class of trees that are no query sets."""

    def __init_subclass__(cls) -> None:
        if TreeLayout in cls.__bases__:
            TreeLayout.plain = cls

    if TYPE_CHECKING:  # what a tree has
        domain: tuple[int, ...]
        boundaries: tuple[Places, ...]
        order: Places | None
        children: tuple[Places, ...]
        level_starts: tuple[int, ...]

        @property
        def cells(self) -> int: ...  # noqa: D102
        def ordered(self, cells: Array) -> Array: ...  # noqa: D102

    @staticmethod
    def of_halves(cells: int) -> BlockTree:
        """Blocks of … 8, 4, 2 and 1 cells inside the whole domain, the last of each level cut where the domain ends."""
        return _of_halves(whole(cells, "cells", 1))

    @staticmethod
    def of_leaves(domain: int | Sequence[int], leaves: npt.ArrayLike, order: npt.ArrayLike | None = None) -> BlockTree:
        """A balanced binary tree above blocks with these boundaries: leaf i is in block ⌊i·2^d/leaves⌋ at depth d.

        >>> from adyton.queries.block_tree import BlockTree
        >>> BlockTree.of_leaves(5, [0, 3, 4, 5]).boundaries
        (array([0, 5]), array([0, 4, 5]), array([0, 3, 4, 5]))
        """
        finest: BlockTree = TreeLayout.plain(domain, [leaves], order)
        (bounds,), count = finest.boundaries, finest.blocks
        firsts = [-(-np.arange((1 << depth) + 1) * count >> depth) for depth in range((count - 1).bit_length())]
        children = [*(2 * np.arange(first.size) for first in firsts[:-1]), *firsts[-1:], bounds]
        return finest._with((*(bounds[first] for first in firsts), bounds), tuple(children))

    @staticmethod
    def of_groups(groups: Partition) -> BlockTree:
        """The whole domain, the groups of a partition of all cells, and the cells in their groups.

        >>> from adyton.queries import Partition
        >>> from adyton.queries.block_tree import BlockTree
        >>> BlockTree.of_groups(Partition([1, 0, 1])).order
        array([1, 0, 2])
        """
        tree: BlockTree = TreeLayout.plain(groups.cells, [np.append(0, np.cumsum(groups.sizes))])
        object.__setattr__(tree, "order", np.argsort(groups.labels, kind="stable"))
        (bounds,), root, cells = tree.boundaries, np.array([0, groups.cells]), np.arange(groups.cells + 1)
        return tree._with((root, bounds, cells), (np.array([0, groups.groups]), bounds, cells))

    @property
    def slots(self) -> Places:
        """Where the leaves of a tree :meth:`of_leaves` stand among the 2^depth places of its last level."""
        count = self.boundaries[-1].size - 1
        return (np.arange(count) << self.depth) // count

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

        >>> from adyton.queries import Partition
        >>> from adyton.queries.block_tree import BlockTree
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
        tree: BlockTree = object.__new__(TreeLayout.plain)
        object.__setattr__(tree, "domain", self.domain)
        tree._keep(boundaries, self.order, children)
        return tree


def _layout(tree: TreeLayout) -> BlockLayout:
    """The layout of a tree, kept beside it: what is measured holds its own fields only."""
    found = _LAYOUTS.get(tree)
    if found is None:
        found = _LAYOUTS[tree] = BlockLayout(tree.boundaries, tree.children, tree.level_starts)
    return found


_LAYOUTS: WeakKeyDictionary[TreeLayout, BlockLayout] = WeakKeyDictionary()


@lru_cache(maxsize=16)
def _of_halves(cells: int) -> BlockTree:
    tree: BlockTree = TreeLayout.plain.of_sizes(cells, [1 << level for level in range(halvings(cells), -1, -1)])
    return tree


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
