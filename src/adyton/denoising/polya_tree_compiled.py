"""The loops of the Pólya tree, compiled: from the whole domain down to the cells, one level after the other.

Block 1 is the whole domain, the halves of block v are 2v and 2v + 1.
"""

from __future__ import annotations

import math

import numpy as np

from adyton.arrays import Reals
from adyton.compiling import compiled

EM_STEPS = 3
INHERITED = 0.6
"""How much of a block's mixture is its parent's posterior; the rest is the level's own mixture."""


@compiled
def shrink_trials(estimates: Reals, noise: Reals, spreads: Reals) -> Reals:
    """Shrink every row.

    ``noise[l]`` is the variance of the difference of two blocks of 2^l cells, infinite where nothing tells them apart;
    *spreads* are the τ of the mixture.
    """
    trials, cells = estimates.shape
    height, parts = noise.size, spreads.size
    width = 1 << height
    result = np.empty_like(estimates)
    sums, shrunk = np.zeros(2 * width), np.zeros(2 * width)
    belief, mixture = np.empty((2 * width, parts)), np.empty(parts)
    likelihood, means = np.empty((width, parts)), np.empty((width, parts))
    for trial in range(trials):
        sums[width : width + cells] = estimates[trial]
        for node in range(width - 1, 0, -1):
            sums[node] = sums[2 * node] + sums[2 * node + 1]
        shrunk[1] = sums[1]
        belief[1] = 1.0 / parts
        mixture[:] = 1.0 / parts
        for level in range(height - 1, -1, -1):
            first = width >> (level + 1)
            blocks = first - ((width - cells) >> (level + 1))  # those that hold cells
            if noise[level] < np.inf:
                compare(sums, shrunk, first, blocks, cells, level, noise[level], spreads, likelihood, means)
                fit(mixture, belief, first, blocks, likelihood)
            else:
                likelihood[:blocks] = 1.0
                means[:blocks] = 0.0
            divide(shrunk, belief, first, blocks, cells, level, mixture, likelihood, means, noise[level] < np.inf)
        result[trial] = shrunk[width : width + cells]
    return result


@compiled
def even_part(place: int, level: int, cells: int) -> float:
    """The difference of a block's halves in cells, by their sum: 0, except for the last block of a level."""
    size = 1 << level
    left = min(size, cells - 2 * size * place)
    right = max(0, min(size, cells - 2 * size * place - size))
    return (left - right) / (left + right)


@compiled
def compare(
    sums: Reals,
    shrunk: Reals,
    first: int,
    blocks: int,
    cells: int,
    level: int,
    variance: float,
    spreads: Reals,
    likelihood: Reals,
    means: Reals,
) -> None:
    """The likelihood of each part of the mixture for the difference of each block's halves, and the posterior mean in
    it; both are about what the difference is more than even shares would make it."""
    for i in range(blocks):
        node = first + i
        held = max(0.0, shrunk[node])
        excess = sums[2 * node] - sums[2 * node + 1] - sums[node] * even_part(i, level, cells)
        highest = -np.inf
        for part in range(spreads.size):
            prior = (spreads[part] * held) ** 2 + held  # τ²M² + M
            whole = prior + variance
            likelihood[i, part] = -0.5 * (excess * excess / whole + math.log(whole))
            means[i, part] = excess * (prior / whole)
            highest = max(highest, likelihood[i, part])
        for part in range(spreads.size):
            likelihood[i, part] = math.exp(likelihood[i, part] - highest)


@compiled
def fit(mixture: Reals, belief: Reals, first: int, blocks: int, likelihood: Reals) -> None:
    """Fit the level's own mixture by EM, from that of the level above; one block's worth of belief is even."""
    parts = mixture.size
    counts = np.empty(parts)
    for _ in range(EM_STEPS):
        counts[:] = 1.0 / parts
        for i in range(blocks):
            total = 0.0
            for part in range(parts):
                total += ((1 - INHERITED) * mixture[part] + INHERITED * belief[first + i, part]) * likelihood[i, part]
            for part in range(parts):
                counts[part] += (1 - INHERITED) * mixture[part] * likelihood[i, part] / total
        mixture[:] = counts / counts.sum()


@compiled
def divide(
    shrunk: Reals,
    belief: Reals,
    first: int,
    blocks: int,
    cells: int,
    level: int,
    mixture: Reals,
    likelihood: Reals,
    means: Reals,
    known: bool,
) -> None:
    """Divide each block between its halves by the posterior mean of their difference, and hand its posterior down."""
    for i in range(blocks):
        node = first + i
        total, mean = 0.0, 0.0
        for part in range(mixture.size):
            weight = belief[node, part]
            if known:
                weight = ((1 - INHERITED) * mixture[part] + INHERITED * weight) * likelihood[i, part]
            belief[2 * node, part] = weight
            total += weight
            mean += weight * means[i, part]
        for part in range(mixture.size):
            belief[2 * node, part] /= total
            belief[2 * node + 1, part] = belief[2 * node, part]
        even = even_part(i, level, cells)
        difference = shrunk[node] * even + (mean / total if even < 1 else 0.0)
        shrunk[2 * node] = (shrunk[node] + difference) / 2
        shrunk[2 * node + 1] = (shrunk[node] - difference) / 2
