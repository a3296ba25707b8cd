"""The loops of :mod:`adyton.denoising.top_down`: messages up and down a binary tree of counts.

A node's messages are functions of its count, over its window of possible counts. In the inner loops, unsigned places
spare the test for negative ones, so that they can be vectorised.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adyton.compiling import compiled
from adyton.denoising.count_windows_compiled import begin

Array = Any
LEAST = np.float32(1e-30)
"""Likelihoods that are all below this say nothing: the block then starts afresh."""


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

    For a parent of a and b it is the own likelihood times Σ a(l)·b(r)·p(l, r | l + r) over l + r = the count; where all
    leaves below are dense, it is that of least squares.
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
        if v < leaves:
            for i in range(at, at + width):
                inner[i] = own[i]
            continue
        if dense[v] > 0:
            _normal(inner, at, width, squares.inside[v] - low[v], squares.noise[v])
            continue
        a, b, level = kids[v - leaves, 0], kids[v - leaves, 1], levels[v]
        start_a, wide_a, low_a = starts[a], starts[a + 1] - starts[a], low[a]
        start_b, wide_b, low_b = starts[b], starts[b + 1] - starts[b], low[b]
        few_a, few_b = min(wide_a, max(0, limit - low_a)), min(wide_b, max(0, limit - low_b))
        for i in range(wide_a + wide_b - 1):
            sums[i] = 0
        for i in range(few_a):
            value, part = inner[start_a + i], low_a + i
            for r in range(few_b):
                both = value * inner[np.uint64(start_b + r)]
                sums[np.uint64(i + r)] += both * splits[level, part, np.uint64(low_b + r)]
        if few_a < wide_a or few_b < wide_b:
            edge = edges[level, sizes[v]]
            _join_far(inner, edge, start_a, few_a, wide_a, low_a, start_b, few_b, wide_b, low_b, sums, rest)
        shift, largest = low[v] - low_a - low_b, np.float32(0)
        for i in range(at, at + width):
            inner[i] = 0
        for i in range(max(0, -shift), min(width, wide_a + wide_b - 1 - shift)):
            inner[at + i] = sums[i + shift] * own[at + i]
            largest = max(largest, inner[at + i])
        scales[v] = largest if largest > LEAST else np.float32(0)  # below, its inverse would overflow
        for i in range(at, at + width):
            inner[i] = inner[i] / largest if largest > LEAST else np.float32(1)


@compiled
def downward(tree: Array, windows: Array, prior: Array, messages: Array, found: Array, spare: Array) -> None:
    """Fill ``outer``, from the root to the leaves; add each split to *found* with its posterior probability.

    With g the parent's own likelihood times its outer one, that of l in a is Σ_r g(l + r)·b(r)·p(l, r | l + r).
    """
    kids, levels, sizes = tree
    low, _, starts, dense = windows
    splits, edges = prior
    own, inner, scales, outer = messages
    found_splits, found_edges = found
    sums, rest = spare
    leaves, limit = len(low) - len(kids), splits.shape[1]
    begin(inner, outer, starts[len(low) - 1], starts[len(low)])
    for v in range(len(low) - 1, leaves - 1, -1):
        a, b, level = kids[v - leaves, 0], kids[v - leaves, 1], levels[v]
        start_a, wide_a, low_a = starts[a], starts[a + 1] - starts[a], low[a]
        start_b, wide_b, low_b = starts[b], starts[b + 1] - starts[b], low[b]
        if dense[v] > 0:
            found_edges[level, sizes[v], limit] += 1
            continue
        if scales[v] == 0:
            begin(inner, outer, start_a, start_a + wide_a)
            begin(inner, outer, start_b, start_b + wide_b)
            continue
        at, width, shift = starts[v], starts[v + 1] - starts[v], low[v] - low_a - low_b
        factor = 1 / scales[v]
        for i in range(wide_a + wide_b - 1):
            sums[i] = 0
        for i in range(max(0, -shift), min(width, wide_a + wide_b - 1 - shift)):
            sums[i + shift] = outer[at + i] * own[at + i] * factor
        few_a, few_b = min(wide_a, max(0, limit - low_a)), min(wide_b, max(0, limit - low_b))
        for i in range(start_b, start_b + wide_b):
            outer[i] = 0
        for i in range(start_a + few_a, start_a + wide_a):
            outer[i] = 0
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
        if few_a < wide_a or few_b < wide_b:
            edge, counts = edges[level, sizes[v]], found_edges[level, sizes[v]]
            _part_far(
                inner, edge, start_a, few_a, wide_a, low_a, start_b, few_b, wide_b, sums, rest, outer, counts, True
            )
            _part_far(
                inner, edge, start_b, few_b, wide_b, low_b, start_a, few_a, wide_a, sums, rest, outer, counts, False
            )


@compiled
def _normal(inner: Array, at: int, width: int, centre: float, noise: float) -> None:
    """A normal likelihood, relative to the best count."""
    best = min(max(np.rint(centre), 0.0), width - 1.0) - centre
    for i in range(width):
        inner[at + i] = np.exp((best**2 - (i - centre) ** 2) / (2 * noise))


@compiled
def _join_far(
    inner: Array,
    edge: Array,
    start_a: int,
    few_a: int,
    wide_a: int,
    low_a: int,
    start_b: int,
    few_b: int,
    wide_b: int,
    low_b: int,
    sums: Array,
    rest: Array,
) -> None:
    """Add to the sums of :func:`upward` those splits of which one part, or both, are outside the table."""
    limit = len(edge) - 1
    for i in range(few_a):
        value = inner[start_a + i] * edge[low_a + i]
        for r in range(few_b, wide_b):
            sums[np.uint64(i + r)] += value * inner[np.uint64(start_b + r)]
    for r in range(wide_b):
        rest[r] = inner[start_b + r] * edge[min(low_b + r, limit)]
    for i in range(few_a, wide_a):
        value = inner[start_a + i]
        for r in range(wide_b):
            sums[np.uint64(i + r)] += value * rest[np.uint64(r)]


@compiled
def _part_far(
    inner: Array,
    edge: Array,
    start_a: int,
    few_a: int,
    wide_a: int,
    low_a: int,
    start_b: int,
    few_b: int,
    wide_b: int,
    sums: Array,
    rest: Array,
    outer: Array,
    counts: Array,
    with_both: bool,
) -> None:
    """Add to the outer likelihoods of :func:`downward` the splits with a large part b, and count them.

    Those with two large parts are only counted if *with_both*, since they come up for either part.
    """
    limit = len(edge) - 1
    for r in range(wide_a):
        rest[r] = 0
    for i in range(few_b, wide_b):
        value = inner[start_b + i]
        for r in range(wide_a):
            rest[np.uint64(r)] += value * sums[np.uint64(i + r)]
    for r in range(wide_a):
        part = min(low_a + r, limit)
        outer[start_a + r] += rest[r] * edge[part]
        if part < limit or with_both:
            counts[part] += rest[r] * edge[part] * inner[start_a + r]
    for i in range(few_a):
        value = inner[start_a + i] * edge[low_a + i]
        for r in range(few_b, wide_b):
            outer[np.uint64(start_b + r)] += value * sums[np.uint64(i + r)]
