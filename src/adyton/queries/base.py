"""Queries: linear counting queries over the cells of a domain, as a matrix that is never written out.

At the end of the file: bounds on the memory and time of a request, which are public and known before any budget is
spent, and the limits on them.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Integers
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries.coefficients import Coefficients
from adyton.queries.partition import made_of, rebuild
from adyton.whole import IntegerArray, maybe_whole, narrow, whole_array, widen

MOST_NUMBERS = 1 << 28
"""How many numbers a request may hold in memory besides the counts themselves: two gigabytes."""
MOST_STEPS = 1 << 33
"""How many steps of arithmetic a request may take: about a minute."""
SLOW_DRAW = 1 << 12
"""One draw of noise whose scale is too long for machine arithmetic takes as long as this many steps."""


class Queries(Coefficients):
    """A set of linear counting queries: one row per query, one coefficient per cell, usually whole numbers.

    Subclasses are frozen values. They work on arrays of int64, float64 or Python integers, whose last axis holds the
    cells (or the answers) and whose other axes are independent vectors; the public methods here choose a number type
    that cannot overflow.
    """

    def _absolute_transpose(self, weights: Array) -> Array:
        """For each cell i, Σ_q |q_i|·weight_q. Query sets with negative coefficients override this."""
        return self._transpose(weights)

    def largest_row_sum(self) -> int:
        """max_q Σ_i |q_i|, or a bound on it: by what factor an answer can exceed the largest cell."""
        return self.cells * self.largest_coefficient()

    def largest_coefficient(self) -> int:
        """max_{q,i} |q_i|, or a bound on it."""
        return 1

    def size(self) -> Size:
        """The memory and time to answer all queries once. Usually every cell and every answer is used a few times."""
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
        """A description of the queries in words."""

    def __len__(self) -> int:
        return self.count

    def __reduce__(self) -> tuple[Any, ...]:
        """Copying and unpickling call the constructor, which checks and freezes again."""
        return rebuild, (type(self), made_of(self))

    def __matmul__(self, x: npt.ArrayLike) -> Array:
        """The true answers on a public vector *x*, flat or in the shape of the domain; exact for whole numbers.

        Leading axes are independent vectors.
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
        """Wᵀ·y: for each cell, the sum of the answers to the queries that count it, times their coefficients."""
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
        """The largest (weighted) L1 norm of a column: how much one row more or less can change the answers in total.

        An error if a coefficient need not be whole, because the norm is then known only up to rounding.
        """
        if not self.whole:
            raise BadInput("weighted queries are answered from an estimate. To measure, give weights separately.")
        return self._plain_sensitivity() if weights is None else int(self.column_sums(weights).max())

    def _plain_sensitivity(self) -> int:
        return int(self.column_sums().max())

    @property
    def whole(self) -> bool:
        """Whether all coefficients are whole numbers: only such queries can be measured."""
        return self._whole_form() is self

    def _whole_form(self) -> Queries:
        """Queries with whole coefficients that distinguish all cells that these do; *self* if all are whole."""
        return self

    def _reach(self) -> int:
        """By what factor a cell of Wᵀ·y can exceed the largest of the answers y."""
        return max(1, self.count * self.largest_coefficient())


def check_queries(given: Sequence[Queries], name: str) -> tuple[Queries, ...]:
    """The query sets as a tuple; an error unless there is at least one."""
    parts = tuple(given) if isinstance(given, Iterable) else ()
    if not parts or not all(isinstance(part, Queries) for part in parts):
        raise BadInput(f"{name} must be query sets, at least one, given {shorten(given)}.")
    return parts


def _whole_numbers(values: Array, name: str) -> IntegerArray:
    """Whole numbers of any type, with those in an object array as Python integers; an error for anything else."""
    if values.dtype.kind in "biu":
        return values
    numbers = [maybe_whole(value) for value in values.flat] if values.dtype.kind == "O" else [None]
    if any(number is None for number in numbers):
        raise BadInput(f"{name} must be whole numbers or floats, given an array of {values.dtype}.")
    return whole_array(cast(list[int], numbers), values.shape)


def scatter(values: Array, places: Integers, length: int) -> Array:
    """For each of *length* places, the sum of the values that belong there, along the last axis.

    >>> scatter(np.array([1, 2, 4]), np.array([1, 0, 1]), 2)
    array([2, 5])
    """
    sums = np.zeros((*values.shape[:-1], length), dtype=values.dtype)
    add_at(sums, places, values)
    return sums


def add_at(sums: Array, places: Integers, values: Array) -> None:
    """Add each value to the sum at its place, along the last axis of a contiguous array of sums."""
    if values.ndim > 1:
        starts = np.arange(0, sums.size, sums.shape[-1])  # one flat index is many times faster than one per axis
        places = (starts[:, None] + places).reshape(-1)
    np.add.at(sums.reshape(-1), places, values.reshape(-1))


class Size(NamedTuple):
    """Upper bounds on how many numbers are held at the same time and on the steps of arithmetic. They are rough: they
    only ensure that no permitted request exhausts the memory or runs forever."""

    numbers: int
    steps: int

    def then(self, other: Size) -> Size:
        """One after the other: the memory of the first is free when the second starts."""
        return Size(max(self.numbers, other.numbers), self.steps + other.steps)

    def check(self, what: Callable[[], str], advice: str) -> None:
        """Raise an error if this is too large; *what* is called only then and names the request in the message.

        >>> Size(1 << 40, 1).check(lambda: "this histogram", "Ask for less.")
        Traceback (most recent call last):
        adyton.errors.BadInput: this histogram needs about 8,796 GB of memory; the limit is 2 GB. Ask for less.
        """
        if self.numbers > MOST_NUMBERS:
            raise BadInput(f"{what()} needs about {_gigabytes(self.numbers)} GB of memory; the limit is 2 GB. {advice}")
        if self.steps > MOST_STEPS:
            raise BadInput(
                f"{what()} takes about {_rounded(self.steps)} steps of arithmetic; the limit is "
                f"{_rounded(MOST_STEPS)}. {advice}"
            )


NOTHING = Size(0, 0)


def _gigabytes(numbers: int) -> str:
    whole = 8 * numbers // 10**9
    return f"{whole:,}" if whole < 10**6 else "more than a million"


def _rounded(steps: int) -> str:
    """The number of steps in billions, in words.

    >>> _rounded(8_589_934_592), _rounded(51_000_000_000_000)
    ('9 billion', '51,000 billion')
    """
    billions = round(steps / 10**9) if steps < 10**24 else 10**15
    return f"{billions:,} billion"
