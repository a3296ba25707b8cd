"""Many packs of columns counted as the rows pass by: the engine codes the rows, a compiled loop counts them.

Claim.  The counts are those of a group-by over the key of each pack.
Proof.  Every row comes once, with one number for each column; none, or a number beyond the last, is taken as the last,
which is what a group-by never sees, because the engine's expressions give none. A row adds 1 to a key of each pack.  ∎

What is held at a time is a batch of rows and the counts: memory does not grow with the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers
from adyton.compiling import compiled
from adyton.kernel.engines import Engine
from adyton.kernel.tables.packs import Column, Pack

MOST_KEYS = 1 << 16
"""Packs with more keys are counted by the engine: here a key has 16 bits."""
KEYS_IN_CACHE = 1 << 13
"""Columns are counted together while there are so many keys: their counts stay in the processor's nearest cache."""
_ROWS_AT_A_TIME = 1 << 17
_BLOCK = 1 << 14
_LARGEST = (1 << 16) - 1
_ROWS_BETWEEN = 1 << 30
"""So many rows are counted in 32 bits before they are added to the rest."""

_Codes = npt.NDArray[np.uint16]
_Short = npt.NDArray[np.uint32]


def counted_in_passing(
    engine: Engine, rows: Any, columns: Mapping[str, Column], packs: Sequence[Pack]
) -> list[Integers]:
    """For each pack the number of rows with each key, in one pass over an Ibis table."""
    names = list(dict.fromkeys(name for pack in packs for name in pack.names))
    codes = rows.select(**{name: engine.small(rows[name], _LARGEST) for name in names})
    keys = [columns[name].keys for name in names]
    tally = _Tally(keys, [[names.index(name) for name in one.names] for one in packs])
    for batch in engine.batches(codes, _ROWS_AT_A_TIME):
        tally.add(batch.num_rows, [_numbers(*one) for one in zip(batch.columns, keys, strict=True)])
    return tally.counts()


def _numbers(column: Any, keys: int) -> npt.NDArray[Any]:
    """A column of Arrow's; what is none is taken as the last number. (Asked of the engine, that would take longer.)"""
    return np.from_dlpack(column.fill_null(keys - 1) if column.null_count else column)


class _Tally:
    """The counts so far."""

    def __init__(self, keys: Sequence[int], packs: Sequence[Sequence[int]]) -> None:
        """*keys* of each column, and the places of the columns of each pack."""
        self._keys = np.array(keys, dtype=np.int64)
        self._last = (self._keys - 1).astype(np.uint16)
        self._members = np.array([place for pack in packs for place in pack], dtype=np.int64)
        self._ends = np.cumsum([len(pack) for pack in packs])
        sizes = [int(np.prod([keys[place] for place in pack])) for pack in packs]
        self._starts = np.cumsum([0, *sizes])
        self._short = np.zeros(self._starts[-1], dtype=np.uint32)
        self._long = np.zeros(self._starts[-1], dtype=np.int64)
        self._since = 0
        self._codes = np.zeros((len(keys), 0), dtype=np.uint16)
        self._block = np.zeros(_BLOCK, dtype=np.uint16)

    def add(self, rows: int, columns: Iterable[npt.NDArray[Any]]) -> None:
        """Count so many rows more."""
        if self._since + rows > _ROWS_BETWEEN:
            self._carry()
        if rows > self._codes.shape[1]:
            self._codes = np.zeros((len(self._keys), rows), dtype=np.uint16)
        for own, column, last in zip(self._codes, columns, self._last, strict=True):
            np.minimum(column, last, out=own[:rows])
        _count(self._codes, rows, self._keys, self._members, self._ends, self._starts, self._short, self._block)
        self._since += rows

    def counts(self) -> list[Integers]:
        """Of every key of each pack."""
        self._carry()
        return np.split(self._long, self._starts[1:-1])

    def _carry(self) -> None:
        self._long += self._short
        self._short[:] = 0
        self._since = 0


@compiled
def _count(
    codes: _Codes,
    rows: int,
    keys: Integers,
    members: Integers,
    ends: Integers,
    starts: Integers,
    counts: _Short,
    block: _Codes,
) -> None:
    """Add rows to the counts of all packs: a block of rows at a time, which stays in the processor's cache."""
    for first in range(0, rows, block.size):
        last = min(first + block.size, rows)
        key = block[: last - first]
        member = 0
        for pack in range(ends.size):
            factor = np.uint16(0)  # what the key was before does not count
            while member < ends[pack]:
                _join(key, factor, codes[members[member], first:last])
                member += 1
                factor = np.uint16(keys[members[member]]) if member < ends[pack] else factor
            _add(counts[starts[pack] : starts[pack + 1]], key)


@compiled
def _join(key: _Codes, factor: np.uint16, column: _Codes) -> None:
    """Join a column to the key: in 16 bits, which a key never leaves."""
    for row in range(key.size):
        key[row] = np.uint16(key[row] * factor) + column[row]


@compiled
def _add(counts: _Short, key: _Codes) -> None:
    """One row more for each key."""
    for row in range(key.size):
        counts[np.uintp(key[row])] += np.uint32(1)
