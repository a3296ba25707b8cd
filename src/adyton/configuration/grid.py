"""Any algorithm at all, tried at the points of a public grid: for one parameter, or two or three at once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.instances.curves import StepCurve
from adyton.kernel.instances.lattice import Lattice
from adyton.messages import shorten
from adyton.whole import whole

Parameter: TypeAlias = float | tuple[float, ...]
MOST_POINTS = 1 << 16
_MOST_AXES = 3


@dataclass(frozen=True)
class Grid:
    """A black box: ``run(instance, parameter)`` says what an algorithm reaches; the larger, the better.

    *interval* is one, such as (0, 2), or a tuple of two or three: then the parameter is a tuple, and *points* are so
    many along every axis, or a tuple with a number for each. The points lie in the middle of equal parts. The choice is
    as good as the best of them, nothing is known of what lies between; 64 are usually enough, 8 are not.

    What *run* says must depend on the instance and the parameter alone: no clock, no chance that is not drawn from the
    instance's own content. Where it fails, or gives no finite number, the point is as bad as can be for that instance.
    *examples* are made-up instances on which it is tried first, so that mistakes are seen.

    >>> Grid(lambda instance, parameter: 0.0, points=4, interval=(0, 2)).parameters()
    [0.25, 0.75, 1.25, 1.75]
    """

    run: Callable[[Any, Any], float]
    points: int | tuple[int, ...] = 64
    interval: Any = (0.0, 1.0)
    examples: Sequence[Any] = ()
    name: str = "grid"
    _every: tuple[Parameter, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not callable(self.run):
            raise BadInput(f"run must be a function of an instance and a parameter, given {shorten(self.run)}.")
        if not isinstance(self.name, str) or not self.name.strip() or not self.name.isprintable():
            raise BadInput(f"name must be a word for the algorithm, given {shorten(self.name)}.")
        intervals = self.intervals
        counts = self.points if isinstance(self.points, tuple | list) else (self.points,) * len(intervals)
        if len(counts) != len(intervals):
            raise BadInput(f"points must be one number, or one for each of {len(intervals)} intervals.")
        sides = [whole(count, "points", 2) for count in counts]
        if math.prod(sides) > MOST_POINTS:
            raise BadInput(f"a grid may have {MOST_POINTS:,} points, given {math.prod(sides):,}. Use fewer for each.")
        axes = [
            (low + (high - low) * ((np.arange(side) + 0.5) / side)).tolist()
            for (low, high), side in zip(intervals, sides, strict=True)
        ]
        every = tuple(axes[0]) if len(axes) == 1 else tuple(itertools.product(*axes))
        object.__setattr__(self, "_every", every)

    @property
    def intervals(self) -> tuple[tuple[float, float], ...]:
        """The interval of every parameter."""
        given = self.interval
        several = isinstance(given, tuple | list) and len(given) > 0 and isinstance(given[0], tuple | list)
        if several and len(given) > _MOST_AXES:
            raise BadInput(f"a grid has at most {_MOST_AXES} parameters, given {len(given)} intervals.")
        return tuple(read_interval(one) for one in (given if several else (given,)))

    @property
    def size(self) -> int:
        """How many points there are in all."""
        return len(self._every)

    def parameter(self, number: int) -> Parameter:
        """The parameter at a point: a number, or a tuple of them."""
        return self._every[number]

    def parameters(self) -> list[Parameter]:
        """Those of all points, in order."""
        return list(self._every)

    def curve(self, instance: Any) -> StepCurve:
        """What is reached on an instance at every point."""
        values = np.array([self._tried(instance, parameter) for parameter in self._every])
        known = np.isfinite(values)
        best = float(values[known].max()) if known.any() else 0.0
        return StepCurve(np.arange(self.size), np.where(known, values, best - abs(best)))  # a regret of 1

    def _tried(self, instance: Any, parameter: Parameter) -> float:
        try:
            return float(self.run(instance, parameter))
        except Exception:  # what failed, and why, depends on the instance
            return math.nan


def read_interval(given: object) -> tuple[float, float]:
    """Two numbers, the second greater, or an error."""
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise BadInput(f"interval must be two numbers such as (0, 2), given {shorten(given)}.")
    try:
        low, high = (float(end) for end in given)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"interval must be two numbers such as (0, 2), given {shorten(given)}.") from None
    Lattice(low, high)
    return low, high
