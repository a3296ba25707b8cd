"""The parameters to choose from: a public lattice of 2³² points, independent of the instances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, overload

import numpy as np

from adyton.arrays import Integers, Places, Reals
from adyton.compiling import compiled
from adyton.errors import BadInput
from adyton.exact import Rational, exact, positive
from adyton.messages import no_such, shorten


@dataclass(frozen=True)
class StepCurve:
    """Piece j extends from place ``starts[j]`` of the lattice to the next start, and has the value ``values[j]``.

    The first start is 0, and starts increase; values are the algorithm's results, larger is better.
    """

    starts: Places
    values: Reals

    def at(self, places: Places) -> Reals:
        """The values at these places."""
        return self.values[np.searchsorted(self.starts, places, "right") - 1]


@dataclass(frozen=True)
class SmoothCurve:
    """Like a step curve, with c₀ + c₁/s + c₂/s² at the lattice point s instead of a constant on each piece.

    ``coefficients`` has a row (c₀, c₁, c₂) for each piece. All points of the lattice must be above 0.
    """

    starts: Places
    coefficients: Reals


Curve: TypeAlias = StepCurve | SmoothCurve


UNIT = 1 << 20
"""The best level that a parameter can have for one instance."""
UTILITIES = ("regret", "value")
_LEAST = Fraction(1, 10**6)


@dataclass(frozen=True)
class Utility:
    """Either the clipped relative regret, or the value itself; ``scale`` is the clip h, or the bound H.

    * ``regret``: 1 − min(h, (best − u)/|best|)/h, where best is the largest value on the same instance. It does not
      change when all values of an instance are multiplied by a positive number. For costs, which are negative values,
      it is the relative excess over the least cost. If best is 0, nothing can be relative to it, and all levels are
      equal.
    * ``value``: u/H, for values that are known to lie in [0, H]; other values are clipped.

    Privacy only requires levels of 0 … 2²⁰ that depend on the instance alone: then one instance moves no two
    parameters relative to each other by more than 2²⁰.
    """

    name: str
    scale: Fraction

    @classmethod
    def named(cls, name: str, clip: Rational = "0.1", bound: Rational | None = None) -> Utility:
        """The utility with this name, with its clip or its bound, or an error.

        >>> Utility.named("regret", clip="0.05")
        Utility(name='regret', scale=Fraction(1, 20))
        """
        if not isinstance(name, str) or name not in UTILITIES:
            raise BadInput(no_such("utility", name, UTILITIES))
        if name == "regret":
            if bound is not None:
                raise BadInput("a bound is for the utility value; regret has a clip. Leave bound out.")
            clipped = exact(clip, "clip")
            if not _LEAST <= clipped <= 1:
                raise BadInput(f"clip must be greater than 0 (at least 10^-6) and at most 1, given {shorten(clip)}.")
            return cls(name, clipped)
        if bound is None:
            raise BadInput(
                "the utility value needs a bound, a public number that no value exceeds. Give one, or use regret."
            )
        return cls(name, positive(bound, "bound"))

    def levels(self, values: Reals, best: float | Reals) -> Integers:
        """Whole numbers 0 … 2²⁰ for finite values, where *best* is the largest value on the instance.

        >>> Utility.named("regret").levels(np.array([100.0, 95.0, 50.0]), 100.0).tolist()
        [1048576, 524288, 0]
        """
        scale = float(self.scale)
        with np.errstate(all="ignore"):
            if self.name == "regret":
                size = np.abs(best)
                losses = np.where(size > 0, (best - values) / size, scale)
                shares = 1 - np.minimum(losses, scale) / scale
            else:
                shares = values / scale
            return np.asarray(np.rint(np.clip(shares, 0.0, 1.0) * UNIT).astype(np.int64))

    def line(self, best: Reals) -> tuple[Reals, Reals]:
        """(a, b) such that a level is a + b·value, before rounding and clipping; not finite if there are none."""
        scale = float(self.scale)
        with np.errstate(all="ignore"):
            if self.name == "value":
                return np.zeros_like(best), np.full_like(best, UNIT / scale)
            slopes = np.where(best == 0, 0.0, UNIT / (np.abs(best) * scale))
            return UNIT * (np.sign(best) ** 2 - np.sign(best) / scale), slopes


POINTS = 1 << 32


@dataclass(frozen=True)
class Lattice:
    """2³² equally spaced points of an interval, half a step away from its ends.

    So no point is 0, 1, ½ or another number at which an algorithm's scores often tie.

    >>> Lattice(0.0, 2.0).point(1 << 31) - 1.0 == 2.0**-32
    True
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        width = self.high - self.low
        if not (math.isfinite(width) and width > 0 and self.point(1) > self.point(0)):
            raise BadInput(
                f"the interval must go from a number to a greater one, given {shorten((self.low, self.high))}. "
                "Write it like (0, 2)."
            )
        if not self.point(POINTS - 1) > self.point(POINTS - 2):
            raise BadInput(f"the interval {shorten((self.low, self.high))} is too short for its distance from 0.")

    @overload
    def point(self, index: int) -> float: ...
    @overload
    def point(self, index: Places) -> Reals: ...
    def point(self, index: int | Places) -> float | Reals:
        """The parameter at this place, or at these places."""
        return self.low + (self.high - self.low) * ((index + 0.5) / POINTS)

    def first_from(self, parameter: float) -> int:
        """The first place whose point is at least this parameter; 2³² if there is no such place."""
        return int(first_place(parameter, self.low, self.high))

    def nearest(self, parameter: float) -> int:
        """The place whose point is nearest."""
        after = min(self.first_from(parameter), POINTS - 1)
        before = max(after - 1, 0)
        return before if parameter - self.point(before) <= self.point(after) - parameter else after


@compiled
def point_at(place: int, low: float, high: float) -> float:
    """The parameter at a place of the lattice, for loops."""
    return low + (high - low) * ((place + 0.5) / 4294967296.0)


@compiled
def first_place(parameter: float, low: float, high: float) -> int:
    """The first place whose point is at least this parameter; 2³² if there is no such place. For loops.

    Rounding may put the first guess one place off, so it is corrected by comparing the points themselves.
    """
    if not parameter > point_at(0, low, high):
        return 0
    if not parameter <= point_at(4294967295, low, high):
        return 4294967296
    place = math.ceil((parameter - low) / (high - low) * 4294967296.0 - 0.5)
    place = min(max(place, 1), 4294967295)
    while place > 0 and point_at(place - 1, low, high) >= parameter:
        place -= 1
    while point_at(place, low, high) < parameter:
        place += 1
    return place
