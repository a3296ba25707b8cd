"""How many cells are not empty."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.kernel.audit_cases import AuditCase
from adyton.kernel.mechanisms.published.statistic import Statistic
from adyton.whole import IntegerArray


@dataclass(frozen=True)
class NonZeros(Statistic):
    """The number of cells whose count is not 0, plus discrete Laplace noise.

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell).
    Proof.  One row changes one cell, which becomes empty, or is no longer, or neither: the number changes by at most
    1, and DLap(1/ε) by a factor of at most e^ε when it is shifted by 1.  ∎
    """

    def steps_in(self, values: IntegerArray) -> int:
        """Cells that are not 0."""
        return int(np.count_nonzero(values))

    def sensitivity(self, cells: int) -> int:
        """One."""
        return 1

    def step(self, cells: int) -> Fraction:
        """A cell."""
        return Fraction(1)

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """A short line."""
        return [AuditCase("non-zeros", cls(), (4,))]

    def __str__(self) -> str:
        return "number of cells that are not empty"
