"""What a limit on the rows of a unit cuts off: from a release of units by their number of rows, at no further cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries import Explicit
from adyton.release.release import Release
from adyton.tasks import RowsPerUnit
from adyton.whole import whole

_STEPS = (1, 2, 3, 5)


@dataclass(frozen=True)
class CutOff:
    """What one limit cuts off. Units with more rows than the release tells apart count for that many: the true numbers
    of rows may be larger than these say."""

    limit: int
    units: float
    """How many units have more rows than that."""
    units_share: float
    rows: float
    """How many of their rows go."""
    rows_share: float
    rows_between: tuple[float, float]
    """Bounds for them, in 95 of 100 cases."""

    def __str__(self) -> str:
        return (
            f"rows_per_unit = {self.limit}: cuts {max(self.rows, 0):,.0f} rows ({self.rows_share:.1%}) of "
            f"{max(self.units, 0):,.0f} units ({self.units_share:.1%})"
        )


def cut_off(release: Release, limits: int | Sequence[int] | None = None) -> list[CutOff]:
    """What each of some limits on the rows of a unit would cut off; by default 1, 2, 3, 5, 10, 20, 30, 50 and so on.

    ``ad.cut_off(session.release(ad.RowsPerUnit(50), epsilon="0.1"))``; nothing more is spent.
    """
    task = getattr(release, "task", None)
    if not isinstance(task, RowsPerUnit):
        given = shorten(release) if task is None else str(task)
        raise BadInput(f"what is cut off follows from a release of ad.RowsPerUnit(…). This is {given}.")
    if limits is None:
        steps = [step * 10**power for power in range(6) for step in _STEPS]
        limits = [step for step in steps if step < task.most] or [1]
    wanted = [whole(limit, "a limit", 1) for limit in ([limits] if isinstance(limits, int) else limits)]
    if not wanted or max(wanted) > task.most:
        raise BadInput(
            f"limits are numbers of rows from 1 to {task.most}, which the release tells apart, given {shorten(limits)}."
        )
    sizes = np.arange(1, task.most + 1)
    cut = np.array([np.maximum(sizes - limit, 0) for limit in wanted])
    bounds = release.noise.interval(Explicit.from_rows(cut), 0.95)
    units, rows = float(release.estimate.sum()), float(release.estimate @ sizes)
    return [
        CutOff(
            limit,
            above := float(release.estimate[limit:].sum()),
            _share(above, units),
            gone := float(release.estimate @ row),
            _share(gone, rows),
            (float(lower), float(upper)),
        )
        for limit, row, lower, upper in zip(wanted, cut, bounds.lower, bounds.upper, strict=True)
    ]


def _share(part: float, whole_part: float) -> float:
    """A part of what there is, between none and all of it: noise can put either beyond."""
    return float(np.clip(part / whole_part, 0, 1)) if whole_part > 0 else 0.0
