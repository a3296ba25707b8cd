"""How far a vector is from being even."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.kernel.audit_cases import AuditCase
from adyton.kernel.mechanisms.published.statistic import Statistic
from adyton.whole import IntegerArray, absolute_sum, largest, widen


@dataclass(frozen=True)
class TotalVariation(Statistic):
    """The rows that would have to move to make all d cells equal, ½ Σ |x_i − N/d|, plus discrete Laplace noise.

    Counted in steps of 1/2d row: Σ |d·x_i − N| is a whole number.

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell).
    Proof.  One row more in cell i adds d to d·x_i and 1 to N: |d·x_i − N| moves by at most d − 1, and each of the d − 1
    other terms by at most 1. The sum moves by at most Δ = 2(d − 1) steps, and DLap(Δ/ε) by a factor of at most e^ε when
    it is shifted by Δ.  ∎
    """

    def steps_in(self, values: IntegerArray) -> int:
        """Σ |d·x_i − N|."""
        most = max(1, largest(values))
        roomy = widen(values, 2 * values.size * max(1, absolute_sum(values)) // most + 1)
        return int(np.abs(values.size * roomy - roomy.sum()).sum())

    def sensitivity(self, cells: int) -> int:
        """2(d − 1)."""
        return 2 * (cells - 1)

    def step(self, cells: int) -> Fraction:
        """1/2d row."""
        return Fraction(1, 2 * cells)

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """A short line."""
        return [AuditCase("total variation", cls(), (4,))]

    def __str__(self) -> str:
        return "total variation to even counts"
