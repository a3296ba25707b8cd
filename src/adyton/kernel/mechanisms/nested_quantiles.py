"""Several quantiles of a line of cells at once: the middle quantile first, then those on either side of it."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.mechanisms.selection import Selection
from adyton.kernel.operators import AuditCase
from adyton.kernel.shapes import SourceShape, VectorShape
from adyton.noise.source import NoiseSource
from adyton.queries.base import Size
from adyton.whole import IntegerArray, freeze, widen

MOST_PARTS = 10**6
"""The largest denominator of a quantile."""
MOST_PLACES = 1 << 23
"""The largest number of places in a line."""
_CHOICE = 1 << 15
"""The steps of arithmetic for a choice, in addition to its coins: a third of a millisecond."""
_MOST_RAISED = 2.0**50
"""A score is raised by at most this, for the number of its places."""
_SPREAD = 40_503
"""65,536 divided by the golden ratio: its multiples are spread evenly."""


@dataclass(frozen=True, eq=False)
class NestedQuantiles(Selection):
    """For every line of cells, the cells in which the *quantiles* of its rows lie, by nested choices.

    A vector is cut into consecutive lines of *length* cells, of which the first *used* are counted. The rows of cell c
    are dealt in turn to *places[c]* places, which stand for the cell: many places make a cell likely where little is
    known, and equal rows differ in their place. The quantile in the middle of the list is chosen among all places by
    permute-and-flip, then those below it among the places up to it, those above it among the places from it on, and so
    on, level by level. Half of the rows of a chosen place go to either side. If no choice is nested in a choice, the
    places of a cell count as one candidate, whose score is raised by log(places)/sharpness: it is about as likely as
    its places together, and the best candidate is chosen more often than with many candidates of equal score. After
    Kaplan, Schnapp and Stemmer, "Differentially private approximate quantiles", ICML 2022.

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell).
    Proof.  Dealing: place j of B gets ⌊(x + r_j)/B⌋ rows, with r a public order of 0 … B − 1. From x to x + 1 exactly
    one place gets a row more: the one with x + 1 + r_j divisible by B. So the places of neighbours differ by one row in
    one place, or, in lines without the row, not at all. A choice: in a run of places let N be the number of rows, and
    for a place (or for all places of its cell in the run, if nothing is nested) L the rows before it and x its own. For
    q = a/b its score is −max(aN − b(L + x), bL − aN): b times how deep the quantile lies inside it, or how far outside.
    One row more changes aN − b(L + x) by a or −(b − a), and bL − aN by −a or b − a; a maximum changes by an amount
    between the smallest and the largest change of its parts, so every score changes by −m … m with m = max(a, b − a):
    by the lemma on differences of scores, the sharpness λ/(2m) is λ-DP; adding the same public number to a score of
    both neighbours changes no difference between them (the places of a cell in the run are public, given the choices
    before it). Levels: regard the chosen place as published;
    given it, the run up to it (with ⌊x/2⌋ rows of the place) and the run from it on (with the other ⌈x/2⌉) of
    neighbours differ by one row in one place of one of them. So all choices of a level are about disjoint runs, and the
    level is λ-DP (parallel composition). Every level has λ = ε/levels (sequential composition). The actual output, the
    cell of each chosen place, is a function of the places. Other lines are disjoint from the line with the row, and
    drawn independently; the lines are public.  ∎
    """

    length: int
    used: int
    quantiles: tuple[Fraction, ...]
    places: IntegerArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", freeze(self.places, "places").reshape(-1))

    def check(self, source: VectorShape) -> None:
        """Whole lines, quantiles from 0 to 1 in order, and at least one place for each cell."""
        if not 1 <= self.used <= self.length or source.cells % self.length:
            raise BadInput(
                f"a vector of {source.cells:,} cells cannot be cut into lines of {self.length:,} cells with "
                f"{self.used:,} used."
            )
        rising = all(low < high for low, high in itertools.pairwise(self.quantiles))
        if not self.quantiles or not rising or self.quantiles[0] < 0 or self.quantiles[-1] > 1:
            raise BadInput("quantiles must be fractions from 0 to 1, in increasing order.")
        if max(part.denominator for part in self.quantiles) > MOST_PARTS:
            raise BadInput(f"quantiles must have denominators of at most {MOST_PARTS:,}.")
        if self.places.shape != (self.used,) or self.places.dtype != np.int64 or self.places.min() < 1:
            raise BadInput(f"each of the {self.used:,} cells needs at least one place.")
        if int(self.places.max()) > MOST_PLACES or int(self.places.sum()) > MOST_PLACES:
            raise BadInput(f"a line can have at most {MOST_PLACES:,} places.")

    @property
    def levels(self) -> int:
        """The number of levels of nested choices: how often the list of quantiles can be halved."""
        return len(self.quantiles).bit_length()

    def size(self, source: VectorShape, epsilon: Fraction) -> Size:
        """A few numbers for each place, at worst a coin for each place on every level, and the work of every choice."""
        lines, places = source.cells // self.length, int(self.places.sum())
        choices = lines * len(self.quantiles)
        return Size(8 * source.cells + 16 * places, 256 * lines * places * self.levels + _CHOICE * choices)

    def choose(self, values: IntegerArray, epsilon: Fraction, noise: NoiseSource) -> IntegerArray:
        """The cells of all quantiles, line by line."""
        below = min(math.lcm(*(part.denominator for part in self.quantiles)), MOST_PARTS)  # of all nested parts, too
        lines = widen(values, 4 * below * self.length).reshape(-1, self.length)[:, : self.used]
        cells = np.repeat(np.arange(self.used), self.places)
        turns = _turns(self.places)
        shared, chosen = self.places[cells], np.empty((len(lines), len(self.quantiles)), dtype=np.int64)
        for line, rows in zip(chosen, lines, strict=True):
            line[:] = cells[self._nested((rows[cells] + turns) // shared, cells, epsilon / self.levels, noise)]
        return chosen.reshape(-1)

    def _nested(self, rows: IntegerArray, cells: IntegerArray, budget: Fraction, noise: NoiseSource) -> list[int]:
        """The place of every quantile, with this budget for each level."""
        chosen = [0] * len(self.quantiles)
        runs = [(rows, 0, (0, len(self.quantiles)), (Fraction(0), Fraction(1)))]
        while runs:
            run, start, (first, end), (below, above) = runs.pop()
            if first == end:
                continue
            middle = (first + end) // 2
            part = self.quantiles[middle]
            inside = (part - below) / (above - below)
            if end - first == 1:  # nothing is nested in it
                chosen[middle] = start + _choice(run, inside, budget, noise, cells[start : start + run.size])
                continue
            place = _choice(run, inside, budget, noise)
            chosen[middle] = start + place
            left, right = run[: place + 1].copy(), run[place:].copy()
            left[-1] //= 2
            right[0] -= left[-1]
            runs.append((left, start, (first, middle), (below, part)))
            runs.append((right, start + place, (middle + 1, end), (part, above)))
        return chosen

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> tuple[int, ...]:
        """The number of the cell of each quantile in each line."""
        return tuple(output.tolist())

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """A median with several places per cell, quartiles, quantiles near either end, and two lines with a cell that
        is not counted."""
        half, quarters = (Fraction(1, 2),), tuple(Fraction(part, 4) for part in (1, 2, 3))
        low, high = Fraction(1, 10), Fraction(9, 10)
        return [
            cls(4, 4, half, np.array([1, 2, 3, 1])).case("nested quantiles, dealt", (4,)),
            cls(3, 3, quarters, np.array([1, 2, 1])).case("nested quantiles, quartiles", (3,)),
            cls(3, 3, (low,), np.array([1, 2, 1])).case("nested quantiles, near the lower end", (3,)),
            cls(3, 3, (low, high), np.array([1, 1, 2])).case("nested quantiles, near both ends", (3,)),
            cls(3, 2, quarters[:2], np.array([1, 1])).case("nested quantiles, two lines", (2, 3)),
        ]

    def __str__(self) -> str:
        return f"{len(self.quantiles)} nested quantiles"


def _choice(
    rows: IntegerArray, part: Fraction, epsilon: Fraction, noise: NoiseSource, cells: IntegerArray | None = None
) -> int:
    """The place in which a quantile of these rows lies, or, if *cells* are given, the first place of its cell; the
    fraction is rounded to a denominator within the limit."""
    near = part.limit_denominator(MOST_PARTS)
    above, below = near.numerator, near.denominator
    sharpness = epsilon / (2 * max(above, below - above))
    starts: IntegerArray = np.arange(rows.size)
    raised: IntegerArray = np.zeros(1, dtype=np.int64)
    if cells is not None:
        starts = np.flatnonzero(np.diff(cells, prepend=-1))
        rows, sizes = np.add.reduceat(rows, starts), np.diff(starts, append=cells.size)
        raised = np.rint(np.minimum(np.log(sizes) / max(float(sharpness), 1e-30), _MOST_RAISED)).astype(np.int64)
    upto = np.cumsum(rows)
    target = above * upto[-1]
    scores = raised - np.maximum(target - below * upto, below * (upto - rows) - target)
    return int(starts[noise.permute_and_flip(scores, sharpness)])


def _turns(places: IntegerArray) -> IntegerArray:
    """The order in which the places of every cell get its rows, from the largest number to 0: spread evenly."""
    starts = np.cumsum(places) - places
    cells = np.repeat(np.arange(places.size), places)
    within = np.arange(cells.size) - starts[cells]
    order = np.lexsort((within, within * _SPREAD % (1 << 16), cells))
    turns = np.empty(cells.size, dtype=np.int64)
    turns[order] = within
    return turns
