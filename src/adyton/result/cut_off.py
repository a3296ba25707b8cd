"""What a limit on the rows of a unit leaves out: of how many units, and at least how many of their rows.

How many rows are left out in all cannot be measured, because one unit may have any number of them. What can be measured
are the units that have more rows than the limit, of which one unit changes one, and their rows beyond the limit up to a
public number a unit. So every number of rows here is "at least".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.mechanisms import VectorLaplace
from adyton.messages import shorten
from adyton.noise.probabilities import discrete_laplace_radius
from adyton.queries import Explicit
from adyton.tasks import RowsPerUnit
from adyton.whole import whole

if TYPE_CHECKING:
    from adyton.kernel.sources import TableSource, VectorSource
    from adyton.result.release import Release

_STEPS = (1, 2, 3, 5)
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class CutOff:
    """What one limit leaves out. Of a unit with more than *most* rows, that many are taken into account: all that is
    said of rows is "at least", and the true numbers may be much larger."""

    limit: int
    most: int
    """How many rows of a unit are taken into account: a unit with as many may have more."""
    units: float
    """How many units have more rows than the limit."""
    rows: float
    """At least how many of their rows are left out."""
    rows_between: tuple[float, float]
    """Bounds for that number, in 95 of 100 cases. The lower one holds for all rows that are left out, too."""
    units_between: tuple[float, float]
    """Bounds for the number of units, in 95 of 100 cases."""
    units_share: float | None = None
    """The part of all units; None where these were not counted."""
    rows_share: float | None = None
    """At least which part of all rows is left out; None where these were not counted."""

    def to_plain(self) -> dict[str, Any]:
        """Everything, as plain values for JSON; names say what is "at least"."""
        return {
            "in_words": f"{self}.",
            "rows_per_unit": self.limit,
            "rows_of_a_unit_up_to": self.most,
            "units_cut": self.units,
            "units_cut_between": list(self.units_between),
            "units_cut_share": self.units_share,
            "rows_left_out_at_least": self.rows,
            "rows_left_out_at_least_between": list(self.rows_between),
            "rows_left_out_at_least_share": self.rows_share,
            "confidence": _CONFIDENCE,
        }

    def __str__(self) -> str:
        units, rows = max(self.units, 0), max(self.rows, 0)
        of_units = "" if self.units_share is None else f" ({self.units_share:.1%})"
        of_rows = "" if self.rows_share is None else f" (at least {self.rows_share:.1%})"
        low, high = (max(0, bound) for bound in self.rows_between)
        return (
            f"rows_per_unit = {self.limit}: cuts at least about {rows:,.0f} rows{of_rows} of about {units:,.0f} units"
            f"{of_units}. Counting up to {self.most:,} rows of a unit, that is {low:,.0f} to {high:,.0f} rows in 95 of "
            "100 cases; what units have beyond that is cut, too"
        )


def unit_sizes(root: TableSource, most: int) -> VectorSource:
    """The number of units with 1, 2, … rows, *most* or more, before any are cut; one unit changes one of them by 1."""
    (name,) = RowsPerUnit(most).select(root.schema).names
    if most <= root.schema.rows_per_unit:
        raise BadInput(
            f"most must be larger than rows_per_unit = {root.schema.rows_per_unit}, given {shorten(most)}: it is up to "
            "how many rows of a unit are looked at."
        )
    return root.units(name, most=most).vectorize()


def measured_cut_off(sizes: VectorSource, limit: int, epsilon: Fraction) -> CutOff:
    """What *limit* leaves out, from one measurement that costs *epsilon*.

    A unit changes the first answer by 1 and the second by at most m = most − limit. Weights m and 1 make both cost the
    same: ε/2 each, with noise of scale 2/ε for units and 2m/ε for rows. The kernel computes that from the queries.
    """
    most = sizes.cells
    over = np.maximum(np.arange(1, most + 1) - limit, 0)
    queries, weights = Explicit.from_rows(np.stack([over > 0, over]).astype(np.int64)), [most - limit, 1]
    scales = VectorLaplace.weighted(queries, weights).scales(epsilon)
    ratios = [Fraction(int(above), int(below)) for above, below in np.broadcast(scales.numerator, scales.denominator)]
    radii = [discrete_laplace_radius(ratio, _CONFIDENCE) for ratio in (ratios * 2)[:2]]
    units, rows = sizes.measure(queries, epsilon, weights).answers.reshape(-1).tolist()
    bounds = [
        (float(value - radius), float(value + radius)) for value, radius in zip((units, rows), radii, strict=True)
    ]
    return CutOff(limit, most, float(units), float(rows), bounds[1], bounds[0])


def cut_off(release: Release, limits: int | Sequence[int] | None = None) -> list[CutOff]:
    """What each of some limits on the rows of a unit would leave out; by default 1, 2, 3, 5, 10, 20, 30, 50 and so on.

    ``ad.cut_off(session.release(ad.RowsPerUnit(50), epsilon="0.1"))``; nothing more is spent. The last class of such a
    release is "50 or more", so rows are given as "at least". For the limit that is in force,
    :meth:`adyton.Session.cut_off` measures the same with less noise.
    """
    task = getattr(release, "task", None)
    if not isinstance(task, RowsPerUnit):
        given = shorten(release) if task is None else str(task)
        raise BadInput(f"what is cut off follows from a release of ad.RowsPerUnit(…). This is {given}.")
    if limits is None:
        steps = [step * 10**power for power in range(6) for step in _STEPS]
        limits = [step for step in steps if step < task.most]
    wanted = [whole(limit, "a limit", 1) for limit in ([limits] if isinstance(limits, int) else limits)]
    if not wanted:
        return []
    if max(wanted) >= task.most:
        raise BadInput(
            f"limits are numbers of rows below {task.most}: units with that many or more are one class of the release, "
            f"given {shorten(limits)}."
        )
    sizes = np.arange(1, task.most + 1)
    cut = np.array([np.maximum(sizes - limit, 0) for limit in wanted])
    of_units, of_rows = (
        release.noise.interval(Explicit.from_rows(queries.astype(np.int64)), _CONFIDENCE) for queries in (cut > 0, cut)
    )
    units, rows = float(release.estimate.sum()), float(release.estimate @ sizes)
    return [
        CutOff(
            limit,
            task.most,
            above := float(release.estimate[limit:].sum()),
            gone := float(release.estimate @ cut[place]),
            (float(of_rows.lower[place]), float(of_rows.upper[place])),
            (float(of_units.lower[place]), float(of_units.upper[place])),
            _share(above, units),
            _share(gone, rows),
        )
        for place, limit in enumerate(wanted)
    ]


def _share(part: float, whole_part: float) -> float:
    """A part of what there is, between none and all of it: noise can put either beyond."""
    return float(np.clip(part / whole_part, 0, 1)) if whole_part > 0 else 0.0
