"""The boxes of a uniform grid as groups of cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adyton.queries import Grid, Partition


def grid_partition(domain: int | Sequence[int], blocks: int | Sequence[int]) -> Partition:
    """One group per box of a grid with this many blocks along each axis, as equal as they can be, in row-major order.

    At most one block per cell is made. With this partition a plan for fine grids works on coarse counts.

    >>> grid_partition((2, 4), (1, 2)).labels.reshape(2, 4)
    array([[0, 0, 1, 1],
           [0, 0, 1, 1]])
    """
    grid = Grid.of_blocks(domain, blocks)
    return Partition(grid.transpose(np.arange(grid.count)))  # every cell is in one box
