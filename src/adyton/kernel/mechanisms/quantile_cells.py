"""In which cell of a line a quantile lies, for many lines at once."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.mechanisms.base import AuditCase
from adyton.kernel.mechanisms.selection import Selection
from adyton.kernel.shapes import SourceShape, VectorShape
from adyton.noise.source import NoiseSource
from adyton.queries.size import Size
from adyton.whole import IntegerArray, widen

MOST_PARTS = 10**6
"""The denominator of a quantile."""


@dataclass(frozen=True, eq=False)
class QuantileCells(Selection):
    """For every line of cells the one in which the quantile *above*/*below* of its rows lies, by permute-and-flip.

    A vector is cut into lines of *length* cells, one after the other; the first *used* of each are candidates and
    counted, the rest (cells without a number) is not.

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell).
    Proof.  Let q = a/b with 0 ≤ a ≤ b, and in a line let N be its rows, L those in cells before c and x those in c. The
    score of c is −max(0, aN − b(L + x), bL − aN): b times how many rows it lies beside the quantile. One row more in
    cell i changes aN − b(L + x) by a for c < i and by −(b − a) for c ≥ i; and bL − aN by −a for c ≤ i and by b − a for
    c > i. A maximum changes by no less than the least and no more than the largest change among its parts, so every
    score changes by −m … m with m = max(a, b − a): by the lemma on differences of scores, the sharpness ε/(2m) is ε-DP.
    The row is in one line at most; the choices in the others are drawn independently, and are distributed as before.
    Which lines there are is public.  ∎
    """

    length: int
    used: int
    above: int
    below: int

    def check(self, source: VectorShape) -> None:
        """Whole lines, and a quantile from 0 to 1."""
        if not 1 <= self.used <= self.length or source.cells % self.length:
            raise BadInput(
                f"a vector of {source.cells:,} cells has no lines of {self.length:,} of which {self.used:,} are used."
            )
        if not 0 <= self.above <= self.below <= MOST_PARTS or self.below < 1:
            raise BadInput(f"a quantile is a fraction from 0 to 1, given {self.above}/{self.below}.")

    def size(self, source: VectorShape, epsilon: Fraction) -> Size:
        """A few numbers for each cell, and at worst a coin."""
        return Size(8 * source.cells, 256 * source.cells)

    @property
    def spread(self) -> int:
        """How far one row moves two scores against each other."""
        return 2 * max(self.above, self.below - self.above)

    def scores(self, values: IntegerArray) -> IntegerArray:
        """The scores of all candidates, line by line, in whole numbers that cannot wrap around."""
        lines = widen(values, 4 * self.below * self.length).reshape(-1, self.length)[:, : self.used]
        upto = np.cumsum(lines, axis=1)
        target = self.above * upto[:, -1:]
        beside = np.maximum(target - self.below * upto, self.below * (upto - lines) - target)
        return np.asarray(-np.maximum(beside, 0))

    def choose(self, values: IntegerArray, epsilon: Fraction, noise: NoiseSource) -> IntegerArray:
        """A candidate of each line."""
        sharpness = epsilon / self.spread
        return np.array([noise.permute_and_flip(line, sharpness) for line in self.scores(values)])

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> Any:
        """The number of the chosen cell in each line."""
        return tuple(output.tolist())

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """A median, an upper quantile, and two lines with a cell that is not counted."""
        cases = {"median": cls(5, 5, 1, 2), "upper quantile": cls(5, 5, 9, 10), "two lines": cls(3, 2, 1, 4)}
        domains = {"median": (5,), "upper quantile": (5,), "two lines": (2, 3)}
        return [one.case(f"quantile cells, {name}", domains[name]) for name, one in cases.items()]

    def __str__(self) -> str:
        return f"cells of the quantile {self.above}/{self.below}"
