"""The parameters that may be chosen: a public lattice of 2³² points, whatever the instances are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import overload

from adyton.arrays import Places, Reals
from adyton.compiling import compiled
from adyton.errors import BadInput
from adyton.messages import shorten

POINTS = 1 << 32


@dataclass(frozen=True)
class Lattice:
    """2³² equally spaced points of an interval, half a step away from its ends.

    So no point is 0, 1, ½ or another number at which an algorithm's scores are often equal.

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
        """The parameter at this place, or at these."""
        return self.low + (self.high - self.low) * ((index + 0.5) / POINTS)

    def first_from(self, parameter: float) -> int:
        """The first place whose point is not below this parameter; 2³² if there is none."""
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
    """The first place whose point is not below this parameter; 2³² if there is none. For loops.

    Rounding may put the first guess one place off: the points themselves decide.
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
