"""Synthetic rows out of a release that has the count of every cell."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from adyton.arrays import Reals
from adyton.result.presentation import Look
from adyton.result.row_values import Codes
from adyton.schema import Schema
from adyton.whole import whole

_AT_A_TIME = 1 << 17
_MOST_COMPARED = 1 << 22
"""How many cells of tables rows are compared with."""


@dataclass(frozen=True, eq=False)
class CellRows:
    """The estimated counts of all cells as a source of rows; negative ones hold none.

    >>> from adyton.schema import Integer
    >>> source = CellRows(Schema({"a": Integer(0, 2)}), np.array([2.0, -1.0, 2.0]))
    >>> np.bincount(next(source.codes(4, seed=1))[:, 0]).tolist()
    [2, 0, 2]
    """

    schema: Schema
    estimate: Reals

    def codes(self, rows: int, seed: int | None) -> Iterator[Codes]:
        """Of every part, each cell gets the rows that are its share, but for less than one: systematic sampling."""
        wanted = whole(rows, "rows", 0)
        key = secrets.randbits(63) if seed is None else whole(seed, "seed", 0)
        held = np.cumsum(self._cells().reshape(-1))
        parts = -(-wanted // _AT_A_TIME)
        return (self._part(held, wanted, parts, number, key) for number in range(parts))

    def _part(self, held: Reals, wanted: int, parts: int, number: int, key: int) -> Codes:
        count = wanted * (number + 1) // parts - wanted * number // parts
        random = np.random.default_rng([key, number])
        points = (np.arange(count) + random.random()) * (held[-1] / count)
        cells = np.minimum(np.searchsorted(held, points, side="right"), np.searchsorted(held, held[-1]))
        random.shuffle(cells)
        return np.stack(np.unravel_index(cells, self.estimate.shape), axis=1).astype(np.int32)

    def tables(self) -> dict[tuple[str, ...], Reals]:
        """Those of all pairs, or of the only attribute; the first ones, where they are many and large."""
        names, cells = self.schema.names, self._cells()
        found: dict[tuple[str, ...], Reals] = {}
        left = _MOST_COMPARED
        for group in itertools.combinations(range(len(names)), min(2, len(names))):
            others = tuple(axis for axis in range(len(names)) if axis not in group)
            left -= int(np.prod([self.estimate.shape[axis] for axis in group]))
            if left < 0:
                break
            found[tuple(names[axis] for axis in group)] = cells.sum(axis=others)
        return found

    def _cells(self) -> Reals:
        """No count is negative; where all are 0, all cells are alike."""
        cells = Look(nonnegative=True).shown(self.estimate)
        return cells if cells.sum() > 0 else np.ones(cells.shape)
