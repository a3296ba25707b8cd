"""Queries: linear counting queries over the cells of a domain, as a matrix that is never written out."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Integers, Reals
from adyton.errors import BadInput
from adyton.queries.columns import column_products, group_columns
from adyton.queries.partition import Partition, made_of, rebuild
from adyton.queries.size import Size
from adyton.whole import IntegerArray, maybe_whole, narrow, whole, whole_array, widen

_CHUNK = 1 << 22
"""How many coefficients are written out at a time, where rows have to be."""
_LARGEST_GRAM = 1 << 14
_LARGEST_REAL = 1 << 52
"""Whole numbers below this, and the sum of two of them, are exact in double precision."""


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

    def largest_row_sum(self) -> int:
        """max_q Σ_i |q_i|, or a bound on it: how far an answer can exceed the largest cell."""
        return self.cells * self.largest_coefficient()

    def largest_coefficient(self) -> int:
        """max_{q,i} |q_i|, or a bound on it."""
        return 1

    def largest_pair(self) -> int:
        """max_i |q_i| + |r_i| over two different queries q and r, or a bound on it.

        Exact where coefficients are 0, 1 and −1, and where the matrix is small enough to be written out.
        """
        coefficient = self.largest_coefficient()
        if coefficient == 1 or coefficient >= _LARGEST_REAL or self.count * self.cells > _CHUNK:
            return min(2 * coefficient, self._plain_sensitivity())
        two = np.zeros((2, self.cells))
        for rows in self.rows():
            two = np.sort(np.concatenate([two, np.abs(rows)]), axis=0)[-2:]
        return int(two.sum(axis=0).max())

    def size(self) -> Size:
        """What it takes to answer all of them once. As a rule every cell and every answer is touched a few times."""
        count = self.count
        return Size(2 * count, 2 * (self.cells + count))

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

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are made by the constructor, which checks and freezes again."""
        return rebuild, (type(self), made_of(self))

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
            return self._apply(flat.astype(np.float64, copy=False))
        return narrow(self._apply(widen(_whole_numbers(flat, "cells"), self.largest_row_sum())))

    def transpose(self, answers: npt.ArrayLike) -> Array:
        """Wᵀ·y: for each cell the sum of the answers of the queries that count it, times their coefficients."""
        array = np.asarray(answers)
        if not array.ndim or array.shape[-1] != self.count:
            raise BadInput(f"there are {self.count} queries, given answers of shape {array.shape}: give one per query.")
        if array.dtype.kind == "f":
            return self._transpose(array.astype(np.float64, copy=False))
        return narrow(self._transpose(widen(_whole_numbers(array, "answers"), self._reach())))

    def column_sums(self, weights: IntegerArray | None = None) -> IntegerArray:
        """For each cell i, Σ_q weight_q·|q_i|, exactly; weights are whole numbers of at least 0, 1 by default."""
        rows = np.ones(self.count, dtype=np.int64) if weights is None else np.asarray(weights)
        if rows.shape != (self.count,):
            raise BadInput(f"there are {self.count} queries, given weights of shape {rows.shape}: give one per query.")
        if rows.dtype.kind not in "biuO" or _whole_numbers(rows, "weights").min() < 0:
            raise BadInput("weights must be whole numbers of at least 0. Scale fractions up to whole numbers.")
        return narrow(self._absolute_transpose(widen(_whole_numbers(rows, "weights"), self._reach())))

    def sensitivity(self, weights: IntegerArray | None = None) -> int:
        """The largest (weighted) L1 norm of a column: how far one row more or less can move all the answers.

        Refused where a coefficient need not be whole, because then it is only known up to rounding.
        """
        if not self.whole:
            raise BadInput("weighted queries are answered from an estimate. Measure them plain, with weights beside.")
        return self._plain_sensitivity() if weights is None else int(self.column_sums(weights).max())

    def _plain_sensitivity(self) -> int:
        return int(self.column_sums().max())

    @property
    def whole(self) -> bool:
        """Whether all coefficients are whole numbers: only such queries can be measured."""
        return self._whole_form() is self

    def _whole_form(self) -> Queries:
        """Queries with whole coefficients that tell apart all cells that these do: themselves, if they are whole."""
        return self

    def _reach(self) -> int:
        """How far a cell of Wᵀ·y can exceed the largest of the answers y."""
        return max(1, self.count * self.largest_coefficient())

    def row(self, query: int) -> Array:
        """The coefficients of one query, in the shape of the domain."""
        number = whole(query, "query", 0)
        if number >= self.count:
            raise BadInput(f"there are {self.count} queries, numbered from 0, given {number}.")
        return self._rows(np.array([number])).reshape(self.domain)

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
            yield self._rows(np.arange(start, min(self.count, start + step)))

    def _rows(self, numbers: Integers) -> Reals:
        """The coefficients of the queries with these numbers; Wᵀ·e_q for those that have no shorter way."""
        step = max(1, _CHUNK // self.count)
        parts = [numbers[start : start + step] for start in range(0, numbers.size, step)]
        return np.concatenate([self._transpose(_units(part, self.count)) for part in parts])

    def gram(self) -> Reals:
        """WᵀW as a table of cells × cells; only for domains that are small enough to have one."""
        if self.cells > _LARGEST_GRAM:
            raise BadInput(f"a table of {self.cells:,}² numbers is too large to be written out.")
        return self._gram()

    def _gram(self) -> Reals:
        step = max(1, _CHUNK // max(self.cells, self.count))
        starts = range(0, self.cells, step)
        units = (_units(np.arange(start, min(self.cells, start + step)), self.cells) for start in starts)
        return np.concatenate([self._transpose(self._apply(some)) for some in units])

    def squared_norm(self) -> float:
        """‖W‖²_F, the sum of all squared coefficients."""
        return float(sum(np.square(rows).sum() for rows in self.rows()))

    def column_groups(self) -> Partition:
        """Cells that every query treats alike, as groups numbered in the order of their first cells.

        W is never written out (see :func:`adyton.queries.columns.column_products`). Where coefficients need not be
        whole, the groups can be smaller than they have to be, never larger.
        """
        return group_columns(self._whole_form())

    def column_products(self) -> Iterator[IntegerArray]:
        """Random products v·W, exactly: cells with equal columns, and only such cells, agree in all of them."""
        return column_products(self._whole_form())


def _units(places: Integers, length: int) -> Reals:
    """One row per place, 1 there and 0 elsewhere."""
    units = np.zeros((places.size, length))
    units[np.arange(places.size), places] = 1
    return units


def _whole_numbers(values: Array, name: str) -> IntegerArray:
    """Whole numbers of any type, those in an array of objects as Python integers; an error for anything else."""
    if values.dtype.kind in "biu":
        return values
    numbers = [maybe_whole(value) for value in values.flat] if values.dtype.kind == "O" else [None]
    if any(number is None for number in numbers):
        raise BadInput(f"{name} must be whole numbers or floats, given an array of {values.dtype}.")
    return whole_array(cast(list[int], numbers), values.shape)
