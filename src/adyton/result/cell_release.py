"""What follows from the counts of all cells: sums of them with their bounds, and averages of several releases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self, cast

import numpy as np

from adyton.arrays import Reals
from adyton.queries import Identity, Queries
from adyton.result import averaging
from adyton.result.cell_tables import together
from adyton.result.interval import Interval
from adyton.result.one_slice import Slice
from adyton.result.released import Released

if TYPE_CHECKING:
    from adyton.result.intervals import NoiseModel
    from adyton.result.release import Release


class CellRelease(Released):
    """A release that has the estimated count of every cell."""

    estimate: Reals
    parts: tuple[CellRelease, ...]
    weights: tuple[float, ...]
    noise: NoiseModel

    @property
    def _own(self) -> Release:
        """Itself: there is one kind of release that has all cells."""
        return cast("Release", self)

    @property
    def rows_estimated(self) -> int:
        """The sum of all cells."""
        return max(0, round(float(self.estimate.sum())))

    def slice_counts(self, part: Slice) -> Reals:
        """The estimated counts of some cells of one attribute: sums of the estimate."""
        sums = part.widened(Identity(part.cells.stop - part.cells.start), self.schema) @ self.estimate
        return np.asarray(sums, dtype=np.float64)

    def slice_bounds(self, queries: Queries, confidence: float, *, part: Slice) -> Interval:
        """Bounds on sums of them."""
        return self.noise.interval(part.widened(queries, self.schema), confidence)

    def bounds_together(self, group: tuple[str, ...], confidence: float) -> Interval:
        """Bounds on all cells of a table that hold at the same time."""
        return together(self._own, group, confidence)

    @property
    def ranked_by(self) -> tuple[str, ...]:
        """All attributes, if the task is about their cells; those of its table, if it has one."""
        groups = self.task.tables(self.schema) or (self.schema.names,)
        return groups[0] if len(groups) == 1 else ()

    @property
    def together(self) -> str:
        """How it was put together from several releases, in words; empty if it was not."""
        return averaging.in_words(self._own) if self.parts else ""

    def combined_with(self, others: Sequence[Self]) -> CellRelease:
        """The weighted average with others of the same thing."""
        return averaging.averaged([one._own for one in (self, *others)])

    def same_noise(self, other: Released) -> bool:
        """Whether one of its parts has the counts of one of the other's, from the same entries of a ledger."""
        return isinstance(other, CellRelease) and averaging.share_noise(self._own, other._own)
