"""Statistics: single numbers about a vector, with noise that their sensitivity asks for."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.counts import PrivateVector
from adyton.kernel.operators import Mechanism
from adyton.kernel.shapes import SourceShape, VectorShape
from adyton.noise.probabilities import discrete_laplace_variance
from adyton.noise.source import NoiseSource
from adyton.queries import NoisyValue
from adyton.whole import IntegerArray, add, whole_array


class Statistic(Mechanism):
    """A mechanism whose output is one whole number of public steps, plus discrete Laplace noise.

    Subclasses say what is counted (:meth:`steps_in`), how many steps one row can change it by
    (:meth:`sensitivity`), and what a step is worth (:meth:`step`).
    """

    takes = VectorShape

    @abstractmethod
    def steps_in(self, values: IntegerArray) -> int:
        """The statistic of these counts, in steps, exactly."""

    @abstractmethod
    def sensitivity(self, cells: int) -> int:
        """By how many steps one row more or less changes it, at most."""

    @abstractmethod
    def step(self, cells: int) -> Fraction:
        """What one step is worth."""

    def check(self, source: VectorShape) -> None:
        """Every vector has a statistic."""

    def draw(self, data: PrivateVector, epsilon: Fraction, noise: NoiseSource, trials: int) -> IntegerArray:
        """The statistic + DLap(Δ/ε); where no row changes anything, as if one step could."""
        values = data.values()
        return add(
            whole_array([self.steps_in(values)], (1,)),
            noise.discrete_laplace((trials, 1), self._scale(values.size, epsilon)),
        )

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> NoisyValue:
        """The noisy statistic in its own unit."""
        assert isinstance(source, VectorShape)
        if output.size != 1:
            raise BadInput("a statistic is measured once. Simulate trials one by one.")
        unit = self.step(source.cells)
        variance = float(discrete_laplace_variance([self._scale(source.cells, epsilon)])[0])
        return NoisyValue(float(int(output.reshape(-1)[0]) * unit), float(np.sqrt(variance)) * float(unit), private)

    def _scale(self, cells: int, epsilon: Fraction) -> Fraction:
        return max(1, self.sensitivity(cells)) / epsilon
