"""One instance's say: its curve, checked, with a whole number 0 … 2²⁰ at every place.

A vote is a function of its instance alone. A curve that is not well formed has no say: the flat vote stands for it,
whatever was wrong, and nobody is told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from adyton.arrays import Integers, Places, Reals
from adyton.kernel.instances.curves import SmoothCurve, StepCurve
from adyton.kernel.instances.lattice import POINTS, Lattice
from adyton.kernel.instances.utility import Utility
from adyton.whole import rises

_LARGEST_TERM = 2.0**44
"""How many levels a term of a smooth curve may be worth where it is used: beyond, doubles would not settle them."""
_WIDEST = 2.0**64
"""How many times the first point of an interval its upper end may be, for smooth curves."""


@dataclass(frozen=True, eq=False)
class StepVote:
    """The level of every piece."""

    starts: Places
    levels: Integers


@dataclass(frozen=True, eq=False)
class SmoothVote:
    """The coefficients of every piece, and the largest value on the instance, which levels are relative to."""

    starts: Places
    coefficients: Reals
    best: float


Vote: TypeAlias = StepVote | SmoothVote
FLAT = StepVote(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
"""No say: the same level everywhere."""


def vote_of(curve: object, parameters: Lattice | int, utility: Utility) -> Vote:
    """The vote of a curve over a lattice, or over a number of points; the flat one for what is no such curve."""
    with np.errstate(all="ignore"):
        if type(curve) is StepCurve:
            return _step_vote(curve, POINTS if isinstance(parameters, Lattice) else parameters, utility)
        if type(curve) is SmoothCurve and isinstance(parameters, Lattice):
            return _smooth_vote(curve, parameters, utility)
        return FLAT


def _step_vote(curve: StepCurve, places: int, utility: Utility) -> Vote:
    starts, values = _checked_starts(curve.starts, places), _checked_reals(curve.values)
    if starts is None or values is None or values.shape != starts.shape:
        return FLAT
    return StepVote(starts, utility.levels(values, float(values.max())))


def _smooth_vote(curve: SmoothCurve, lattice: Lattice, utility: Utility) -> Vote:
    starts, coefficients = _checked_starts(curve.starts, POINTS), _checked_reals(curve.coefficients)
    if starts is None or coefficients is None or coefficients.shape != (starts.size, 3):
        return FLAT
    if not 0 < lattice.high <= _WIDEST * lattice.point(0):
        return FLAT
    ends = np.append(starts[1:], POINTS) - 1
    telling = _telling(starts, ends, coefficients, lattice)
    best = float(max(smooth_values(coefficients, lattice.point(at)).max() for at in telling))
    offset, slope = utility.line(np.array([best]))
    nearest = 1 / lattice.point(starts)
    terms = np.abs(slope * coefficients * np.stack([np.ones_like(nearest), nearest, nearest * nearest], axis=1))
    if not (np.isfinite(best) and np.isfinite(offset).all() and (terms < _LARGEST_TERM).all()):
        return FLAT
    return SmoothVote(starts, coefficients, best)


def smooth_values(coefficients: Reals, points: Reals) -> Reals:
    """c₀ + c₁/s + c₂/s² for each row of coefficients and its s. Every operation is rounded correctly, so the result is
    the same wherever and with whatever else it is computed."""
    return np.asarray(coefficients[:, 0] + coefficients[:, 1] / points + coefficients[:, 2] / (points * points))


def _telling(starts: Places, ends: Places, coefficients: Reals, lattice: Lattice) -> list[Places]:
    """The ends of every piece, and the places around its stationary point s = −2c₂/c₁: there lies its maximum."""
    turns = -2 * coefficients[:, 2] / coefficients[:, 1]
    steps = np.floor((turns - lattice.low) / (lattice.high - lattice.low) * POINTS - 0.5)
    around = np.clip(np.nan_to_num(steps, nan=0.0, posinf=0.0, neginf=0.0), 0, POINTS - 1).astype(np.int64)
    return [starts, ends, np.clip(around, starts, ends), np.clip(around + 1, starts, ends)]


def _checked_starts(given: object, places: int) -> Places | None:
    if not isinstance(given, np.ndarray) or given.dtype.kind not in "iu" or given.ndim != 1 or not given.size:
        return None
    if given[0] != 0 or int(given.max()) >= places:
        return None
    starts = np.array(given, dtype=np.int64)
    return starts if rises(starts) else None


def _checked_reals(given: object) -> Reals | None:
    if not isinstance(given, np.ndarray) or given.dtype.kind not in "iuf" or not given.size:
        return None
    values = np.array(given, dtype=np.float64)
    return values if bool(np.isfinite(values).all()) else None
