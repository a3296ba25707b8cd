"""The handle on private instances."""

from __future__ import annotations

from typing import cast

from adyton.exact import Rational
from adyton.kernel.instances.lattice import POINTS, Lattice
from adyton.kernel.mechanisms import ChosenPoint, TunedParameter
from adyton.kernel.shapes import InstancesShape
from adyton.kernel.sources import Source


class InstancesSource(Source):
    """A handle on private instances of a problem: what a parameter is worth on them, added up."""

    __slots__ = ()

    @property
    def _shape(self) -> InstancesShape:
        return cast(InstancesShape, self._facts.shape)

    @property
    def points(self) -> int:
        """How many parameters there are to choose from."""
        return self._shape.points

    @property
    def neighbours(self) -> str:
        """Who counts as a neighbour: ``add-remove`` or ``replace``."""
        return self._shape.neighbours

    @property
    def interval(self) -> tuple[float, ...]:
        """Where parameters are looked for; nothing for a grid."""
        return self._shape.interval

    def tune(self, epsilon: Rational, default: float | None = None) -> float:
        """A parameter of the interval that is good on the instances; spends *epsilon*.

        With *default*, today's value, half of the prior is on that very value.
        """
        place: int = self._door.measure(self, TunedParameter(None if default is None else float(default)), epsilon)
        return self.parameter(place, default)

    def parameter(self, place: int, default: float | None = None) -> float:
        """The parameter that a place stands for; the place after the last stands for the default."""
        if place == POINTS:
            assert default is not None
            return float(default)
        return Lattice(*self.interval).point(place)

    def choose_point(self, epsilon: Rational) -> int:
        """The number of a point of the grid that is good on the instances; spends *epsilon*."""
        chosen: int = self._door.measure(self, ChosenPoint(), epsilon)
        return chosen

    def __repr__(self) -> str:
        where = f"[{self.interval[0]:g}, {self.interval[1]:g}]" if self.interval else f"a grid of {self.points:,}"
        return f"<private instances: {' → '.join(self.lineage)}; parameters in {where}>"
