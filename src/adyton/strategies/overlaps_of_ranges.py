"""Overlaps of ranges on a line: each begins in one block and ends in another."""

from __future__ import annotations

import numpy as np

from adyton.arrays import Places, Reals
from adyton.compiling import compiled
from adyton.queries import Ranges
from adyton.queries.block_tree import BlockTree
from adyton.solving.energies import tree_energies

_CHUNK_BITS = 22


class RangesOverlap:
    """Each range begins in one block and ends in another, with a part of each, and covers those between."""

    sweeps = True

    def __init__(self, workload: Ranges, tree: BlockTree) -> None:
        lower, upper = workload.lower[:, 0], workload.upper[:, 0]
        bounds, slots = tree.boundaries[-1], tree.slots
        self.energy = tree_energies(workload, [bounds], np.ones(tree.cells), None)[0]
        first = np.searchsorted(bounds, lower, side="right") - 1
        last = np.searchsorted(bounds, upper, side="right") - 1
        sizes = np.diff(bounds)
        head, tail = (bounds[first + 1] - lower) / sizes[first], (upper + 1 - bounds[last]) / sizes[last]
        self.parts = [(head, tail)]
        self.shares: list[tuple[Reals, Reals]] = []
        self.ends = [(slots[first] >> level, slots[last] >> level) for level in range(tree.depth + 1)]
        self.covered = [
            _covered(begin, end, 1 << max(0, tree.depth - level)) for level, (begin, end) in enumerate(self.ends)
        ]
        self.by_parts = (np.zeros(head.size), np.zeros(head.size))

    def energies(self) -> Reals:
        """As for any tree."""
        return self.energy

    def cross(self) -> Reals:
        """Ranges that begin or end in a pair, and those that cover it."""
        covered = self.covered[len(self.shares) + 1]
        sums = np.zeros(covered.size)
        cross_ranges(*self.ends[len(self.shares)], *self.parts[-1], sums)
        return covered + sums

    def merge(self, left: Reals, right: Reals) -> None:
        """What a range holds of the block in which it begins, and of that in which it ends."""
        head, tail = self.parts[-1]
        above = np.zeros(head.size), np.zeros(tail.size)
        merge_ranges(*self.ends[len(self.shares)], head, tail, left, right, *above)
        self.parts.append(above)
        self.shares.append((left, right))
        self.by_parts = np.zeros(head.size), np.zeros(tail.size)

    def back(self, crossed: Reals) -> Reals:
        """Through these parts."""
        left, right = self.shares.pop()
        self.parts.pop()
        (head, tail), (first, last), above = self.parts[-1], self.ends[len(self.shares)], self.by_parts
        self.by_parts, pull = (np.zeros(head.size), np.zeros(tail.size)), np.zeros(crossed.size)
        back_ranges(first, last, head, tail, left, right, crossed, *above, *self.by_parts, pull)
        return pull

    def gram(self, depth: int) -> Reals:
        """Each range has a head, ones and a tail."""
        level = len(self.ends) - 1 - depth
        (first, last), (head, tail) = self.ends[level], self.parts[level]
        apart = np.flatnonzero(first != last)
        result = np.zeros((1 << depth, 1 << depth))
        places = np.arange(1 << depth)
        for chunk in np.array_split(apart, max(1, apart.size >> (_CHUNK_BITS - depth))):
            between = (places > first[chunk, None]) & (places < last[chunk, None])
            means = between.astype(np.float64)
            rows = np.arange(chunk.size)
            means[rows, first[chunk]], means[rows, last[chunk]] = head[chunk], tail[chunk]
            result += means.T @ means
        return result


def _covered(first: Places, last: Places, blocks: int) -> Reals:
    """How many ranges cover each block and do not begin or end in it."""
    apart = first != last
    begins, ends = np.bincount(first[apart] + 1, minlength=blocks + 1), np.bincount(last[apart], minlength=blocks + 1)
    return np.asarray((begins - ends).cumsum()[:blocks], dtype=np.float64)


@compiled
def cross_ranges(first: Places, last: Places, head: Reals, tail: Reals, sums: Reals) -> None:
    """Add Σ α_1·α_2 over the ranges that begin or end in a pair of siblings, or both, to its sum; a range spans blocks
    first … last."""
    for number in range(first.size):
        begin, end = first[number] >> 1, last[number] >> 1
        if begin == end:
            if first[number] != last[number]:
                sums[begin] += head[number] * tail[number]
            continue
        if first[number] % 2 == 0:
            sums[begin] += head[number]
        if last[number] % 2 == 1:
            sums[end] += tail[number]


@compiled
def merge_ranges(
    first: Places,
    last: Places,
    head: Reals,
    tail: Reals,
    left: Reals,
    right: Reals,
    heads: Reals,
    tails: Reals,
) -> None:
    """Write what each range holds of the parents of the blocks in which it begins and ends, if these are two."""
    for number in range(first.size):
        begin, end = first[number] >> 1, last[number] >> 1
        if begin != end:
            even, odd = first[number] % 2 == 0, last[number] % 2 == 1
            heads[number] = left[begin] * head[number] + right[begin] if even else right[begin] * head[number]
            tails[number] = left[end] + right[end] * tail[number] if odd else left[end] * tail[number]


@compiled
def back_ranges(
    first: Places,
    last: Places,
    head: Reals,
    tail: Reals,
    left: Reals,
    right: Reals,
    crossed: Reals,
    by_head: Reals,
    by_tail: Reals,
    heads: Reals,
    tails: Reals,
    pull: Reals,
) -> None:
    """Write the derivatives by the heads and tails below, and add up those by w_1 minus by w_2, from the derivatives
    above and by the overlaps."""
    for number in range(first.size):
        begin, end = first[number] >> 1, last[number] >> 1
        if begin == end:
            if first[number] != last[number]:
                heads[number] = crossed[begin] * tail[number]
                tails[number] = crossed[begin] * head[number]
            continue
        above = by_head[number]
        if first[number] % 2 == 0:
            heads[number] = left[begin] * above + crossed[begin]
            pull[begin] += above * (head[number] - 1)
        else:
            heads[number] = right[begin] * above
            pull[begin] -= above * head[number]
        above = by_tail[number]
        if last[number] % 2 == 1:
            tails[number] = right[end] * above + crossed[end]
            pull[end] += above * (1 - tail[number])
        else:
            tails[number] = left[end] * above
            pull[end] += above * tail[number]
