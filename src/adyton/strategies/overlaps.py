"""What the two halves of each block share in a workload: Σ_q α_1(q)·α_2(q), level by level from the leaves of a tree.

α_v(q) is the mean of query q over the cells of block v, weighted with a profile of the cells that grows upwards: the
profile of a block is that of its children, times a share for each. The tree is binary. Above its leaves it is complete;
the leaves stand on the slots of one more complete level, of which some stay empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from adyton.inference.energies import tree_energies
from adyton.queries import AllRange, Identity, Prefix, Queries, Ranges, Stack, Total
from adyton.queries.base import Reals
from adyton.queries.hierarchy import block_sums

Places = npt.NDArray[np.int64]
_LARGEST_TABLE = 1 << 22
_GROUP = 64


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaves of a balanced binary tree: intervals of cells in some order, at bounds[i] … bounds[i + 1] − 1."""

    cells: int
    order: Places | None
    bounds: Places

    @property
    def count(self) -> int:
        """How many leaves there are."""
        return self.bounds.size - 1

    @property
    def depth(self) -> int:
        """The depth of the leaves: the least d with 2^d slots or more."""
        return (self.count - 1).bit_length()

    @property
    def sizes(self) -> Places:
        """How many cells each leaf has."""
        return np.diff(self.bounds)

    def firsts(self, depth: int) -> Places:
        """The first leaf of each of the 2^depth blocks, and the number of leaves."""
        return -(-np.arange((1 << depth) + 1) * self.count >> depth)

    def filled(self, depth: int) -> npt.NDArray[np.bool_]:
        """Which of the 2^depth blocks hold a leaf: all but some slots of the deepest level."""
        return np.asarray(np.diff(self.firsts(depth)) > 0)

    def level(self, depth: int) -> Places:
        """The boundaries of the blocks at a depth, in cells."""
        return np.unique(self.bounds[self.firsts(depth)])

    def slots(self) -> Places:
        """The slot of each leaf."""
        return np.flatnonzero(self.filled(self.depth))


class Overlap(Protocol):
    """A workload, seen from the blocks of one level after the other."""

    def energies(self) -> Reals:
        """Σ_q α² of every leaf, where the cells of a leaf weigh alike."""

    def cross(self) -> Reals:
        """Σ_q α_left·α_right for the pairs of blocks of the present level."""

    def merge(self, left: Reals, right: Reals) -> None:
        """Go one level up: the shares of the left and the right block in each pair add up to 1."""


def overlap_of(workload: Queries, leaves: Leaves) -> Overlap:
    """The quickest way to find the overlaps of a workload."""
    if isinstance(workload, Stack):
        return StackOverlap([overlap_of(part, leaves) for part in workload.parts])
    if isinstance(workload, Identity | Total):
        return ConstantOverlap(workload, leaves)
    if leaves.order is None and isinstance(workload, Prefix | AllRange):
        return IntervalOverlap(workload, leaves)
    if leaves.order is None and isinstance(workload, Ranges) and len(workload.domain) == 1:
        return RangesOverlap(workload, leaves)
    return RowsOverlap(workload, leaves)


class StackOverlap:
    """Query sets one below the other add up."""

    def __init__(self, parts: Sequence[Overlap]) -> None:
        self.parts = parts

    def energies(self) -> Reals:
        """The sum of the parts'."""
        return np.asarray(sum(part.energies() for part in self.parts))

    def cross(self) -> Reals:
        """The sum of the parts'."""
        return np.asarray(sum(part.cross() for part in self.parts))

    def merge(self, left: Reals, right: Reals) -> None:
        """Each part."""
        for part in self.parts:
            part.merge(left, right)


class ConstantOverlap:
    """No query of the identity touches two blocks, and the total is 1 on all."""

    def __init__(self, workload: Identity | Total, leaves: Leaves) -> None:
        self.energy = 1 / leaves.sizes if isinstance(workload, Identity) else np.ones(leaves.count)
        self.value = float(isinstance(workload, Total))

    def energies(self) -> Reals:
        """1/L for the L cells of a leaf, each asked for by itself, or 1."""
        return self.energy

    def cross(self) -> Reals:
        """0 or 1."""
        return np.asarray(self.value)

    def merge(self, left: Reals, right: Reals) -> None:
        """The same on every level."""


class IntervalOverlap:
    """Prefixes, or all intervals.

    Let C_i be the weighted part of a block that lies up to its cell i, F = Σ_i C_i over its L cells. The prefixes that
    end in the right block have α = 1 on the left one, later ones have 1 on both: F_right + (cells after). Intervals may
    also begin in the left block, at cell i with 1 − C_{i−1} of it, Σ = L + 1 − F; beginning and end are independent.
    """

    def __init__(self, workload: Prefix | AllRange, leaves: Leaves) -> None:
        self.energy = tree_energies(workload, [leaves.bounds], np.ones(leaves.cells), None)[0]
        self.edges = leaves.bounds[leaves.firsts(leaves.depth)].astype(np.float64)
        sizes = np.diff(self.edges)
        self.reach = np.where(sizes > 0, (sizes + 1) / 2, 0.0)  # F
        self.prefixes = isinstance(workload, Prefix)

    def energies(self) -> Reals:
        """In closed form."""
        return self.energy

    def cross(self) -> Reals:
        """Where they can begin, times where they can end."""
        ends = self.reach[1::2] + self.edges[-1] - self.edges[2::2]
        if self.prefixes:
            return ends
        starts = self.edges[:-1:2] + (self.edges[1::2] - self.edges[:-1:2] + 1 - self.reach[0::2])
        return starts * ends

    def merge(self, left: Reals, right: Reals) -> None:
        """F of both together: all of the left part counts for every cell of the right block."""
        sizes = np.diff(self.edges)
        self.reach = left * (self.reach[0::2] + sizes[1::2]) + right * self.reach[1::2]
        self.edges = self.edges[::2]


class RangesOverlap:
    """Each range begins in one block and ends in another, with a part of each, and covers those between."""

    def __init__(self, workload: Ranges, leaves: Leaves) -> None:
        lower, upper = workload.lower[:, 0], workload.upper[:, 0]
        self.energy = tree_energies(workload, [leaves.bounds], np.ones(leaves.cells), None)[0]
        first = np.searchsorted(leaves.bounds, lower, side="right") - 1
        last = np.searchsorted(leaves.bounds, upper, side="right") - 1
        self.blocks = 1 << leaves.depth
        self.head = (leaves.bounds[first + 1] - lower) / leaves.sizes[first]
        self.tail = (upper + 1 - leaves.bounds[last]) / leaves.sizes[last]
        slots = leaves.slots()
        self.first, self.last = slots[first], slots[last]
        self._forget_those_inside()

    def _forget_those_inside(self) -> None:
        """A range that lies in one block never again touches two siblings."""
        apart = self.first != self.last
        self.first, self.last, self.head, self.tail = (
            values[apart] for values in (self.first, self.last, self.head, self.tail)
        )

    def energies(self) -> Reals:
        """As for any tree."""
        return self.energy

    def cross(self) -> Reals:
        """Ranges that begin and end in one pair, begin or end in it, and cover it."""
        pairs = self.blocks // 2
        begin, end = self.first // 2, self.last // 2
        meet = begin == end
        leave, come = ~meet & (self.first % 2 == 0), ~meet & (self.last % 2 == 1)
        covered = np.bincount(begin[~meet] + 1, minlength=pairs + 1) - np.bincount(end[~meet], minlength=pairs + 1)
        return np.asarray(
            covered.cumsum()[:pairs]
            + np.bincount(begin[meet], self.head[meet] * self.tail[meet], minlength=pairs)
            + np.bincount(begin[leave], self.head[leave], minlength=pairs)
            + np.bincount(end[come], self.tail[come], minlength=pairs)
        )

    def merge(self, left: Reals, right: Reals) -> None:
        """What a range holds of the block in which it begins, and of that in which it ends."""
        begin, end = self.first // 2, self.last // 2
        whole_right = np.where(self.first % 2 == 0, left[begin] * self.head + right[begin], right[begin] * self.head)
        whole_left = np.where(self.last % 2 == 1, left[end] + right[end] * self.tail, left[end] * self.tail)
        self.head, self.tail, self.first, self.last = whole_right, whole_left, begin, end
        self.blocks //= 2
        self._forget_those_inside()


class RowsOverlap:
    """Any workload, read a few times.

    The Gram matrix of the present blocks is kept inside groups of up to 64 neighbours only: six levels grow out of it
    by adding up rows and columns; then the workload is read again, with the profile that was found.
    """

    def __init__(self, workload: Queries, leaves: Leaves) -> None:
        self.workload, self.leaves = workload, leaves
        self.profile = leaves.filled(leaves.depth).astype(np.float64)
        self.blocks = self.profile.size
        self._read()

    def _read(self) -> None:
        size = min(_GROUP, self.blocks, max(2, 1 << ((_LARGEST_TABLE // self.blocks).bit_length() - 1)))
        self.table = np.zeros((self.blocks // size, size, size))
        for means in self._means():
            grouped = means.reshape(len(means), -1, size)
            self.table += np.matmul(grouped.transpose(1, 2, 0), grouped.transpose(1, 0, 2))

    def _means(self) -> Iterator[Reals]:
        """α of each query on the present blocks, some queries at a time."""
        leaves = self.leaves
        for rows in self.workload.rows():
            ordered = rows if leaves.order is None else rows[:, leaves.order]
            slots = np.zeros((len(rows), self.profile.size))
            slots[:, leaves.filled(leaves.depth)] = block_sums(ordered, leaves.bounds) / leaves.sizes
            yield (slots * self.profile).reshape(len(rows), self.blocks, -1).sum(axis=-1)

    def energies(self) -> Reals:
        """The diagonal, at the start."""
        every = np.diagonal(self.table, axis1=1, axis2=2).reshape(-1)
        return every[self.leaves.filled(self.leaves.depth)]

    def cross(self) -> Reals:
        """The entries beside the diagonal."""
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
