"""A hierarchy of blocks, refined into a binary tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from adyton.arrays import Places, Reals
from adyton.errors import BadInput
from adyton.queries import Hierarchy


@dataclass(frozen=True, eq=False)
class Halves:
    """A binary tree: leaves first, children before their parents, the root last."""

    kids: Places
    """The two children of each node that is no leaf."""
    levels: Places
    """How many halvings each node is above the finest leaves, at most. Splits on the same level have the same prior."""
    home: Places
    """The node that each query counts."""
    leaf: Places
    """The leaf of each cell, in the order of the hierarchy."""
    widths: Reals
    """How many cells each leaf has."""

    @property
    def leaves(self) -> int:
        """How many leaves there are: the blocks of the finest measured level."""
        return self.widths.size


@lru_cache(maxsize=16)
def halved(tree: Hierarchy) -> Halves:
    """Pair neighbours within each block until one is left, level by level, from the finest measured one upwards.

    >>> halved(Hierarchy.of_blocks(5, [3, 1])).kids.tolist()
    [[0, 1], [3, 4], [5, 2], [7, 6]]
    """
    measured = np.bincount(tree.query_levels(), minlength=len(tree.boundaries))
    blocks = np.array([level.size - 1 for level in tree.boundaries])
    if ((measured > 0) & (measured < blocks)).any():
        raise BadInput("some blocks of a level were measured and some were not: measure whole levels.")
    finest = int(np.flatnonzero(measured)[-1])
    fine = tree.boundaries[finest]
    current = np.arange(fine.size - 1)
    levels, pairs, homes = (
        [np.zeros(current.size, dtype=np.int64)],
        [np.empty((0, 2), dtype=np.int64)],
        [current.copy()],
    )
    for number in range(finest - 1, -2, -1):
        coarse = tree.boundaries[number] if number >= 0 else np.array([0, tree.cells])
        sizes = np.diff(np.searchsorted(fine, coarse))
        while current.size > sizes.size:
            place = np.arange(current.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            left = np.flatnonzero((place % 2 == 0) & (place + 1 < np.repeat(sizes, sizes)))
            couples = np.stack([current[left], current[left + 1]], axis=1)
            known = np.concatenate(levels)
            pairs.append(couples)
            levels.append(known[couples].max(axis=1) + 1)
            current[left] = known.size + np.arange(left.size)
            current = np.delete(current, left + 1)
            sizes = (sizes + 1) // 2
        fine = coarse
        if number >= 0 and measured[number]:
            homes.append(current.copy())
    boundaries = tree.boundaries[finest]
    widths = np.diff(boundaries)
    leaf = np.repeat(np.arange(widths.size), widths)
    home = np.concatenate(homes[::-1])
    return Halves(np.concatenate(pairs), np.concatenate(levels), home, leaf, widths.astype(np.float64))
