"""DAWA's choice of a partition into intervals of cells with nearly equal counts, and the noisy cost of the best one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers
from adyton.compiling import compiled
from adyton.errors import BadInput
from adyton.kernel.counts import PrivateVector
from adyton.kernel.mechanisms.published.statistic import Statistic
from adyton.kernel.mechanisms.published.windows import mean_costs, median_costs
from adyton.kernel.mechanisms.selection import PartitionSelection
from adyton.kernel.operators import AuditCase
from adyton.kernel.shapes import VectorShape
from adyton.messages import shorten
from adyton.noise.laplace import NUMERATOR_LIMIT, geometric
from adyton.noise.source import NoiseSource, Ratio
from adyton.queries.base import SLOW_DRAW, Size
from adyton.whole import SAFE, IntegerArray, absolute_sum, add, largest, whole_array

Choices = npt.NDArray[np.int32]
"""Indices of bucket lengths."""
LENGTHS = ("powers", "all")
CENTRES = ("mean", "median")
MOST_BUCKETS = 30_000_000
"""The largest number of buckets in the variant with all lengths."""
LARGEST_COST = Fraction(1 << 60)
_LARGEST_INTERVAL_COST = Fraction(1 << 40)
_COARSEST = 1 << 10
"""The grid for deviations has at least this many steps per row."""
_AT_ONCE = 1 << 20
"""The number of draws at a time."""
_FIRST_CELLS = 1 << 12
_LARGEST = 1 << 62


@dataclass(frozen=True)
class DawaPartition(PartitionSelection):
    """The partition into intervals with the least sum of noisy costs; a bucket costs its deviation plus a constant.

    Li, Hay, Miklau and Wang, "A data- and workload-aware algorithm for range queries under differential privacy",
    PVLDB 2014, Algorithm 1. A bucket has L ≤ ℓ cells and begins anywhere; L is a power of two or, in the variant with
    all lengths, any number. On a grid of G steps per row, the bucket b costs D(b) = ⌊G·dev(b)⌋, dev(b) = Σ_{i ∈ b} |x_i
    − centre of b|, plus the public ``bucket_cost``, plus ⌊s_L⌋ + Z_b with s_L = (Δ_ℓ + Δ_L)/ε. The centre is the mean,
    with Δ_L = ⌈2G(1 − 1/L)⌉, or the median, with Δ_1 = 0 and Δ_L = G. −Z_b is geometric, P(−Z_b ≥ k) = e^{−k/s_L},
    which has half the variance of Laplace noise; ⌊s_L⌋, which is public, compensates for its mean. Every bucket gets
    noise, even those of one cell, and negative costs stay negative. Of partitions with equal costs, the one with the
    shortest last bucket is taken, then the one with the shortest last but one, and so on.

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell).
    Proof.  (As for Theorem 2 of the paper, but with as much noise as the proof needs.) Let x and x′ differ by 1 in cell
    i. (Counts are clipped to a public bound first: then they differ there by 1 or not at all.) (1) If b contains i, its
    mean moves by 1/L, so the distance to the mean moves by at most 1 − 1/L at i and by 1/L at the L − 1 other cells:
    dev(b) moves by at most 2(1 − 1/L), and D(b), a floor, by at most ⌈2G(1 − 1/L)⌉ = Δ_L, which grows with L. (Nothing
    is lost in the floor if L divides 2G: all powers of two do.) With the median, dev(b) is the least of the sums Σ |x_i
    − c|, one for every c, and each sum moves by at most 1; dev(b) is whole, and 0 for a single cell: D(b) moves by at
    most Δ_L. If b does not contain i, D(b) does not move. (2) Fix an output B, let b be the bucket of B that contains
    i, and fix all the noise except Z_b. Among the partitions with the bucket b, whether B is first (by cost, then by
    the public order) depends neither on Z_b nor on D(b), and the other buckets of such partitions do not contain i: so
    it is the same for x and x′. The cost of a partition without b does not involve Z_b, and B is before all of them if
    and only if Z_b ≤ T, where T is the minimum over these partitions B′ of cost(B′) − (cost(B) − Z_b), less 1 if B′ is
    before B in the public order. One bucket of B′ contains i, so cost(B′) moves by at most Δ_ℓ; cost(B) − Z_b moves by
    at most Δ_L; hence T(x′) ≥ T(x) − c, with c = Δ_ℓ + Δ_L. (3) For whole t, P(Z_b ≤ t) = min(1, e^{tε/c}): so P(Z_b ≤
    T − c) ≥ e^{−ε}·P(Z_b ≤ T) for every T, and one-sided noise suffices. The noise is independent, so averaging over
    the rest of it gives P(B | x′) ≥ e^{−ε}·P(B | x), and the same with x and x′ exchanged. If ℓ = 1 there is only one
    partition.  ∎
    """

    bucket_cost: Fraction = Fraction(1)
    """The cost of each bucket in addition to its deviation, in rows: in the paper 1/ε₂, the noise of its count."""
    lengths: str = "powers"
    """``powers`` of two, or ``all``."""
    longest: int | None = None
    """The most cells of a bucket; None for no limit."""
    centre: str = "mean"
    """The centre of the deviation: ``mean`` or ``median``."""

    def check(self, source: VectorShape) -> None:
        """The cells must form a line, and there must not be too many buckets."""
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
                f"intervals need cells in a line, but the vector has the shape {source.shape}. "
                "Reduce it by a Partition with one cell per group, numbered along a curve."
            )
        if self.lengths == "all" and source.cells * min(source.cells, self.longest or source.cells) > MOST_BUCKETS:
            raise BadInput(
                f"intervals of all lengths on {source.cells:,} cells make more than {MOST_BUCKETS:,} buckets. "
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
        """G, the steps per row: a power of two, such that 2G is a multiple of all powers of two among the sizes."""
        return max(_COARSEST, 1 << max(0, int(sizes[-1]).bit_length() - 2))

    def sensitivities(self, sizes: Integers) -> Integers:
        """Δ_L, the most by which one row can move the cost of a bucket of L cells, in steps of the grid."""
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
        at_once = max(1, _AT_ONCE // (values.size * sizes.size))
        for start in range(0, trials, at_once):
            count, end = min(at_once, trials - start), 0
            partitions = LeastCost(costs, most, extra, sizes, count)
            while end < values.size:
                reached = min(values.size, max(_FIRST_CELLS, 2 * end))
                width = int(np.searchsorted(sizes, reached, side="right"))  # longer buckets cannot end here
                cells = min(reached - end, max(1, _AT_ONCE // (count * width)))
                first = Ratio(scales.numerator[:width], scales.denominator)
                partitions.grow(one_sided(noise, (count, cells, width), first))
                end += cells
            labels.append(partitions.labels())
        return np.concatenate(labels)

    def _deviations(self, values: IntegerArray, sizes: Integers, grid: int) -> IntegerArray:
        """D(b) of the bucket of each size that ends at each cell."""
        return (median_costs if self.centre == "median" else mean_costs)(values, sizes, grid)

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """Both variants, with cheap and with expensive buckets."""
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


@dataclass(frozen=True)
class Partitionality(Statistic):
    """The least Σ_b (dev(b) + c) over partitions of a line into intervals of 1, 2, 4, … cells, plus noise.

    dev(b) = Σ_{i∈b} |x_i − mean of b| and c, the public cost of an interval, are in steps of 1/G row, as in
    :class:`DawaPartition`.

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell).
    Proof.  One row changes one interval of every partition, and its cost by at most Δ = ⌈2G(1 − 1/ℓ)⌉ steps, where ℓ is
    the longest interval (part 1 of the proof there). So the cost of every partition moves by at most Δ, and so does the
    least cost; DLap(Δ/ε) changes by a factor of at most e^ε when it is shifted by Δ. The intervals and c are public.  ∎
    """

    bucket_cost: Fraction = Fraction(1)
    """c, in rows."""

    def check(self, source: VectorShape) -> None:
        """A line, and a cost."""
        if len(source.shape) != 1:
            raise BadInput(f"intervals need cells in a line, but the vector has the shape {source.shape}.")
        if not 0 <= self.bucket_cost <= _LARGEST_INTERVAL_COST:
            raise BadInput(f"an interval may cost from 0 to 2^40 rows, given {shorten(self.bucket_cost)}.")

    def size(self, source: VectorShape, epsilon: Fraction) -> Size:
        """The costs of all intervals."""
        buckets = source.cells * source.cells.bit_length()
        return Size(3 * buckets, 64 * buckets)

    def steps_in(self, values: IntegerArray) -> int:
        """The least cost, by dynamic programming."""
        sizes = DawaPartition().sizes(values.size)
        grid = DawaPartition().grid(sizes)
        costs, extra = mean_costs(values, sizes, grid), round(self.bucket_cost * grid)
        least = LeastCost(costs, 2 * grid * absolute_sum(values), extra, sizes, 1)
        least.grow(np.zeros((1, values.size, sizes.size), dtype=np.int64))
        return least.total()

    def sensitivity(self, cells: int) -> int:
        """⌈2G(1 − 1/ℓ)⌉."""
        return int(DawaPartition().sensitivities(DawaPartition().sizes(cells))[-1])

    def step(self, cells: int) -> Fraction:
        """1/G row."""
        return Fraction(1, DawaPartition().grid(DawaPartition().sizes(cells)))

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """A short line whose best partition varies."""
        return [AuditCase("partitionality", cls(Fraction(3, 2)), (4,), reaches_epsilon=False)]

    def __str__(self) -> str:
        return "cost of the best intervals"


class LeastCost:
    """The least-cost partitions of a vector, for many trials at once, extended from the left as noise is drawn.

    A compiled loop finds them, in 64 bits, if a bound computed first shows that nothing can wrap around; else the same
    numbers are computed in Python integers.
    """

    def __init__(self, costs: IntegerArray, most: int, extra: int, lengths: Integers, trials: int) -> None:
        """The costs of the buckets of these lengths that end at each cell (lengths × cells), the *most* that disjoint
        buckets can cost together, and the *extra* cost of every bucket."""
        cells = costs.shape[1]
        self._costs, self._extra, self._lengths = costs, extra, lengths
        self._totals: IntegerArray = np.zeros((trials, cells + 1), dtype=np.int64)
        self._choices = np.zeros((trials, cells + 1), dtype=np.int32)
        self._end = 0
        self._bound = most

    def grow(self, noise: IntegerArray) -> None:
        """Extend by the cells of this noise (trials × cells × the lengths that fit)."""
        cells = noise.shape[1]
        first, self._end = self._end, self._end + cells
        self._bound += cells * (largest(noise) + abs(self._extra))  # a bound on every |total| so far
        costs = self._costs[:, first : self._end]
        if self._bound < SAFE:
            _least_costs(costs, noise, self._extra, self._lengths, first, self._totals, self._choices)
        else:
            self._totals, boxed = self._totals.astype(object), (costs.astype(object), noise.astype(object))
            _least_costs.function(*boxed, self._extra, self._lengths, first, self._totals, self._choices)

    def total(self) -> int:
        """The least cost of all cells, in the first trial."""
        return int(self._totals[0, -1])

    def labels(self) -> Integers:
        """The number of the bucket of each cell, trial by trial."""
        labels = np.empty((len(self._choices), self._costs.shape[1]), dtype=np.int64)
        _bucket_labels(self._choices, self._lengths, labels)
        return labels


@compiled
def _least_costs(
    costs: Integers, noise: Integers, extra: int, lengths: Integers, start: int, totals: Integers, choices: Choices
) -> None:
    """For each trial and each end after *start*, the least noisy cost of a partition up to it, and its last length.

    ``costs`` is lengths × ends, ``noise`` trials × ends × lengths. If costs are equal, the shortest last bucket wins.
    """
    for trial in range(noise.shape[0]):
        for row in range(noise.shape[1]):
            end = start + row + 1
            best, chosen = 0, -1
            for number in range(noise.shape[2]):
                if lengths[number] > end:
                    break
                cost = totals[trial, end - lengths[number]] + costs[number, row] + noise[trial, row, number]
                if chosen < 0 or cost < best:
                    best, chosen = cost, number
            totals[trial, end] = best + extra
            choices[trial, end] = chosen


@compiled
def _bucket_labels(choices: Choices, lengths: Integers, labels: Integers) -> None:
    """The number of the bucket of each cell, read backwards from the chosen last lengths."""
    cells = labels.shape[1]
    for trial in range(labels.shape[0]):
        buckets, end = 0, cells
        while end > 0:
            buckets += 1
            end -= lengths[choices[trial, end]]
        end = cells
        while end > 0:
            buckets -= 1
            first = end - lengths[choices[trial, end]]
            labels[trial, first:end] = buckets
            end = first
