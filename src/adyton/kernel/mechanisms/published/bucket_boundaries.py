"""The private boundaries of StructureFirst: a fixed number of buckets of neighbours with similar counts."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.audit_cases import AuditCase
from adyton.kernel.mechanisms.published.bucket_weights import LARGEST_EXPONENT, BucketWeights, LastBucket
from adyton.kernel.mechanisms.selection import PartitionSelection
from adyton.kernel.shapes import SourceShape, VectorShape
from adyton.messages import shorten
from adyton.noise.source import NoiseSource
from adyton.queries import Partition
from adyton.queries.base import Size
from adyton.whole import IntegerArray, whole

GRID = 16
"""Costs are rounded up to multiples of 1/16."""
LARGEST_SUM = 1 << 29
"""cells · clip: GRID times the square of a sum stays below 2⁶³."""
LARGEST_TABLE = 1 << 23
"""steps · buckets: what the table of weights may hold."""
LARGEST_WORK = 1 << 30
"""steps · longest · (buckets + :data:`POWER_WORK`): what it may take to fill it, in minutes even in decimals."""
POWER_WORK = 2
"""A power of e in decimals takes as long as adding so many weights."""


@dataclass(frozen=True)
class BucketBoundaries(PartitionSelection):
    """The boundaries of ``buckets`` buckets: one draw among all partitions, by the exponential mechanism.

    Counts are clipped to 0 … F, the public ``clip``. A bucket b of m cells with the sum S costs
    C(b) = ⌈g·SSE⌉ = g·Σx² − ⌊g·S²/m⌋, with g = 16 grid steps, and the partition B is drawn with

        P(B) ∝ exp(−ρ·Σ_{b∈B} C(b)),        ρ = ε/(2gF), or less where that is more than anybody can use.

    Buckets begin at multiples of ``step`` cells and have at most ``longest`` steps. Xu, Zhang, Xiao, Yang, Yu and
    Winslett, "Differentially private histogram publication", VLDB Journal 2013, draw one boundary after the other and
    pay for each; a partition is drawn here as a whole, and paid for once.

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell).
    Proof.  All partitions share g·Σx². Without it, the score of B is Σ_{b∈B} ⌊g·S²/m⌋. After clipping, one row more
    leaves x or raises one x_i ≤ F − 1 by 1. Then S²/m changes, in the bucket of cell i, by (2S + 1)/m > 0, and
    S ≤ m·F − 1, so this is less than 2F: the whole number ⌊g·S²/m⌋ rises by 0 … 2gF, and no other bucket changes. So
    every score rises by 0 … 2gF, and by the lemma on differences of scores the draw is ε-DP with ρ ≤ ε/(2gF). The
    weights depend on nothing else, and the coins that draw from P are exact.  ∎
    """

    buckets: int
    clip: int
    longest: int
    """The most steps of a bucket."""
    step: int = 1
    """Buckets begin at multiples of so many cells."""

    def check(self, source: VectorShape) -> None:
        """As many buckets as fit, whose table and sums fit too."""
        cells, steps = source.cells, -(-source.cells // whole(self.step, "step", 1))
        buckets, clip, longest = whole(self.buckets, "buckets", 1), whole(self.clip, "clip", 1), self.longest
        if buckets > steps or steps * buckets > LARGEST_TABLE:
            most = min(steps, LARGEST_TABLE // steps)
            if not most:
                raise BadInput(f"{steps:,} places for boundaries are too many. Choose a larger step than {self.step}.")
            raise BadInput(f"buckets must be at most {most} for {steps} places, given {shorten(buckets)}.")
        if clip > self.largest_clip(cells):
            raise BadInput(f"clip must be at most {self.largest_clip(cells)} for {cells} cells, given {shorten(clip)}.")
        if whole(longest, "longest", 1) * buckets < steps or longest > steps:
            least = -(-steps // buckets)
            raise BadInput(f"longest must be from {least} to {steps} for {buckets} buckets, given {shorten(longest)}.")
        work = steps * (buckets + POWER_WORK)
        if work * longest > LARGEST_WORK:
            raise BadInput(
                f"longest must be at most {LARGEST_WORK // work} for {buckets} buckets of {steps} places, "
                f"given {shorten(longest)}. Choose fewer buckets, or a larger step."
            )

    @staticmethod
    def largest_clip(cells: int) -> int:
        """The largest clip with which sums over so many cells fit."""
        return LARGEST_SUM // cells

    def size(self, source: VectorShape, epsilon: Fraction) -> Size:
        """The table of the weights; :meth:`check` has its own limits on the work, which say what to choose instead."""
        table = -(-source.cells // self.step) * self.buckets
        return Size(2 * (table + source.cells), 8 * table)

    def choose(self, values: IntegerArray, epsilon: Fraction, noise: NoiseSource) -> IntegerArray:
        """The bucket of every cell, numbered from the left."""
        labels = np.zeros(values.size, dtype=np.int64)
        if self.buckets > 1:
            weights = self._weights(values, epsilon)
            end = weights.places.size - 1
            for before in range(self.buckets - 1, 0, -1):
                end = _draw_start(weights.last_bucket(before, end), noise)
                labels[weights.places[end]] = 1
        return np.cumsum(labels)

    def _weights(self, values: IntegerArray, epsilon: Fraction) -> BucketWeights:
        clipped = self._clipped(values)
        places = np.minimum(np.arange(-(-values.size // self.step) + 1) * self.step, values.size)
        sums = np.concatenate([[0], np.cumsum(clipped)])[places]
        squares = np.concatenate([[0], np.cumsum(clipped * clipped)])[places]
        most = GRID * values.size * self.clip**2 // 4 + self.buckets  # Σ SSE ≤ n·F²/4, and rounding adds 1 a bucket
        rate = min(epsilon / (GRID * self._sensitivity()), Fraction(LARGEST_EXPONENT, most))
        return BucketWeights(places, sums, squares, GRID, self.buckets, self.longest, rate, most)

    def _clipped(self, values: IntegerArray) -> IntegerArray:
        return np.maximum(0, np.minimum(self.clip, values)).astype(np.int64)

    def _sensitivity(self) -> int:
        """Of Σ S²/m, which one more row can only raise: 2F."""
        return 2 * self.clip

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> Partition:
        """The buckets."""
        return Partition(output, self.buckets)

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """Two, three and five buckets, low and high clips, short buckets, boundaries at every other cell."""
        instances = {
            "two buckets": cls(2, 20, 6),
            "three buckets": cls(3, 1, 6),
            "short buckets": cls(3, 50, 3),
            "five buckets": cls(5, 10, 6),
            "every other cell": cls(2, 30, 3, 2),
        }
        return [one.case(f"bucket boundaries, {name}", (6,)) for name, one in instances.items()]

    def __str__(self) -> str:
        return f"{self.buckets} buckets of similar counts"


def _draw_start(bucket: LastBucket, noise: NoiseSource) -> int:
    """One of the starts, by coins that halve what is left of them."""
    first, last = 0, bucket.starts.size
    while last - first > 1:
        middle = (first + last) // 2

        def refine(
            _: int, digits: int, first: int = first, middle: int = middle, last: int = last
        ) -> tuple[Decimal, Decimal]:
            return bucket.refine(first, middle, last, digits)

        if noise.coins(*bucket.bounds(first, middle, last), refine)[0]:
            last = middle
        else:
            first = middle
    return int(bucket.starts[first])
