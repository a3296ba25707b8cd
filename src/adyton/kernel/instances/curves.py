"""What an algorithm reaches on one instance, as a function of its parameter: exact at every point of the lattice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from adyton.arrays import Places, Reals


@dataclass(frozen=True)
class StepCurve:
    """Piece j reaches from place ``starts[j]`` of the lattice to the next start, and has the value ``values[j]``.

    The first start is 0 and they grow; values are what the algorithm reaches, the larger the better.
    """

    starts: Places
    values: Reals

    def at(self, places: Places) -> Reals:
        """The values at these places."""
        return self.values[np.searchsorted(self.starts, places, "right") - 1]


@dataclass(frozen=True)
class SmoothCurve:
    """Like a step curve, with c₀ + c₁/s + c₂/s² at the lattice point s in place of a constant on each piece.

    ``coefficients`` has one row (c₀, c₁, c₂) a piece. All points of the lattice must lie above 0.
    """

    starts: Places
    coefficients: Reals


Curve: TypeAlias = StepCurve | SmoothCurve
