"""Queries made of others: one after the other, one for each axis, about groups of cells that all treat alike, and query
sets of which some queries matter more than others.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Integers, Reals
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries.base import Partition, Queries, Size, by_part, check_queries
from adyton.queries.basic import Identity
from adyton.queries.explicit import Explicit
from adyton.queries.measurement import Cells, Product
from adyton.whole import as_shape, freeze

_SMALLEST = 1e-12
"""Weights beyond this, or beyond one divided by it, mean nothing."""


@dataclass(frozen=True, eq=False)
class Kronecker(Queries):
    """Every combination of one query per factor, each about its own axes: coefficients multiply.

    >>> from adyton.queries import Identity, Total
    >>> Kronecker([Total(2), Identity(3)]) @ [[1, 2, 3], [4, 5, 6]]
    array([5, 7, 9])
    """

    domain: tuple[int, ...] = field(init=False)
    factors: tuple[Queries, ...]

    def __init__(self, factors: Sequence[Queries]) -> None:
        object.__setattr__(self, "factors", check_queries(factors, "factors"))
        object.__setattr__(self, "domain", tuple(itertools.chain(*(factor.domain for factor in self.factors))))

    @property
    def count(self) -> int:
        """The product of the factors' numbers."""
        return math.prod(factor.count for factor in self.factors)

    def _apply(self, cells: Array) -> Array:
        return self._along([factor.cells for factor in self.factors], cells, [f._apply for f in self.factors])

    def _transpose(self, answers: Array) -> Array:
        return self._along([factor.count for factor in self.factors], answers, [f._transpose for f in self.factors])

    def _absolute_transpose(self, weights: Array) -> Array:
        steps = [factor._absolute_transpose for factor in self.factors]
        return self._along([factor.count for factor in self.factors], weights, steps)

    def _rows(self, numbers: Integers) -> Reals:
        """The outer products of the factors' rows."""
        places = np.unravel_index(numbers, [factor.count for factor in self.factors])
        rows = np.ones((numbers.size, 1))
        for factor, place in zip(self.factors, places, strict=True):
            rows = (rows[:, :, None] * factor._rows(place)[:, None, :]).reshape(numbers.size, -1)
        return rows

    def _whole_form(self) -> Queries:
        forms = [factor._whole_form() for factor in self.factors]
        return self if all(map(operator.is_, forms, self.factors)) else Kronecker(forms)

    def _along(self, sides: list[int], values: Array, steps: Sequence[Callable[[Array], Array]]) -> Array:
        """Each step along its own axis; a step that shortens its axis comes before one that lengthens it."""
        leading, shape = values.shape[:-1], list(sides)
        growth = [factor.count / factor.cells for factor in self.factors]
        if sides != [factor.cells for factor in self.factors]:
            growth = [1 / ratio for ratio in growth]
        for axis in sorted(range(len(steps)), key=growth.__getitem__):
            if not isinstance(self.factors[axis], Identity):
                before, after = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
                table = values.reshape(*leading, before, shape[axis], after)
                done = steps[axis](np.ascontiguousarray(np.swapaxes(table, -1, -2)))
                shape[axis] = done.shape[-1]
                values = np.ascontiguousarray(np.swapaxes(done, -1, -2))
        return np.array(values).reshape(*leading, math.prod(shape))

    def __str__(self) -> str:
        return " × ".join(str(factor) for factor in self.factors)

    def size(self) -> Size:
        """Axis by axis, in the order of :meth:`_along`: each factor as often as the other axes are long by then."""
        sides, found = [factor.cells for factor in self.factors], Size(0, 0)
        for axis in sorted(range(len(sides)), key=lambda axis: Fraction(self.factors[axis].count, sides[axis])):
            own, others = self.factors[axis].size(), math.prod(sides) // sides[axis]
            before, sides[axis] = math.prod(sides), self.factors[axis].count
            held = 2 * (before + math.prod(sides)) + others * own.numbers
            found = found.then(Size(held, others * own.steps + held))
        return found

    def _plain_sensitivity(self) -> int:
        """Column norms multiply, and the factors' cells are combined freely."""
        return math.prod(factor.sensitivity() for factor in self.factors)

    def largest_row_sum(self) -> int:
        """Products of sums of absolute values."""
        return math.prod(factor.largest_row_sum() for factor in self.factors)

    def largest_coefficient(self) -> int:
        """The product of the factors' largest."""
        return math.prod(factor.largest_coefficient() for factor in self.factors)

    def _gram(self) -> Reals:
        return functools.reduce(lambda left, right: np.asarray(np.kron(left, right)), [f.gram() for f in self.factors])

    def squared_norm(self) -> float:
        """The product of the factors' norms."""
        return math.prod(factor.squared_norm() for factor in self.factors)


@dataclass(frozen=True, eq=False)
class Stack(Queries):
    """The queries of several sets about the same cells, one set after the other.

    >>> from adyton.queries import Identity, Total
    >>> Stack([Total(2), Identity(2)]) @ [3, 4]
    array([7, 3, 4])
    """

    domain: tuple[int, ...] = field(init=False)
    parts: tuple[Queries, ...]

    def __init__(self, parts: Sequence[Queries]) -> None:
        object.__setattr__(self, "parts", check_queries(parts, "parts"))
        domains = {part.domain for part in self.parts}
        if len(domains) > 1:
            raise BadInput(f"query sets can be stacked that ask about one domain, given {sorted(domains)}.")
        object.__setattr__(self, "domain", self.parts[0].domain)

    @property
    def count(self) -> int:
        """The sum of the parts' numbers."""
        return sum(part.count for part in self.parts)

    def _apply(self, cells: Array) -> Array:
        return np.concatenate([part._apply(cells) for part in self.parts], axis=-1)

    def _transpose(self, answers: Array) -> Array:
        pieces = self.split(answers)
        return np.asarray(sum(part._transpose(piece) for part, piece in zip(self.parts, pieces, strict=True)))

    def _absolute_transpose(self, weights: Array) -> Array:
        pieces = self.split(weights)
        return np.asarray(sum(part._absolute_transpose(piece) for part, piece in zip(self.parts, pieces, strict=True)))

    def _rows(self, numbers: Integers) -> Reals:
        rows = np.empty((numbers.size, self.cells))
        for part, own, within in by_part(numbers, [part.count for part in self.parts]):
            rows[own] = self.parts[part]._rows(within)
        return rows

    def _whole_form(self) -> Queries:
        forms = [part._whole_form() for part in self.parts]
        return self if all(map(operator.is_, forms, self.parts)) else Stack(forms)

    def split(self, answers: Array) -> list[Array]:
        """The answers of each part."""
        ends = list(itertools.accumulate(part.count for part in self.parts))
        return np.split(answers, ends[:-1], axis=-1)

    def __str__(self) -> str:
        return " and ".join(str(part) for part in self.parts)

    def size(self) -> Size:
        """One part after the other, and all answers side by side."""
        found = functools.reduce(Size.then, (part.size() for part in self.parts))
        return Size(found.numbers + 2 * self.count + self.cells, found.steps + self.count)

    def largest_row_sum(self) -> int:
        """The largest of the parts'."""
        return max(part.largest_row_sum() for part in self.parts)

    def largest_coefficient(self) -> int:
        """The largest of the parts'."""
        return max(part.largest_coefficient() for part in self.parts)

    def _gram(self) -> Reals:
        return np.asarray(sum(part.gram() for part in self.parts))

    def squared_norm(self) -> float:
        """The sum of the parts' norms."""
        return sum(part.squared_norm() for part in self.parts)


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
