"""Where the blocks of a tree lie, block by block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adyton.arrays import Places
from adyton.remembered import cached_property


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
