"""Private cuts of a line: a cut that halves the rows, and the bisections of P-HP into clusters of similar counts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from adyton.arrays import Places
from adyton.errors import BadInput
from adyton.exact import positive, share
from adyton.kernel.mechanisms.published.windows import prefix_costs
from adyton.kernel.mechanisms.selection import PartitionSelection, Selection
from adyton.kernel.operators import AuditCase
from adyton.kernel.shapes import VectorShape
from adyton.messages import shorten
from adyton.noise.source import NoiseSource
from adyton.queries.base import Size
from adyton.whole import SAFE, IntegerArray, narrow, whole, widen

GRID = 64
"""Deviations are rounded down to multiples of 1/64 row."""


@dataclass(frozen=True)
class MedianCell(Selection):
    """The number of cells before the cut that halves the rows best, by permute-and-flip: 1 … n − 1 for n cells.

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell).
    Proof.  The score of a cut with L rows before it and R after it is −|L − R|. One row more or less moves L − R by
    exactly 1, so every score by exactly 1; but up if the row joins the smaller side and down otherwise, so scores move
    relative to each other by 2, and by the lemma on differences of scores the sharpness ε/2 is ε-DP. (The factor 2
    cannot be saved: L + R is the same for all cuts, so −|L − R|/2 ranks them as −max(L, R) does, whose scores only fall
    when a row is added, by at most 1: sharpness ε gives the same choice.)  ∎
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


class Candidate(NamedTuple):
    """A partition of the line into clusters of neighbouring cells."""

    boundaries: Places
    """Where the clusters start, followed by the number of cells."""
    deviation: int
    """Σ over clusters of the deviation, in grid steps."""


@dataclass(frozen=True)
class Bisections(PartitionSelection):
    """Clusters of neighbouring cells: cut every cluster in two, level by level, then choose one of the partitions.

    The deviation of a cluster b is dev(b) = ½ Σ_{i∈b} |x_i − mean| = Σ_{i∈b} max(0, x_i − mean): how many rows would
    have to move to make it even. On each of ``levels`` levels every cluster of two cells or more is cut where
    dev(left) + dev(right) is small, by permute-and-flip. Then the clusters are halved in the middle, down to single
    cells: that is public and costs nothing. The last pick chooses one of all these nested partitions by
    Σ_b dev(b) + ``price``·(clusters), with ``pick_share`` of ε; the levels share the rest equally. After Ács,
    Castelluccia and Chen, "Differentially private histogram publishing through lossy compression", ICDM 2012.

    Claim.  ε-DP for vectors at L1 distance 1.
    Proof.  One row more in cell i ∈ b, |b| = m, raises the mean of b by 1/m. As long as the same k cells lie above the
    mean, dev(b) = Σ_{above} x − k·mean changes at the rate 1 − k/m (i above, k ≥ 1) or −k/m (i not above, k ≤ m − 1);
    since dev(b) is continuous in x_i, it changes by at most 1 − 1/m < 1 in all. Hence ⌊g·dev(b)⌋, with g grid steps per
    row, changes by less than g + 1, that is by at most Δ = g, and so does its sum over disjoint clusters. A level with
    the share λ cuts each cluster by permute-and-flip with sharpness λ/(2Δ): by the lemma on differences of scores, λ-DP
    for the cells of this cluster. The clusters are disjoint and known from the levels before, so the whole level is
    λ-DP (parallel composition). Given the cuts, the partitions are fixed and the price does not depend on x, so the
    last pick with sharpness (its share)/(2Δ) is DP for its share. The shares are (1 − pick_share)·ε/levels for each
    level and pick_share·ε for the last pick: together ε (sequential composition).  ∎
    """

    levels: int
    price: Fraction
    pick_share: Fraction

    def check(self, source: VectorShape) -> None:
        """Levels, a price and a share."""
        if whole(self.levels, "levels", 1) > source.cells:
            raise BadInput(f"levels must be at most the number of cells, {source.cells}, given {shorten(self.levels)}.")
        positive(self.price, "price", computed=True)
        share(self.pick_share, "pick_share")

    def size(self, source: VectorShape, epsilon: Fraction) -> Size:
        """Work for every cell on every level, with the cut of every cluster."""
        levels = self.levels + source.cells.bit_length()
        return Size(2 * levels * source.cells, 256 * levels * source.cells)

    def choose(self, values: IntegerArray, epsilon: Fraction, noise: NoiseSource) -> IntegerArray:
        """The cluster of every cell, numbered from the left."""
        counts = _with_room(values)
        whole_line = np.array([0, values.size])
        candidates = [Candidate(whole_line, _deviation(counts, whole_line))]
        for _ in range(self.levels):
            candidates.append(self._cut(counts, candidates[-1].boundaries, self._level_budget(epsilon), noise))
        while candidates[-1].boundaries.size <= values.size:
            candidates.append(_halved(counts, candidates[-1].boundaries))
        boundaries = candidates[self._last_pick(candidates, epsilon, noise)].boundaries
        return np.repeat(np.arange(boundaries.size - 1), np.diff(boundaries))

    def _level_budget(self, epsilon: Fraction) -> Fraction:
        return (1 - self.pick_share) * epsilon / self.levels

    def _cut(self, counts: IntegerArray, boundaries: Places, budget: Fraction, noise: NoiseSource) -> Candidate:
        """Every cluster cut in two, for *budget* in total."""
        cuts, deviation = [], 0
        for start, end in itertools.pairwise(boundaries.tolist()):
            if end - start > 1:
                losses = _cut_deviations(counts[start:end])
                place = noise.permute_and_flip(-losses, budget / (2 * GRID))
                cuts.append(start + place + 1)
                deviation += int(losses[place])
        return Candidate(np.sort(np.append(boundaries, np.array(cuts, dtype=np.int64))), deviation)

    def _last_pick(self, candidates: Sequence[Candidate], epsilon: Fraction, noise: NoiseSource) -> int:
        """The number of the partition with a small Σ_b dev(b) + price·(clusters)."""
        costs = [GRID * self.price * (candidate.boundaries.size - 1) for candidate in candidates]
        scores = [-(candidate.deviation + cost) for candidate, cost in zip(candidates, costs, strict=True)]
        return noise.permute_and_flip(scores, self.pick_share * epsilon / (2 * GRID))

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """One level with most of the budget, a last pick with most of it, and two levels."""
        return [
            cls(1, Fraction(2), Fraction(1, 10)).case("bisections, one level", (6,)),
            cls(1, Fraction(2), Fraction(9, 10)).case("bisections, last pick", (6,)),
            cls(2, Fraction(1, 3), Fraction(1, 4)).case("bisections, two levels", (5,)),
        ]

    def __str__(self) -> str:
        return f"clusters by {self.levels} levels of bisections"


def _cut_deviations(counts: IntegerArray) -> IntegerArray:
    """⌊g·dev(left)⌋ + ⌊g·dev(right)⌋ for every cut of a cluster in two."""
    left, right = prefix_costs(counts, GRID), prefix_costs(counts[::-1].copy(), GRID)
    return np.asarray(left[:-1] + right[-2::-1])


def _halved(counts: IntegerArray, boundaries: Places) -> Candidate:
    """Every cluster halved in the middle."""
    ends = np.union1d(boundaries, (boundaries[:-1] + boundaries[1:]) // 2)
    return Candidate(ends, _deviation(counts, ends))


def _deviation(counts: IntegerArray, boundaries: Places) -> int:
    """Σ over clusters of ⌊g·dev⌋, where m·dev = Σ max(0, m·x − S)."""
    sizes = np.diff(boundaries)
    sums = np.repeat(np.add.reduceat(counts, boundaries[:-1]), sizes)
    above = np.maximum(0, np.repeat(sizes, sizes) * counts - sums)
    return int((GRID * np.add.reduceat(above, boundaries[:-1]) // sizes).sum())


def _with_room(values: IntegerArray) -> IntegerArray:
    """The counts as 64-bit integers if 2g·n·Σ|x|, a bound on all results, fits; else as Python integers."""
    boxed = values.astype(object)
    return narrow(boxed) if 2 * GRID * values.size * int(abs(boxed).sum()) < SAFE else boxed
