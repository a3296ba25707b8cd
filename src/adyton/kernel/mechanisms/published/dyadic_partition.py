"""A partition into blocks of a tree, chosen by the exponential mechanism.

Sums of exponentials over all partitions give the probability that a block is cut; they are rigorously enclosed. Let
block v have the integer cost C(v), and let a partition B of the tree's cells into blocks have the weight
π(B)·exp(−rate·Σ_{b∈B} C(b)), where π cuts every block that has parts with probability s. The weights of all partitions
of v add up to

    Z(v) = (1 − s)·e^{−rate·C(v)} + s·Π Z(part),        Z(cell) = e^{−rate·C(cell)},

and given that v is a union of blocks, it is cut with probability s·Π Z(part) / Z(v).

Costs can be huge and their differences small. So write Z(v) = e^{−rate·m(v)}·e^{λ(v)}, where m(v) is the least cost of
a partition of v, a whole number; then only differences of whole numbers become exponents. λ is computed in double
precision together with a bound on its error; where that does not suffice, in decimals of any length.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial, reduce

import numpy as np

from adyton.arrays import Integers, Places, Reals
from adyton.errors import BadInput
from adyton.kernel.mechanisms.selection import PartitionSelection
from adyton.kernel.operators import AuditCase
from adyton.kernel.shapes import VectorShape
from adyton.messages import shorten
from adyton.noise.bits import COIN_BITS, Bounds, long_decimals, negative_power
from adyton.noise.source import NoiseSource
from adyton.queries.base import Size
from adyton.queries.domain_trees import boxes_in_boxes
from adyton.whole import IntegerArray, cut_off

SLACK = 2.0**-48
"""A generous bound on the relative error of a few operations in double precision, including exp and log."""
_ADDED_AT_ONCE = 16
"""This many parts can be added up within the slack, with ample reserve."""
_NEGLIGIBLE = 60.0
"""A term that is e^60 times smaller than another changes their sum by less than the allowance for rounding. Only
bounds on its share of the sum are then used: 0 and 2⁻⁶²."""
_SPARE_DIGITS = 45
_ENDLESS = Fraction(10) ** 300
GRID = 16
"""Costs are multiples of 1/16 row."""
CHANCES = (2, 10, 30, 50, 70, 90, 97)
_LARGEST_COST = Fraction(1 << 40)


@dataclass(frozen=True)
class DyadicPartition(PartitionSelection):
    """A partition of the cells into blocks: halves of halves on a line, quarters of quarters on a plane.

    With dev(b) = min_c Σ_{i∈b} |x_i − c|, the distance of a block from being even, and a public price c₀ of a block,
    it draws the partition B, and a cutting probability s that is discarded, with

        P(s, B) ∝ π_s(B)·exp(−(ε/2)·Σ_{b∈B} (dev(b) + c₀)),

    where π_s cuts every block, from the whole domain downwards, with probability s.

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell).
    Proof.  (Counts are clipped to a public bound first, which never moves two vectors further apart.) A change of x_i
    by 1 changes Σ_i |x_i − c| by at most 1 for every c, hence also its minimum dev(b), for the one block of B that
    contains i, and for no other. So the scores −Σ_{b∈B} (dev(b) + c₀) move by at most 1, up or down, and by at most 2
    relative to each other: by the lemma on differences of scores, the exponential mechanism with sharpness ε/2 and any
    public prior is ε-DP, for s and B together and so for B alone. dev is a whole number (the median is one), the
    weights depend on nothing else, and the coins that draw from P are exact.  ∎
    """

    domain: tuple[int, ...]
    bucket_cost: Fraction = Fraction(0)
    """c₀, in rows; rounded to a multiple of 1/16."""
    chances: tuple[int, ...] = CHANCES
    """The values of s, in percent, all equally likely."""

    def check(self, source: VectorShape) -> None:
        """The domain must be that of the vector."""
        if self.domain != source.shape:
            raise BadInput(f"this vector has the shape {source.shape}, given a partition of {self.domain}.")
        if not 0 <= self.bucket_cost <= _LARGEST_COST:
            raise BadInput(f"a bucket may cost from 0 to 2^40 rows, given {shorten(self.bucket_cost)}.")
        percents = [percent for percent in self.chances if type(percent) is int and 0 < percent < 100]
        if not percents or len(percents) < len(self.chances) or len(set(percents)) < len(percents):
            raise BadInput("chances must be different whole numbers of percent, greater than 0 and less than 100.")

    def size(self, source: VectorShape, epsilon: Fraction) -> Size:
        """Some numbers for every block and every chance; there are about twice as many blocks as cells."""
        return Size(10 * source.cells * len(self.chances), 128 * source.cells * len(self.chances))

    def choose(self, values: IntegerArray, epsilon: Fraction, noise: NoiseSource) -> IntegerArray:
        """The labels of a partition: first s, then, from the root downwards, which blocks are cut."""
        order, boundaries, parts = _tree(self.domain)
        price = round(self.bucket_cost * GRID)
        costs = [GRID * deviation + price for deviation in deviations(values[order], boundaries)]
        chances = tuple(Fraction(percent, 100) for percent in self.chances)
        weights = PartitionWeights(costs, parts, epsilon / (2 * GRID), chances)
        k = _first_heads(weights, noise)
        begins = np.zeros(order.size, dtype=np.int64)
        blocks = np.zeros(1, dtype=np.int64)
        for level, starts in enumerate(parts):
            lower, upper = weights.cut_bounds(k, level, blocks)
            cut = noise.coins(lower, upper, partial(weights.refine_cut, k, level, blocks))
            begins[boundaries[level][blocks[~cut]]] = 1
            blocks = _all_parts(starts, blocks[cut])
        begins[boundaries[-1][blocks]] = 1
        labels = np.empty(order.size, dtype=np.int64)
        labels[order] = np.cumsum(begins) - 1
        return labels

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """A line, and a plane with a side that is not a power of two."""
        return [
            cls((4,), Fraction(1), (10, 60)).case("dyadic partition, line", (4,)),
            cls((2, 3), Fraction(0), (10, 60)).case("dyadic partition, plane", (2, 3)),
        ]

    def __str__(self) -> str:
        return f"dyadic partition of {' × '.join(str(side) for side in self.domain)}"


def deviations(values: IntegerArray, boundaries: list[Places]) -> list[Integers]:
    """min_c Σ |x_i − c| over every block of every level of a tree, exactly; counts are clipped to a public bound.

    For sorted values it is the sum of the upper half less the sum of the lower half.

    >>> [level.tolist() for level in deviations(np.array([3, 0, 5, 5]), [np.array([0, 4]), np.array([0, 2, 4])])]
    [[7], [3, 0]]
    """
    machine = cut_off(values, values.size * GRID)
    rising = np.argsort(machine, kind="stable")
    results = []
    for level in boundaries:
        sizes = np.diff(level)
        blocks = np.repeat(np.arange(sizes.size), sizes)
        order = rising[np.argsort(blocks[rising], kind="stable")]  # block by block, rising within each
        place, size = np.arange(machine.size) - level[:-1][blocks], sizes[blocks]
        signs = (place >= size - size // 2).astype(np.int64) - (place < size // 2)
        results.append(np.add.reduceat(signs * machine[order], level[:-1]))
    return results


def _first_heads(weights: PartitionWeights, noise: NoiseSource) -> int:
    """The index of s: one coin for each value but the last, until a coin shows heads."""
    lower, upper = weights.choice_bounds()
    for k in range(lower.size):
        if noise.coins(lower[k : k + 1], upper[k : k + 1], partial(weights.refine_choice, k))[0]:
            return k
    return int(lower.size)


def _all_parts(starts: Places, blocks: Places) -> Places:
    """The parts of these blocks on the next level, in order."""
    counts = starts[blocks + 1] - starts[blocks]
    ends = np.cumsum(counts)
    return np.asarray(np.repeat(starts[blocks] - ends + counts, counts) + np.arange(counts.sum()))


@lru_cache(maxsize=16)
def _tree(domain: tuple[int, ...]) -> tuple[Places, list[Places], list[Places]]:
    """The order of the cells along the tree, the boundaries of its levels, and where each block's parts begin."""
    tree = boxes_in_boxes(domain)
    return tree.ordered(np.arange(tree.cells)), list(tree.boundaries), list(tree.children[:-1])


@dataclass(frozen=True, eq=False)
class PartitionWeights:
    """The weights of the partitions of a tree, for every cutting probability s of a public list.

    ``costs`` has the C(v) of every level, from the root to the cells; ``parts`` has, for every level but the last, the
    block of the next level at which the parts of each block begin (with the end appended).
    """

    costs: Sequence[IntegerArray]
    parts: Sequence[Places]
    rate: Fraction
    chances: tuple[Fraction, ...]
    _least: list[IntegerArray] = field(init=False)
    _logs: list[tuple[Reals, Reals, Reals, Reals]] = field(init=False)
    _known: dict[tuple[int, ...], tuple[Decimal, Decimal]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        least = [self.costs[-1]]
        for cost, parts in zip(reversed(self.costs[:-1]), reversed(self.parts), strict=True):
            least.append(np.minimum(cost, np.add.reduceat(least[-1], parts[:-1])))
        object.__setattr__(self, "_least", least[::-1])
        object.__setattr__(self, "_logs", self._enclose())

    # ---- in double precision ----------------------------------------------------------------------------------------

    def choice_bounds(self) -> tuple[Bounds, Bounds]:
        """Bounds on the probability that s is the k-th of the list, given that it is not an earlier one."""
        logs, errors = (part[:, 0] for part in self._logs[0][:2])
        with np.errstate(over="ignore"):
            shares = [1 / np.exp(logs[k:] - logs[k]).sum() for k in range(logs.size - 1)]
        return on_grid(np.array(shares), np.full(len(shares), 2 * errors.max()))

    def cut_bounds(self, k: int, level: int, blocks: Places) -> tuple[Bounds, Bounds]:
        """Bounds on the probability that each of these blocks of a level is cut, if s is the k-th of the list."""
        _, _, gap, error = self._logs[level]
        with np.errstate(over="ignore"):
            share = 1 / (1 + np.exp(-gap[k, blocks]))
        return on_grid(share, error[k, blocks])

    def _enclose(self) -> list[tuple[Reals, Reals, Reals, Reals]]:
        """For every level, with a row for every s: λ, a bound on its error, ln(cut/whole), and a bound on its error."""
        chances = np.array([float(chance) for chance in self.chances])[:, None]
        nothing = np.zeros((len(chances), self.costs[-1].size))
        levels = [(nothing, nothing, nothing, nothing)]
        for parts, cost, least, finer in zip(
            reversed(self.parts), self.costs[-2::-1], self._least[-2::-1], self._least[:0:-1], strict=True
        ):
            whole = self._exponents(cost - least)
            cut = self._exponents(np.add.reduceat(finer, parts[:-1]) - least)
            levels.append(enclose_level(parts, whole, cut, *levels[-1][:2], np.log1p(-chances), np.log(chances)))
        return levels[::-1]

    def _exponents(self, gaps: IntegerArray) -> Reals:
        """rate·gap, up to a few roundings; capped at 10³⁰⁰, beyond which the size does not matter."""
        if gaps.dtype == object:
            return np.array([float(min(self.rate * gap, _ENDLESS)) for gap in gaps.tolist()])
        return np.asarray(gaps.astype(np.float64) * float(self.rate))

    # ---- in decimals of any length ----------------------------------------------------------------------------------

    def refine_choice(self, k: int, _: int, digits: int) -> tuple[Decimal, Decimal]:
        """The weight of the k-th s, and of all later ones, with a relative error below 10^(-digits)."""
        add = self._context(digits).add
        weights = [add(*self._exactly(later, 0, 0, digits)) for later in range(k, len(self.chances))]
        return weights[0], reduce(add, weights[1:])

    def refine_cut(self, k: int, level: int, blocks: Places, coin: int, digits: int) -> tuple[Decimal, Decimal]:
        """The weight of the partitions that cut this coin's block, and of those that do not."""
        return self._exactly(k, level, int(blocks[coin]), digits)

    def _exactly(self, k: int, level: int, block: int, digits: int) -> tuple[Decimal, Decimal]:
        """e^{λ(v)} in two parts: the partitions that cut v, and v whole."""
        if level == len(self.parts):
            return Decimal(0), Decimal(1)
        place = (k, level, block, digits)
        if place not in self._known:
            self._known[place] = self._add_up(*place)
        return self._known[place]

    def _add_up(self, k: int, level: int, block: int, digits: int) -> tuple[Decimal, Decimal]:
        context, chance = self._context(digits), self.chances[k]
        first, last = self.parts[level][block : block + 2]
        cut = context.divide(Decimal(chance.numerator), Decimal(chance.denominator))
        whole = context.subtract(Decimal(1), cut)
        below = 0
        for part in range(first, last):
            cut = context.multiply(cut, context.add(*self._exactly(k, level + 1, part, digits)))
            below += int(self._least[level + 1][part])
        least = int(self._least[level][block])
        cut = context.multiply(cut, negative_power(self.rate * (below - least), context))
        gap = int(self.costs[level][block]) - least
        return cut, context.multiply(whole, negative_power(self.rate * gap, context))

    def _context(self, digits: int) -> decimal.Context:
        """Decimals with spare digits: each operation rounds once, blocks need a few, exponents have up to 40 digits."""
        spare = _SPARE_DIGITS + len(str(self.costs[-1].size))
        return long_decimals(digits + spare)


def on_grid(share: Reals, error: Reals) -> tuple[Bounds, Bounds]:
    """Whole numbers around share·2⁶², where the logarithm of share/(1 − share) is off by at most *error*."""
    width = np.minimum(1.0, np.expm1(np.minimum(error + SLACK, 1.0)))
    scale = 2.0**COIN_BITS
    lower = np.floor(share * (1 - width) * scale).astype(np.int64)
    upper = np.ceil(np.minimum(1.0, share * (1 + width)) * scale).astype(np.int64)
    return lower, np.minimum(upper + 1, 1 << COIN_BITS)  # a share that underflows in double precision is not 0


def enclose_level(
    parts: Places,
    whole_gaps: Reals,
    cut_gaps: Reals,
    below: Reals,
    below_error: Reals,
    log_whole: float | Reals,
    log_cut: float | Reals,
) -> tuple[Reals, Reals, Reals, Reals]:
    """λ of each block, ln(cut/whole), and bounds on the errors of both, from λ of the parts.

    The slack is 2⁻⁴⁸, 32 roundings. Adding up k parts takes k + 1 additions, each of which rounds by at most 2⁻⁵³ of
    the sum of all sizes so far, and each term has been rounded three times before: k + 4 roundings, which 32 cover
    for up to 28 parts. A block has 2^d parts along d axes, so the slack grows with them.
    """
    starts = parts[:-1]
    whole, whole_error = log_whole - whole_gaps, SLACK * (1.0 + whole_gaps)
    cut = log_cut - cut_gaps + np.add.reduceat(below, starts, axis=-1)
    sizes = 1.0 + np.abs(log_cut) + cut_gaps + np.add.reduceat(np.abs(below), starts, axis=-1)
    slack = SLACK * np.maximum(1.0, np.diff(parts) / _ADDED_AT_ONCE)
    cut_error = np.add.reduceat(below_error, starts, axis=-1) + slack * sizes
    gap, larger = cut - whole, np.maximum(cut, whole)
    gap_error = whole_error + cut_error + SLACK * np.abs(gap)
    clear = np.abs(gap) > _NEGLIGIBLE + gap_error  # only one of the two terms matters
    logs = np.where(clear, larger, larger + np.log1p(np.exp(-np.abs(gap))))
    one_error = np.where(gap > 0, cut_error, whole_error) + SLACK
    both_errors = np.maximum(cut_error, whole_error) + SLACK * (1.0 + np.abs(larger))
    errors = np.where(clear, one_error, both_errors)
    return logs, errors, np.where(clear, np.sign(gap) * _NEGLIGIBLE, gap), np.where(clear, SLACK, gap_error)
