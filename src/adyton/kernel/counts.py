"""Private counts, public guesses at them, and noisy ones: a vector, or many tables.

What is private is computed when a measurement first needs it, once, and kept.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Places
from adyton.errors import BadInput
from adyton.kernel.sealed import Sealed
from adyton.kernel.shapes import TablesShape
from adyton.messages import shorten
from adyton.queries import Partition, Queries
from adyton.whole import IntegerArray, add, freeze, narrow, widen


class PrivateVector(Sealed):
    """A flat vector of whole numbers that is computed once, on first use."""

    __slots__ = ("_compute", "_lock", "_values")

    def __init__(self, compute: Callable[[], IntegerArray]) -> None:
        self._compute: Callable[[], IntegerArray] | None = compute
        self._values: IntegerArray | None = None
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


_LARGEST_SHORT = (1 << 31) - 1


class CountedTables(Sealed):
    """The counts of every cell of many tables, one table after the other. They are computed once, on first use.

    Lemma.  (On rows and tables.) One row more or less changes at most one cell of each table, by 1.
    Proof.  A table counts a row in the combination of the row's own cells, if it has one in every attribute of the
    table, else nowhere: see :class:`~adyton.kernel.transforms.vectors.CountTables`. Which combination that is does
    not depend on other rows.  ∎
    """

    __slots__ = ("_compute", "_counts", "_ends", "_lock", "groups", "shapes")

    def __init__(
        self,
        compute: Callable[[], Sequence[Integers]],
        groups: Sequence[tuple[str, ...]],
        shapes: Sequence[tuple[int, ...]],
    ) -> None:
        """*groups* and *shapes* are public: the attributes of each table, and how many cells each of them has."""
        self.groups, self.shapes = tuple(groups), tuple(shapes)
        self._ends = np.cumsum([math.prod(shape) for shape in shapes]).tolist()
        self._compute: Callable[[], Sequence[Integers]] | None = compute
        self._counts: Integers | None = None
        self._lock = threading.Lock()

    def table(self, place: int) -> Integers:
        """The counts of one table, an axis for each attribute. For mechanisms only."""
        end = self._ends[place]
        counts = self._all()[end - math.prod(self.shapes[place]) : end]
        return counts.astype(np.int64).reshape(self.shapes[place])

    def together(self, places: Sequence[int]) -> Integers:
        """The counts of some tables, one after the other. For mechanisms only."""
        if tuple(places) == tuple(range(len(self.shapes))):
            return self._all().astype(np.int64)
        return np.concatenate([self.table(place).reshape(-1) for place in places])

    def starts(self, places: Sequence[int]) -> Places:
        """Where each of these tables starts, when they stand one after the other."""
        sizes = [math.prod(self.shapes[place]) for place in places]
        return np.cumsum([0, *sizes[:-1]])

    def vectors(self) -> list[PrivateVector]:
        """Each table as a vector, read when it is first needed."""
        return [PrivateVector(partial(self.table, place)) for place in range(len(self.shapes))]

    def _all(self) -> Integers:
        """All counts, in half of the bytes if none of them is large."""
        with self._lock:
            if self._compute is not None:
                counts = np.concatenate([np.ravel(table) for table in self._compute()])
                short = int(counts.max(initial=0)) <= _LARGEST_SHORT
                self._counts, self._compute = counts.astype(np.int32) if short else counts, None
            assert self._counts is not None
            return self._counts


FINEST_BITS = 20
"""Guesses are rounded to fractions of a row not smaller than 2⁻²⁰."""
_MOST_BITS = 46
"""What all cells of the largest table on the grid may take of 64 bits together."""


@dataclass(frozen=True, eq=False)
class GuessedTables:
    """What a public model says that some tables are: M̂ = numbers/2^bits, one table after the other.

    Lemma.  (On distances.) One row more or less moves 2^bits·‖M − M̂‖₁ by at most 2^bits, for each of the tables.
    Proof.  By the lemma on rows and tables (:class:`~adyton.kernel.counts.CountedTables`) it moves M by at most
    1 in L1, so ‖M − M̂‖₁ by at most 1, as the triangle inequality says; M̂ is public. The distances are computed in
    whole numbers that cannot wrap around.  ∎

    >>> GuessedTables.of({3: [[0.25, 2], [1, 0]]}).numbers.tolist()
    [262144, 2097152, 1048576, 0]
    """

    places: tuple[int, ...]
    numbers: Integers
    bits: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", freeze(self.numbers, "numbers").reshape(-1))

    @classmethod
    def of(cls, tables: Mapping[int, npt.ArrayLike]) -> GuessedTables:
        """Tables of real numbers by their places, rounded to a grid on which sums over cells stay machine integers."""
        cells = [np.asarray(table, dtype=np.float64).reshape(-1) for table in tables.values()]
        flat = np.concatenate(cells) if cells else np.zeros(0)
        if not np.isfinite(flat).all() or np.abs(flat).max(initial=0.0) >= 2.0**62:
            raise BadInput("guessed tables are finite numbers below 2^62, one for each cell.")
        most = max((int(np.abs(table).sum()) for table in cells), default=0)
        bits = max(0, min(_MOST_BITS - most.bit_length(), FINEST_BITS))
        return cls(tuple(tables), np.rint(np.ldexp(flat, bits)).astype(np.int64), bits)

    @property
    def unit(self) -> int:
        """How many steps of the grid make one row: 2^bits."""
        return 1 << self.bits

    def check(self, source: TablesShape) -> None:
        """An error unless these are guesses at tables of this source."""
        source.check_places(self.places)
        cells = sum(source.sizes(self.places))
        if self.numbers.size != cells:
            raise BadInput(
                f"these {len(self.places)} tables have {cells:,} cells, given {self.numbers.size:,} guesses."
            )
        if not 0 <= self.bits <= FINEST_BITS:
            raise BadInput(f"bits must be a whole number in 0 … {FINEST_BITS}, given {shorten(self.bits)}.")

    def distances(self, data: CountedTables) -> IntegerArray:
        """2^bits·‖M − M̂‖₁ for each of the tables, exactly. For mechanisms only."""
        on_grid = widen(data.together(self.places), self.unit) * self.unit
        missed = add(on_grid, -widen(self.numbers, 1))
        return self._sums(np.abs(widen(missed, 1)), data)

    def capped(self, most: int, data: CountedTables) -> IntegerArray:
        """Σ min(most, 2^bits·M̂) over the cells of each of the tables: public."""
        return self._sums(np.minimum(self.numbers, most), data)

    def _sums(self, cells: IntegerArray, data: CountedTables) -> IntegerArray:
        longest = max(math.prod(data.shapes[place]) for place in self.places)
        return narrow(np.add.reduceat(widen(cells, longest), data.starts(self.places)))
