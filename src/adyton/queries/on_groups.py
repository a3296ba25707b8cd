"""Queries about cells, asked of groups of cells that they all treat alike."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from adyton.arrays import Array, Integers, Reals
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries.base import Queries
from adyton.queries.combined import check_queries
from adyton.queries.partition import Partition
from adyton.queries.size import Size
from adyton.whole import as_shape, freeze


@dataclass(frozen=True, eq=False)
class OnGroups(Queries):
    """The queries restricted to one cell of each group: W′ = W·Eᵀ, for E that picks the first cell of every group.

    Where all cells of a group have equal columns in W, and cells without a group have a column of zeros, this is the
    workload W·P⁺ over the groups: W′·(P·x) = W·x (Zhang et al., εKTELO, SIGMOD 2018, Proposition A.2). Nothing is
    checked here; :func:`adyton.partitions.reduce_workload` does.

    >>> from adyton.queries import Ranges
    >>> OnGroups(Ranges(4, [[0]], [[1]]), Partition([0, 0, 1, 1])) @ [5, 3]
    array([5])
    """

    domain: tuple[int, ...] = field(init=False)
    queries: Queries
    partition: Partition
    sides: tuple[int, ...] | None = None
    """The shape of the groups' domain; None for a line."""
    first: Integers = field(init=False)
    """The first cell of each group."""

    def __init__(self, queries: Queries, partition: Partition, sides: tuple[int, ...] | None = None) -> None:
        (queries,) = check_queries([queries], "queries")
        if not isinstance(partition, Partition):
            raise BadInput(f"groups of cells are given as a Partition, given {shorten(partition)}.")
        if partition.cells != queries.cells:
            raise BadInput(f"the partition labels {partition.cells} cells, the queries ask about {queries.cells}.")
        groups, first = np.unique(partition.labels, return_index=True)
        first = first[groups >= 0]
        if first.size < partition.groups:
            raise BadInput(f"every group needs a cell, and only {first.size} of {partition.groups} have one.")
        shape = as_shape(partition.groups if sides is None else sides)
        if math.prod(shape) != partition.groups:
            raise BadInput(f"there are {partition.groups} groups, given the shape {shape}.")
        object.__setattr__(self, "domain", shape)
        object.__setattr__(self, "sides", None if sides is None else shape)
        object.__setattr__(self, "queries", queries)
        object.__setattr__(self, "partition", partition)
        object.__setattr__(self, "first", freeze(first, "first"))

    @property
    def count(self) -> int:
        """As many as there were."""
        return self.queries.count

    def _apply(self, cells: Array) -> Array:
        every = np.zeros((*cells.shape[:-1], self.queries.cells), dtype=cells.dtype)
        every[..., self.first] = cells
        return self.queries._apply(every)

    def _transpose(self, answers: Array) -> Array:
        return self.queries._transpose(answers)[..., self.first]

    def _absolute_transpose(self, weights: Array) -> Array:
        return self.queries._absolute_transpose(weights)[..., self.first]

    def _rows(self, numbers: Integers) -> Reals:
        return self.queries._rows(numbers)[..., self.first]

    def _whole_form(self) -> Queries:
        return self if self.queries.whole else OnGroups(self.queries._whole_form(), self.partition, self.sides)

    def __str__(self) -> str:
        return f"{self.queries} on {self.cells:,} groups of cells"

    def size(self) -> Size:
        """The queries about all cells."""
        own = self.queries.size()
        return Size(own.numbers + 2 * self.queries.cells, own.steps + 2 * self.queries.cells)

    def largest_row_sum(self) -> int:
        """A bound: that of the queries about cells."""
        return self.queries.largest_row_sum()

    def largest_coefficient(self) -> int:
        """A bound: that of the queries about cells."""
        return self.queries.largest_coefficient()
