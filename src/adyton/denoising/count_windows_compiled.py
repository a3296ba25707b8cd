"""The loops of :mod:`adyton.denoising.top_down` that decide which counts each block can have, and how likely they are.

Children stand before their parents and the leaves before all others, so that loops over the nodes need no recursion.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adyton.compiling import compiled

Array = Any
REACH = 4.5
"""Windows reach this many standard deviations to both sides of the least-squares estimate,"""
NEAR_ZERO = 9.0
"""and down to zero from an estimate of fewer deviations than this."""
DENSE = 24
"""Where all the leaves below a node hold surely more than this, the prior says nothing that the noise leaves open."""


class Squares(NamedTuple):
    """Each node's mean and variance by least squares, from what was measured inside it and from all answers."""

    inside: Array
    noise: Array
    mean: Array
    variance: Array

    def scaled(self, step: float) -> Squares:
        """The same in steps of a grid."""
        return Squares(self.inside / step, self.noise / step**2, self.mean / step, self.variance / step**2)


class Windows(NamedTuple):
    """The counts low … high that each node can have, and where they start in an array of the windows of all nodes.

    ``dense`` is 1 where all leaves below are dense, and 2 where the parent's are too: such nodes have no window.
    """

    low: Array
    high: Array
    starts: Array
    dense: Array


@compiled
def least_squares(kids: Array, answers: Array, precisions: Array) -> Array:
    """The four arrays of :class:`Squares`, as in :mod:`adyton.solving.trees`."""
    nodes, leaves = len(answers), len(answers) - len(kids)
    inside, noise, mean, variance = np.empty(nodes), np.empty(nodes), np.empty(nodes), np.empty(nodes)
    for v in range(nodes):
        if v < leaves:
            inside[v], noise[v] = answers[v], 1 / precisions[v]
            continue
        a, b = kids[v - leaves, 0], kids[v - leaves, 1]
        inside[v], noise[v] = inside[a] + inside[b], noise[a] + noise[b]
        gain = precisions[v] * noise[v] / (precisions[v] * noise[v] + 1)
        inside[v] += gain * (answers[v] - inside[v])
        noise[v] *= 1 - gain
    mean[-1], variance[-1] = inside[-1], noise[-1]
    for v in range(nodes - 1, leaves - 1, -1):
        a, b = kids[v - leaves, 0], kids[v - leaves, 1]
        surplus = mean[v] - inside[a] - inside[b]
        for child in (a, b):
            share = noise[child] / (noise[a] + noise[b])
            mean[child] = inside[child] + share * surplus
            variance[child] = noise[child] * (1 - share) + share * share * variance[v]
    return inside, noise, mean, variance


@compiled
def windows(kids: Array, mean: Array, variance: Array) -> Array:
    """The arrays of :class:`Windows`."""
    nodes, leaves = len(mean), len(mean) - len(kids)
    low, high, dense = np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.zeros(nodes, np.int64)
    for v in range(nodes):
        deviation = np.sqrt(variance[v])
        if mean[v] >= NEAR_ZERO * deviation:
            low[v] = int(np.floor(mean[v] - REACH * deviation))
        else:
            low[v] = 0
        high[v] = int(np.ceil(max(mean[v] + REACH * deviation, 2 * deviation + 1)))
        if v < leaves:
            dense[v] = low[v] >= DENSE
        else:
            a, b = kids[v - leaves, 0], kids[v - leaves, 1]
            if dense[a] and dense[b]:
                dense[v], dense[a], dense[b] = 1, 2, 2
    return low, high, np.empty(nodes + 1, np.int64), dense


@compiled
def narrow(fine: Array, coarse: Array, ratio: int) -> None:
    """Keep of each window what a fit on a grid *ratio* times as coarse found possible."""
    for v in range(len(fine.low)):
        lowest = (coarse.low[v] - 1) * ratio if coarse.low[v] > 0 else 0
        low, high = max(fine.low[v], lowest), min(fine.high[v], (coarse.high[v] + 1) * ratio - 1)
        if low <= high:
            fine.low[v], fine.high[v] = low, high


@compiled
def place(windows: Array) -> int:
    """Say where each window starts; returns how long the array of all windows is."""
    end = 0
    for v in range(len(windows.low)):
        windows.starts[v] = end
        if windows.dense[v] < 2:
            end += windows.high[v] - windows.low[v] + 1
    windows.starts[-1] = end
    return end


@compiled
def shrink(windows: Array, before: Array, likelihood: Array) -> None:
    """Move what is left of each window, whose low ends were *before*, to the front of the array."""
    end = 0
    for v in range(len(windows.low)):
        begin = windows.starts[v] + windows.low[v] - before[v]
        windows.starts[v] = end
        if windows.dense[v] < 2:
            for i in range(begin, begin + windows.high[v] - windows.low[v] + 1):
                likelihood[end] = likelihood[i]
                end += 1
    windows.starts[-1] = end


@compiled
def likelihoods(windows: Array, answers: Array, rates: Array, likelihood: Array) -> None:
    """exp(-rate·|count - answer|) over each window, relative to the best count in it; 1 where nothing was measured."""
    for v in range(len(answers)):
        at, width = windows.starts[v], windows.starts[v + 1] - windows.starts[v]
        if rates[v] == 0 or width == 0:
            for i in range(at, at + width):
                likelihood[i] = 1
            continue
        own, step = answers[v] - windows.low[v], np.exp(-rates[v])
        best = int(min(max(np.rint(own), 0.0), width - 1.0))
        second = best + 1 if own >= best else best - 1
        likelihood[at + best] = 1
        if 0 <= second < width:
            likelihood[at + second] = np.exp(-rates[v] * (abs(second - own) - abs(best - own)))
        for i in range(max(best, second) + 1, width):
            likelihood[at + i] = likelihood[at + i - 1] * step
        for i in range(min(best, second) - 1, -1, -1):
            likelihood[at + i] = likelihood[at + i + 1] * step


@compiled
def begin(inner: Array, outer: Array, start: int, end: int) -> None:
    """The outer likelihood where nothing is known from outside, as scaled in ``Messages``."""
    total = np.float32(0)
    for i in range(start, end):
        total += inner[i]
    for i in range(start, end):
        outer[i] = 1 / total


@compiled
def settle(kids: Array, windows: Array, squares: Array, messages: Array, means: Array, cut: float) -> None:
    """The posterior *means*; narrows the windows to counts of posterior probability *cut* and more."""
    low, high, starts, dense = windows
    _, inner, _, outer = messages
    leaves = len(low) - len(kids)
    for v in range(len(low) - 1, -1, -1):
        at, end = starts[v], starts[v + 1] - 1
        total = first = 0.0
        for i in range(at, end + 1):
            weight = outer[i] * inner[i]
            total += weight
            first += weight * (i - at)
        if at <= end:
            if not 0 < total < np.inf:
                begin(inner, outer, at, end + 1)
                total, first = 1.0, 0.0
                for i in range(at, end + 1):
                    first += outer[i] * inner[i] * (i - at)
            means[v] = low[v] + first / total
            least, lowest, start = np.float32(cut * total), low[v], at
            while start < end and outer[start] * inner[start] < least:
                start += 1
            while start < end and outer[end] * inner[end] < least:
                end -= 1
            low[v], high[v] = lowest + start - at, lowest + end - at
        if v >= leaves and dense[v] > 0:
            a, b = kids[v - leaves, 0], kids[v - leaves, 1]
            surplus = (means[v] - squares.inside[a] - squares.inside[b]) / (squares.noise[a] + squares.noise[b])
            means[a] = squares.inside[a] + squares.noise[a] * surplus
            means[b] = squares.inside[b] + squares.noise[b] * surplus
