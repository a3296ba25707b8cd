"""What the two halves of each block share in a workload: x = Σ_q α_1(q)·α_2(q), level by level from the leaves up.

α_v(q) is the mean of query q over the cells of block v, weighted with a profile of the cells: that of a block is made
of its children's profiles, with the shares w_1 and w_2 = 1 − w_1. A slot of the deepest level without a leaf has α = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from adyton.arrays import Reals
from adyton.queries import AllRange, Identity, Prefix, Queries, Ranges, Stack, Total
from adyton.queries.block_tree import BlockTree
from adyton.solving.energies import tree_energies
from adyton.strategies.overlaps_of_ranges import RangesOverlap
from adyton.strategies.overlaps_of_rows import LARGEST_TABLE, MeansOverlap, TableOverlap


class Overlap(Protocol):
    """A workload, seen from one level after the other: upwards with cross and merge, then down again with back."""

    sweeps: bool
    """Whether there is a way back."""

    def energies(self) -> Reals:
        """Σ_q α² of every leaf, where the cells of a leaf weigh alike."""

    def cross(self) -> Reals:
        """x for the pairs of siblings of the present level."""

    def merge(self, left: Reals, right: Reals) -> None:
        """Go one level up, with the shares w_1 and w_2 of each pair."""

    def back(self, crossed: Reals) -> Reals:
        """Go one level down, given the derivative of something by x there: its derivative by w_1 minus that by w_2.

        Only what later overlaps owe to these shares counts.
        """

    def gram(self, depth: int) -> Reals:
        """Σ_q α_c·α_d for any two blocks of a level that was left on the way up; the diagonal may hold anything."""


def overlap_of(workload: Queries, tree: BlockTree) -> Overlap:
    """The quickest way to find the overlaps of a workload."""
    if isinstance(workload, Stack):
        return StackOverlap([overlap_of(part, tree) for part in workload.parts])
    if isinstance(workload, Identity | Total):
        return ConstantOverlap(workload, tree)
    if tree.order is None and isinstance(workload, Prefix | AllRange):
        return IntervalOverlap(workload, tree)
    if tree.order is None and isinstance(workload, Ranges) and len(workload.domain) == 1:
        return RangesOverlap(workload, tree)
    return (MeansOverlap if workload.count << tree.depth <= LARGEST_TABLE else TableOverlap)(workload, tree)


class StackOverlap:
    """Query sets one below the other add up."""

    def __init__(self, parts: Sequence[Overlap]) -> None:
        self.parts = parts
        self.sweeps = all(part.sweeps for part in parts)

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

    def back(self, crossed: Reals) -> Reals:
        """The sum of the parts'."""
        return np.asarray(sum(part.back(crossed) for part in self.parts))

    def gram(self, depth: int) -> Reals:
        """The sum of the parts'."""
        return np.asarray(sum(part.gram(depth) for part in self.parts))


class ConstantOverlap:
    """No query of the identity touches two blocks, and the total is 1 on all."""

    sweeps = True

    def __init__(self, workload: Identity | Total, tree: BlockTree) -> None:
        sizes = np.diff(tree.boundaries[-1])
        self.energy = 1 / sizes if isinstance(workload, Identity) else np.ones(sizes.size)
        self.value = float(isinstance(workload, Total))
        self.pairs = 1 << max(0, tree.depth - 1)

    def energies(self) -> Reals:
        """1/L for the L cells of a leaf, each asked for by itself, or 1."""
        return self.energy

    def cross(self) -> Reals:
        """0 or 1."""
        return np.full(self.pairs, self.value)

    def merge(self, left: Reals, right: Reals) -> None:
        """The same on every level."""
        self.pairs //= 2

    def back(self, crossed: Reals) -> Reals:
        """The shares do not matter."""
        self.pairs = crossed.size
        return np.zeros(crossed.size)

    def gram(self, depth: int) -> Reals:
        """The same everywhere."""
        return np.full((1 << depth, 1 << depth), self.value)


class IntervalOverlap:
    """Prefixes, or all intervals.

    Let C_i be the weighted part of a block that lies up to its cell i, F = Σ_i C_i over its L cells. The prefixes that
    end in the right block have α = 1 on the left one, later ones have 1 on both: F_right + (cells after). Intervals may
    also begin in the left block, at cell i with 1 − C_{i−1} of it, Σ = L + 1 − F; beginning and end are independent.
    """

    sweeps = True

    def __init__(self, workload: Prefix | AllRange, tree: BlockTree) -> None:
        self.energy = tree_energies(workload, [tree.boundaries[-1]], np.ones(tree.cells), None)[0]
        firsts = np.searchsorted(tree.slots, np.arange((1 << tree.depth) + 1))  # the first leaf from each slot on
        levels = [tree.boundaries[-1][firsts], *tree.boundaries[-2::-1]]
        self.edges = [level.astype(np.float64) for level in levels]
        sizes = np.diff(self.edges[0])
        self.reach = [np.where(sizes > 0, (sizes + 1) / 2, 0.0)]  # F, the present level last
        self.after = [edges[-1] - edges[2::2] for edges in self.edges]
        self.right_sizes = [edges[2::2] - edges[1:-1:2] for edges in self.edges]
        self.shares: list[tuple[Reals, Reals]] = []
        self.prefixes = isinstance(workload, Prefix)
        self.by_reach = np.zeros(1)

    def energies(self) -> Reals:
        """In closed form."""
        return self.energy

    def _starts_and_ends(self) -> tuple[Reals | float, Reals]:
        level, reach = len(self.shares), self.reach[-1]
        ends = reach[1::2] + self.after[level]
        return 1.0 if self.prefixes else self.edges[level][1::2] + 1 - reach[0::2], ends

    def gram(self, depth: int) -> Reals:
        """For c < d, where they can begin before the end of c times where they can end after the beginning of d."""
        level = len(self.edges) - 1 - depth
        edges, reach = self.edges[level], self.reach[level]
        ends = reach + edges[-1] - edges[1:]
        starts = np.ones(ends.size) if self.prefixes else edges[1:] + 1 - reach
        above = np.triu(np.outer(starts, ends), 1)
        return above + above.T

    def cross(self) -> Reals:
        """Where they can begin, times where they can end."""
        starts, ends = self._starts_and_ends()
        return starts * ends

    def merge(self, left: Reals, right: Reals) -> None:
        """F of both together: all of the left part counts for every cell of the right block."""
        sizes, below = self.right_sizes[len(self.shares)], self.reach[-1]
        self.reach.append(left * (below[0::2] + sizes) + right * below[1::2])
        self.shares.append((left, right))
        self.by_reach = np.zeros(left.size)

    def back(self, crossed: Reals) -> Reals:
        """Through F of both."""
        left, right = self.shares.pop()
        self.reach.pop()
        above, below = self.by_reach, self.reach[-1]
        starts, ends = self._starts_and_ends()
        self.by_reach = np.empty(below.size)
        self.by_reach[0::2] = left * above - (0.0 if self.prefixes else crossed * ends)
        self.by_reach[1::2] = right * above + crossed * starts
        return above * (below[0::2] + self.right_sizes[len(self.shares)] - below[1::2])
