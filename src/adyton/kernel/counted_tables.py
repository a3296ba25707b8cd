"""Many private tables of counts, counted together when a measurement first needs one, and kept."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from adyton.arrays import Integers, Places
from adyton.kernel.sealed import Sealed
from adyton.kernel.vectors import PrivateVector

_LARGEST_SHORT = (1 << 31) - 1


class CountedTables(Sealed):
    """The counts of every cell of many tables, one table after the other. They are computed once, on first use.

    Lemma.  (On rows and tables.) One row more or less changes at most one cell of each table, by 1.
    Proof.  A table counts a row in the combination of the row's own cells, if it has one in every attribute of the
    table, else nowhere: see :class:`~adyton.kernel.transforms.many_tables.CountTables`. Which combination that is does
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
        found = self._all()[end - math.prod(self.shapes[place]) : end]
        return found.astype(np.int64).reshape(self.shapes[place])

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
