"""The cells of a line or a plane along the binary tree that cuts one axis after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from adyton.arrays import Places
from adyton.queries import Partition
from adyton.solving.dyadic_tree import DyadicTree
from adyton.whole import as_shape


@dataclass(frozen=True, eq=False)
class TreeOrder:
    """The cells of a domain, in an order in which all blocks of the tree are intervals."""

    order: Places
    """The cells in that order, that of :func:`adyton.queries.orders.block_tree`: a Morton order."""
    places: Places
    """Where each of them is among the 2^height places of the tree. Sides that are no power of two leave gaps."""
    axes: tuple[int, ...]
    """The axis along which the blocks of each level are halves of those above, from the cells upwards."""
    ndim: int

    @property
    def ranks(self) -> Partition:
        """Every cell as a group of its own, in that order."""
        labels = np.empty_like(self.order)
        labels[self.order] = np.arange(self.order.size)
        return Partition(labels)

    def tree(self) -> DyadicTree:
        """The tree, without answers."""
        return DyadicTree.at(self.places, len(self.axes))

    def boundaries(self, level: int) -> Places:
        """Where the blocks of a level begin along the order, and where the last one ends."""
        begins = np.flatnonzero(np.diff(self.places >> level, prepend=-1))
        return np.append(begins, self.places.size)

    def halvings(self, level: int) -> tuple[int, ...]:
        """How often each axis of a block of a level is halved until one cell is left.

        >>> tree_order((2, 8)).halvings(3)
        (1, 2)
        """
        return tuple(self.axes[:level].count(axis) for axis in range(self.ndim))

    def blocks(self, partition: Partition) -> Places:
        """The blocks of the tree that are the groups of a partition.

        >>> tree_order((2, 2)).blocks(Partition([0, 0, 1, 2])).tolist()
        [2, 6, 7]
        """
        labels = partition.labels[self.order]
        places = self.places[np.argsort(labels, kind="stable")]
        ends = np.cumsum(partition.sizes)
        first, last = places[ends - partition.sizes], places[ends - 1]
        levels = np.frexp((first ^ last).astype(np.float64))[1]  # the smallest block that holds the first and the last
        return np.asarray((first + (1 << len(self.axes))) >> levels)


@lru_cache(maxsize=16)
def _tree_order(sides: tuple[int, ...]) -> TreeOrder:
    depths = [(side - 1).bit_length() for side in sides]
    axes = [axis for done in range(max(depths)) for axis in reversed(range(len(sides))) if depths[axis] > done]
    codes: Places = np.zeros(sides, dtype=np.int64)
    used = [0] * len(sides)
    for level, axis in enumerate(axes):
        place = np.arange(sides[axis]) * (1 << depths[axis]) // sides[axis]
        shape = [-1 if other == axis else 1 for other in range(len(sides))]
        codes = codes | ((place >> used[axis] & 1) << level).reshape(shape)
        used[axis] += 1
    flat = codes.reshape(-1)
    order = np.argsort(flat)
    return TreeOrder(order, flat[order], tuple(axes), len(sides))


def tree_order(domain: int | Sequence[int]) -> TreeOrder:
    """Each axis is cut as in :func:`adyton.queries.orders.block_tree`, but one axis at a time.

    >>> order = tree_order((2, 3))
    >>> order.order.tolist(), order.places.tolist(), order.axes
    ([0, 1, 3, 4, 2, 5], [0, 1, 2, 3, 4, 6], (1, 0, 1))
    """
    return _tree_order(as_shape(domain))
