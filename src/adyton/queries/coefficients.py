"""The coefficients of queries, written out for planning, solving and estimation. Measuring needs nothing from here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Integers, Reals
from adyton.errors import BadInput
from adyton.queries.partition import Partition
from adyton.whole import IntegerArray, whole

_CHUNK = 1 << 22
"""How many coefficients are written out at a time where rows are needed."""
_CERTAINTY, _FEWEST_BITS = 128, 16
"""Bits of the random numbers that distinguish columns: in total, and the fewest per product in machine arithmetic."""
_LARGEST_GRAM = 1 << 14
_LARGEST_REAL = 1 << 52
"""Whole numbers below this, and the sum of two of them, are exact in double precision."""


class Coefficients(ABC):
    """A matrix that is never written out as a whole, with general methods to read its properties; query sets override
    those that they can compute faster."""

    domain: tuple[int, ...]

    @property
    @abstractmethod
    def count(self) -> int:
        """How many queries there are."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many cells the domain has."""

    @abstractmethod
    def _apply(self, cells: Array) -> Array:
        """W·x along the last axis."""

    @abstractmethod
    def _transpose(self, answers: Array) -> Array:
        """Wᵀ·y along the last axis."""

    @abstractmethod
    def largest_coefficient(self) -> int:
        """max_{q,i} |q_i|, or a bound on it."""

    @abstractmethod
    def _plain_sensitivity(self) -> int:
        """The largest L1 norm of a column."""

    @abstractmethod
    def _whole_form(self) -> Coefficients:
        """Queries with whole coefficients that distinguish all cells that these do."""

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
        """All the coefficients, some rows at a time, so that a large matrix is never held as a whole."""
        step = max(1, _CHUNK // self.cells)
        for start in range(0, self.count, step):
            yield self._rows(np.arange(start, min(self.count, start + step)))

    def _rows(self, numbers: Integers) -> Reals:
        """The coefficients of the queries with these numbers: Wᵀ·e_q, unless a subclass has a faster way."""
        step = max(1, _CHUNK // self.count)
        parts = [numbers[start : start + step] for start in range(0, numbers.size, step)]
        return np.concatenate([self._transpose(_units(part, self.count)) for part in parts])

    def gram(self) -> Reals:
        """WᵀW as a table of cells × cells; an error for domains that are too large."""
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
        """Groups of cells with the same coefficient in every query, numbered in the order of their first cells.

        W is never written out (see :meth:`column_products`). Where coefficients need not be whole, the groups can be
        smaller than necessary, never larger.
        """
        labels, first = np.zeros(self.cells, dtype=np.int64), np.zeros(1, dtype=np.int64)
        for products in self.column_products():
            if (products != products[first][labels]).any():
                labels, first = _refine(labels, products)
            if first.size == self.cells:
                break
        return Partition(labels)

    def column_products(self) -> Iterator[IntegerArray]:
        """Products v·W with random v, in whole numbers: cells with equal columns agree in all products, other cells
        with negligible probability.

        Zhang et al., εKTELO, SIGMOD 2018, Algorithm 2, in exact arithmetic. If two columns differ in the coefficient of
        query q, then for any values of the other numbers at most one value of v_q makes their products equal: a
        probability of at most 2^-b for numbers of b bits, and of at most 2^-128 for all products.
        """
        queries = self._whole_form()
        room = 62 - queries._plain_sensitivity().bit_length()  # |v·W| < 2^b · sensitivity
        bits, kind = (room, np.int64) if room >= _FEWEST_BITS else (62, object)
        random = np.random.default_rng(np.random.SeedSequence(queries.count))
        for _ in range(-(-_CERTAINTY // bits)):
            yield queries._transpose(random.integers(0, 1 << bits, queries.count).astype(kind, copy=False))


def by_part(numbers: Integers, lengths: Sequence[int]) -> Iterator[tuple[int, Integers, Integers]]:
    """For each part of a list cut into parts: which of the *numbers* lie in it, and their places in the part.

    Parts that contain none of the numbers are left out.

    >>> [(part, own.tolist(), within.tolist()) for part, own, within in by_part(np.array([0, 4, 3]), [2, 1, 2])]
    [(0, [0], [0]), (2, [1, 2], [1, 0])]
    """
    start = 0
    for part, length in enumerate(lengths):
        own = np.flatnonzero((numbers >= start) & (numbers < start + length))
        if own.size:
            yield part, own, numbers[own] - start
        start += length


def _units(places: Integers, length: int) -> Reals:
    """One row per place, 1 there and 0 elsewhere."""
    units = np.zeros((places.size, length))
    units[np.arange(places.size), places] = 1
    return units


def _refine(labels: Integers, products: npt.NDArray[Any]) -> tuple[Any, Any]:
    """Groups of cells with equal labels and equal products, and the first cell of each group."""
    keys = products
    if labels.any():
        kinds = np.unique(products, return_inverse=True)[1]
        keys = labels * (int(kinds.max()) + 1) + kinds
    _, first, groups = np.unique(keys, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[groups], np.sort(first)
