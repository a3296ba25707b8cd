"""Which counts each block of a tree can have, and how likely they make its own noisy count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from adyton.arrays import Flags, Integers, Places, Reals, Singles
from adyton.compiling import compiled
from adyton.denoising.splits import Splits
from adyton.remembered import cached_property

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
