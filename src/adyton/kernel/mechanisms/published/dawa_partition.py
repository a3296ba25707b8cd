"""DAWA's choice of a partition: intervals of cells with nearly equal counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Integers
from adyton.errors import BadInput
from adyton.kernel.audit_cases import AuditCase
from adyton.kernel.counts import PrivateVector
from adyton.kernel.mechanisms.published.least_cost import LeastCost
from adyton.kernel.mechanisms.published.window_means import mean_costs
from adyton.kernel.mechanisms.published.window_medians import median_costs
from adyton.kernel.mechanisms.selection import PartitionSelection
from adyton.kernel.shapes import VectorShape
from adyton.messages import shorten
from adyton.noise.laplace import NUMERATOR_LIMIT, geometric
from adyton.noise.source import NoiseSource, Ratio
from adyton.queries.base import SLOW_DRAW, Size
from adyton.whole import IntegerArray, absolute_sum, add, whole_array

LENGTHS = ("powers", "all")
CENTRES = ("mean", "median")
MOST_BUCKETS = 30_000_000
"""How many buckets the variant with all lengths may have to compare."""
LARGEST_COST = Fraction(1 << 60)
_COARSEST = 1 << 10
"""A row of deviation is at least this many steps of the grid."""
_AT_ONCE = 1 << 20
"""How many numbers are drawn at a time."""
_FIRST_CELLS = 1 << 12
_LARGEST = 1 << 62


@dataclass(frozen=True)
class DawaPartition(PartitionSelection):
    """The partition into intervals with the least sum of noisy costs; a bucket costs its deviation plus a constant.

    Li, Hay, Miklau and Wang, "A data- and workload-aware algorithm for range queries under differential privacy",
    PVLDB 2014, Algorithm 1, over buckets of L = 1, 2, 4, … cells, or of any number, up to ℓ, beginning anywhere. On a
    grid of G steps to a row, the bucket b costs D(b) = ⌊G·dev(b)⌋, dev(b) = Σ_{i ∈ b} |x_i − centre of b|, plus the
    public ``bucket_cost``, plus ⌊s_L⌋ + Z_b with s_L = (Δ_ℓ + Δ_L)/ε. The centre is the mean, with
    Δ_L = ⌈2G(1 − 1/L)⌉, or the median, with Δ_1 = 0 and Δ_L = G. −Z_b is geometric, P(−Z_b ≥ k) = e^{−k/s_L}, which has
    half of the variance of Laplace noise; ⌊s_L⌋, which is public, makes up for its mean. Every bucket gets noise, those
    of one cell too, and what becomes negative stays negative. Of partitions that cost the same, the one with the
    shortest last bucket is taken, then the one with the shortest last but one, and so on.

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell).
    Proof.  (Theorem 2 of the paper, with the noise that it needs.) Let x and x′ differ by 1 in cell i. (Counts
    beyond a public bound are cut off first: then they differ there by 1 or not at all.) (1) If b holds
    i, its mean moves by 1/L, so the distance to the mean moves by at most 1 − 1/L at i and by 1/L at the L − 1 other
    cells: dev(b) moves by at most 2(1 − 1/L), and D(b), a floor, by at most ⌈2G(1 − 1/L)⌉ = Δ_L, which grows with L.
    (Nothing is lost in the floor where L divides 2G: all powers of two do.) With the median, dev(b) is the least
    Σ |x_i − c| over all c, each of which moves by at most 1; it is a whole number, and 0 for a single cell: D(b) moves
    by at most Δ_L. If b does not hold i, D(b) stays. (2) Fix an output B, let b be the bucket of B that holds i, and
    fix all the noise but Z_b. Among the partitions that have the bucket b, whether B is first (by cost, then by the
    public order) depends neither on Z_b nor on D(b), and the other buckets of such partitions do not hold i: so x and
    x′ agree about it. Every partition without b costs a number in which Z_b does not occur, and B is before all of them
    just if Z_b ≤ T, for the least T over these partitions B′ of cost(B′) − (cost(B) − Z_b), less 1 where B′ is before B
    in the public order. One bucket of B′ holds i, so cost(B′) moves by at most Δ_ℓ; cost(B) − Z_b moves by at most Δ_L;
    hence T(x′) ≥ T(x) − c, with c = Δ_ℓ + Δ_L. (3) For whole t, P(Z_b ≤ t) = min(1, e^{tε/c}): so
    P(Z_b ≤ T − c) ≥ e^{−ε}·P(Z_b ≤ T) for every T, and noise on one side suffices. The noise is independent, so
    averaging over the rest of it gives P(B | x′) ≥ e^{−ε}·P(B | x), and the same with x and x′ exchanged. If ℓ = 1
    there is one partition only.  ∎
    """

    bucket_cost: Fraction = Fraction(1)
    """What each bucket costs on top of its deviation, in rows: in the paper 1/ε₂, the noise of its count."""
    lengths: str = "powers"
    """``powers`` of two, or ``all``."""
    longest: int | None = None
    """No bucket has more cells than this; None for no limit."""
    centre: str = "mean"
    """What the deviation is measured from: ``mean``, or ``median``."""

    def check(self, source: VectorShape) -> None:
        """The cells must stand in a line, and the buckets must not be too many."""
        if type(self.bucket_cost) is not Fraction or not 0 <= self.bucket_cost <= LARGEST_COST:
            raise BadInput(f"bucket_cost must be a Fraction from 0 to 2^60, given {shorten(self.bucket_cost)}.")
        if self.lengths not in LENGTHS:
            raise BadInput(f"lengths must be 'powers' or 'all', given {shorten(self.lengths)}.")
        if self.centre not in CENTRES:
            raise BadInput(f"centre must be 'mean' or 'median', given {shorten(self.centre)}.")
        if self.longest is not None and (type(self.longest) is not int or not 1 <= self.longest < _LARGEST):
            raise BadInput(f"longest must be a whole number in 1 … 2^62, or None, given {shorten(self.longest)}.")
        if len(source.shape) != 1:
            raise BadInput(
                f"intervals need cells in a line, the vector has the shape {source.shape}. "
                "Reduce it by a Partition with one cell to a group, numbered along a curve."
            )
        if self.lengths == "all" and source.cells * min(source.cells, self.longest or source.cells) > MOST_BUCKETS:
            raise BadInput(
                f"intervals of all lengths on {source.cells:,} cells are more than {MOST_BUCKETS:,} buckets. "
                f"Choose longest up to {max(1, MOST_BUCKETS // source.cells):,}, or lengths = 'powers'."
            )

    def size(self, source: VectorShape, epsilon: Fraction) -> Size:
        """The costs of all buckets, and a draw for each."""
        sizes = self.sizes(source.cells)
        buckets = source.cells * sizes.size
        long = epsilon.denominator * 4 * self.grid(sizes) >= NUMERATOR_LIMIT
        return Size(3 * buckets, (SLOW_DRAW if long else 64) * buckets)

    def sizes(self, cells: int) -> Integers:
        """The numbers of cells that a bucket may have."""
        longest = min(cells, self.longest or cells)
        return 1 << np.arange(longest.bit_length()) if self.lengths == "powers" else np.arange(1, longest + 1)

    def grid(self, sizes: Integers) -> int:
        """G, the steps to a row: a power of two, of which 2G is a multiple of all powers of two among the sizes."""
        return max(_COARSEST, 1 << max(0, int(sizes[-1]).bit_length() - 2))

    def sensitivities(self, sizes: Integers) -> Integers:
        """Δ_L, how far one row can move the cost of a bucket of L cells, in steps of the grid."""
        if self.centre == "median":
            return np.where(sizes > 1, self.grid(sizes), 0)
        return np.asarray(-(-2 * self.grid(sizes) * (sizes - 1) // sizes))

    def scales(self, sizes: Integers, epsilon: Fraction) -> Ratio:
        """s_L = (Δ_ℓ + Δ_L)/ε."""
        moves = self.sensitivities(sizes)
        moved = [epsilon.denominator * move for move in (moves[-1] + moves).tolist()]
        return Ratio(whole_array(moved, moves.shape), whole_array([epsilon.numerator], (1,)))

    def choose(self, values: IntegerArray, epsilon: Fraction, noise: NoiseSource) -> IntegerArray:
        """The number of the bucket of each cell."""
        return np.asarray(self._draw(values, epsilon, noise, 1)[0])

    def draw(self, data: PrivateVector, epsilon: Fraction, noise: NoiseSource, trials: int) -> IntegerArray:
        """Independent partitions; their deviations are computed once."""
        return self._draw(data.values(), epsilon, noise, trials)

    def _draw(self, values: IntegerArray, epsilon: Fraction, noise: NoiseSource, trials: int) -> IntegerArray:
        sizes = self.sizes(values.size)
        if sizes.size == 1:
            return np.tile(np.arange(values.size), (trials, 1))
        grid, scales = self.grid(sizes), self.scales(sizes, epsilon)
        costs, extra = self._deviations(values, sizes, grid), round(self.bucket_cost * grid)
        most = 2 * grid * absolute_sum(values)  # dev(b) ≤ 2·Σ |x_i| over the cells of b
        labels = []
        for count in _parts(trials, max(1, _AT_ONCE // (values.size * sizes.size))):
            partitions, end = LeastCost(costs, most, extra, sizes, count), 0
            while end < values.size:
                reached = min(values.size, max(_FIRST_CELLS, 2 * end))
                width = int(np.searchsorted(sizes, reached, side="right"))  # longer buckets do not end before
                cells = min(reached - end, max(1, _AT_ONCE // (count * width)))
                partitions.grow(one_sided(noise, (count, cells, width), _first(scales, width)))
                end += cells
            labels.append(partitions.labels())
        return np.concatenate(labels)

    def _deviations(self, values: IntegerArray, sizes: Integers, grid: int) -> IntegerArray:
        """D(b) of the bucket of each size that ends at each cell."""
        return (median_costs if self.centre == "median" else mean_costs)(values, sizes, grid)

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """Both variants, cheap buckets and dear ones."""
        instances = {
            "powers of two": cls(Fraction(4, 3)),
            "pairs": cls(Fraction(5), longest=2),
            "all lengths": cls(Fraction(0), "all"),
            "medians": cls(Fraction(4, 3), centre="median"),
        }
        return [
            AuditCase(f"DAWA's partition, {name}", mechanism, (4,), reaches_epsilon=False)
            for name, mechanism in instances.items()
        ]

    def __str__(self) -> str:
        kind = "powers of two" if self.lengths == "powers" else "all lengths"
        limit = "" if self.longest is None else f" up to {self.longest:,}"
        return f"least-cost intervals, {kind}{limit}" + (", by medians" if self.centre == "median" else "")


def one_sided(noise: NoiseSource, size: tuple[int, ...], scales: Ratio) -> IntegerArray:
    """⌊s⌋ + Z for each of the scales s, where −Z is geometric: P(−Z ≥ k) = e^{−k/s}."""
    return add(scales.numerator // scales.denominator, -geometric(noise.discrete_laplace(size, scales)))


def _parts(number: int, most: int) -> Iterator[int]:
    """*number* in parts of at most *most*."""
    for start in range(0, number, most):
        yield min(most, number - start)


def _first(scales: Ratio, width: int) -> Ratio:
    """The scales of the first lengths."""
    return Ratio(scales.numerator[:width], scales.denominator)
