"""The binary tree of those blocks of a tree that something is known about: halved where something smaller was measured.

It is a view of a :class:`~adyton.queries.block_tree.BlockTree` whose blocks have one child or two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from adyton.arrays import Places
from adyton.errors import BadInput
from adyton.queries.block_tree import BlockTree


@dataclass(frozen=True, eq=False)
class Splits:
    """The nodes: leaves first, in the order of their cells, halves before what they are halves of, the root last."""

    blocks: Places
    """The block of each node; of blocks with the same cells, the last one."""
    kids: Places
    """The two halves of each node that is no leaf."""
    levels: Places
    """The level of each node, counted from the leaves or the cells: splits on the same level have the same prior."""

    @property
    def leaves(self) -> int:
        """How many leaves there are."""
        return self.blocks.size - len(self.kids)

    @classmethod
    def of(cls, tree: BlockTree, measured: Places, levels: Places) -> Splits:
        """Where these blocks were measured, in ascending order, of those with the same cells the last; *levels* are
        those of all blocks. Where blocks inside a block were measured, they must cover it."""
        deepest = np.full(tree.cells, -1)
        deepest[tree.starts[measured]] = measured  # of blocks that start together, the last one stays
        leaves = deepest[deepest >= 0]
        ends = np.cumsum(tree.sizes[leaves])
        if not np.array_equal(tree.starts[leaves][1:], ends[:-1]) or not leaves.size or ends[-1] != tree.cells:
            raise BadInput("some cells lie in no measured block, or only in one of which other parts were measured.")
        halving = halving_of(tree)
        divided = np.sort(halving.meeting[ends[:-1]])[::-1]
        blocks = np.concatenate([leaves, divided])
        numbers = np.empty(tree.blocks, dtype=np.int64)
        numbers[blocks] = np.arange(blocks.size)
        left = tree.offsets[divided]
        return cls(blocks, numbers[halving.homes[np.stack([left, left + 1], axis=1)]], levels[blocks])


class Halving(NamedTuple):
    """How the blocks of a tree are halved."""

    meeting: Places
    """The block whose halves meet at each place."""
    homes: Places
    """For each block the last one with the same cells."""
    alone: list[tuple[Places, Places]]
    """The blocks with one child, and these children, level by level from the top."""


@lru_cache(maxsize=16)
def halving_of(tree: BlockTree) -> Halving:
    """How the blocks of a tree are halved."""
    meeting, homes, alone = np.zeros(tree.cells, dtype=np.int64), np.arange(tree.blocks), []
    for level, children in enumerate(tree.children[:-1]):
        parts, first, below = np.diff(children), tree.level_starts[level], tree.level_starts[level + 1]
        halved, same = np.flatnonzero(parts == 2), np.flatnonzero(parts == 1)
        meeting[tree.boundaries[level + 1][children[halved] + 1]] = first + halved
        if same.size:
            alone.append((first + same, below + children[same]))
    for upper, lower in reversed(alone):
        homes[upper] = homes[lower]
    return Halving(meeting, homes, alone)


def halved(tree: BlockTree) -> BlockTree:
    """Pair neighbours within each block until one is left, level by level, from the last one upwards to the domain.

    >>> [level.tolist() for level in halved(BlockTree(5, [[0, 3, 5], [0, 1, 2, 3, 4, 5]])).boundaries]
    [[0, 5], [0, 3, 5], [0, 2, 3, 5], [0, 1, 2, 3, 4, 5]]
    """
    levels = [tree.boundaries[-1]]
    for coarse in (*tree.boundaries[-2::-1], np.array([0, tree.cells])):
        while levels[-1].size > coarse.size:
            firsts = np.searchsorted(levels[-1], coarse)
            places = np.arange(levels[-1].size) - np.repeat(firsts, np.diff(firsts, append=levels[-1].size))
            levels.append(levels[-1][places % 2 == 0])
    return BlockTree(tree.domain, levels[::-1], tree.order)


def heights(tree: BlockTree) -> Places:
    """How often each block of a tree is halved, at most, until blocks of its last level are left."""
    levels = [np.zeros(tree.boundaries[-1].size - 1, dtype=np.int64)]
    for children in tree.children[-2::-1]:
        levels.append(np.maximum.reduceat(levels[-1], children[:-1]) + (np.diff(children) == 2))
    return np.concatenate(levels[::-1])
