"""Private counts: a vector, or many tables of counts. They are computed when first needed, only once, and kept."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Places
from adyton.errors import BadInput
from adyton.kernel.sealed import Sealed
from adyton.queries import Partition, Queries
from adyton.whole import IntegerArray, narrow, widen

_LARGEST_SHORT = (1 << 31) - 1


class PrivateVector(Sealed):
    """A flat vector of whole numbers that is computed once, on first use."""

    __slots__ = ("_compute", "_lock", "_values")

    def __init__(self, compute: Callable[[], IntegerArray]) -> None:
        self._compute: Callable[[], IntegerArray] | None = compute
        self._values: IntegerArray | None = None
        self._lock = threading.Lock()

    @classmethod
    def of(cls, values: IntegerArray) -> PrivateVector:
        """A vector with values that are already known."""
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

    def answers(self, queries: Queries) -> IntegerArray:
        """The true answers. For mechanisms only."""
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

    def _part(self, cells: Places) -> IntegerArray:
        return self.values()[cells]

    def map(self, queries: Queries) -> PrivateVector:
        """One cell per query: its answer."""
        return PrivateVector(lambda: self.answers(queries))


def checked_counts(x: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Whole numbers in an array with at least one cell, or an error."""
    counts = np.asarray(x)
    if counts.dtype.kind not in "iu" or counts.ndim == 0 or counts.size == 0:
        raise BadInput(f"a vector of counts is an array of whole numbers, given {counts.dtype} {counts.shape}.")
    return counts


class CountedTables(Sealed):
    """The counts of every cell of many tables, one table after the other. They are computed once, on first use.

    Lemma.  (On rows and tables.) One row more or less changes at most one cell of each table, by 1.
    Proof.  Each attribute of a table puts a row in one of its cells, or in none. The table counts the row where these
    cells meet, or nowhere if one is missing: see :class:`~adyton.kernel.transforms.CountTables`. Where a row is counted
    does not depend on other rows. If cells are merged by public maps, the cell where it is counted is in one group: see
    :class:`~adyton.kernel.transforms.MergeCells`.  ∎
    """

    __slots__ = ("_compute", "_counts", "_ends", "_lock", "groups", "shapes")

    def __init__(
        self,
        compute: Callable[[], Sequence[Integers]],
        groups: Sequence[tuple[str, ...]],
        shapes: Sequence[tuple[int, ...]],
    ) -> None:
        """*groups* and *shapes* are public: the attributes of each table, and the number of cells of each attribute."""
        self.groups, self.shapes = tuple(groups), tuple(shapes)
        self._ends = np.cumsum([math.prod(shape) for shape in shapes]).tolist()
        self._compute: Callable[[], Sequence[Integers]] | None = compute
        self._counts: Integers | None = None
        self._lock = threading.Lock()

    def table(self, place: int) -> Integers:
        """The counts of one table, with an axis for each attribute. For mechanisms only."""
        end = self._ends[place]
        counts = self._all()[end - math.prod(self.shapes[place]) : end]
        return counts.astype(np.int64).reshape(self.shapes[place])

    def together(self, places: Sequence[int]) -> Integers:
        """The counts of some tables, one after the other. For mechanisms only."""
        if tuple(places) == tuple(range(len(self.shapes))):
            return self._all().astype(np.int64)
        return np.concatenate([self.table(place).reshape(-1) for place in places])

    def starts(self, places: Sequence[int]) -> Places:
        """The offset of each of these tables in :meth:`together`."""
        sizes = [math.prod(self.shapes[place]) for place in places]
        return np.cumsum([0, *sizes[:-1]])

    def vectors(self) -> list[PrivateVector]:
        """Each table as a vector, read when first needed."""
        return [PrivateVector(partial(self.table, place)) for place in range(len(self.shapes))]

    def merged(
        self, places: Sequence[int], maps: Sequence[Sequence[Partition | None]], shapes: Sequence[tuple[int, ...]]
    ) -> CountedTables:
        """Some of the tables with the sums over groups of cells along each axis, or its cells as they are."""

        def sums() -> list[Integers]:
            return [_merged(self.table(place), axes) for place, axes in zip(places, maps, strict=True)]

        return CountedTables(sums, [self.groups[place] for place in places], shapes)

    def _all(self) -> Integers:
        """All counts, in 32 bits if they fit."""
        with self._lock:
            if self._compute is not None:
                counts = np.concatenate([np.ravel(table) for table in self._compute()])
                short = int(counts.max(initial=0)) <= _LARGEST_SHORT
                self._counts, self._compute = counts.astype(np.int32) if short else counts, None
            assert self._counts is not None
            return self._counts


def _merged(table: Integers, axes: Sequence[Partition | None]) -> Integers:
    """The sums over groups of cells, none of which is empty. All cells together are at most the number of rows, which
    the engine counts in 64 bits: so is every sum of them."""
    for axis, groups in enumerate(axes):
        if groups is not None:
            order = np.argsort(groups.labels, kind="stable")
            starts = np.searchsorted(groups.labels[order], np.arange(groups.groups))
            table = np.add.reduceat(table.take(order, axis), starts, axis)
    return table
