"""Any list of integer queries, kept as their non-zero coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Integers, Reals
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries.base import Queries, Size, scatter
from adyton.whole import as_shape, freeze, largest, whole

_LONGEST = 1 << 27
"""As many queries as a domain may have cells."""


@dataclass(frozen=True, eq=False)
class Explicit(Queries):
    """Any integer queries, kept as their non-zero coefficients (row, column, coefficient).

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
        self._sort()

    def _sort(self) -> None:
        """Row by row, and in a row from the first cell to the last; each coefficient once."""
        order = np.lexsort((self.columns, self.places))
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
        """For each cell the sum of coefficient · answer, in the number type of the answers."""
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
        """Every coefficient that is not 0, and every query."""
        return Size(4 * self.places.size + 3 * self.length, 4 * (self.places.size + self.length + self.cells))

    def largest_row_sum(self) -> int:
        """A bound: the largest coefficient times the most coefficients in a row."""
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
