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
def shrink(low: Array, high: Array, old_low: Array, dense: Array, starts: Array, likelihood: Array) -> None:
    """Move what is left of each window to the front."""
    end = 0
    for v in range(len(low)):
        begin = starts[v] + low[v] - old_low[v]
        starts[v] = end
        if dense[v] < 2:
            for i in range(begin, begin + high[v] - low[v] + 1):
                likelihood[end] = likelihood[i]
                end += 1
    starts[len(low)] = end


@compiled
def likelihoods(answers: Array, rates: Array, low: Array, starts: Array, likelihood: Array) -> None:
    """exp(-rate·|count - answer|) over each window, relative to the best count in it; 1 where nothing was measured."""
    for v in range(len(answers)):
        window = likelihood[starts[v] : starts[v + 1]]
        width, own = len(window), answers[v] - low[v]
        if rates[v] == 0 or width == 0:
            window[:] = 1
            continue
        centre = int(min(max(np.rint(own), 0.0), width - 1.0))
        step, beside = np.exp(-rates[v]), centre + 1 if own >= centre else centre - 1
        window[centre] = 1
        if 0 <= beside < width:
            window[beside] = np.exp(-rates[v] * (abs(beside - own) - abs(centre - own)))
        for i in range(max(centre, beside) + 1, width):
            window[i] = window[i - 1] * step
        for i in range(min(centre, beside) - 1, -1, -1):
            window[i] = window[i + 1] * step


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
    """For each node and count, the likelihood of all that was measured inside it, relative to the best count.

    For a parent of a and b it is the own likelihood times Σ a(l)·b(r)·p(l, r | l + r) over l + r = the count, with p
    from the table where both are below its size, and by the smaller one elsewhere. (Unsigned places spare the test for
    negative ones, without which the inner loops are vectorised.)
    """
    leaves, limit = len(low) - len(kids), tables.shape[1]
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
        a, b, level, size = kids[v - leaves, 0], kids[v - leaves, 1], levels[v], sizes[v]
        start_a, wide_a, low_a = starts[a], starts[a + 1] - starts[a], low[a]
        start_b, wide_b, low_b = starts[b], starts[b + 1] - starts[b], low[b]
        few_a, few_b = min(wide_a, max(0, limit - low_a)), min(wide_b, max(0, limit - low_b))
        for i in range(wide_a + wide_b - 1):
            sums[i] = 0
        for i in range(few_a):
            value, row = messages[start_a + i], low_a + i
            for r in range(few_b):
                split = tables[level, row, np.uint64(low_b + r)]
                sums[np.uint64(i + r)] += value * messages[np.uint64(start_b + r)] * split
            value *= edges[level, size, row]
            for r in range(few_b, wide_b):
                sums[np.uint64(i + r)] += value * messages[np.uint64(start_b + r)]
        if few_a < wide_a:
            for r in range(wide_b):
                spare[r] = messages[start_b + r] * edges[level, size, min(low_b + r, limit)]
            for i in range(few_a, wide_a):
                value = messages[start_a + i]
                for r in range(wide_b):
                    sums[np.uint64(i + r)] += value * spare[np.uint64(r)]
        shift = low[v] - low_a - low_b
        largest = np.float32(0)
        for i in range(at, at + width):
            messages[i] = 0
        for i in range(max(0, -shift), min(width, wide_a + wide_b - 1 - shift)):
            messages[at + i] = sums[i + shift] * likelihood[at + i]
            largest = max(largest, messages[at + i])
        scales[v] = largest
        for i in range(at, at + width):
            messages[i] = messages[i] / largest if largest > 0 else np.float32(1)


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
    """Each node's posterior mean; narrows the windows to posterior probabilities of at least *cut*, counts splits.

    ``outer`` is the likelihood of all that was measured elsewhere: with g the parent's own likelihood times its outer
    one, that of l in a is Σ_r g(l + r)·b(r)·p(l, r | l + r). A split (l, r) is counted with its posterior probability
    in *small*, or where only one part is small under that one in *large*.
    """
    nodes, leaves, limit = len(low), len(low) - len(kids), tables.shape[1]
    for i in range(starts[nodes - 1], starts[nodes]):
        outer[i] = 1
    for v in range(nodes - 1, -1, -1):
        at, width, own_low = starts[v], starts[v + 1] - starts[v], low[v]
        total = first = 0.0
        for i in range(width):
            weight = outer[at + i] * messages[at + i]
            total += weight
            first += weight * i
        if width > 0 and not 0 < total < np.inf:
            total = first = 0.0
            for i in range(width):
                outer[at + i] = 1
                total += messages[at + i]
                first += messages[at + i] * i
        if width > 0:
            means[v] = own_low + first / total
            least = np.float32(cut * total)
            begin, end = at, at + width - 1
            while begin < end and outer[begin] * messages[begin] < least:
                begin += 1
            while begin < end and outer[end] * messages[end] < least:
                end -= 1
            low[v], high[v] = own_low + begin - at, own_low + end - at
        if v < leaves:
            continue
        a, b, level, size = kids[v - leaves, 0], kids[v - leaves, 1], levels[v], sizes[v]
        if dense[v] > 0:
            surplus = (means[v] - inside[a] - inside[b]) / (noise[a] + noise[b])
            means[a], means[b] = inside[a] + noise[a] * surplus, inside[b] + noise[b] * surplus
            large[level, size, limit] += 1
            continue
        start_a, wide_a, low_a = starts[a], starts[a + 1] - starts[a], low[a]
        start_b, wide_b, low_b = starts[b], starts[b + 1] - starts[b], low[b]
        start = np.float32(0 if scales[v] > 0 else 1)
        for i in range(start_a, start_a + wide_a):
            outer[i] = start
        for i in range(start_b, start_b + wide_b):
            outer[i] = start
        if scales[v] == 0:
            continue
        factor = np.float32(1 / (total * scales[v]))
        shift = own_low - low_a - low_b
        for i in range(wide_a + wide_b - 1):
            sums[i] = 0
        for i in range(max(0, -shift), min(width, wide_a + wide_b - 1 - shift)):
            sums[i + shift] = outer[at + i] * likelihood[at + i] * factor
        few_a, few_b = min(wide_a, max(0, limit - low_a)), min(wide_b, max(0, limit - low_b))
        for i in range(few_a):
            value, row, mass = messages[start_a + i], low_a + i, np.float32(0)
            for r in range(few_b):
                column = np.uint64(low_b + r)
                split = sums[np.uint64(i + r)] * tables[level, row, column]
                found = split * messages[np.uint64(start_b + r)]
                mass += found
                outer[np.uint64(start_b + r)] += value * split
                small[level, row, column] += value * found
            outer[start_a + i] = mass
        if few_b < wide_b:
            edge = edges[level, size]
            for r in range(wide_a):
                spare[r] = 0
            for i in range(few_b, wide_b):
                value = messages[start_b + i]
                for r in range(wide_a):
                    spare[np.uint64(r)] += value * sums[np.uint64(i + r)]
            for r in range(wide_a):
                found = spare[r] * edge[min(low_a + r, limit)]
                outer[start_a + r] += found
                large[level, size, min(low_a + r, limit)] += found * messages[start_a + r]
            for i in range(few_a):
                value = messages[start_a + i] * edge[low_a + i]
                for r in range(few_b, wide_b):
                    outer[np.uint64(start_b + r)] += value * sums[np.uint64(i + r)]
        if few_a < wide_a:
            edge = edges[level, size]
            for r in range(wide_b):
                spare[r] = 0
            for i in range(few_a, wide_a):
                value = messages[start_a + i]
                for r in range(wide_b):
                    spare[np.uint64(r)] += value * sums[np.uint64(i + r)]
            for r in range(wide_b):
                found = spare[r] * edge[min(low_b + r, limit)]
                outer[start_b + r] += found
                if r < few_b:
                    large[level, size, low_b + r] += found * messages[start_b + r]
            for i in range(few_b):
                value = messages[start_b + i] * edge[low_b + i]
                for r in range(few_a, wide_a):
                    outer[np.uint64(start_a + r)] += value * sums[np.uint64(i + r)]


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
