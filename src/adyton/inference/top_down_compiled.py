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
def _spread(
    out: Array, at: int, factor: float, values: Array, begin: int, splits: Array, row: int, start: int, length: int
) -> None:
    """out += factor·values·splits. (Unsigned places spare a test for negative ones.)"""
    for i in range(length):
        out[np.uint64(at + i)] += factor * values[np.uint64(begin + i)] * splits[row, np.uint64(start + i)]


@compiled
def _spread_evenly(out: Array, at: int, factor: float, values: Array, begin: int, length: int) -> None:
    """out += factor·values."""
    for i in range(length):
        out[np.uint64(at + i)] += factor * values[np.uint64(begin + i)]


@compiled
def join(
    messages: Array,
    a: int,
    wide_a: int,
    low_a: int,
    b: int,
    wide_b: int,
    low_b: int,
    table: Array,
    edge: Array,
    sums: Array,
    spare: Array,
) -> None:
    """Σ a(l)·b(r)·p(l, r | l + r) over each sum l + r; p from the table where both are below its size."""
    limit = len(table)
    few_a, few_b = min(wide_a, max(0, limit - low_a)), min(wide_b, max(0, limit - low_b))
    for i in range(wide_a + wide_b - 1):
        sums[i] = 0
    for i in range(few_a):
        value = messages[a + i]
        _spread(sums, i, value, messages, b, table, low_a + i, low_b, few_b)
        if few_b < wide_b:
            _spread_evenly(sums, i + few_b, value * edge[low_a + i], messages, b + few_b, wide_b - few_b)
    if few_a < wide_a:
        for i in range(wide_b):
            spare[i] = messages[b + i] * edge[min(low_b + i, limit)]
        for i in range(few_a, wide_a):
            _spread_evenly(sums, i, messages[a + i], spare, 0, wide_b)


@compiled
def part(
    out: Array,
    a: int,
    wide_a: int,
    low_a: int,
    messages: Array,
    b: int,
    wide_b: int,
    low_b: int,
    table: Array,
    edge: Array,
    sums: Array,
    spare: Array,
) -> None:
    """out(l) = Σ sums(l + r)·b(r)·p(l, r | l + r): what the parent and the sibling say of a child."""
    limit = len(table)
    few_a, few_b = min(wide_a, max(0, limit - low_a)), min(wide_b, max(0, limit - low_b))
    for i in range(wide_a):
        out[a + i] = 0
    for i in range(few_b):
        value = messages[b + i]
        _spread(out, a, value, sums, i, table, low_b + i, low_a, few_a)
        if few_a < wide_a:
            _spread_evenly(out, a + few_a, value * edge[low_b + i], sums, i + few_a, wide_a - few_a)
    if few_b < wide_b:
        for i in range(wide_a):
            spare[i] = 0
        for i in range(few_b, wide_b):
            _spread_evenly(spare, 0, messages[b + i], sums, i, wide_a)
        for i in range(wide_a):
            out[a + i] += spare[i] * edge[min(low_a + i, limit)]


@compiled
def count(
    messages: Array,
    a: int,
    wide_a: int,
    low_a: int,
    b: int,
    wide_b: int,
    low_b: int,
    table: Array,
    edge: Array,
    sums: Array,
    small: Array,
    large: Array,
) -> None:
    """Add the posterior probability of each split: (l, r) to *small*, the smaller part alone to *large* at the edge."""
    limit = len(table)
    few_b = min(wide_b, max(0, limit - low_b))
    for i in range(wide_a):
        value, left = messages[a + i], min(low_a + i, limit)
        if left < limit:
            for r in range(few_b):
                both = np.uint64(low_b + r)
                small[left, both] += value * sums[np.uint64(i + r)] * table[left, both] * messages[np.uint64(b + r)]
        else:
            for r in range(few_b):
                large[low_b + r] += value * sums[i + r] * edge[low_b + r] * messages[b + r]
        if few_b < wide_b:
            mass = np.float32(0)
            for r in range(few_b, wide_b):
                mass += sums[i + r] * messages[b + r]
            large[left] += value * edge[left] * mass


@compiled
def upward(
    kids: Array,
    levels: Array,
    sizes: Array,
    low: Array,
    starts: Array,
    dense: Array,
    inside: Array,
    noise: Array,
    likelihood: Array,
    tables: Array,
    edges: Array,
    messages: Array,
    scales: Array,
    sums: Array,
    spare: Array,
) -> None:
    """For each node and count, the likelihood of all that was measured inside it, relative to the best count."""
    leaves = len(low) - len(kids)
    for v in range(len(low)):
        at, width = starts[v], starts[v + 1] - starts[v]
        scales[v] = 1
        if dense[v] > 0:
            centre = inside[v] - low[v]
            best = abs(min(max(np.rint(centre), 0.0), width - 1.0) - centre)
            for i in range(width):
                messages[at + i] = np.exp((best * best - (i - centre) ** 2) / (2 * noise[v]))
            continue
        if v < leaves:
            for i in range(at, at + width):
                messages[i] = likelihood[i]
            continue
        a, b = kids[v - leaves, 0], kids[v - leaves, 1]
        wide_a, wide_b = starts[a + 1] - starts[a], starts[b + 1] - starts[b]
        table, edge = tables[levels[v]], edges[levels[v], sizes[v]]
        join(messages, starts[a], wide_a, low[a], starts[b], wide_b, low[b], table, edge, sums, spare)
        shift = low[v] - low[a] - low[b]
        first, last = max(0, -shift), min(width, wide_a + wide_b - 1 - shift)
        largest = np.float32(0)
        for i in range(width):
            messages[at + i] = 0
        for i in range(first, last):
            messages[at + i] = sums[i + shift] * likelihood[at + i]
            largest = max(largest, messages[at + i])
        scales[v] = largest
        for i in range(width):
            messages[at + i] = messages[at + i] / largest if largest > 0 else np.float32(1)


@compiled
def downward(
    kids: Array,
    levels: Array,
    sizes: Array,
    low: Array,
    high: Array,
    starts: Array,
    dense: Array,
    inside: Array,
    noise: Array,
    likelihood: Array,
    tables: Array,
    edges: Array,
    messages: Array,
    scales: Array,
    outer: Array,
    means: Array,
    cut: float,
    small: Array,
    large: Array,
    sums: Array,
    spare: Array,
) -> None:
    """Each node's posterior mean; narrows the windows to posterior probabilities of at least *cut*, counts splits."""
    nodes, leaves = len(low), len(low) - len(kids)
    outer[starts[nodes - 1] :] = 1
    for v in range(nodes - 1, -1, -1):
        at, width, own_low = starts[v], starts[v + 1] - starts[v], low[v]
        total = _settle(v, outer, messages, at, width, low, high, means, cut) if dense[v] < 2 else 1.0
        if v < leaves:
            continue
        a, b = kids[v - leaves, 0], kids[v - leaves, 1]
        if dense[v] > 0:
            surplus = (means[v] - inside[a] - inside[b]) / (noise[a] + noise[b])
            means[a], means[b] = inside[a] + noise[a] * surplus, inside[b] + noise[b] * surplus
            large[levels[v], sizes[v], -1] += 1
            continue
        wide_a, wide_b = starts[a + 1] - starts[a], starts[b + 1] - starts[b]
        if scales[v] == 0:
            for i in range(wide_a):
                outer[starts[a] + i] = 1
            for i in range(wide_b):
                outer[starts[b] + i] = 1
            continue
        factor = np.float32(1 / (total * scales[v]))
        shift = own_low - low[a] - low[b]
        for i in range(wide_a + wide_b - 1):
            sums[i] = 0
        for i in range(max(0, -shift), min(width, wide_a + wide_b - 1 - shift)):
            sums[i + shift] = outer[at + i] * likelihood[at + i] * factor
        table, edge = tables[levels[v]], edges[levels[v], sizes[v]]
        part(outer, starts[a], wide_a, low[a], messages, starts[b], wide_b, low[b], table, edge, sums, spare)
        part(outer, starts[b], wide_b, low[b], messages, starts[a], wide_a, low[a], table, edge, sums, spare)
        if cut > 0:
            large_v = large[levels[v], sizes[v]]
            count(
                messages, starts[a], wide_a, low[a], starts[b], wide_b, low[b], table, edge, sums, small[levels[v]], large_v
            )


@compiled
def _settle(
    v: int, outer: Array, messages: Array, at: int, width: int, low: Array, high: Array, means: Array, cut: float
) -> float:
    """The posterior mean of one node, and the window that is left of it; returns the sum of the posterior weights."""
    total = first = 0.0
    for i in range(width):
        weight = outer[at + i] * messages[at + i]
        total += weight
        first += weight * i
    if not 0 < total < np.inf:
        total = first = 0.0
        for i in range(width):
            outer[at + i] = 1
            total += messages[at + i]
            first += messages[at + i] * i
    means[v] = low[v] + first / total
    if cut > 0:
        least = np.float32(cut * total)
        begin, end = at, at + width - 1
        while begin < end and outer[begin] * messages[begin] < least:
            begin += 1
        while begin < end and outer[end] * messages[end] < least:
            end -= 1
        high[v] = low[v] + end - at
        low[v] += begin - at
    return total


@compiled
def tabulate(weights: Array, splits: Array, edge_splits: Array, bucket: Array, tables: Array, edges: Array) -> None:
    """The prior of each level: the components of the splits, mixed with their weights."""
    for level in range(len(weights)):
        for left in range(len(splits)):
            for right in range(left + 1):
                mixed = 0.0
                for c in range(weights.shape[2]):
                    mixed += weights[level, bucket[left + right], c] * splits[left, right, c]
                tables[level, left, right] = tables[level, right, left] = mixed
        for size in range(weights.shape[1]):
            for small in range(edge_splits.shape[1]):
                mixed = 0.0
                for c in range(weights.shape[2]):
                    mixed += weights[level, size, c] * edge_splits[size, small, c]
                edges[level, size, small] = mixed


@compiled
def responsibilities(
    weights: Array, splits: Array, edge_splits: Array, bucket: Array, tables: Array, edges: Array, small: Array, large: Array
) -> Array:
    """How many splits each component made, by level and size of the whole: the expectation step."""
    found = np.zeros_like(weights)
    for level in range(len(weights)):
        for left in range(len(splits)):
            for right in range(left + 1):
                number = small[level, left, right] + (small[level, right, left] if left != right else 0)
                if number > 1e-7 and left + right > 1:  # whole counts of 0 and 1 split alike under all components
                    for c in range(weights.shape[2]):
                        b = bucket[left + right]
                        found[level, b, c] += (
                            number / tables[level, left, right] * weights[level, b, c] * splits[left, right, c]
                        )
        for b in range(weights.shape[1]):
            for s in range(edge_splits.shape[1]):
                if large[level, b, s] > 1e-7:
                    for c in range(weights.shape[2]):
                        found[level, b, c] += large[level, b, s] / edges[level, b, s] * weights[level, b, c] * edge_splits[b, s, c]
    return found
