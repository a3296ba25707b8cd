"""The private boundaries of StructureFirst: a fixed number of buckets of neighbours with similar counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.kernel.mechanisms.base import AuditCase
from adyton.kernel.mechanisms.selection import Selection
from adyton.kernel.shapes import SourceShape, VectorShape
from adyton.kernel.vectors import PrivateVector
from adyton.messages import shorten
from adyton.noise.source import NoiseSource
from adyton.queries import Partition
from adyton.whole import IntegerArray, whole

LARGEST_SUM = 1 << 30
"""cells · clip: squares of sums stay below 2⁶⁰."""
LARGEST_TABLE = 1 << 27
"""cells · buckets: what the table of least costs may hold."""
_FINEST = 16
_SMALL = (1 << 29) - 1
"""Costs up to this are kept in 32 bits, with room for three times as much."""


@dataclass(frozen=True)
class BucketBoundaries(Selection):
    """The boundaries of ``buckets`` buckets, drawn one after the other from the right.

    Counts are clipped to 0 … F, the public ``clip``. A bucket of m cells with the sum S costs ⌈g·SSE⌉ =
    g·Σx² − ⌊g·S²/m⌋, with a public number g of grid steps; T_j(q) is the least cost of the first q cells in j buckets,
    by dynamic programming. With the buckets right of r settled, the next one starts at q with the score
    −(T_j(q) + cost of q … r). Buckets have at most ``longest`` cells. Xu, Zhang, Xiao, Yang, Yu and Winslett,
    "Differentially private histogram publication", VLDB Journal 2013, with permute-and-flip in place of the
    exponential mechanism and half of the noise.

    Claim.  ε-DP for vectors at L1 distance 1.
    Proof.  All ways to cut the first r cells share g·Σx². Without it, the score of q is the greatest sum of ⌊g·S²/m⌋
    over the ways that end in the bucket q … r; and a choice depends on differences of scores alone. After clipping,
    one row more leaves x or raises one x_i ≤ F − 1 by 1. Then S²/m changes, in the bucket of cell i, by
    (2S + 1)/m > 0, and S ≤ m·F − 1, so this is less than 2F: the whole number ⌊g·S²/m⌋ rises by 0 … 2gF, and no other
    bucket changes. So every sum rises by 0 … Δ = 2gF, and so do the greatest of them and the score: one more row can
    only raise the scores. Hence each of the (buckets − 1) draws, with the sharpness ε/(buckets − 1)/Δ, is DP for
    ε/(buckets − 1), and they compose in sequence to ε. The candidates depend on earlier draws and public numbers
    alone.  ∎
    """

    buckets: int
    clip: int
    longest: int

    def check(self, source: VectorShape) -> None:
        """As many buckets as fit, whose table and sums fit too."""
        cells = source.cells
        buckets, clip, longest = whole(self.buckets, "buckets", 1), whole(self.clip, "clip", 1), self.longest
        if buckets > cells or cells * buckets > LARGEST_TABLE:
            most = min(cells, LARGEST_TABLE // cells)
            raise BadInput(f"buckets must be at most {most} for {cells} cells, given {shorten(buckets)}.")
        if cells * clip > LARGEST_SUM:
            raise BadInput(f"clip must be at most {LARGEST_SUM // cells} for {cells} cells, given {shorten(clip)}.")
        if whole(longest, "longest", 1) * buckets < cells or longest > cells:
            least = -(-cells // buckets)
            raise BadInput(f"longest must be from {least} to {cells} for {buckets} buckets, given {shorten(longest)}.")

    def choose(self, values: IntegerArray, epsilon: Fraction, noise: NoiseSource) -> IntegerArray:
        """The bucket of every cell, numbered from the left."""
        costs = BucketCosts(self._clipped(values), self._grid(values.size))
        starts = []
        if self.buckets > 1:
            sharpness = epsilon / (self.buckets - 1) / (costs.grid * self._sensitivity())
            starts = self._draw_starts(costs, sharpness, noise)
        labels = np.zeros(values.size, dtype=np.int64)
        labels[starts] = 1
        return np.cumsum(labels)

    def _draw_starts(self, costs: BucketCosts, sharpness: Fraction, noise: NoiseSource) -> list[int]:
        table = costs.least(self.buckets, self.longest, self.clip)
        starts, end = [], costs.cells
        for before in range(self.buckets - 1, 0, -1):
            first, last = max(before, end - self.longest), min(end - 1, before * self.longest)
            scores = table[first : last + 1, before] + costs.of_buckets(np.arange(first, last + 1), end)
            end = first + noise.permute_and_flip(-scores, sharpness)
            starts.append(end)
        return starts

    def _clipped(self, values: IntegerArray) -> npt.NDArray[np.int64]:
        return np.maximum(0, np.minimum(self.clip, values)).astype(np.int64)

    def _grid(self, cells: int) -> int:
        """g: the largest power of two up to 16 with which all costs fit 32 bits, or else 1."""
        grid = _FINEST
        while grid > 1 and largest_cost(grid, cells, self.clip) > _SMALL:
            grid //= 2
        return grid

    def _sensitivity(self) -> int:
        """Of Σ S²/m, which one more row can only raise: 2F."""
        return 2 * self.clip

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> Partition:
        """The buckets."""
        return Partition(output, self.buckets)

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """Two, three and five buckets, low and high clips, short buckets."""
        instances = {
            "two buckets": cls(2, 20, 6),
            "three buckets": cls(3, 1, 6),
            "short buckets": cls(3, 50, 3),
            "five buckets": cls(5, 10, 6),
        }
        return [
            AuditCase(f"bucket boundaries, {name}", one, (6,), PrivateVector.of, reaches_epsilon=False, enumerable=True)
            for name, one in instances.items()
        ]

    def __str__(self) -> str:
        return f"{self.buckets} buckets of similar counts"


class BucketCosts:
    """What buckets of clipped counts cost, and the least costs of cutting the first cells into buckets."""

    def __init__(self, clipped: npt.NDArray[np.int64], grid: int) -> None:
        self.cells, self.grid = clipped.size, grid
        self.sums = np.concatenate([[0], np.cumsum(clipped)])
        self.squares = np.concatenate([[0], np.cumsum(clipped * clipped)])

    def of_buckets(self, starts: npt.NDArray[np.int64], end: int) -> npt.NDArray[np.int64]:
        """⌈g·SSE⌉ of the buckets from *starts* to *end*."""
        sizes = end - starts
        sums, squares = self.sums[end] - self.sums[starts], self.squares[end] - self.squares[starts]
        return np.asarray(self.grid * squares - self.grid * sums * sums // sizes)

    def least(self, buckets: int, longest: int, clip: int) -> npt.NDArray[Any]:
        """T_j(q) in row q and column j, for all j < *buckets* and the q from which the rest can be cut as well."""
        from adyton.kernel.mechanisms.bucket_boundaries_compiled import least_costs

        bound = largest_cost(self.grid, self.cells, clip)
        small = bound <= _SMALL
        table = np.full((self.cells + 1, buckets), 2 * (_SMALL if small else bound), np.int32 if small else np.int64)
        table[0, 0] = 0
        least_costs(self.sums, self.squares, self.grid, longest, table)
        return table


def largest_cost(grid: int, cells: int, clip: int) -> int:
    """No way to cut the cells costs more: Σ SSE ≤ cells·F²/4, and rounding adds less than 1 a bucket."""
    return grid * cells * clip**2 // 4 + cells
