"""A family of algorithms: one algorithm for each value of a parameter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

from adyton.kernel.instances.curves import Curve
from adyton.kernel.instances.lattice import Lattice

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
