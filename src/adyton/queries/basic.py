"""The plainest query sets: every cell, the total, every prefix, and any list of integer queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.queries.base import Array, Queries
from adyton.whole import add, as_shape, freeze, largest, whole, widen


@dataclass(frozen=True)
class Identity(Queries):
    """One query per cell: the histogram itself.

    >>> Identity(3) @ [4, 5, 6]
    array([4, 5, 6])
    """

    domain: tuple[int, ...]

    def __init__(self, domain: int | Sequence[int]) -> None:
        object.__setattr__(self, "domain", as_shape(domain))

    @property
    def count(self) -> int:
        """As many as there are cells."""
        return self.cells

    def _apply(self, cells: Array) -> Array:
        return cells.copy()

    def __str__(self) -> str:
        return f"histogram of {self.cells:,} cells"

    def _absolute_transpose(self, weights: Array) -> Array:
        return weights

    def largest_row_sum(self) -> int:
        """One cell, once."""
        return 1


@dataclass(frozen=True)
class Total(Queries):
    """One query: how many rows there are in all.

    >>> Total((2, 2)) @ [[1, 2], [3, 4]]
    array([10])
    """

    domain: tuple[int, ...]

    def __init__(self, domain: int | Sequence[int]) -> None:
        object.__setattr__(self, "domain", as_shape(domain))

    @property
    def count(self) -> int:
        """One."""
        return 1

    def _apply(self, cells: Array) -> Array:
        return np.asarray(cells.sum(keepdims=True))

    def __str__(self) -> str:
        return "total"

    def _absolute_transpose(self, weights: Array) -> Array:
        return np.repeat(weights, self.cells)

    def largest_row_sum(self) -> int:
        """Every cell, once."""
        return self.cells


@dataclass(frozen=True)
class Prefix(Queries):
    """Query i counts the rows in cells 0 … i: the empirical distribution function before division by the total.

    >>> Prefix(3) @ [4, 5, 6]
    array([ 4,  9, 15])
    """

    domain: tuple[int, ...]

    def __init__(self, domain: int | Sequence[int]) -> None:
        object.__setattr__(self, "domain", as_shape(domain))
        if len(self.domain) != 1:
            raise BadInput(f"prefixes need an ordered domain of one dimension, given the shape {self.domain}.")

    @property
    def count(self) -> int:
        """As many as there are cells."""
        return self.cells

    def _apply(self, cells: Array) -> Array:
        return cells.cumsum()

    def __str__(self) -> str:
        return f"prefix sums of {self.cells:,} cells"

    def _absolute_transpose(self, weights: Array) -> Array:
        return weights[::-1].cumsum()[::-1]

    def largest_row_sum(self) -> int:
        """The last prefix holds every cell."""
        return self.cells


@dataclass(frozen=True, eq=False)
class Explicit(Queries):
    """Any integer queries, kept as their non-zero coefficients (row, column, coefficient).

    >>> Explicit.from_rows([[1, 1, 0], [0, 1, -2]]) @ [4, 5, 6]
    array([ 9, -7])
    """

    domain: tuple[int, ...]
    rows: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    coefficients: npt.NDArray[np.int64]
    length: int

    def __init__(
        self,
        domain: int | Sequence[int],
        rows: npt.ArrayLike,
        columns: npt.ArrayLike,
        coefficients: npt.ArrayLike,
        length: int,
    ) -> None:
        object.__setattr__(self, "domain", as_shape(domain))
        object.__setattr__(self, "rows", freeze(rows, "rows"))
        object.__setattr__(self, "columns", freeze(columns, "columns"))
        object.__setattr__(self, "coefficients", freeze(coefficients, "coefficients"))
        object.__setattr__(self, "length", whole(length, "length", 1))
        if not self.rows.shape == self.columns.shape == self.coefficients.shape or self.rows.ndim != 1:
            raise BadInput("rows, columns and coefficients must be three flat lists of the same length.")
        for name, places, bound in (("rows", self.rows, self.length), ("columns", self.columns, self.cells)):
            if places.size and not 0 <= int(places.min()) <= int(places.max()) < bound:
                raise BadInput(f"{name} must lie in 0 … {bound - 1}, given {int(places.min())} … {int(places.max())}.")
        places = add(widen(self.rows, self.cells) * self.cells, self.columns)
        if np.unique(places).size != places.size:
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
        answers = np.zeros(self.length, dtype=cells.dtype)
        np.add.at(answers, self.rows, self.coefficients * cells[self.columns])
        return answers

    def __str__(self) -> str:
        return f"{self.length:,} queries on {self.cells:,} cells"

    def _absolute_transpose(self, weights: Array) -> Array:
        sums = np.zeros(self.cells, dtype=weights.dtype)
        np.add.at(sums, self.columns, np.abs(self.coefficients.astype(weights.dtype)) * weights[self.rows])
        return sums

    def largest_row_sum(self) -> int:
        """A bound: the largest coefficient times the most coefficients in a row."""
        return self.largest_coefficient() * int(np.bincount(self.rows, minlength=1).max())

    def largest_coefficient(self) -> int:
        """The largest absolute coefficient."""
        return max(1, largest(self.coefficients))
