"""How much the halves of each block overlap in a workload: x = Σ_q α_1(q)·α_2(q), level by level from the leaves up.

α_v(q) is the mean of query q over the cells of block v, weighted with a profile of the cells: the profile of a block
combines those of its children with the shares w_1 and w_2 = 1 − w_1. A slot of the deepest level without a leaf has
α = 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from adyton.arrays import Flags, Places, Reals
from adyton.errors import AdytonError
from adyton.queries import AllRange, Identity, Prefix, Queries, Ranges, Stack, Total
from adyton.queries.hierarchy import BlockTree, block_sums
from adyton.solving.energies import tree_energies


class Overlap(ABC):
    """The overlaps of a workload, level by level: upwards with cross and merge, then down again with back."""

    sweeps: bool = True
    """Whether :meth:`back` is available."""
    energy: Reals
    """Σ_q α² of every leaf, where the cells of a leaf have equal weights."""

    @abstractmethod
    def cross(self) -> Reals:
        """x for the pairs of siblings of the present level."""

    @abstractmethod
    def merge(self, left: Reals, right: Reals) -> None:
        """Go one level up, with the shares w_1 and w_2 of each pair."""

    @abstractmethod
    def back(self, crossed: Reals) -> Reals:
        """Go one level down, given the derivative of a function with respect to x there: its derivative with respect to
        w_1 minus that with respect to w_2.

        Only the overlaps of the levels above depend on these shares.
        """

    @abstractmethod
    def gram(self, depth: int) -> Reals:
        """Σ_q α_c·α_d for any two blocks of a level already passed on the way up; the diagonal may hold any values."""


def overlap_of(workload: Queries, tree: BlockTree) -> Overlap:
    """The fastest class of overlaps for a workload."""
    if isinstance(workload, Stack):
        return StackOverlap([overlap_of(part, tree) for part in workload.parts])
    if isinstance(workload, Identity | Total):
        return ConstantOverlap(workload, tree)
    if tree.order is None and isinstance(workload, Prefix | AllRange):
        return IntervalOverlap(workload, tree)
    if tree.order is None and isinstance(workload, Ranges) and len(workload.domain) == 1:
        return RangesOverlap(workload, tree)
    return (MeansOverlap if workload.count << tree.depth <= LARGEST_TABLE else TableOverlap)(workload, tree)


class StackOverlap(Overlap):
    """The overlaps of stacked query sets add up."""

    def __init__(self, parts: Sequence[Overlap]) -> None:
        self.parts = parts
        self.sweeps = all(part.sweeps for part in parts)
        self.energy = np.asarray(sum(part.energy for part in parts))

    def cross(self) -> Reals:
        """The sum over the parts."""
        return np.asarray(sum(part.cross() for part in self.parts))

    def merge(self, left: Reals, right: Reals) -> None:
        """Merge each part."""
        for part in self.parts:
            part.merge(left, right)

    def back(self, crossed: Reals) -> Reals:
        """The sum over the parts."""
        return np.asarray(sum(part.back(crossed) for part in self.parts))

    def gram(self, depth: int) -> Reals:
        """The sum over the parts."""
        return np.asarray(sum(part.gram(depth) for part in self.parts))


class ConstantOverlap(Overlap):
    """No query of the identity touches two blocks, and the total is 1 on all blocks."""

    def __init__(self, workload: Identity | Total, tree: BlockTree) -> None:
        sizes = np.diff(tree.boundaries[-1])
        self.energy = 1 / sizes if isinstance(workload, Identity) else np.ones(sizes.size)
        self.value = float(isinstance(workload, Total))
        self.pairs = 1 << max(0, tree.depth - 1)

    def cross(self) -> Reals:
        """0 for the identity, 1 for the total."""
        return np.full(self.pairs, self.value)

    def merge(self, left: Reals, right: Reals) -> None:
        """The same on every level."""
        self.pairs //= 2

    def back(self, crossed: Reals) -> Reals:
        """The shares do not matter."""
        self.pairs = crossed.size
        return np.zeros(crossed.size)

    def gram(self, depth: int) -> Reals:
        """The same for all pairs of blocks."""
        return np.full((1 << depth, 1 << depth), self.value)


class IntervalOverlap(Overlap):
    """Prefixes, or all intervals.

    Let C_i be the weighted part of a block up to its cell i, and F = Σ_i C_i over its L cells. Prefixes that end in the
    right block have α = 1 on the left one, later prefixes have α = 1 on both: x = F_right + (cells after). Intervals
    may also begin in the left block; at cell i they cover 1 − C_{i−1} of it, in total L + 1 − F. Beginning and end are
    independent.
    """

    def __init__(self, workload: Prefix | AllRange, tree: BlockTree) -> None:
        self.energy = tree_energies(workload, [tree.boundaries[-1]], np.ones(tree.cells), None)[0]
        firsts = np.searchsorted(slots_of(tree), np.arange((1 << tree.depth) + 1))  # the first leaf from each slot on
        levels = [tree.boundaries[-1][firsts], *tree.boundaries[-2::-1]]
        self.edges = [level.astype(np.float64) for level in levels]
        sizes = np.diff(self.edges[0])
        self.reach = [np.where(sizes > 0, (sizes + 1) / 2, 0.0)]  # F, the present level last
        self.after = [edges[-1] - edges[2::2] for edges in self.edges]
        self.right_sizes = [edges[2::2] - edges[1:-1:2] for edges in self.edges]
        self.shares: list[tuple[Reals, Reals]] = []
        self.prefixes = isinstance(workload, Prefix)
        self.by_reach = np.zeros(1)

    def _starts_and_ends(self) -> tuple[Reals | float, Reals]:
        level, reach = len(self.shares), self.reach[-1]
        ends = reach[1::2] + self.after[level]
        return 1.0 if self.prefixes else self.edges[level][1::2] + 1 - reach[0::2], ends

    def gram(self, depth: int) -> Reals:
        """For c < d, the weight of the beginnings up to the end of c times that of the ends from the start of d on."""
        level = len(self.edges) - 1 - depth
        edges, reach = self.edges[level], self.reach[level]
        ends = reach + edges[-1] - edges[1:]
        starts = np.ones(ends.size) if self.prefixes else edges[1:] + 1 - reach
        above = np.triu(np.outer(starts, ends), 1)
        return above + above.T

    def cross(self) -> Reals:
        """The weight of the possible beginnings times that of the possible ends."""
        starts, ends = self._starts_and_ends()
        return starts * ends

    def merge(self, left: Reals, right: Reals) -> None:
        """F of both blocks together: the whole left block counts for every cell of the right block."""
        sizes, below = self.right_sizes[len(self.shares)], self.reach[-1]
        self.reach.append(left * (below[0::2] + sizes) + right * below[1::2])
        self.shares.append((left, right))
        self.by_reach = np.zeros(left.size)

    def back(self, crossed: Reals) -> Reals:
        """By the chain rule through F of both blocks."""
        left, right = self.shares.pop()
        self.reach.pop()
        above, below = self.by_reach, self.reach[-1]
        starts, ends = self._starts_and_ends()
        self.by_reach = np.empty(below.size)
        self.by_reach[0::2] = left * above - (0.0 if self.prefixes else crossed * ends)
        self.by_reach[1::2] = right * above + crossed * starts
        return above * (below[0::2] + self.right_sizes[len(self.shares)] - below[1::2])


_CHUNK_BITS = 22


class _Places(NamedTuple):
    """Where ranges begin and end among the pairs of siblings of a level."""

    begin: Places
    end: Places
    apart: Flags
    """Whether they end in a different pair from the one they begin in."""
    inside: Flags
    """Whether they begin and end in the two halves of one pair."""
    even: Flags
    """Whether they begin in the left half of a pair."""
    odd: Flags
    """Whether they end in the right half of a pair."""

    def added_up(self, begins: Reals, ends: Reals, pairs: int) -> Reals:
        """For each pair, the sum of what the ranges add where they begin and where they end, range by range."""
        places, values = (np.stack(two, axis=1).reshape(-1) for two in ((self.begin, self.end), (begins, ends)))
        return np.asarray(np.bincount(places, values, pairs), dtype=np.float64)


class RangesOverlap(Overlap):
    """Each range begins in one block and ends in another, covers a part of both, and all of the blocks between."""

    def __init__(self, workload: Ranges, tree: BlockTree) -> None:
        lower, upper = workload.lower[:, 0], workload.upper[:, 0]
        bounds, slots = tree.boundaries[-1], slots_of(tree)
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

    def _places(self) -> _Places:
        first, last = self.ends[len(self.shares)]
        begin, end = first >> 1, last >> 1
        apart = begin != end
        return _Places(begin, end, apart, ~apart & (first != last), first % 2 == 0, last % 2 == 1)

    def cross(self) -> Reals:
        """The ranges that begin or end in a pair, and those that cover it."""
        at, (head, tail), covered = self._places(), self.parts[-1], self.covered[len(self.shares) + 1]
        begins = np.where(at.inside, head * tail, np.where(at.apart & at.even, head, 0.0))
        return covered + at.added_up(begins, np.where(at.apart & at.odd, tail, 0.0), covered.size)

    def merge(self, left: Reals, right: Reals) -> None:
        """The parts that a range covers of the blocks in which it begins and ends, if these are different."""
        at, (head, tail) = self._places(), self.parts[-1]
        heads = np.where(at.even, left[at.begin] * head + right[at.begin], right[at.begin] * head)
        tails = np.where(at.odd, left[at.end] + right[at.end] * tail, left[at.end] * tail)
        self.parts.append((np.where(at.apart, heads, 0.0), np.where(at.apart, tails, 0.0)))
        self.shares.append((left, right))
        self.by_parts = np.zeros(head.size), np.zeros(tail.size)

    def back(self, crossed: Reals) -> Reals:
        """By the chain rule through the parts that :meth:`merge` computes."""
        left, right = self.shares.pop()
        self.parts.pop()
        at, (head, tail), (by_head, by_tail) = self._places(), self.parts[-1], self.by_parts
        begins, ends = crossed[at.begin], crossed[at.end]
        heads = np.where(at.even, left[at.begin] * by_head + begins, right[at.begin] * by_head)
        tails = np.where(at.odd, right[at.end] * by_tail + ends, left[at.end] * by_tail)
        self.by_parts = (
            np.where(at.apart, heads, np.where(at.inside, begins * tail, 0.0)),
            np.where(at.apart, tails, np.where(at.inside, begins * head, 0.0)),
        )
        by_begin, by_end = np.where(at.even, head - 1, -head), np.where(at.odd, 1 - tail, tail)
        return at.added_up(at.apart * (by_head * by_begin), at.apart * (by_tail * by_end), crossed.size)

    def gram(self, depth: int) -> Reals:
        """The means of each range are a head, ones and a tail."""
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
    """How many ranges cover each block without beginning or ending in it."""
    apart = first != last
    begins, ends = np.bincount(first[apart] + 1, minlength=blocks + 1), np.bincount(last[apart], minlength=blocks + 1)
    return np.asarray((begins - ends).cumsum()[:blocks], dtype=np.float64)


LARGEST_TABLE = 1 << 23
"""At most this many means of queries over blocks are held in memory; beyond that, the workload is read repeatedly."""
_GROUP = 64


def slots_of(tree: BlockTree) -> Places:
    """Where the leaves of a tree made by :func:`.tree_above` are among the 2^depth places of its last level."""
    count = tree.boundaries[-1].size - 1
    return (np.arange(count) << tree.depth) // count


def slot_means(workload: Queries, tree: BlockTree) -> Iterator[Reals]:
    """α on the slots of the leaves, for some queries at a time; 0 on empty slots."""
    bounds, filled = tree.boundaries[-1], slots_of(tree)
    for rows in workload.rows():
        slots = np.zeros((len(rows), 1 << tree.depth))
        slots[:, filled] = block_sums(tree.ordered(rows), bounds) / np.diff(bounds)
        yield slots


class MeansOverlap(Overlap):
    """α of every query on every block of the present level, and of the levels below for :meth:`back`."""

    def __init__(self, workload: Queries, tree: BlockTree) -> None:
        self.means = [np.concatenate([means.T for means in slot_means(workload, tree)], axis=1)]  # blocks × queries
        self.energy = np.asarray(np.square(self.means[0]).sum(axis=1)[slots_of(tree)])
        self.shares: list[tuple[Reals, Reals]] = []
        self.by_means = np.zeros((1, workload.count))

    def cross(self) -> Reals:
        """Sums of products."""
        return np.asarray(np.einsum("bq,bq->b", self.means[-1][0::2], self.means[-1][1::2]))

    def merge(self, left: Reals, right: Reals) -> None:
        """Weighted sums."""
        below = self.means[-1]
        self.means.append(left[:, None] * below[0::2] + right[:, None] * below[1::2])
        self.shares.append((left, right))
        self.by_means = np.zeros_like(self.means[-1])

    def back(self, crossed: Reals) -> Reals:
        """By the chain rule through the weighted sums."""
        left, right = self.shares.pop()
        self.means.pop()
        above, below = self.by_means, self.means[-1]
        self.by_means = np.empty_like(below)
        self.by_means[0::2] = left[:, None] * above + crossed[:, None] * below[1::2]
        self.by_means[1::2] = right[:, None] * above + crossed[:, None] * below[0::2]
        return np.asarray(np.einsum("bq,bq->b", above, below[0::2] - below[1::2]))

    def gram(self, depth: int) -> Reals:
        """The products of all pairs."""
        means = next(means for means in self.means if len(means) == 1 << depth)
        return np.asarray(means @ means.T)


class TableOverlap(Overlap):
    """Workloads too large to hold in memory, which are read a few times; upwards only.

    WᵀW over the present blocks is kept inside groups of up to 64 neighbours: it gives six levels by adding up rows and
    columns; then the workload is read again, with the profile found so far.
    """

    sweeps = False

    def __init__(self, workload: Queries, tree: BlockTree) -> None:
        self.workload, self.tree = workload, tree
        self.blocks = 1 << tree.depth
        self.profile = np.zeros(self.blocks)
        self.profile[slots_of(tree)] = 1
        self._read()
        self.energy = np.diagonal(self.table, axis1=1, axis2=2).reshape(-1)[slots_of(tree)]

    def _read(self) -> None:
        size = min(_GROUP, self.blocks, max(2, 1 << ((LARGEST_TABLE // self.blocks).bit_length() - 1)))
        self.table = np.zeros((self.blocks // size, size, size))
        for slots in slot_means(self.workload, self.tree):
            means = (slots * self.profile).reshape(len(slots), self.blocks, -1).sum(axis=-1)
            grouped = means.reshape(len(slots), -1, size)
            self.table += np.matmul(grouped.transpose(1, 2, 0), grouped.transpose(1, 0, 2))

    def cross(self) -> Reals:
        """The entries next to the diagonal."""
        even = np.arange(0, self.table.shape[1], 2)
        return self.table[:, even, even + 1].reshape(-1)

    def merge(self, left: Reals, right: Reals) -> None:
        """Sums of rows and columns, weighted with the shares."""
        shares = np.stack([left, right], axis=-1).reshape(-1)
        self.profile = (self.profile.reshape(self.blocks, -1) * shares[:, None]).reshape(-1)
        self.blocks //= 2
        groups, size, _ = self.table.shape
        if size == 2 and self.blocks > 1:
            self._read()
            return
        share = shares.reshape(groups, size)
        weighted = self.table * share[:, :, None] * share[:, None, :]
        self.table = weighted.reshape(groups, size // 2, 2, size // 2, 2).sum(axis=(2, 4))

    def back(self, crossed: Reals) -> Reals:
        """Not available (see :attr:`sweeps`): the tables of the levels below were added up on the way up."""
        raise AdytonError("these overlaps are read upwards only. Check .sweeps before calling back.")

    def gram(self, depth: int) -> Reals:
        """From one more reading of the workload."""
        result = np.zeros((1 << depth, 1 << depth))
        shares = self.profile.reshape(1 << depth, -1).sum(axis=-1)
        for slots in slot_means(self.workload, self.tree):
            means = (slots * self.profile).reshape(len(slots), 1 << depth, -1).sum(axis=-1)
            means /= np.where(shares > 0, shares, 1.0)
            result += means.T @ means
        return result
