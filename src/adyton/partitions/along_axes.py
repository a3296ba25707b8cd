"""Partitions that follow the axes of a domain: the boxes of a grid, the cells of a marginal, stripes along one axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adyton.errors import BadInput
from adyton.queries import Grid, Marginals, Partition, Queries
from adyton.whole import as_shape, whole


def grid_partition(domain: int | Sequence[int], blocks: int | Sequence[int]) -> Partition:
    """One group per box of a grid with this many blocks along each axis, as equal as they can be, in row-major order.

    At most one block per cell is made. With this partition a plan for fine grids works on coarse counts.

    >>> grid_partition((2, 4), (1, 2)).labels.reshape(2, 4)
    array([[0, 0, 1, 1],
           [0, 0, 1, 1]])
    """
    return _one_group_per_query(Grid.of_blocks(domain, blocks))


def marginal_partition(domain: int | Sequence[int], axes: Sequence[int]) -> Partition:
    """One group per cell of the marginal over these axes (ascending), in row-major order; all else is summed up.

    Reducing by it leaves the histogram of some attributes, as the naive-Bayes plans do with one attribute and the
    label (Zhang et al., εKTELO, SIGMOD 2018, §7.2 and Algorithm 5). No axes make one group of all cells.

    >>> marginal_partition((2, 3), [1]).labels.reshape(2, 3)
    array([[0, 1, 2],
           [0, 1, 2]])
    """
    return _one_group_per_query(Marginals(domain, [axes]))


def stripe_partition(domain: int | Sequence[int], axis: int) -> Partition:
    """One group per combination of the other attributes, in row-major order; its cells run along *axis*.

    A split by it gives one-dimensional vectors that share no rows, so that a plan for one dimension can spend the
    whole ε on each (Zhang et al., εKTELO, SIGMOD 2018, §7.1 and Algorithm 3).

    >>> stripe_partition((2, 3), 0).labels.reshape(2, 3)
    array([[0, 1, 2],
           [0, 1, 2]])
    """
    sides = as_shape(domain)
    along = whole(axis, "axis", 0)
    if along >= len(sides):
        raise BadInput(f"axes are numbered 0 … {len(sides) - 1} for the domain {sides}, given {along}.")
    return marginal_partition(sides, [other for other in range(len(sides)) if other != along])


def _one_group_per_query(queries: Queries) -> Partition:
    """The cells that each query counts, where every cell is counted by one query."""
    return Partition(queries.transpose(np.arange(queries.count)))
