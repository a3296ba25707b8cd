"""A family of algorithms: one algorithm for each value of a parameter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.instances.lattice import POINTS, Curve, Lattice, StepCurve
from adyton.plans.registry import Registry

Instance = TypeVar("Instance")


class Family(ABC, Generic[Instance]):
    """Subclasses are frozen dataclasses: their fields are public options.

    What a family says about an instance must depend on that instance alone: not on its place, on other instances, on
    time, or on chance that is not drawn from the instance's own content. Privacy rests on that, and on nothing else
    that a family does: whatever it returns is clamped.
    """

    name: ClassVar[str]
    interval: ClassVar[tuple[float, float]]
    """Where parameters are looked for if nobody says."""
    default: ClassVar[float]
    """What people use today."""
    kind: ClassVar[type]
    """The type of an instance."""

    @abstractmethod
    def run(self, instance: Instance, parameter: float) -> float:
        """What the algorithm reaches with this parameter: the larger the better."""

    @abstractmethod
    def curve(self, instance: Instance, lattice: Lattice) -> Curve:
        """What :meth:`run` reaches at every point of the lattice."""

    @abstractmethod
    def examples(self) -> Sequence[Instance]:
        """A few made-up instances, public, on which the family can be tried."""


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


FAMILIES = Registry[Family[Any]](
    "family",
    {
        "auction": "configuration.independent_set:Auction",
        "independent-set": "configuration.independent_set:IndependentSet",
        "knapsack": "configuration.knapsack:Knapsack",
        "max-cut": "configuration.max_cut:MaxCut",
        "routing": "configuration.routing:Routing",
    },
)


def families() -> list[str]:
    """The names of all families.

    >>> families()
    ['auction', 'independent-set', 'knapsack', 'max-cut', 'routing']
    """
    return FAMILIES.names()


def family_named(name: str, options: Mapping[str, Any] | None = None) -> Family[Any]:
    """The family of this name, with options of its own.

    >>> family_named("max-cut", {"rounding": "threshold"}).rounding
    'threshold'
    """
    try:
        return FAMILIES.named(name, **(options or {}))
    except BadInput:
        raise
    except (TypeError, ValueError) as error:
        raise BadInput(f"{name} does not take these options: {error}") from None
