"""The leaves of a balanced binary tree, and the blocks of its levels.

The tree is complete above its leaves; these stand on the slots of one more level, some of which stay empty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adyton.arrays import Places


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaves of a balanced binary tree: intervals of cells in some order, from bounds[i] to bounds[i + 1] − 1."""

    cells: int
    order: Places | None
    bounds: Places

    @property
    def count(self) -> int:
        """How many leaves there are."""
        return self.bounds.size - 1

    @property
    def depth(self) -> int:
        """The depth of the leaves: the least d with 2^d slots or more."""
        return (self.count - 1).bit_length()

    @property
    def sizes(self) -> Places:
        """How many cells each leaf has."""
        return np.diff(self.bounds)

    def firsts(self, depth: int) -> Places:
        """The first leaf of each of the 2^depth blocks, ⌈j·count/2^depth⌉, and the number of leaves."""
        return -(-np.arange((1 << depth) + 1) * self.count >> depth)

    def filled(self, depth: int) -> npt.NDArray[np.bool_]:
        """Which of the 2^depth blocks hold a leaf: all but some slots of the deepest level."""
        return np.asarray(np.diff(self.firsts(depth)) > 0)

    def level(self, depth: int) -> Places:
        """The boundaries of the blocks at a depth, in cells."""
        firsts = self.firsts(depth)
        return np.asarray(self.bounds[firsts[np.append(np.diff(firsts) > 0, True)]])
