"""Where to cut a line of cells so that each side holds about half of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.audit_cases import AuditCase
from adyton.kernel.mechanisms.selection import Selection
from adyton.kernel.shapes import VectorShape
from adyton.noise.source import NoiseSource
from adyton.whole import IntegerArray, widen


@dataclass(frozen=True)
class MedianCell(Selection):
    """How many cells lie before the cut that halves the rows best, by permute-and-flip: 1 … n − 1 for n cells.

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell).
    Proof.  The score of a cut with L rows before it and R after it is −|L − R|. One row more or less moves L − R by
    exactly 1, so every score by exactly 1; but up where the row joins the smaller side and down elsewhere, so scores
    move against each other by 2, and by the lemma on differences of scores the sharpness ε/2 is ε-DP. (It cannot be
    saved: L + R is the same for all cuts, so −|L − R|/2 ranks them as −max(L, R) does, whose scores only fall when a
    row is added, by at most 1: sharpness ε gives the same choice.)  ∎
    """

    def check(self, source: VectorShape) -> None:
        """A line of at least two cells."""
        if len(source.shape) != 1 or source.cells < 2:
            raise BadInput(
                f"a cut needs a line of at least two cells, given a vector of shape {source.shape}. "
                "Sum it up along one axis first."
            )

    def choose(self, values: IntegerArray, epsilon: Fraction, noise: NoiseSource) -> IntegerArray:
        """Scores −|L − R| = −|2L − N| in whole numbers that cannot wrap around."""
        sums = np.cumsum(widen(values, 4 * values.size))
        scores = -np.abs(2 * sums[:-1] - sums[-1])
        return np.array([1 + noise.permute_and_flip(scores, epsilon / 2)])

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """A short line."""
        return [cls().case("median cell", (5,))]

    def __str__(self) -> str:
        return "median cell"
