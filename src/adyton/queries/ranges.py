"""Range queries: boxes of neighbouring cells, answered from summed-area tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Integers, Reals
from adyton.errors import BadInput
from adyton.queries.base import Queries
from adyton.queries.basic import DomainQueries
from adyton.queries.partition import Partition
from adyton.queries.places import add_at
from adyton.queries.size import Size
from adyton.whole import as_shape, freeze, narrow, widen

_MOST_PADDING = 8
_AT_ONCE = 1 << 22
"""How many coefficients are written out at a time."""


@dataclass(frozen=True, eq=False)
class Ranges(Queries):
    """Query q counts the cells from ``lower[q]`` to ``upper[q]``, both included, along every axis.

    >>> Ranges(8, [[0], [3]], [[1], [7]]) @ [1, 2, 3, 4, 5, 6, 7, 8]
    array([ 3, 30])
    """

    domain: tuple[int, ...]
    lower: Integers
    upper: Integers

    def __init__(self, domain: int | Sequence[int], lower: npt.ArrayLike, upper: npt.ArrayLike) -> None:
        object.__setattr__(self, "domain", as_shape(domain))
        axes = len(self.domain)
        for name, given in (("lower", lower), ("upper", upper)):
            bounds = freeze(given, name)
            if bounds.ndim == 1 and axes == 1:
                bounds = bounds.reshape(-1, 1)
            if bounds.ndim != 2 or bounds.shape[1] != axes or not bounds.shape[0]:
                raise BadInput(
                    f"{name} must hold one row per range with {axes} bound{'s' * (axes > 1)}, one per axis, "
                    f"given an array of shape {bounds.shape}."
                )
            object.__setattr__(self, name, bounds)
        if self.lower.shape != self.upper.shape:
            raise BadInput(f"there are {len(self.lower)} lower and {len(self.upper)} upper bounds. Give one each.")
        wrong = (self.lower < 0) | (self.upper < self.lower) | (self.upper >= np.array(self.domain))
        if wrong.any():
            number = int(np.flatnonzero(wrong.any(axis=1))[0])
            raise BadInput(
                f"range {number} goes from {self.lower[number].tolist()} to {self.upper[number].tolist()}. Bounds are "
                f"inclusive, lower ≤ upper, and lie in 0 … {[side - 1 for side in self.domain]}."
            )

    @property
    def count(self) -> int:
        """How many ranges there are."""
        return len(self.lower)

    def side(self, axis: int) -> Ranges:
        """What the boxes span along one axis: each box is the product of its sides."""
        return Ranges(self.domain[axis], self.lower[:, axis], self.upper[:, axis])

    @property
    def _many_corners(self) -> bool:
        """Whether a summed-area table would be many times larger than the domain: with many short axes it would."""
        return math.prod(side + 1 for side in self.domain) > _MOST_PADDING * self.cells

    def _some_rows(self, dtype: Any) -> Iterator[tuple[slice, Array]]:
        """The coefficients, some rows at a time."""
        step = max(1, _AT_ONCE // self.cells)
        for start in range(0, self.count, step):
            part = slice(start, min(self.count, start + step))
            yield part, self._rows(np.arange(part.start, part.stop)).astype(np.int64).astype(dtype)

    def _apply(self, cells: Array) -> Array:
        if self._many_corners:
            found = np.zeros((*cells.shape[:-1], self.count), dtype=cells.dtype)
            for part, rows in self._some_rows(cells.dtype):
                found[..., part] = cells @ rows.T
            return found
        table = cells.reshape(*cells.shape[:-1], *self.domain)
        leading = cells.ndim - 1
        padded = np.zeros((*cells.shape[:-1], *(side + 1 for side in self.domain)), dtype=cells.dtype)
        padded[(slice(None),) * leading + (slice(1, None),) * len(self.domain)] = table
        for axis in range(leading, padded.ndim):
            np.cumsum(padded, axis=axis, out=padded)
        flat = padded.reshape(*cells.shape[:-1], math.prod(side + 1 for side in self.domain))
        answers = np.zeros((*cells.shape[:-1], self.count), dtype=cells.dtype)
        for negative, corner in self._corners():
            if negative:
                answers -= flat[..., corner]
            else:
                answers += flat[..., corner]
        return answers

    def _transpose(self, answers: Array) -> Array:
        if self._many_corners:
            total = np.zeros((*answers.shape[:-1], self.cells), dtype=answers.dtype)
            for part, rows in self._some_rows(answers.dtype):
                total += answers[..., part] @ rows
            return total
        sides = tuple(side + 1 for side in self.domain)
        flat = np.zeros((*answers.shape[:-1], math.prod(sides)), dtype=answers.dtype)
        for negative, corner in self._corners():
            add_at(flat, corner, -answers if negative else answers)
        table = flat.reshape(*answers.shape[:-1], *sides)
        for axis in range(answers.ndim - 1, table.ndim):
            np.cumsum(np.flip(table, axis), axis=axis, out=np.flip(table, axis))
        inside = (slice(None),) * (answers.ndim - 1) + (slice(1, None),) * len(self.domain)
        return np.ascontiguousarray(table[inside]).reshape(*answers.shape[:-1], self.cells)

    def _rows(self, numbers: Integers) -> Reals:
        """Each box is the product of its sides."""
        rows = np.ones((numbers.size, 1), dtype=bool)
        for axis, side in enumerate(self.domain):
            low, high = self.lower[numbers, axis, None], self.upper[numbers, axis, None]
            inside = (np.arange(side) >= low) & (np.arange(side) <= high)
            rows = (rows[:, :, None] & inside[:, None, :]).reshape(numbers.size, -1)
        return rows.astype(np.float64)

    def _corners(self) -> Iterator[tuple[bool, Array]]:
        """Inclusion and exclusion: the corners of the boxes in the padded summed-area table, with their signs."""
        for corner in itertools.product((False, True), repeat=len(self.domain)):
            places = np.zeros(self.count, dtype=np.int64)
            for axis, low in enumerate(corner):
                places *= self.domain[axis] + 1
                places += self.lower[:, axis] if low else self.upper[:, axis] + 1
            yield bool(sum(corner) % 2), places

    def __str__(self) -> str:
        return f"{self.count:,} ranges on {' × '.join(f'{side:,}' for side in self.domain)} cells"

    def size(self) -> Size:
        """A summed-area table and its corners; or, with many short axes, every coefficient."""
        if self._many_corners:
            return Size(self.count + 4 * _AT_ONCE + 4 * self.cells, self.count * self.cells)
        table, axes = math.prod(side + 1 for side in self.domain), len(self.domain)
        return Size(2 * table + 4 * self.count, axes * (table + (self.count << axes)))

    def largest_row_sum(self) -> int:
        """The largest box; partial sums in the table can reach all cells."""
        return self.cells

    def squared_norm(self) -> float:
        """The sizes of all boxes together."""
        return float((self.upper - self.lower + 1.0).prod(axis=1).sum())


@dataclass(frozen=True, init=False)
class AllRange(DomainQueries):
    """Every interval of an ordered domain, n(n+1)/2 of them: all that start at cell 0, then all that start at 1, …

    >>> AllRange(3) @ [4, 5, 6]
    array([ 4,  9, 15,  5, 11,  6])
    """

    one_axis: ClassVar[str] = "intervals need an ordered domain of one dimension, given the shape {}."

    @property
    def count(self) -> int:
        """n(n+1)/2."""
        return self.cells * (self.cells + 1) // 2

    def _apply(self, cells: Array) -> Array:
        starts = (cells[..., start:].cumsum(axis=-1) for start in range(self.cells))
        return np.concatenate(list(starts), axis=-1)

    def _transpose(self, answers: Array) -> Array:
        result = np.zeros((*answers.shape[:-1], self.cells), dtype=answers.dtype)
        end = 0
        for start in range(self.cells):
            begin, end = end, end + self.cells - start
            result[..., start:] += answers[..., begin:end][..., ::-1].cumsum(axis=-1)[..., ::-1]
        return result

    def _rows(self, numbers: Integers) -> Reals:
        firsts = np.concatenate([[0], np.cumsum(np.arange(self.cells, 0, -1))])
        starts = np.searchsorted(firsts, numbers, side="right") - 1
        ends = starts + numbers - firsts[starts]
        places = np.arange(self.cells)
        return np.asarray((places >= starts[:, None]) & (places <= ends[:, None]), dtype=np.float64)

    def column_sums(self, weights: Array | None = None) -> Array:
        """Cell i lies in (i + 1)(n − i) intervals."""
        if weights is not None:
            return super().column_sums(weights)
        places = widen(np.arange(self.cells), self.cells)
        return narrow((places + 1) * (self.cells - places))

    def column_groups(self) -> Partition:
        """Every cell for itself: each is told from the next by an interval that ends between them."""
        return Partition(np.arange(self.cells))

    def __str__(self) -> str:
        return f"all intervals of {self.cells:,} cells"

    def _gram(self) -> Reals:
        """Cells i ≤ j are both in the intervals that start at 0 … i and end at j … n − 1."""
        places = np.arange(self.cells, dtype=np.float64)
        return np.asarray((np.minimum.outer(places, places) + 1) * (self.cells - np.maximum.outer(places, places)))

    def squared_norm(self) -> float:
        """n(n+1)(n+2)/6: the lengths of all intervals together."""
        return self.cells * (self.cells + 1) * (self.cells + 2) / 6
