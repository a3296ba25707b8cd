"""Messages up and down a binary tree of counts: how likely each count of a block makes what was measured.

A node's messages are functions of its count, over its window of possible counts. In the inner loops, unsigned places
spare the test for negative ones, so that they can be vectorised.
"""

from __future__ import annotations

import numpy as np
from numpy import uint64

from adyton.arrays import Integers, Places, Reals, Singles
from adyton.compiling import compiled
from adyton.denoising.count_windows import Squares, Windows
from adyton.denoising.split_prior import TABLE, table_places
from adyton.denoising.splits import Splits

LEAST = np.float32(1e-30)
"""Likelihoods that are all below this say nothing: the block then starts afresh."""
_LEFT, _RIGHT, _SPLITS, _EDGE = range(4)
"""What the loops know of a node: its children; where the prior of its splits stands, and of those with a large part."""


class Messages:
    """How likely each possible count of each node makes what was measured of it, inside it, and outside it.

    ``own`` includes nothing else; ``inner`` includes ``own`` and is relative to its best count; ``outer`` is scaled so
    that the posterior weights outer·inner add up to 1.
    """

    def __init__(self, tree: Splits, squares: Squares, windows: Windows, own: Singles, sizes: int) -> None:
        self._leaves, self._squares = tree.leaves, squares
        self._nodes = np.zeros((tree.levels.size, 4), dtype=np.int64)
        self._nodes[tree.leaves :, : _RIGHT + 1] = tree.kids
        self._nodes[:, _SPLITS], self._nodes[:, _EDGE] = table_places(tree.levels, squares.mean, sizes)
        dense = windows.dense & (np.arange(windows.dense.size) >= tree.leaves)
        self._joined, self._dense = tree.leaves + np.flatnonzero(~dense[tree.leaves :]), np.flatnonzero(dense)
        self._normal = np.flatnonzero(dense & ~windows.hidden)
        self._own, self._inner, self._outer = own, np.empty_like(own), np.empty_like(own)
        self._spare = np.empty((2, 2 * int(windows.widths.max())), dtype=np.float32)

    def pass_through(self, windows: Windows, prior: Singles) -> Singles:
        """Fill ``inner`` and ``outer``; the splits found, each with its posterior probability, in the form of *prior*.

        Where nothing is known from outside (above the root, and where what is inside a node contradicts what was
        measured of it) the outer likelihood is even.
        """
        starts, low = self._starts, self._low = windows.starts, windows.low
        own, inner, outer, (sums, rest) = self._own, self._inner, self._outer, self._spare
        leaves, end = starts[self._leaves], starts[-1]
        inner[:leaves], inner[leaves:end], outer[:end] = own[:leaves], 0, 0
        if self._normal.size:
            self._fill_normal(windows.widths[self._normal])
        scales = np.ones(low.size, dtype=np.float32)
        upward(self._joined, self._nodes, starts, low, prior, own, inner, scales, sums, rest)
        parted, lost = self._joined[::-1], scales == 0
        self._start_afresh(np.array([scales.size - 1]))
        if lost.any():
            self._start_afresh(self._nodes[lost, : _RIGHT + 1].T.reshape(-1))
            parted = parted[~lost[parted]]
        found = np.zeros(prior.size, dtype=np.float32)
        np.add.at(found, self._nodes[self._dense, _EDGE] + TABLE, np.float32(1))
        parted, factors = np.ascontiguousarray(parted), 1 / scales[parted].astype(np.float64)
        downward(parted, self._nodes, starts, low, prior, own, inner, outer, factors, found, sums, rest)
        return found

    def settled(self, cut: float) -> tuple[Reals, Integers, Integers]:
        """The posterior mean of each node's count, and its least and largest counts of probability *cut* and more.

        What is known of other counts is forgotten: the next pass is one over the windows between those.
        """
        means, ends = np.zeros(self._low.size), np.empty((2, self._low.size), dtype=np.int64)
        settle(self._own, self._inner, self._outer, self._starts, cut, means, ends)
        ends += self._low
        return self._low + means, ends[0], ends[1]

    def _fill_normal(self, widths: Integers) -> None:
        """The inner likelihoods of dense nodes are those of least squares, relative to the best count."""
        nodes = self._normal
        centre = self._squares.inside[nodes] - self._low[nodes]
        best = np.clip(np.rint(centre), 0, widths - 1) - centre
        count = np.arange(widths.sum()) - np.repeat(np.cumsum(widths) - widths, widths)
        exponent = np.repeat(best * best, widths) - (count - np.repeat(centre, widths)) ** 2
        places = np.repeat(self._starts[nodes], widths) + count
        self._inner[places] = np.exp(exponent / np.repeat(2 * self._squares.noise[nodes], widths))

    def _start_afresh(self, nodes: Places) -> None:
        """Even outer likelihoods for these nodes."""
        for start, end in zip(self._starts[nodes], self._starts[nodes + 1], strict=True):
            if start < end:
                self._outer[start:end] = 1 / np.cumsum(self._inner[start:end])[-1]


@compiled
def upward(
    joined: Places,
    nodes: Places,
    starts: Places,
    low: Integers,
    prior: Singles,
    own: Singles,
    inner: Singles,
    scales: Singles,
    sums: Singles,
    rest: Singles,
) -> None:
    """Fill ``inner``, from the leaves to the root.

    For a parent of a and b it is the own likelihood times Σ a(l)·b(r)·p(l, r | l + r) over l + r = the count.
    """
    for v in joined:
        a, b, edge = nodes[v, _LEFT], nodes[v, _RIGHT], nodes[v, _EDGE]
        start, start_a, start_b, low_a, low_b = starts[v], starts[a], starts[b], low[a], low[b]
        end, wide_a, wide_b = starts[v + 1], starts[a + 1] - start_a, starts[b + 1] - start_b
        few_a, few_b = min(max(TABLE - low_a, 0), wide_a), min(max(TABLE - low_b, 0), wide_b)  # counts in the table
        shift = start + low_a + low_b - low[v]  # where the children's least sum stands
        for i in range(wide_a + wide_b):
            sums[i] = 0
        row = nodes[v, _SPLITS] + low_a * TABLE + low_b
        for i in range(few_a):
            value = inner[start_a + i]
            for r in range(few_b):
                both = value * inner[uint64(start_b + r)]
                sums[uint64(i + r)] += both * prior[uint64(row + r)]
            row += TABLE
        for i in range(few_a):
            value = inner[start_a + i] * prior[edge + low_a + i]
            for r in range(few_b, wide_b):
                sums[uint64(i + r)] += value * inner[uint64(start_b + r)]
        if few_a < wide_a:
            for r in range(wide_b):
                rest[r] = inner[start_b + r] * prior[edge + (low_b + r if r < few_b else TABLE)]
            for i in range(few_a, wide_a):
                value = inner[start_a + i]
                for r in range(wide_b):
                    sums[uint64(i + r)] += value * rest[uint64(r)]
        largest = np.float32(0)
        for i in range(max(start, shift), min(end, shift + wide_a + wide_b - 1)):
            inner[i] = sums[i - shift] * own[i]
            largest = max(largest, inner[i])
        scales[v] = largest if largest > LEAST else np.float32(0)  # below, its inverse would overflow
        for i in range(start, end):
            inner[i] = inner[i] / largest if largest > LEAST else np.float32(1)


@compiled
def downward(  # noqa: PLR0912 (a call costs as much to compile)
    parted: Places,
    nodes: Places,
    starts: Places,
    low: Integers,
    prior: Singles,
    own: Singles,
    inner: Singles,
    outer: Singles,
    factors: Reals,
    found: Singles,
    sums: Singles,
    rest: Singles,
) -> None:
    """Fill ``outer``, from the root to the leaves; add each split to *found* with its posterior probability.

    With g the parent's own likelihood times its outer one, that of l in a is Σ_r g(l + r)·b(r)·p(l, r | l + r). Splits
    with a large part b are added for a, then with the two exchanged; those with two large parts are counted once.
    """
    for place in range(len(parted)):
        v = parted[place]
        a, b, edge = nodes[v, _LEFT], nodes[v, _RIGHT], nodes[v, _EDGE]
        start, start_a, start_b, low_a, low_b = starts[v], starts[a], starts[b], low[a], low[b]
        end, wide_a, wide_b = starts[v + 1], starts[a + 1] - start_a, starts[b + 1] - start_b
        few_a, few_b = min(max(TABLE - low_a, 0), wide_a), min(max(TABLE - low_b, 0), wide_b)  # counts in the table
        shift = start + low_a + low_b - low[v]  # where the children's least sum stands
        for i in range(wide_a + wide_b):
            sums[i] = 0
        for i in range(max(start, shift), min(end, shift + wide_a + wide_b - 1)):
            sums[i - shift] = outer[i] * own[i] * factors[place]
        row = nodes[v, _SPLITS] + low_a * TABLE + low_b
        for i in range(few_a):
            value, mass = inner[start_a + i], np.float32(0)
            for r in range(few_b):
                split = sums[uint64(i + r)] * prior[uint64(row + r)]
                both = split * inner[uint64(start_b + r)]
                mass += both
                outer[uint64(start_b + r)] += value * split
                found[uint64(row + r)] += value * both
            outer[start_a + i] = mass
            row += TABLE
        if few_a == wide_a and few_b == wide_b:
            continue
        for side in range(2):
            for r in range(wide_a):
                rest[r] = 0
            for i in range(few_b, wide_b):
                value = inner[start_b + i]
                for r in range(wide_a):
                    rest[uint64(r)] += value * sums[uint64(i + r)]
            for r in range(wide_a):
                part = edge + (low_a + r if r < few_a else TABLE)
                outer[start_a + r] += rest[r] * prior[part]
                if r < few_a or side == 0:
                    found[part] += rest[r] * prior[part] * inner[start_a + r]
            for i in range(few_a):
                value = inner[start_a + i] * prior[edge + low_a + i]
                for r in range(few_b, wide_b):
                    outer[uint64(start_b + r)] += value * sums[uint64(i + r)]
            start_a, few_a, wide_a, start_b, few_b, wide_b = start_b, few_b, wide_b, start_a, few_a, wide_a
            low_a = low_b


@compiled
def settle(
    own: Singles, inner: Singles, outer: Singles, starts: Places, cut: float, means: Reals, ends: Places
) -> None:
    """The mean of each window, and its first and last counts of probability *cut* and more; what is between them moves
    to the front of ``own``. Where outer likelihoods contradict the inner ones, they are even."""
    to = 0
    for v in range(len(starts) - 1):
        at, end = starts[v], starts[v + 1] - 1
        for _ in range(2):
            total = moment = 0.0
            for i in range(at, end + 1):
                weight = outer[i] * inner[i]
                total += weight
                moment += weight * (i - at)
            if 0 < total < np.inf:
                break
            for i in range(at, end + 1):
                outer[i] = 1
        if at <= end:
            means[v] = moment / total
        least, first = np.float32(cut * total), at
        while first < end and outer[first] * inner[first] < least:
            first += 1
        while first < end and outer[end] * inner[end] < least:
            end -= 1
        for i in range(first, end + 1):
            own[to] = own[i]
            to += 1
        ends[0, v], ends[1, v] = first - at, end - at
