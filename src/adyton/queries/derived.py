"""Forms that workloads take: about groups of cells that all queries treat alike, and with queries of which some matter
more than others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Integers, Reals
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries.base import Queries, Size, check_queries
from adyton.queries.basic import Cells
from adyton.queries.combined import Product
from adyton.queries.explicit import Explicit
from adyton.queries.partition import Partition
from adyton.whole import as_shape, freeze

_SMALLEST = 1e-12
"""Weights beyond this, or beyond one divided by it, mean nothing."""


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


@dataclass(frozen=True, eq=False)
class Weighted(Queries):
    """The same queries, each multiplied by a weight: for workloads in which some queries matter more.

    Weights can be any finite numbers, so such a set is answered from an estimate and is never measured itself.

    >>> from adyton.queries import Identity
    >>> Weighted(Identity(2), [0.5, 2]) @ [4, 5]
    array([ 2., 10.])
    """

    domain: tuple[int, ...] = field(init=False)
    queries: Queries
    weights: Reals

    def __init__(self, queries: Queries, weights: npt.ArrayLike) -> None:
        (inner,) = check_queries([queries], "queries")
        try:
            values = np.array(weights, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.array(np.nan)
        if values.shape not in ((), (inner.count,)) or not np.isfinite(values).all():
            raise BadInput(f"weights must be {inner.count} finite numbers, one per query, or one number for all.")
        sizes = np.abs(values[values != 0])
        if sizes.size and not _SMALLEST <= float(sizes.min()) <= float(sizes.max()) <= 1 / _SMALLEST:
            raise BadInput(f"weights other than 0 must be from {_SMALLEST} to {1 / _SMALLEST}. Scale them.")
        values = np.broadcast_to(values, (inner.count,)).copy()
        values.flags.writeable = False
        object.__setattr__(self, "domain", inner.domain)
        object.__setattr__(self, "queries", inner)
        object.__setattr__(self, "weights", values)

    @property
    def count(self) -> int:
        """As many as there were."""
        return self.queries.count

    def _apply(self, cells: Array) -> Array:
        return np.asarray(self.queries._apply(cells) * self.weights, dtype=np.float64)

    def _transpose(self, answers: Array) -> Array:
        return self.queries._transpose(np.asarray(answers * self.weights, dtype=np.float64))

    def _absolute_transpose(self, weights: Array) -> Array:
        return self.queries._absolute_transpose(np.asarray(weights * np.abs(self.weights), dtype=np.float64))

    def _rows(self, numbers: Integers) -> Reals:
        return np.asarray(self.queries._rows(numbers) * self.weights[numbers, None])

    def _whole_form(self) -> Queries:
        """A query of weight 0 tells nothing apart; any other tells as much as with weight 1."""
        kept = np.flatnonzero(self.weights)
        if not kept.size:
            return Explicit(self.domain, [], [], [], 1)
        if kept.size == self.count or not self.queries.whole:
            return self.queries._whole_form()
        return Product(Cells(self.count, kept), self.queries)

    def __str__(self) -> str:
        return f"weighted {self.queries}"

    def size(self) -> Size:
        """The queries, and a product for each."""
        own = self.queries.size()
        return Size(own.numbers + self.count, own.steps + self.count)

    def largest_row_sum(self) -> int:
        """A bound."""
        return self.queries.largest_row_sum() * math.ceil(float(np.abs(self.weights).max()))

    def largest_coefficient(self) -> int:
        """A bound."""
        return self.queries.largest_coefficient() * math.ceil(float(np.abs(self.weights).max()))
