"""Queries made of other query sets: products over the axes, several sets stacked, and queries about the answers of
queries; and any list of integer queries, stored as their non-zero coefficients.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Integers, Reals
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries.base import Queries, Size, check_queries, scatter
from adyton.queries.basic import Identity, Reduction
from adyton.queries.coefficients import by_part
from adyton.whole import SAFE, as_shape, freeze, largest, whole

_WRITTEN_OUT = 1 << 20
"""Products of at most this many coefficients are written out to find their column sums."""


@dataclass(frozen=True, eq=False)
class Kronecker(Queries):
    """Every combination of one query per factor; each factor has its own axes, and coefficients multiply.

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
        """The product of the factors' counts."""
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
        """Apply each step along its own axis; steps that shorten an axis come before steps that lengthen one."""
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
        """Axis by axis, in the order of :meth:`_along`: each factor once for every line along its axis at that time."""
        sides, total = [factor.cells for factor in self.factors], Size(0, 0)
        for axis in sorted(range(len(sides)), key=lambda axis: Fraction(self.factors[axis].count, sides[axis])):
            own, others = self.factors[axis].size(), math.prod(sides) // sides[axis]
            before, sides[axis] = math.prod(sides), self.factors[axis].count
            held = 2 * (before + math.prod(sides)) + others * own.numbers
            total = total.then(Size(held, others * own.steps + held))
        return total

    def _plain_sensitivity(self) -> int:
        """Column norms multiply, and every combination of the factors' cells occurs."""
        return math.prod(factor.sensitivity() for factor in self.factors)

    def largest_row_sum(self) -> int:
        """The product of the factors' row sums."""
        return math.prod(factor.largest_row_sum() for factor in self.factors)

    def largest_coefficient(self) -> int:
        """The product of the factors' largest coefficients."""
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
            raise BadInput(f"only query sets about the same domain can be stacked, given {sorted(domains)}.")
        object.__setattr__(self, "domain", self.parts[0].domain)

    @property
    def count(self) -> int:
        """The sum of the parts' counts."""
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
        """One part after the other, and the answers of all parts together."""
        parts = functools.reduce(Size.then, (part.size() for part in self.parts))
        return Size(parts.numbers + 2 * self.count + self.cells, parts.steps + self.count)

    def largest_row_sum(self) -> int:
        """The largest row sum of the parts."""
        return max(part.largest_row_sum() for part in self.parts)

    def largest_coefficient(self) -> int:
        """The largest coefficient of the parts."""
        return max(part.largest_coefficient() for part in self.parts)

    def _gram(self) -> Reals:
        return np.asarray(sum(part.gram() for part in self.parts))

    def squared_norm(self) -> float:
        """The sum of the parts' norms."""
        return sum(part.squared_norm() for part in self.parts)


@dataclass(frozen=True, eq=False)
class Product(Queries):
    """Queries about the answers of other queries: the matrix product of ``outer`` and ``inner``.

    Column sums are those of |outer·inner| where every cell is in at most one inner query (a reduction) and where the
    product is small enough to be written out; otherwise they are those of |outer|·|inner|, an upper bound.

    >>> from adyton.queries import Partition, Prefix
    >>> Product(Prefix(2), Reduction(Partition([0, 0, 1]))) @ [4, 5, 6]
    array([ 9, 15])
    """

    domain: tuple[int, ...] = field(init=False)
    outer: Queries
    inner: Queries

    def __init__(self, outer: Queries, inner: Queries) -> None:
        outer, inner = check_queries([outer, inner], "outer and inner")
        if outer.cells != inner.count:
            raise BadInput(f"the outer queries ask about {outer.cells} cells; there are {inner.count} inner queries.")
        object.__setattr__(self, "domain", inner.domain)
        object.__setattr__(self, "outer", outer)
        object.__setattr__(self, "inner", inner)

    @property
    def count(self) -> int:
        """The number of outer queries."""
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
        """Cells with the same coefficients in all inner queries have the same coefficients in the product too."""
        if not self.inner.whole:
            return self.inner._whole_form()
        return self if self.outer.whole else Product(self.outer._whole_form(), self.inner)

    def __str__(self) -> str:
        return f"{self.outer} of {self.inner}"

    def size(self) -> Size:
        """The inner answers, which are kept, then the outer ones."""
        inner, outer = self.inner.size(), self.outer.size()
        return Size(max(inner.numbers, outer.numbers) + self.inner.count, inner.steps + outer.steps)

    def largest_row_sum(self) -> int:
        """An upper bound."""
        return self.outer.largest_row_sum() * self.inner.largest_row_sum()

    def largest_coefficient(self) -> int:
        """An upper bound."""
        return self.outer.largest_row_sum() * self.inner.largest_coefficient()


_LONGEST = 1 << 27
"""The most queries: as many as the most cells of a domain."""


@dataclass(frozen=True, eq=False)
class Explicit(Queries):
    """Any integer queries, stored as their non-zero coefficients (row, column, coefficient).

    >>> Explicit.from_rows([[1, 1, 0], [0, 1, -2]]) @ [4, 5, 6]
    array([ 9, -7])
    """

    domain: tuple[int, ...]
    places: Integers
    columns: Integers
    coefficients: Integers
    length: int

    def __init__(
        self,
        domain: int | Sequence[int],
        places: npt.ArrayLike,
        columns: npt.ArrayLike,
        coefficients: npt.ArrayLike,
        length: int,
    ) -> None:
        object.__setattr__(self, "domain", as_shape(domain))
        object.__setattr__(self, "places", freeze(places, "places"))
        object.__setattr__(self, "columns", freeze(columns, "columns"))
        object.__setattr__(self, "coefficients", freeze(coefficients, "coefficients"))
        object.__setattr__(self, "length", whole(length, "length", 1))
        if self.length > _LONGEST:
            raise BadInput(f"length must be at most {_LONGEST:,}, given {shorten(self.length)}.")
        if not self.places.shape == self.columns.shape == self.coefficients.shape or self.places.ndim != 1:
            raise BadInput("places (rows), columns and coefficients must be three flat lists of the same length.")
        for name, numbers, bound in (("places", self.places, self.length), ("columns", self.columns, self.cells)):
            if numbers.size and not 0 <= int(numbers.min()) <= int(numbers.max()) < bound:
                raise BadInput(
                    f"{name} must lie in 0 … {bound - 1}, given {int(numbers.min())} … {int(numbers.max())}."
                )
        order = np.lexsort((self.columns, self.places))  # row by row, and in a row from the first cell to the last
        for name in ("places", "columns", "coefficients"):
            object.__setattr__(self, name, freeze(getattr(self, name)[order], name))
        if ((np.diff(self.places) == 0) & (np.diff(self.columns) == 0)).any():
            raise BadInput("a coefficient is given twice for the same row and column. Add them up first.")

    @classmethod
    def from_rows(cls, matrix: Any, domain: int | Sequence[int] | None = None) -> Explicit:
        """From a dense or scipy.sparse matrix of whole numbers, one row per query."""
        from scipy import sparse

        if not sparse.issparse(matrix):
            matrix = np.asarray(matrix)
            if matrix.ndim != 2 or 0 in matrix.shape or matrix.dtype.kind not in "biu":
                raise BadInput(
                    f"queries must be a table of whole numbers, one row per query, given {matrix.dtype} of shape "
                    f"{matrix.shape}. Scale fractions up to whole numbers."
                )
        entries = sparse.coo_array(matrix)
        entries.sum_duplicates()
        whole = entries.data.astype(np.int64) if entries.data.dtype.kind == "b" else entries.data
        return cls(entries.shape[1] if domain is None else domain, entries.row, entries.col, whole, entries.shape[0])

    @property
    def count(self) -> int:
        """The number of rows, empty ones included."""
        return self.length

    def _apply(self, cells: Array) -> Array:
        if cells.dtype == object:
            return scatter(self.coefficients.astype(object) * cells[..., self.columns], self.places, self.length)
        return _along_last(self._sparse(self.coefficients, cells.dtype), cells)

    def _transpose(self, answers: Array) -> Array:
        return self._weigh(answers, self.coefficients)

    def _absolute_transpose(self, weights: Array) -> Array:
        return self._weigh(weights, np.abs(self.coefficients.astype(weights.dtype)))

    def _weigh(self, answers: Array, coefficients: Array) -> Array:
        """For each cell, the sum of coefficient · answer, in the number type of the answers."""
        if answers.dtype == object:
            return scatter(coefficients.astype(object) * answers[..., self.places], self.columns, self.cells)
        return _along_last(self._sparse(coefficients, answers.dtype).T, answers)

    def _rows(self, numbers: Integers) -> Reals:
        return np.asarray(self._sparse(self.coefficients, np.float64)[numbers].toarray())

    def _sparse(self, coefficients: Array, kind: Any) -> Any:
        from scipy import sparse

        starts = np.searchsorted(self.places, np.arange(self.length + 1))
        return sparse.csr_array((coefficients.astype(kind), self.columns, starts), shape=(self.length, self.cells))

    def __str__(self) -> str:
        return f"{self.length:,} queries on {self.cells:,} cells"

    def size(self) -> Size:
        """Every non-zero coefficient, and every query."""
        return Size(4 * self.places.size + 3 * self.length, 4 * (self.places.size + self.length + self.cells))

    def largest_row_sum(self) -> int:
        """An upper bound: the largest coefficient times the most coefficients in a row."""
        return self.largest_coefficient() * int(np.bincount(self.places, minlength=1).max())

    def largest_coefficient(self) -> int:
        """The largest absolute coefficient."""
        return max(1, largest(self.coefficients))

    def squared_norm(self) -> float:
        """The sum of the squared coefficients."""
        return float(np.square(self.coefficients.astype(np.float64)).sum())


def _along_last(matrix: Any, values: Array) -> Array:
    """matrix · v for every vector v along the last axis."""
    flat = values.reshape(-1, values.shape[-1])
    result = matrix @ flat[0] if len(flat) == 1 else np.ascontiguousarray((matrix @ flat.T).T)
    return np.asarray(result).reshape(*values.shape[:-1], matrix.shape[0])
