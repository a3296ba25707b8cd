"""Queries: linear counting queries over the cells of a domain, as a matrix that is never written out."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.whole import IntegerArray, narrow, widen

Array = npt.NDArray[Any]


class Queries(ABC):
    """A set of linear counting queries: one row per query, one whole-numbered coefficient per cell.

    Subclasses are frozen values. They work on flat vectors of int64, float64 or Python integers alike; the public
    methods here choose a number type in which nothing can wrap around.
    """

    domain: tuple[int, ...]

    @property
    @abstractmethod
    def count(self) -> int:
        """How many queries there are."""

    @abstractmethod
    def _apply(self, cells: Array) -> Array:
        """Answers on a flat vector of cells."""

    @abstractmethod
    def _absolute_transpose(self, weights: Array) -> Array:
        """For each cell i, Σ_q |q_i|·weight_q."""

    @abstractmethod
    def largest_row_sum(self) -> int:
        """max_q Σ_i |q_i|, or a bound on it: how far an answer can exceed the largest cell."""

    def largest_coefficient(self) -> int:
        """max_{q,i} |q_i|, or a bound on it."""
        return 1

    @property
    def cells(self) -> int:
        """How many cells the domain has."""
        return math.prod(self.domain)

    @property
    def shape(self) -> tuple[int, int]:
        """(queries, cells)."""
        return self.count, self.cells

    @abstractmethod
    def __str__(self) -> str:
        """What is asked, in words."""

    def __len__(self) -> int:
        return self.count

    def __matmul__(self, x: npt.ArrayLike) -> Array:
        """The true answers on a public vector *x*, flat or in the shape of the domain; exact for whole numbers."""
        array = np.asarray(x)
        if array.shape not in (self.domain, (self.cells,)):
            raise BadInput(f"these queries ask about a domain of shape {self.domain}, given an array of {array.shape}.")
        flat = array.reshape(-1)
        if flat.dtype.kind == "f":
            return self._apply(flat)
        if flat.dtype.kind not in "biuO":
            raise BadInput(f"queries are applied to numbers, given an array of {flat.dtype}.")
        return narrow(self._apply(widen(flat, self.largest_row_sum())))

    def column_sums(self, weights: IntegerArray | None = None) -> IntegerArray:
        """For each cell i, Σ_q weight_q·|q_i|, exactly; weights are whole numbers of at least 0, 1 by default."""
        rows = np.ones(self.count, dtype=np.int64) if weights is None else np.asarray(weights)
        if rows.shape != (self.count,):
            raise BadInput(f"there are {self.count} queries, given weights of shape {rows.shape}: give one per query.")
        return narrow(self._absolute_transpose(widen(rows, max(1, self.count * self.largest_coefficient()))))

    def sensitivity(self, weights: IntegerArray | None = None) -> int:
        """The largest (weighted) L1 norm of a column: how far one row more or less can move all the answers."""
        return int(self.column_sums(weights).max())
