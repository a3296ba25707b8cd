"""A tree while it grows: its leaves, what they may still split on, and how finely they were split."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adyton.arrays import Flags, Places, Reals
from adyton.learning.target import Target
from adyton.schema import RowTree


@dataclass(frozen=True, eq=False)
class Frontier:
    """The leaves of a growing tree, in their order. All of it is public."""

    tree: RowTree
    levels: Places
    """The number of cells of every attribute."""
    classes: int
    depth: int
    """How many levels have been split."""
    cells: Reals
    """For every leaf the product of the numbers of cells on its path: one of so many parts it is."""
    free: Flags
    """For every leaf and attribute, whether the leaf may still split on it."""
    growing: Flags
    """For every leaf, whether it was split off last. The others have stopped for good."""

    @classmethod
    def start(cls, target: Target, among: Places | None = None) -> Frontier:
        """A single leaf. It may split on these attributes, or on all; those of a single cell split nothing."""
        levels = np.array(target.schema.shape, dtype=np.int64)
        free = levels > 1
        if among is not None:
            free &= np.isin(np.arange(levels.size), among)
        return cls(
            RowTree.stump(target.schema),
            levels,
            len(target.classes),
            0,
            np.ones(1),
            free[None],
            np.ones(1, dtype=bool),
        )

    def within(self, most: float) -> Flags:
        """For every leaf and attribute, whether the leaf may split on it and its children be so fine at most.

        Leaves of a tree are at most as many as its finest leaf is fine: the parts 1/cells of its leaves add up to 1.
        """
        return np.asarray(self.free & self.growing[:, None] & (self.cells[:, None] * self.levels <= most))

    def split(self, picks: Places) -> Frontier:
        """The leaves after those for which an attribute was picked have split; −1 is for those that stop."""
        leaves, names = self.tree.leaves, self.tree.attributes
        splitting = np.flatnonzero(picks >= 0)
        grown = self.tree.grow(
            {int(leaves[leaf]): names[picks[leaf]] for leaf in splitting}, dict(zip(names, self.levels, strict=True))
        )
        staying, chosen = picks < 0, picks[splitting]
        sizes = self.levels[chosen]
        free = self.free[splitting].copy()
        free[np.arange(len(splitting)), chosen] = False
        children = int(sizes.sum())
        return Frontier(
            grown,
            self.levels,
            self.classes,
            self.depth + 1,
            np.concatenate([self.cells[staying], np.repeat(self.cells[splitting] * sizes, sizes)]),
            np.concatenate([self.free[staying], np.repeat(free, sizes, axis=0)]),
            np.concatenate([np.zeros(int(staying.sum()), dtype=bool), np.ones(children, dtype=bool)]),
        )
