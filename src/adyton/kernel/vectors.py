"""The private vector: a count per cell, computed when a measurement first needs it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from adyton.kernel.sealed import Sealed
from adyton.queries import Cosines, Partition, Queries
from adyton.whole import IntegerArray, narrow, widen


class PrivateVector(Sealed):
    """A flat vector of whole numbers that is computed once, on first use."""

    __slots__ = ("_compute", "_lock", "_values", "_waves")

    def __init__(self, compute: Callable[[], IntegerArray]) -> None:
        self._compute: Callable[[], IntegerArray] | None = compute
        self._values: IntegerArray | None = None
        self._waves: IntegerArray | None = None
        self._lock = threading.Lock()

    @classmethod
    def of(cls, values: IntegerArray) -> PrivateVector:
        """A vector whose values are there already."""
        copy = widen(np.array(values).reshape(-1), 1)  # in 8 or 32 bits, sums of a few cells would wrap around
        return cls(lambda: copy)

    def values(self) -> IntegerArray:
        """The counts. For mechanisms only."""
        with self._lock:
            if self._compute is not None:
                values = self._compute().reshape(-1)
                values.flags.writeable = False
                self._values, self._compute = values, None
            assert self._values is not None
            return self._values

    def waves(self) -> IntegerArray:
        """The answers to all :class:`Cosines` of the cells, kept: who chooses some of them measures them next."""
        if self._waves is None:
            values = self.values()
            self._waves = Cosines(values.size, values.size) @ values
        return self._waves

    def answers(self, queries: Queries) -> IntegerArray:
        """The true answers. For mechanisms only."""
        if type(queries) is Cosines and self._waves is not None:
            return self._waves[: queries.count]
        return queries @ self.values()

    def reduce(self, partition: Partition) -> PrivateVector:
        """One cell per group: the sum of its cells."""

        def sums() -> IntegerArray:
            kept = partition.labels >= 0
            values = widen(self.values(), partition.cells)
            totals = np.zeros(partition.groups, dtype=values.dtype)
            np.add.at(totals, partition.labels[kept], values[kept])
            return narrow(totals)

        return PrivateVector(sums)

    def split(self, partition: Partition) -> list[PrivateVector]:
        """One vector per group: its cells, in order."""
        return [PrivateVector(partial(self._part, cells)) for cells in partition.parts()]

    def cut(self, sizes: Sequence[int]) -> list[PrivateVector]:
        """Vectors of so many cells each, one after the other."""
        ends = np.cumsum(sizes).tolist()
        return [
            PrivateVector(partial(self._part, slice(end - size, end))) for end, size in zip(ends, sizes, strict=True)
        ]

    def _part(self, cells: IntegerArray | slice) -> IntegerArray:
        return self.values()[cells]

    def map(self, queries: Queries) -> PrivateVector:
        """One cell per query: its answer."""
        return PrivateVector(lambda: self.answers(queries))
