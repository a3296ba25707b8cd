"""Selections: private choices among candidates that are public."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.kernel.mechanisms.base import Mechanism
from adyton.kernel.shapes import SourceShape, VectorShape
from adyton.kernel.vectors import PrivateVector
from adyton.noise.source import NoiseSource
from adyton.whole import IntegerArray


class Selection(Mechanism):
    """A mechanism whose output is one of finitely many choices, written as whole numbers of a public count.

    Subclasses write :meth:`choose`: integers in, exact draws from *noise*, the choice out.
    """

    takes = VectorShape

    @abstractmethod
    def choose(self, values: IntegerArray, epsilon: Fraction, noise: NoiseSource) -> IntegerArray:
        """One choice for these counts. How many numbers it has does not depend on the counts."""

    def draw(self, data: PrivateVector, epsilon: Fraction, noise: NoiseSource, trials: int) -> IntegerArray:
        """Independent choices."""
        values = data.values()
        return np.stack([self.choose(values, epsilon, noise) for _ in range(trials)])

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> Any:
        """The choice itself."""
        return output
