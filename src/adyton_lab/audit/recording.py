"""Noise that tells afterwards what was asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from adyton.exact import Rational, exact, positive
from adyton.noise import SimulatedNoise
from adyton.noise.source import Ratio, Scale, Size
from adyton.whole import IntegerArray


class RecordingNoise(SimulatedNoise):
    """Simulated noise that remembers the scales it was asked for last, and how sharp choices were."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.scales: list[Fraction] = []
        self.sharpness = Fraction(0)
        """Of all choices among several, added up."""

    def permute_and_flip(self, scores: Sequence[int | Fraction] | IntegerArray, sharpness: Rational) -> int:
        """Choose, and add the sharpness if there is a choice."""
        self.sharpness += exact(sharpness, "sharpness", computed=True) if len(scores) > 1 else 0
        return super().permute_and_flip(scores, sharpness)

    def discrete_laplace(self, size: Size, scale: Scale) -> IntegerArray:
        """Draw, and note the scale of every element."""
        count = int(np.prod(size))
        if isinstance(scale, Ratio):
            pairs = np.broadcast_arrays(scale.numerator, scale.denominator)
            listed = [Fraction(int(a), int(b)) for a, b in zip(*(side.ravel() for side in pairs), strict=True)]
        else:
            listed = [
                positive(one, "scale", computed=True) for one in (scale if isinstance(scale, list | tuple) else [scale])
            ]
        self.scales = listed * (count // len(listed))
        return super().discrete_laplace(size, scale)
