"""From runs at single parameters to the curve at all of them: each run says how far its choices stay the same."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from adyton.configuration.family import Family, Instance
from adyton.kernel.instances.curves import StepCurve
from adyton.kernel.instances.lattice import POINTS, Lattice

Reached: TypeAlias = Callable[[float], tuple[float, float]]
"""At a parameter: the value that is reached, and a greater parameter before which it stays the same."""


class SweptFamily(Family[Instance]):
    """A family in which a run can say, beside its value, up to which greater parameter it would be the same run."""

    @abstractmethod
    def reached(self, instance: Instance) -> Reached:
        """What the algorithm reaches, and until where that stays, as a function of the parameter."""

    def run(self, instance: Instance, parameter: float) -> float:
        """What the algorithm reaches with this parameter."""
        return self.reached(instance)(parameter)[0]

    def curve(self, instance: Instance, lattice: Lattice) -> StepCurve:
        """What the algorithm reaches at every point of the lattice."""
        return sweep(self.reached(instance), lattice)


def sweep(reached: Reached, lattice: Lattice) -> StepCurve:
    """The values at all points of the lattice: run at a point, go on at the first point where a choice may change."""
    starts: list[int] = []
    values: list[float] = []
    place = 0
    while place < POINTS:
        value, until = reached(lattice.point(place))
        if not values or value != values[-1]:
            starts.append(place)
            values.append(value)
        place = max(place + 1, lattice.first_from(until))
    return StepCurve(np.array(starts, dtype=np.int64), np.array(values, dtype=np.float64))
