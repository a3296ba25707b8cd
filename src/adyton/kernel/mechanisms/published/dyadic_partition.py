"""A partition into blocks of a tree, chosen by the exponential mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from adyton.arrays import Integers, Places
from adyton.compiling import compiled
from adyton.errors import BadInput
from adyton.kernel.audit_cases import AuditCase
from adyton.kernel.mechanisms.published.partition_weights import PartitionWeights
from adyton.kernel.mechanisms.selection import PartitionSelection
from adyton.kernel.shapes import VectorShape
from adyton.messages import shorten
from adyton.noise.source import NoiseSource
from adyton.queries.base import Size
from adyton.queries.domain_trees import boxes_in_boxes
from adyton.whole import IntegerArray, cut_off

GRID = 16
"""Costs are whole multiples of 1/16 of a row."""
CHANCES = (2, 10, 30, 50, 70, 90, 97)
_LARGEST_COST = Fraction(1 << 40)


@dataclass(frozen=True)
class DyadicPartition(PartitionSelection):
    """A partition of the cells into blocks: halves of halves on a line, quarters of quarters on a plane.

    With dev(b) = min_c Σ_{i∈b} |x_i − c|, the distance of a block from being even, and a public price c₀ of a block,
    it draws the partition B, and a cutting probability s that is thrown away, with

        P(s, B) ∝ π_s(B)·exp(−(ε/2)·Σ_{b∈B} (dev(b) + c₀)),

    where π_s cuts every block, from the whole domain downwards, with probability s.

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell).
    Proof.  (Counts beyond a public bound are cut off first, which moves no two vectors further apart.)
    A change of x_i by 1 changes Σ_i |x_i − c| by at most 1 for every c, hence its minimum dev(b) for the one
    block of B that holds i, and no other. So the scores −Σ_{b∈B} (dev(b) + c₀) move by at most 1, up or down, and by 2
    against each other: by the lemma on differences of scores, the exponential mechanism with sharpness ε/2 and any
    public prior is ε-DP, for s and B together and so for B alone. dev is a whole number (the median is one), the
    weights depend on nothing else, and the coins that draw from P are exact.  ∎
    """

    domain: tuple[int, ...]
    bucket_cost: Fraction = Fraction(0)
    """c₀, in rows; rounded to a multiple of 1/16."""
    chances: tuple[int, ...] = CHANCES
    """The values of s, in percent, each as likely as the others."""

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
        """Some numbers for every block, of which there are about twice as many as cells, and for every chance."""
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
            cut = noise.coins(lower, upper, partial(_refine, weights, k, level, blocks))
            begins[boundaries[level][blocks[~cut]]] = 1
            blocks = _all_parts(starts, blocks[cut])
        begins[boundaries[-1][blocks]] = 1
        labels = np.empty(order.size, dtype=np.int64)
        labels[order] = np.cumsum(begins) - 1
        return labels

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """A line whose length is no power of two, and a plane."""
        return [
            cls((4,), Fraction(1), (10, 60)).case("dyadic partition, line", (4,)),
            cls((2, 3), Fraction(0), (10, 60)).case("dyadic partition, plane", (2, 3)),
        ]

    def __str__(self) -> str:
        return f"dyadic partition of {' × '.join(str(side) for side in self.domain)}"


def deviations(values: IntegerArray, boundaries: list[Places]) -> list[Integers]:
    """min_c Σ |x_i − c| over every block of every level of a tree, exactly; counts beyond a public bound are cut off.

    For sorted values it is the sum of the upper half less the sum of the lower half.

    >>> [level.tolist() for level in deviations(np.array([3, 0, 5, 5]), [np.array([0, 4]), np.array([0, 2, 4])])]
    [[7], [3, 0]]
    """
    sizes = np.array([level.size for level in boundaries])
    flat = _all_deviations(cut_off(values, values.size * GRID), np.concatenate(boundaries), sizes)
    return np.split(flat, np.cumsum(sizes - 1)[:-1])


@compiled
def _all_deviations(values: Integers, boundaries: Places, sizes: Places) -> Integers:
    """The sum of the upper half less that of the lower half of every block; levels one after the other.

    Sorted blocks are merged into larger ones, level by level.
    """
    levels = sizes.size
    results = np.empty(boundaries.size - levels, dtype=np.int64)
    sorted_values, spare = values.copy(), np.empty_like(values)
    boundary_end, result_end = boundaries.size, results.size
    finer = np.arange(values.size + 1)
    for level in range(levels - 1, -1, -1):
        current = boundaries[boundary_end - sizes[level] : boundary_end]
        boundary_end -= sizes[level]
        result_end -= sizes[level] - 1
        part = 0
        for block in range(sizes[level] - 1):
            first, last = current[block], current[block + 1]
            while finer[part] < first:
                part += 1
            _sort_block(sorted_values, spare, finer, part, last)
            half = (last - first) // 2
            deviation = 0
            for step in range(half):
                deviation += sorted_values[last - 1 - step] - sorted_values[first + step]
            results[result_end + block] = deviation
        finer = current
    return results


@compiled
def _sort_block(values: Integers, spare: Integers, finer: Places, part: int, last: int) -> None:
    """Merge the sorted parts of a block into one, from the left."""
    first, middle = finer[part], finer[part + 1]
    while middle < last:
        part += 1
        end = finer[part + 1]
        left, right = first, middle
        for place in range(first, end):
            if left < middle and (right >= end or values[left] <= values[right]):
                spare[place] = values[left]
                left += 1
            else:
                spare[place] = values[right]
                right += 1
        values[first:end] = spare[first:end]
        middle = end


def _first_heads(weights: PartitionWeights, noise: NoiseSource) -> int:
    """Which s it is: one coin for each but the last, until one shows heads."""
    lower, upper = weights.choice_bounds()
    for k in range(lower.size):

        def refine(_: int, digits: int, k: int = k) -> tuple[Decimal, Decimal]:
            return weights.refine_choice(k, digits)

        if noise.coins(lower[k : k + 1], upper[k : k + 1], refine)[0]:
            return k
    return int(lower.size)


def _refine(
    weights: PartitionWeights, k: int, level: int, blocks: Places, coin: int, digits: int
) -> tuple[Decimal, Decimal]:
    return weights.refine_cut(k, level, int(blocks[coin]), digits)


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
