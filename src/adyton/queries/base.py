"""Queries: linear counting queries over the cells of a domain, as a matrix that is never written out."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.queries.partition import Partition
from adyton.whole import IntegerArray, narrow, whole, widen

Array = npt.NDArray[Any]
Reals = npt.NDArray[np.float64]

_CHUNK = 1 << 22
"""How many coefficients are written out at a time, where rows have to be."""
_LARGEST_GRAM = 1 << 14
_HASHES = 2


class Queries(ABC):
    """A set of linear counting queries: one row per query, one coefficient per cell, whole numbers as a rule.

    Subclasses are frozen values. They work on arrays of int64, float64 or Python integers alike, whose last axis holds
    the cells (or the answers) and whose other axes are independent vectors; the public methods here choose a number
    type in which nothing can wrap around.
    """

    domain: tuple[int, ...]

    @property
    @abstractmethod
    def count(self) -> int:
        """How many queries there are."""

    @abstractmethod
    def _apply(self, cells: Array) -> Array:
        """W·x along the last axis."""

    @abstractmethod
    def _transpose(self, answers: Array) -> Array:
        """Wᵀ·y along the last axis."""

    def _absolute_transpose(self, weights: Array) -> Array:
        """For each cell i, Σ_q |q_i|·weight_q. Query sets with negative coefficients have their own."""
        return self._transpose(weights)

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
        """The true answers on a public vector *x*, flat or in the shape of the domain; exact for whole numbers.

        Further axes in front are independent vectors.
        """
        array = np.asarray(x)
        axes = len(self.domain)
        if array.shape[-axes:] == self.domain and array.ndim >= axes:
            flat = array.reshape(*array.shape[:-axes], self.cells)
        elif array.ndim and array.shape[-1] == self.cells:
            flat = array
        else:
            raise BadInput(f"these queries ask about a domain of shape {self.domain}, given an array of {array.shape}.")
        if flat.dtype.kind == "f":
            return self._apply(flat)
        if flat.dtype.kind not in "biuO":
            raise BadInput(f"queries are applied to numbers, given an array of {flat.dtype}.")
        return narrow(self._apply(widen(flat, self.largest_row_sum())))

    def transpose(self, answers: npt.ArrayLike) -> Array:
        """Wᵀ·y: for each cell the sum of the answers of the queries that count it, times their coefficients."""
        array = np.asarray(answers)
        if not array.ndim or array.shape[-1] != self.count:
            raise BadInput(f"there are {self.count} queries, given answers of shape {array.shape}: give one per query.")
        if array.dtype.kind == "f":
            return self._transpose(array)
        return narrow(self._transpose(widen(array, max(1, self.count * self.largest_coefficient()))))

    def column_sums(self, weights: IntegerArray | None = None) -> IntegerArray:
        """For each cell i, Σ_q weight_q·|q_i|, exactly; weights are whole numbers of at least 0, 1 by default."""
        rows = np.ones(self.count, dtype=np.int64) if weights is None else np.asarray(weights)
        if rows.shape != (self.count,):
            raise BadInput(f"there are {self.count} queries, given weights of shape {rows.shape}: give one per query.")
        return narrow(self._absolute_transpose(widen(rows, max(1, self.count * self.largest_coefficient()))))

    def sensitivity(self, weights: IntegerArray | None = None) -> int:
        """The largest (weighted) L1 norm of a column: how far one row more or less can move all the answers."""
        return int(self.column_sums(weights).max())

    def row(self, query: int) -> Array:
        """The coefficients of one query, in the shape of the domain."""
        number = whole(query, "query", 0)
        if number >= self.count:
            raise BadInput(f"there are {self.count} queries, numbered from 0, given {number}.")
        return self._rows(number, number + 1).reshape(self.domain)

    def column(self, cell: int) -> Array:
        """The coefficient of one cell, given by its number in row-major order, in every query."""
        number = whole(cell, "cell", 0)
        if number >= self.cells:
            raise BadInput(f"there are {self.cells} cells, numbered from 0, given {number}.")
        unit = np.zeros(self.cells)
        unit[number] = 1
        return self._apply(unit)

    def rows(self) -> Iterator[Reals]:
        """All the coefficients, some rows at a time: never the whole matrix, if it is large."""
        step = max(1, _CHUNK // self.cells)
        for start in range(0, self.count, step):
            yield self._rows(start, min(self.count, start + step))

    def _rows(self, start: int, stop: int) -> Reals:
        units = np.zeros((stop - start, self.count))
        units[np.arange(stop - start), np.arange(start, stop)] = 1
        return np.asarray(self._transpose(units), dtype=np.float64)

    def gram(self) -> Reals:
        """WᵀW as a table of cells × cells; only for domains that are small enough to have one."""
        if self.cells > _LARGEST_GRAM:
            raise BadInput(f"a table of {self.cells:,}² numbers is too large to be written out.")
        return self._gram()

    def _gram(self) -> Reals:
        total = np.zeros((self.cells, self.cells))
        for rows in self.rows():
            total += rows.T @ rows
        return total

    def squared_norm(self) -> float:
        """‖W‖²_F, the sum of all squared coefficients."""
        return float(sum(np.square(rows).sum() for rows in self.rows()))

    def column_groups(self) -> Partition:
        """Cells that every query treats alike, as groups numbered in the order of their first cells.

        Columns are compared by random projections v·W in whole numbers modulo 2^64, so W is never written out:
        two columns whose coefficients differ collide with a probability of about 2^-128.
        """
        random = np.random.default_rng(np.random.SeedSequence(self.count))
        words = random.integers(0, 1 << 64, (_HASHES, self.count), dtype=np.uint64)
        hashes = self._hash_columns(words)
        _, first, labels = np.unique(hashes, axis=1, return_index=True, return_inverse=True)
        rank = np.empty(first.size, dtype=np.int64)
        rank[np.argsort(first)] = np.arange(first.size)
        return Partition(rank[labels.reshape(-1)])

    def _hash_columns(self, words: Array) -> Array:
        """v·W modulo 2^64 for each row v of the words."""
        with np.errstate(over="ignore"):
            return self._transpose(words)


def scatter(values: Array, places: npt.NDArray[np.int64], length: int) -> Array:
    """For each of *length* places the sum of the values that go there; -1 is the last place.

    >>> scatter(np.array([1, 2, 4]), np.array([1, 0, 1]), 2)
    array([2, 5])
    """
    sums = np.zeros((*values.shape[:-1], length), dtype=values.dtype)
    index: Any = (..., places)
    np.add.at(sums, index, values)
    return sums
