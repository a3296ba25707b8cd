"""The private boundaries of StructureFirst: a fixed number of buckets of neighbours with similar counts.

Sums of exponentials over all partitions give the probability that a bucket is the last of a partition. Let a bucket
from step q to step r have the integer cost C(q, r), and let the weight of a partition be the product of e^{−rate·C}
over its buckets. The weights of all partitions of the first r steps into j buckets add up to

    Z_j(r) = Σ_q Z_{j−1}(q)·e^{−rate·C(q, r)},        Z_0(0) = 1,

and in a partition of the first r steps into j buckets, the last one starts at q with probability proportional to its
term.

Z is computed in double precision, with a separate exponent for each number. All terms are positive, so relative errors
do not grow in sums: a term has at most the errors of its Z and of its power, and adding up ``longest`` terms adds at
most ``longest`` roundings. An exponent y is off by a few roundings, at most 2⁻⁴⁸·(1 + y); the exponents of the buckets
of one partition add up to at most rate·(the largest cost of a partition). Hence the bound :attr:`BucketWeights.error`,
which is public. Where it does not suffice, weights are computed in decimals of any length.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial, reduce

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Places, Reals
from adyton.compiling import compiled
from adyton.errors import BadInput
from adyton.kernel.mechanisms.published.dyadic_partition import SLACK, on_grid
from adyton.kernel.mechanisms.selection import PartitionSelection
from adyton.kernel.operators import AuditCase
from adyton.kernel.shapes import SourceShape, VectorShape
from adyton.messages import shorten
from adyton.noise.bits import Bounds, long_decimals, negative_power
from adyton.noise.source import NoiseSource
from adyton.queries import Partition
from adyton.queries.base import Size
from adyton.whole import IntegerArray, whole

LARGEST_EXPONENT = 1 << 22
"""The largest rate·(largest cost of a partition). Double precision then decides nearly every draw, so that the slow
computation in decimals is rarely needed; and exponents of 2 fit 32 bits."""
_UNREACHED = -(1 << 30)
"""Below all exponents of 2 that occur, which are above −1.45·2²²; twice this number still fits 32 bits."""
_SPARE_DIGITS = 45
_HALVINGS = 64
_DIGIT_BITS = 8
_LAST_DIGIT = (1 << _DIGIT_BITS) - 1

Exponents = npt.NDArray[np.int32]
"""Exponents of 2."""
GRID = 16
"""Costs are rounded up to multiples of 1/16."""
LARGEST_SUM = 1 << 29
"""The largest cells · clip: GRID times the square of a sum stays below 2⁶³."""
LARGEST_TABLE = 1 << 23
"""The largest steps · buckets: the size of the table of weights."""
LARGEST_WORK = 1 << 30
"""The largest steps · longest · (buckets + :data:`POWER_WORK`): the work to fill it, minutes even in decimals."""
POWER_WORK = 2
"""A power of e in decimals takes as long as adding this many weights."""


@dataclass(frozen=True)
class BucketBoundaries(PartitionSelection):
    """The boundaries of ``buckets`` buckets: one draw among all partitions, by the exponential mechanism.

    Counts are clipped to 0 … F, the public ``clip``. A bucket b of m cells with the sum S costs
    C(b) = ⌈g·SSE⌉ = g·Σx² − ⌊g·S²/m⌋, with g = 16 grid steps, and the partition B is drawn with

        P(B) ∝ exp(−ρ·Σ_{b∈B} C(b)),        ρ = ε/(2gF), or a public upper limit if that is smaller.

    Buckets begin at multiples of ``step`` cells and have at most ``longest`` steps. Xu, Zhang, Xiao, Yang, Yu and
    Winslett, "Differentially private histogram publication", VLDB Journal 2013, draw one boundary after the other and
    pay for each; here a partition is drawn as a whole, and paid for once.

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell).
    Proof.  All partitions share g·Σx². Without it, the score of B is Σ_{b∈B} ⌊g·S²/m⌋. After clipping, one row more
    leaves x unchanged or raises one x_i ≤ F − 1 by 1. Then S²/m changes, in the bucket of cell i, by (2S + 1)/m > 0,
    and S ≤ m·F − 1, so this is less than 2F: the whole number ⌊g·S²/m⌋ rises by 0 … 2gF, and no other bucket changes.
    So every score rises by 0 … 2gF, and by the lemma on differences of scores the draw is ε-DP with ρ ≤ ε/(2gF). The
    weights depend on nothing else, and the coins that draw from P are exact.  ∎
    """

    buckets: int
    clip: int
    longest: int
    """The most steps of a bucket."""
    step: int = 1
    """Buckets begin at multiples of this number of cells."""

    def check(self, source: VectorShape) -> None:
        """Not too many buckets, and a table and sums within the limits."""
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
        """The largest clip with which sums over this number of cells fit."""
        return LARGEST_SUM // cells

    def size(self, source: VectorShape, epsilon: Fraction) -> Size:
        """The table of weights; :meth:`check` limits the work separately, with messages that say what to choose."""
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
        """The sensitivity of Σ S²/m, which one more row can only raise: 2F."""
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
        return [boundaries.case(f"bucket boundaries, {name}", (6,)) for name, boundaries in instances.items()]

    def __str__(self) -> str:
        return f"{self.buckets} buckets of similar counts"


def _draw_start(bucket: LastBucket, noise: NoiseSource) -> int:
    """Draw one of the starts, by coins that each halve the remaining starts."""
    first, last = 0, bucket.starts.size
    while last - first > 1:
        middle = (first + last) // 2

        refine = partial(bucket.refine, first, middle, last)
        if noise.coins(*bucket.bounds(first, middle, last), refine)[0]:
            last = middle
        else:
            first = middle
    return int(bucket.starts[first])


@dataclass(frozen=True, eq=False)
class BucketWeights:
    """The weights of the partitions of the first r steps into j < ``buckets`` buckets of at most ``longest`` steps.

    ``sums`` and ``squares`` are of the counts before each of ``places``, where buckets may begin and end; a bucket of m
    cells costs grid·Σx² − ⌊grid·(Σx)²/m⌋.
    """

    places: Places
    sums: Integers
    squares: Integers
    grid: int
    buckets: int
    longest: int
    rate: Fraction
    most: int
    """The largest cost of a partition."""
    _mantissas: Reals = field(init=False)
    _exponents: Exponents = field(init=False)

    def __post_init__(self) -> None:
        table = (self.places.size, self.buckets)
        mantissas, exponents = np.zeros(table), np.full(table, _UNREACHED, dtype=np.int32)
        mantissas[0, 0], exponents[0, 0] = 1.0, 0
        powers = np.append(0.5 ** np.arange(_HALVINGS - 1), 0.0)
        numbers = (self.places, self.sums, self.squares, self.grid)
        _add_up(*numbers, self._binary_rate, self.longest, powers, mantissas, exponents)
        object.__setattr__(self, "_mantissas", mantissas)
        object.__setattr__(self, "_exponents", exponents)

    @property
    def _binary_rate(self) -> float:
        return float(self.rate) / math.log(2)

    @property
    def error(self) -> float:
        """A bound on the relative error of every weight in double precision."""
        return SLACK * (float(self.rate) * self.most + self.buckets * (1 + self.longest))

    def costs(self, starts: Places, end: int) -> Integers:
        """C(q, end) of the buckets from *starts* to *end*."""
        sizes = self.places[end] - self.places[starts]
        sums, squares = self.sums[end] - self.sums[starts], self.squares[end] - self.squares[starts]
        return np.asarray(self.grid * squares - self.grid * sums * sums // sizes)

    def last_bucket(self, before: int, end: int) -> LastBucket:
        """The possible starts of the last bucket of the first *end* steps, after *before* buckets, with weights."""
        starts = np.arange(max(before, end - self.longest), min(end - 1, before * self.longest) + 1)
        binary = self._binary_rate * self.costs(starts, end)
        halvings = np.floor(binary)
        mantissas = self._mantissas[starts, before] * np.exp2(halvings - binary)
        return LastBucket(self, before, end, starts, mantissas, self._exponents[starts, before] - halvings)

    def exactly(self, before: int, end: int, digits: int) -> list[Decimal]:
        """The weight of each start of :meth:`last_bucket`, with a relative error below 10^(−digits)."""
        context = long_decimals(digits + _SPARE_DIGITS)
        first, last = max(before, end - self.longest), min(end - 1, before * self.longest)
        table = _power_table(self.rate, self.most, context.prec)
        rows: list[list[Decimal]] = [[Decimal(1)] + [Decimal(0)] * before]
        for step in range(1, last + 1):
            row = [Decimal(0)] * (before + 1)
            for start, power in self._powers(step, table, context):
                for number, weight in enumerate(rows[start][:-1], 1):
                    if weight:
                        row[number] = context.fma(weight, power, row[number])
            rows.append(row)
            if step >= self.longest:
                rows[step - self.longest] = []  # never needed again
        powers = dict(self._powers(end, table, context))
        return [context.multiply(rows[start][before], powers[start]) for start in range(first, last + 1)]

    def _powers(self, end: int, table: list[list[Decimal]], context: decimal.Context) -> list[tuple[int, Decimal]]:
        starts = np.arange(max(0, end - self.longest), end)
        costs = self.costs(starts, end).tolist()
        return [(start, _power(cost, table, context)) for start, cost in zip(starts.tolist(), costs, strict=True)]


@dataclass(frozen=True, eq=False)
class LastBucket:
    """The weights of the starts of a last bucket: ``mantissas``·2^``exponents``, in double precision."""

    weights: BucketWeights
    before: int
    end: int
    starts: Places
    mantissas: Reals
    exponents: Reals
    _known: dict[int, list[Decimal]] = field(init=False, default_factory=dict)

    def bounds(self, first: int, middle: int, last: int) -> tuple[Bounds, Bounds]:
        """Bounds on the probability of the starts first … middle − 1, given that it is one of first … last − 1."""
        exponents = self.exponents[first:last]
        terms = np.ldexp(self.mantissas[first:last], np.maximum(exponents - exponents.max(), -1000).astype(np.int64))
        share = terms[: middle - first].sum() / terms.sum()
        return on_grid(np.array([share]), np.array([2 * self.weights.error]))

    def refine(self, first: int, middle: int, last: int, _: int, digits: int) -> tuple[Decimal, Decimal]:
        """The weights of the starts first … middle − 1 and middle … last − 1."""
        if digits not in self._known:
            self._known[digits] = self.weights.exactly(self.before, self.end, digits)
        context = long_decimals(digits + _SPARE_DIGITS)
        known = self._known[digits]
        return reduce(context.add, known[first:middle], Decimal(0)), reduce(context.add, known[middle:last], Decimal(0))


@lru_cache(maxsize=8)
def _power_table(rate: Fraction, most: int, precision: int) -> list[list[Decimal]]:
    """e^{−rate·d·256^k} for every digit d of a number up to *most* in base 256. An exponent of n digits loses n digits
    of precision."""
    context = long_decimals(precision)
    places = range(0, max(1, most.bit_length()), _DIGIT_BITS)
    return [[negative_power(rate * (digit << place), context) for digit in range(1 << _DIGIT_BITS)] for place in places]


def _power(cost: int, table: list[list[Decimal]], context: decimal.Context) -> Decimal:
    """e^{−rate·cost}, as a product over the digits of the cost: twenty times as fast as computing the exponential."""
    result = table[0][cost & _LAST_DIGIT]
    for powers in table[1:]:
        cost >>= _DIGIT_BITS
        if not cost:
            break
        result = context.multiply(result, powers[cost & _LAST_DIGIT])
    return result


@compiled
def _add_up(
    places: Places,
    sums: Integers,
    squares: Integers,
    grid: int,
    binary_rate: float,
    longest: int,
    powers: Reals,
    mantissas: Reals,
    exponents: Exponents,
) -> None:
    """Fill the table: Z_j(end) = Σ_start Z_{j−1}(start)·2^{−binary_rate·cost}, in row *end* and column j.

    Initially it has 1 for no steps in no buckets, and elsewhere 0 with the lowest exponent. Only the states from which
    the remaining steps can still be cut are needed. ``powers`` has 1, 1/2, 1/4, … and finally 0. Mantissas are from 1/2
    to 1. Exponents are computed first, so that whole rows can be added without a test for each number.
    """
    steps, buckets = mantissas.shape[0] - 1, mantissas.shape[1]
    for end in range(1, steps):
        rest = steps - end
        fewest = max(1, buckets - rest)
        most = min(end, buckets - (rest + longest - 1) // longest)
        for adding in range(2):
            for start in range(max(0, end - longest), end):
                first = max(fewest, (start + longest - 1) // longest + 1)
                last = min(most, start + 1)
                if first > last:
                    continue
                size, total = places[end] - places[start], sums[end] - sums[start]
                exponent = binary_rate * (grid * (squares[end] - squares[start]) - grid * total * total // size)
                halvings = int(exponent)
                tops, before = exponents[end, first : last + 1], exponents[start, first - 1 : last]
                if adding:
                    factor = 2.0 ** (halvings - exponent)
                    row, earlier = mantissas[end, first : last + 1], mantissas[start, first - 1 : last]
                    _add_row(row, tops, earlier, before, factor, halvings, powers)
                else:
                    _raise_tops(tops, before, halvings)
        for number in range(fewest, most + 1):
            mantissa, shift = math.frexp(mantissas[end, number])
            mantissas[end, number] = mantissa
            exponents[end, number] += shift


@compiled
def _raise_tops(tops: Exponents, before: Exponents, halvings: int) -> None:
    """The larger of the exponents *tops* and *before* − halvings, in place."""
    kind = tops.dtype.type
    step = kind(halvings)
    for place in range(len(tops)):
        tops[place] = max(tops[place], kind(before[place] - step))


@compiled
def _add_row(
    row: Reals, tops: Exponents, earlier: Reals, before: Exponents, factor: float, halvings: int, powers: Reals
) -> None:
    """Add *earlier*·2^before·factor·2^(−halvings), number by number, to row·2^tops.

    *earlier* and the factor are from 1/2 to 1: a term that is 2⁶³ times smaller than the largest is below the rounding
    error of the sum, and is left out.
    """
    kind = tops.dtype.type
    step, smallest = kind(halvings), kind(len(powers) - 1)
    for place in range(len(row)):
        gap = min(smallest, kind(tops[place] + step - before[place]))
        row[place] += earlier[place] * factor * powers[gap]
