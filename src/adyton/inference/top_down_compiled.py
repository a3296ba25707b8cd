"""The loops of :mod:`adyton.inference.top_down`: messages up and down a binary tree of counts.

A node's messages are functions of its count, over its window of possible counts. In the inner loops, unsigned places
spare the test for negative ones, so that they can be vectorised.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adyton.compiling import compiled

Array = Any


class Tree(NamedTuple):
    """The nodes: their children, their levels, and the powers of two below their counts."""

    kids: Array
    levels: Array
    sizes: Array


class Prior(NamedTuple):
    """p(l, r | l + r) by level: for small l and r, and by size of the whole where only one of them is small."""

    splits: Array
    edges: Array


class Messages(NamedTuple):
    """How likely each possible count of each node makes what was measured of it, inside it, and outside it.

    ``own`` includes nothing else; ``inner`` includes ``own``, is relative to its best count, and was divided by
    ``scales``; ``outer`` is scaled so that the posterior weights outer·inner add up to 1.
    """

    own: Array
    inner: Array
    scales: Array
    outer: Array


@compiled
def upward(tree: Array, windows: Array, squares: Array, prior: Array, messages: Array, spare: Array) -> None:
    """Fill ``inner``, from the leaves to the root.

    For a parent of a and b it is the own likelihood times Σ a(l)·b(r)·p(l, r | l + r) over l + r = the count.
    """
    kids, levels, sizes = tree
    low, _, starts, dense = windows
    splits, edges = prior
    own, inner, scales, _ = messages
    sums, rest = spare
    leaves, limit = len(low) - len(kids), splits.shape[1]
    for v in range(len(low)):
        at, width = starts[v], starts[v + 1] - starts[v]
        scales[v] = 1
        if dense[v] > 0:
            centre = squares.inside[v] - low[v]
            best = min(max(np.rint(centre), 0.0), width - 1.0) - centre
            for i in range(width):
                inner[at + i] = np.exp((best**2 - (i - centre) ** 2) / (2 * squares.noise[v]))
            continue
        if v < leaves:
            for i in range(at, at + width):
                inner[i] = own[i]
            continue
        a, b, level, size = kids[v - leaves, 0], kids[v - leaves, 1], levels[v], sizes[v]
        start_a, wide_a, low_a = starts[a], starts[a + 1] - starts[a], low[a]
        start_b, wide_b, low_b = starts[b], starts[b + 1] - starts[b], low[b]
        few_a, few_b = min(wide_a, max(0, limit - low_a)), min(wide_b, max(0, limit - low_b))
        for i in range(wide_a + wide_b - 1):
            sums[i] = 0
        for i in range(few_a):
            value, part = inner[start_a + i], low_a + i
            for r in range(few_b):
                sums[np.uint64(i + r)] += value * inner[np.uint64(start_b + r)] * splits[level, part, np.uint64(low_b + r)]
            value *= edges[level, size, part]
            for r in range(few_b, wide_b):
                sums[np.uint64(i + r)] += value * inner[np.uint64(start_b + r)]
        if few_a < wide_a:
            for r in range(wide_b):
                rest[r] = inner[start_b + r] * edges[level, size, min(low_b + r, limit)]
            for i in range(few_a, wide_a):
                value = inner[start_a + i]
                for r in range(wide_b):
                    sums[np.uint64(i + r)] += value * rest[np.uint64(r)]
        shift, largest = low[v] - low_a - low_b, np.float32(0)
        for i in range(at, at + width):
            inner[i] = 0
        for i in range(max(0, -shift), min(width, wide_a + wide_b - 1 - shift)):
            inner[at + i] = sums[i + shift] * own[at + i]
            largest = max(largest, inner[at + i])
        scales[v] = largest
        for i in range(at, at + width):
            inner[i] = inner[i] / largest if largest > 0 else np.float32(1)


@compiled
def downward(
    tree: Array,
    windows: Array,
    squares: Array,
    prior: Array,
    messages: Array,
    found: Array,
    means: Array,
    cut: float,
    spare: Array,
) -> None:
    """Fill ``outer`` and the posterior *means*, from the root to the leaves.

    With g the parent's own likelihood times its outer one, that of l in a is Σ_r g(l + r)·b(r)·p(l, r | l + r). Each
    split (l, r) is added to *found* with its posterior probability, where only one part is small under that one, and
    windows are narrowed to counts of posterior probability *cut* and more.
    """
    kids, levels, sizes = tree
    low, high, starts, dense = windows
    splits, edges = prior
    own, inner, scales, outer = messages
    found_splits, found_edges = found
    sums, rest = spare
    nodes, leaves, limit = len(low), len(low) - len(kids), splits.shape[1]
    for i in range(starts[nodes - 1], starts[nodes]):
        outer[i] = 1
    for v in range(nodes - 1, -1, -1):
        at, width, own_low = starts[v], starts[v + 1] - starts[v], low[v]
        total = first = 0.0
        if width > 0:
            for i in range(width):
                weight = outer[at + i] * inner[at + i]
                total += weight
                first += weight * i
            if not 0 < total < np.inf:
                total = first = 0.0
                for i in range(width):
                    outer[at + i] = 1
                    total += inner[at + i]
                    first += inner[at + i] * i
            means[v] = own_low + first / total
            begin, end, least = at, at + width - 1, np.float32(cut * total)
            while begin < end and outer[begin] * inner[begin] < least:
                begin += 1
            while begin < end and outer[end] * inner[end] < least:
                end -= 1
            low[v], high[v] = own_low + begin - at, own_low + end - at
        if v < leaves:
            continue
        a, b, level, size = kids[v - leaves, 0], kids[v - leaves, 1], levels[v], sizes[v]
        if dense[v] > 0:
            surplus = (means[v] - squares.inside[a] - squares.inside[b]) / (squares.noise[a] + squares.noise[b])
            means[a] = squares.inside[a] + squares.noise[a] * surplus
            means[b] = squares.inside[b] + squares.noise[b] * surplus
            found_edges[level, size, limit] += 1
            continue
        start_a, wide_a, low_a = starts[a], starts[a + 1] - starts[a], low[a]
        start_b, wide_b, low_b = starts[b], starts[b + 1] - starts[b], low[b]
        unknown = np.float32(0 if scales[v] > 0 else 1)
        for i in range(start_a, start_a + wide_a):
            outer[i] = unknown
        for i in range(start_b, start_b + wide_b):
            outer[i] = unknown
        if scales[v] == 0:
            continue
        factor, shift = np.float32(1 / (total * scales[v])), own_low - low_a - low_b
        for i in range(wide_a + wide_b - 1):
            sums[i] = 0
        for i in range(max(0, -shift), min(width, wide_a + wide_b - 1 - shift)):
            sums[i + shift] = outer[at + i] * own[at + i] * factor
        few_a, few_b = min(wide_a, max(0, limit - low_a)), min(wide_b, max(0, limit - low_b))
        for i in range(few_a):
            value, part, mass = inner[start_a + i], low_a + i, np.float32(0)
            for r in range(few_b):
                column = np.uint64(low_b + r)
                split = sums[np.uint64(i + r)] * splits[level, part, column]
                both = split * inner[np.uint64(start_b + r)]
                mass += both
                outer[np.uint64(start_b + r)] += value * split
                found_splits[level, part, column] += value * both
            outer[start_a + i] = mass
        if few_b < wide_b:
            for r in range(wide_a):
                rest[r] = 0
            for i in range(few_b, wide_b):
                value = inner[start_b + i]
                for r in range(wide_a):
                    rest[np.uint64(r)] += value * sums[np.uint64(i + r)]
            for r in range(wide_a):
                part = min(low_a + r, limit)
                outer[start_a + r] += rest[r] * edges[level, size, part]
                found_edges[level, size, part] += rest[r] * edges[level, size, part] * inner[start_a + r]
            for i in range(few_a):
                value = inner[start_a + i] * edges[level, size, low_a + i]
                for r in range(few_b, wide_b):
                    outer[np.uint64(start_b + r)] += value * sums[np.uint64(i + r)]
        if few_a < wide_a:
            for r in range(wide_b):
                rest[r] = 0
            for i in range(few_a, wide_a):
                value = inner[start_a + i]
                for r in range(wide_b):
                    rest[np.uint64(r)] += value * sums[np.uint64(i + r)]
            for r in range(wide_b):
                part = min(low_b + r, limit)
                outer[start_b + r] += rest[r] * edges[level, size, part]
                if r < few_b:
                    found_edges[level, size, part] += rest[r] * edges[level, size, part] * inner[start_b + r]
            for i in range(few_b):
                value = inner[start_b + i] * edges[level, size, low_b + i]
                for r in range(few_a, wide_a):
                    outer[np.uint64(start_a + r)] += value * sums[np.uint64(i + r)]
