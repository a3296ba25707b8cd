"""The loops of :mod:`adyton.inference.top_down`: messages up and down a binary tree of counts.

Children stand before their parents and the leaves before all others, so that loops over the nodes need no recursion.
A node's messages are functions of its count, kept on the window low … high of counts that it can have; the windows of
all nodes lie one behind the other in one array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adyton.compiling import compiled

Array = Any
REACH = 4.5
"""Windows reach this many standard deviations to both sides of the least-squares estimate,"""
NEAR_ZERO = 9.0
"""and down to zero from an estimate of fewer deviations than this."""
DENSE = 24
"""Where all the leaves below a node hold surely more than this, the prior says nothing that the noise leaves open."""


@compiled
def least_squares(kids: Array, answers: Array, precisions: Array) -> Array:
    """Rows: each node's mean and variance from what was measured inside it, then from all there is."""
    nodes, leaves = len(answers), len(answers) - len(kids)
    inside, noise, mean, variance = np.empty(nodes), np.empty(nodes), np.empty(nodes), np.empty(nodes)
    for v in range(leaves):
        inside[v], noise[v] = answers[v], 1 / precisions[v]
    for v in range(leaves, nodes):
        a, b = kids[v - leaves]
        inside[v], noise[v] = inside[a] + inside[b], noise[a] + noise[b]
        if precisions[v] > 0:
            gain = precisions[v] / (precisions[v] + 1 / noise[v])
            inside[v] += gain * (answers[v] - inside[v])
            noise[v] *= 1 - gain
    mean[nodes - 1], variance[nodes - 1] = inside[nodes - 1], noise[nodes - 1]
    for v in range(nodes - 1, leaves - 1, -1):
        a, b = kids[v - leaves]
        surplus = mean[v] - inside[a] - inside[b]
        for child in (a, b):
            share = noise[child] / (noise[a] + noise[b])
            mean[child] = inside[child] + share * surplus
            variance[child] = noise[child] * (1 - share) + share * share * variance[v]
    return inside, noise, mean, variance


@compiled
def windows(kids: Array, mean: Array, variance: Array) -> Array:
    """The lowest and highest count of each node, and whether all its leaves are dense (2 if its parent's are too)."""
    nodes, leaves = len(mean), len(mean) - len(kids)
    low, high, dense = np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.zeros(nodes, np.int64)
    for v in range(nodes):
        deviation = np.sqrt(variance[v])
        low[v] = 0 if mean[v] < NEAR_ZERO * deviation else int(max(0.0, np.floor(mean[v] - REACH * deviation)))
        high[v] = max(int(np.ceil(max(mean[v] + REACH * deviation, 2 * deviation + 1))), low[v])
        if v < leaves:
            dense[v] = low[v] >= DENSE
        else:
            a, b = kids[v - leaves]
            dense[v] = dense[a] and dense[b]
            if dense[v]:
                dense[a] = dense[b] = 2
    return low, high, dense


@compiled
def narrow(low: Array, high: Array, coarse_low: Array, coarse_high: Array, ratio: int) -> None:
    """Keep of each window what a fit on a grid *ratio* times as coarse found possible."""
    for v in range(len(low)):
        lowest = (coarse_low[v] - 1) * ratio if coarse_low[v] > 0 else 0
        highest = (coarse_high[v] + 1) * ratio - 1
        if max(low[v], lowest) <= min(high[v], highest):
            low[v], high[v] = max(low[v], lowest), min(high[v], highest)


@compiled
def place(low: Array, high: Array, dense: Array, starts: Array) -> int:
    """Where each node's window starts; nodes below a dense one need none."""
    end = 0
    for v in range(len(low)):
        starts[v] = end
        end += 0 if dense[v] == 2 else high[v] - low[v] + 1
    starts[len(low)] = end
    return end


@compiled
def likelihoods(answers: Array, rates: Array, low: Array, starts: Array, likelihood: Array) -> None:
    """exp(-rate·|count - answer|) over each window, relative to the best count in it; 1 where nothing was measured."""
    for v in range(len(answers)):
        window = likelihood[starts[v] : starts[v + 1]]
        width, own = len(window), answers[v] - low[v]
        if rates[v] == 0 or width == 0:
            window[:] = 1
            continue
        least = max(-own, own - (width - 1), abs(own - np.rint(own)))
        for i in range(width):
            window[i] = np.exp(-rates[v] * (abs(i - own) - least))


@compiled
def _scatter(out: Array, factor: float, values: Array, split: Array) -> None:
    for i in range(len(out)):
        out[i] += factor * values[i] * split[i]


@compiled
def _scatter_evenly(out: Array, factor: float, values: Array) -> None:
    for i in range(len(out)):
        out[i] += factor * values[i]


@compiled
def _count(counts: Array, factor: float, sums: Array, split: Array, values: Array) -> None:
    for i in range(len(counts)):
        counts[i] += factor * sums[i] * split[i] * values[i]


@compiled
def join(left: Array, right: Array, low: int, low_right: int, table: Array, edge: Array, sums: Array) -> None:
    """Σ left(l)·right(r)·p(l, r | l + r) over each sum l + r; p from the table where both are below its size."""
    limit = len(table)
    wide, few = len(right), min(len(right), max(0, limit - low_right))
    few_left = min(len(left), max(0, limit - low))
    sums[:] = 0
    for i in range(few_left):
        _scatter(sums[i : i + few], left[i], right, table[low + i, low_right : low_right + few])
        _scatter_evenly(sums[i + few : i + wide], left[i] * edge[low + i], right[few:])
    if few_left < len(left):
        weighted = right * edge[limit]
        weighted[:few] = right[:few] * edge[low_right : low_right + few]
        for i in range(few_left, len(left)):
            _scatter_evenly(sums[i : i + wide], left[i], weighted)


@compiled
def part(out: Array, right: Array, low: int, low_right: int, table: Array, edge: Array, sums: Array) -> None:
    """out(l) = Σ sums(l + r)·right(r)·p(l, r | l + r): what the parent and the sibling say of a child."""
    limit = len(table)
    wide, few = len(out), min(len(out), max(0, limit - low))
    few_right = min(len(right), max(0, limit - low_right))
    out[:] = 0
    for i in range(few_right):
        _scatter(out[:few], right[i], sums[i : i + few], table[low_right + i, low : low + few])
        _scatter_evenly(out[few:], right[i] * edge[low_right + i], sums[i + few : i + wide])
    if few_right < len(right):
        rest = np.zeros_like(out)
        for i in range(few_right, len(right)):
            _scatter_evenly(rest, right[i], sums[i : i + wide])
        out[:few] += rest[:few] * edge[low : low + few]
        out[few:] += rest[few:] * edge[limit]


@compiled
def count(
    left: Array,
    right: Array,
    low: int,
    low_right: int,
    table: Array,
    edge: Array,
    sums: Array,
    small: Array,
    large: Array,
) -> None:
    """Add the posterior probability of each split: (l, r) to *small*, the smaller part alone to *large* at the edge."""
    limit = len(table)
    wide, few = len(right), min(len(right), max(0, limit - low_right))
    for i in range(len(left)):
        inside = low + i < limit
        if inside:
            split = table[low + i, low_right : low_right + few]
            _count(small[low + i, low_right : low_right + few], left[i], sums[i : i + few], split, right)
        else:
            _count(large[low_right : low_right + few], left[i], sums[i : i + few], edge[low_right : low_right + few], right)
        if few < wide:
            mass = np.float32(0)
            for r in range(few, wide):
                mass += sums[i + r] * right[r]
            place_ = low + i if inside else limit
            large[place_] += left[i] * edge[place_] * mass
