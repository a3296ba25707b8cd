"""Queries made of others: sums of groups of cells, some of the cells, queries about those, queries about cells asked of
groups that they all treat alike, and query sets of which some queries matter more than others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Integers, Reals
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries.base import Partition, Queries, Size, scatter
from adyton.queries.combined import check_queries
from adyton.queries.explicit import Explicit
from adyton.whole import SAFE, as_shape, freeze

_WRITTEN_OUT = 1 << 20
"""Products of no more coefficients than this are written out to find their column sums."""


@dataclass(frozen=True, eq=False)
class Reduction(Queries):
    """The sum of the cells of each group of a partition.

    >>> Reduction(Partition([0, 1, 1])) @ [4, 5, 6]
    array([ 4, 11])
    """

    domain: tuple[int, ...]
    partition: Partition

    def __init__(self, partition: Partition, domain: int | Sequence[int] | None = None) -> None:
        if not isinstance(partition, Partition):
            raise BadInput(f"a reduction needs a Partition, given {shorten(partition)}.")
        object.__setattr__(self, "partition", partition)
        object.__setattr__(self, "domain", as_shape(partition.cells if domain is None else domain))
        if self.cells != partition.cells:
            raise BadInput(f"the partition labels {partition.cells} cells, the domain has {self.cells}.")

    @property
    def count(self) -> int:
        """The number of groups."""
        return self.partition.groups

    def _apply(self, cells: Array) -> Array:
        labels = self.partition.labels
        if labels.min() >= 0:
            return scatter(cells, labels, self.count)
        return scatter(cells, np.where(labels < 0, self.count, labels), self.count + 1)[..., :-1]

    def _transpose(self, answers: Array) -> Array:
        nothing = np.zeros((*answers.shape[:-1], 1), dtype=answers.dtype)
        return np.concatenate([answers, nothing], axis=-1)[..., self.partition.labels]

    def __str__(self) -> str:
        return f"sums of {self.count:,} groups of cells"

    def largest_row_sum(self) -> int:
        """The largest group."""
        return max(1, int(self.partition.sizes.max()))

    def squared_norm(self) -> float:
        """Every cell that is in a group counts once."""
        return float(self.partition.sizes.sum())


@dataclass(frozen=True, eq=False)
class Cells(Queries):
    """Some of the cells, in the given order.

    >>> Cells(3, [2, 0]) @ [4, 5, 6]
    array([6, 4])
    """

    domain: tuple[int, ...]
    places: Integers

    def __init__(self, domain: int | Sequence[int], places: npt.ArrayLike) -> None:
        object.__setattr__(self, "domain", as_shape(domain))
        object.__setattr__(self, "places", freeze(places, "places").reshape(-1))
        if not self.places.size or int(self.places.min()) < 0 or int(self.places.max()) >= self.cells:
            raise BadInput(f"places must be at least one cell out of 0 … {self.cells - 1}.")

    @property
    def count(self) -> int:
        """As many as were named."""
        return int(self.places.size)

    def _apply(self, cells: Array) -> Array:
        return cells[..., self.places]

    def _transpose(self, answers: Array) -> Array:
        return scatter(answers, self.places, self.cells)

    def __str__(self) -> str:
        return f"{self.count:,} of {self.cells:,} cells"

    def largest_row_sum(self) -> int:
        """One cell each."""
        return 1

    def squared_norm(self) -> float:
        """One cell each."""
        return float(self.count)


@dataclass(frozen=True, eq=False)
class Product(Queries):
    """Queries about the answers of other queries: ``outer`` after ``inner``, the matrix product of both.

    Column sums are those of |outer·inner| where every cell counts in one inner query at most (a reduction), and where
    the product is small enough to be written out; else they are those of |outer|·|inner|, an upper bound.

    >>> from adyton.queries import Prefix
    >>> Product(Prefix(2), Reduction(Partition([0, 0, 1]))) @ [4, 5, 6]
    array([ 9, 15])
    """

    domain: tuple[int, ...] = field(init=False)
    outer: Queries
    inner: Queries

    def __init__(self, outer: Queries, inner: Queries) -> None:
        outer, inner = check_queries([outer, inner], "outer and inner")
        if outer.cells != inner.count:
            raise BadInput(f"the outer queries ask about {outer.cells} cells, there are {inner.count} inner queries.")
        object.__setattr__(self, "domain", inner.domain)
        object.__setattr__(self, "outer", outer)
        object.__setattr__(self, "inner", inner)

    @property
    def count(self) -> int:
        """As many as the outer queries."""
        return self.outer.count

    def _apply(self, cells: Array) -> Array:
        return self.outer._apply(self.inner._apply(cells))

    def _transpose(self, answers: Array) -> Array:
        return self.inner._transpose(self.outer._transpose(answers))

    def _absolute_transpose(self, weights: Array) -> Array:
        longest = max(self.cells, self.inner.count, self.count)
        if isinstance(self.inner, Reduction) or longest * self.cells > _WRITTEN_OUT or not self.whole:
            return self.inner._absolute_transpose(self.outer._absolute_transpose(weights))
        kind = np.int64 if self.largest_coefficient() < SAFE else object
        coefficients = np.abs(self._apply(np.eye(self.cells, dtype=np.int64).astype(kind)))
        return np.asarray(weights @ coefficients.T.astype(weights.dtype))

    def _rows(self, numbers: Integers) -> Reals:
        return self.inner._transpose(self.outer._rows(numbers))

    def _whole_form(self) -> Queries:
        """Cells that all inner queries treat alike are alike in the product too."""
        if not self.inner.whole:
            return self.inner._whole_form()
        return self if self.outer.whole else Product(self.outer._whole_form(), self.inner)

    def __str__(self) -> str:
        return f"{self.outer} of {self.inner}"

    def size(self) -> Size:
        """The inner answers first, which are held, then the outer ones."""
        inner, outer = self.inner.size(), self.outer.size()
        return Size(max(inner.numbers, outer.numbers) + self.inner.count, inner.steps + outer.steps)

    def largest_row_sum(self) -> int:
        """A bound."""
        return self.outer.largest_row_sum() * self.inner.largest_row_sum()

    def largest_coefficient(self) -> int:
        """A bound."""
        return self.outer.largest_row_sum() * self.inner.largest_coefficient()


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


_SMALLEST = 1e-12
"""Weights beyond this, or beyond one divided by it, mean nothing."""


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
