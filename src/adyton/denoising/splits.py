"""The binary tree of those blocks of a tree that something is known about, and the counts that each of them can have.

Blocks are halved where something smaller was measured: a view of a :class:`~adyton.queries.block_tree.BlockTree` whose
blocks have one child or two. Least squares on it bounds the possible counts of each node, its window, over which the
noisy count of the node has a likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from adyton.arrays import Flags, Integers, Places, Reals, Singles
from adyton.compiling import cached_property, compiled
from adyton.errors import BadInput
from adyton.queries.block_tree import BlockTree


@dataclass(frozen=True, eq=False)
class Splits:
    """The nodes: leaves first, in the order of their cells, halves before what they are halves of, the root last."""

    blocks: Places
    """The block of each node; of blocks with the same cells, the last one."""
    kids: Places
    """The two halves of each node that is no leaf."""
    levels: Places
    """The level of each node, counted from the leaves or the cells: splits on the same level have the same prior."""

    @property
    def leaves(self) -> int:
        """How many leaves there are."""
        return self.blocks.size - len(self.kids)

    @classmethod
    def of(cls, tree: BlockTree, measured: Places, levels: Places) -> Splits:
        """Where these blocks were measured, in ascending order, of those with the same cells the last; *levels* are
        those of all blocks. Where blocks inside a block were measured, they must cover it."""
        deepest = np.full(tree.cells, -1)
        deepest[tree.starts[measured]] = measured  # of blocks that start together, the last one stays
        leaves = deepest[deepest >= 0]
        ends = np.cumsum(tree.sizes[leaves])
        if not np.array_equal(tree.starts[leaves][1:], ends[:-1]) or not leaves.size or ends[-1] != tree.cells:
            raise BadInput("some cells lie in no measured block, or only in one of which other parts were measured.")
        halving = halving_of(tree)
        divided = np.sort(halving.meeting[ends[:-1]])[::-1]
        blocks = np.concatenate([leaves, divided])
        numbers = np.empty(tree.blocks, dtype=np.int64)
        numbers[blocks] = np.arange(blocks.size)
        left = tree.offsets[divided]
        return cls(blocks, numbers[halving.homes[np.stack([left, left + 1], axis=1)]], levels[blocks])


class Halving(NamedTuple):
    """How the blocks of a tree are halved."""

    meeting: Places
    """The block whose halves meet at each place."""
    homes: Places
    """For each block the last one with the same cells."""
    alone: list[tuple[Places, Places]]
    """The blocks with one child, and these children, level by level from the top."""


@lru_cache(maxsize=16)
def halving_of(tree: BlockTree) -> Halving:
    """How the blocks of a tree are halved."""
    meeting, homes, alone = np.zeros(tree.cells, dtype=np.int64), np.arange(tree.blocks), []
    for level, children in enumerate(tree.children[:-1]):
        parts, first, below = np.diff(children), tree.level_starts[level], tree.level_starts[level + 1]
        halved, same = np.flatnonzero(parts == 2), np.flatnonzero(parts == 1)
        meeting[tree.boundaries[level + 1][children[halved] + 1]] = first + halved
        if same.size:
            alone.append((first + same, below + children[same]))
    for upper, lower in reversed(alone):
        homes[upper] = homes[lower]
    return Halving(meeting, homes, alone)


def halved(tree: BlockTree) -> BlockTree:
    """Pair neighbours within each block until one is left, level by level, from the last one upwards to the domain.

    >>> [level.tolist() for level in halved(BlockTree(5, [[0, 3, 5], [0, 1, 2, 3, 4, 5]])).boundaries]
    [[0, 5], [0, 3, 5], [0, 2, 3, 5], [0, 1, 2, 3, 4, 5]]
    """
    levels = [tree.boundaries[-1]]
    for coarse in (*tree.boundaries[-2::-1], np.array([0, tree.cells])):
        while levels[-1].size > coarse.size:
            firsts = np.searchsorted(levels[-1], coarse)
            places = np.arange(levels[-1].size) - np.repeat(firsts, np.diff(firsts, append=levels[-1].size))
            levels.append(levels[-1][places % 2 == 0])
    return BlockTree(tree.domain, levels[::-1], tree.order)


def heights(tree: BlockTree) -> Places:
    """How often each block of a tree is halved, at most, until blocks of its last level are left."""
    levels = [np.zeros(tree.boundaries[-1].size - 1, dtype=np.int64)]
    for children in tree.children[-2::-1]:
        levels.append(np.maximum.reduceat(levels[-1], children[:-1]) + (np.diff(children) == 2))
    return np.concatenate(levels[::-1])


REACH = 4.5
"""Windows reach this many standard deviations to both sides of the least-squares estimate,"""
NEAR_ZERO = 9.0
"""and down to zero from an estimate of fewer deviations than this."""
DENSE = 24
"""Where all the leaves below a node hold surely more than this, the prior says nothing that the noise leaves open."""


class Generation(NamedTuple):
    """Nodes of one level, none of them a leaf, and the two children of each."""

    nodes: Places
    left: Places
    right: Places


def generations(tree: Splits) -> list[Generation]:
    """The nodes above the leaves, from the lowest level up: children come in an earlier generation."""
    levels = tree.levels[tree.leaves :]
    order = np.argsort(levels, kind="stable")
    ends = np.flatnonzero(np.diff(levels[order])) + 1
    return [Generation(own + tree.leaves, *tree.kids[own].T) for own in np.split(order, ends)]


class Squares(NamedTuple):
    """Each node's mean and variance by least squares, from what was measured inside it and from all answers."""

    inside: Reals
    noise: Reals
    mean: Reals
    variance: Reals

    def scaled(self, step: float) -> Squares:
        """The same in steps of a grid."""
        return Squares(self.inside / step, self.noise / step**2, self.mean / step, self.variance / step**2)


def least_squares(family: list[Generation], answers: Reals, precisions: Reals) -> Squares:
    """Two passes, as in :mod:`adyton.solving.trees`; all leaves must have been measured."""
    inside, noise = answers.copy(), np.zeros_like(answers)
    np.divide(1, precisions, out=noise, where=precisions > 0)
    halves = []
    for nodes, left, right in family:
        a, b, noise_a, noise_b = inside[left], inside[right], noise[left], noise[right]
        within, variance = a + b, noise_a + noise_b
        signal = precisions[nodes] * variance
        gain = signal / (signal + 1)
        inside[nodes], noise[nodes] = within + gain * (answers[nodes] - within), variance * (1 - gain)
        halves.append((nodes, variance, (left, a, noise_a), (right, b, noise_b)))
    means, variances = inside.copy(), noise.copy()
    for nodes, variance, *both in reversed(halves):
        surplus, above = means[nodes] - both[0][1] - both[1][1], variances[nodes]
        for child, own, part in both:
            share = part / variance
            means[child], variances[child] = own + share * surplus, part * (1 - share) + share * share * above
    return Squares(inside, noise, means, variances)


@dataclass(frozen=True, eq=False)
class Windows:
    """The counts low … high that each node can have."""

    low: Integers
    high: Integers
    dense: Flags
    """Whether all leaves below are dense."""
    hidden: Flags
    """Whether the parent is dense: such nodes have no window."""

    @classmethod
    def around(cls, squares: Squares, family: list[Generation]) -> Windows:
        """The windows that least squares leaves."""
        mean, deviation = squares.mean, np.sqrt(squares.variance)
        low = np.where(mean >= NEAR_ZERO * deviation, np.floor(mean - REACH * deviation), 0).astype(np.int64)
        high = np.ceil(np.maximum(mean + REACH * deviation, 2 * deviation + 1)).astype(np.int64)
        dense, hidden = low >= DENSE, np.zeros(low.size, dtype=bool)
        for nodes, left, right in family:
            dense[nodes] = hidden[left] = hidden[right] = dense[left] & dense[right]
        return cls(low, high, dense, hidden)

    @cached_property
    def widths(self) -> Integers:
        """How many counts each window has."""
        return np.where(self.hidden, 0, self.high - self.low + 1)

    @cached_property
    def starts(self) -> Places:
        """Where each window starts in an array of the windows of all nodes, and where the last one ends."""
        return np.concatenate([[0], np.cumsum(self.widths)])

    def narrowed(self, coarse: Windows, ratio: int) -> Windows:
        """What a fit on a grid *ratio* times as coarse found possible of each window, if that is any of it."""
        low = np.maximum(self.low, np.where(coarse.low > 0, (coarse.low - 1) * ratio, 0))
        high = np.minimum(self.high, (coarse.high + 1) * ratio - 1)
        left = low <= high
        return replace(self, low=np.where(left, low, self.low), high=np.where(left, high, self.high))


def likelihoods(windows: Windows, answers: Reals, rates: Reals) -> Singles:
    """exp(-rate·|count - answer|) over each window, relative to the best count in it: falling to both sides of the two
    counts next to the answer."""
    likelihood, own = np.ones(windows.starts[-1], dtype=np.float32), answers - windows.low
    best = np.clip(np.rint(own), 0, np.maximum(windows.widths - 1, 0)).astype(np.int64)
    _fall(likelihood, windows.starts, own, best, rates, np.exp(-rates))
    return likelihood


@compiled
def _fall(likelihood: Singles, starts: Places, answers: Reals, best: Places, rates: Reals, factors: Reals) -> None:
    """Let each window, of ones, fall by its factor a count to both sides of the two counts next to the answer."""
    for v in range(len(factors)):
        at, width, own, near = starts[v], starts[v + 1] - starts[v], answers[v], best[v]
        if rates[v] == 0 or width == 0:
            continue
        left, right = (near, near + 1) if own >= near else (near - 1, near)
        second = left + right - near
        if 0 <= second < width:
            likelihood[at + second] = np.exp(-rates[v] * (abs(second - own) - abs(near - own)))
        for i in range(at + right + 1, at + width):
            likelihood[i] = likelihood[i - 1] * factors[v]
        for i in range(at + left - 1, at - 1, -1):
            likelihood[i] = likelihood[i + 1] * factors[v]
