"""Empirical Bayes on a binary tree: how unevenly blocks divide is learnt from the noisy tree itself."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.compiling import compiled
from adyton.denoising.level_noise import LevelNoise, level_noise

SPREADS = (0.0, 0.1, 0.3, 1.0)
"""The τ of the mixture: from blocks whose halves differ by chance alone to blocks where all may be on one side."""
EM_STEPS = 3
INHERITED = 0.6
"""How much of a block's mixture is its parent's posterior; the rest is the level's own mixture."""


def polya_tree(estimate: npt.ArrayLike, block_sizes: Sequence[int], variances: Sequence[float]) -> Reals:
    """Shrink a least-squares estimate from the levels of a tree: the differences between halves of blocks, top-down.

    Measured were the blocks of each of *block_sizes* (powers of two, ascending), with noise of the given *variances*.
    Then the difference d̂ of a block's halves has independent noise of a known variance S². A block of M rows is thought
    to divide with d ~ Σ_k π_k·N(0, τ_k²M² + M): rows fall on either side by chance (M), and the halves are unequal by a
    factor τ of their sum. Each component gives the posterior mean d̂·v/(v + S²). The weights π are fitted to each level
    by EM and mixed with the posterior of the parent, because even regions have even parts (after Ferguson, "Prior
    distributions on spaces of probability measures", 1974, and Kolaczyk, "Bayesian multiscale models for Poisson
    processes", 1999). Sums are kept on the way down, and nothing is cut off at 0: that would push sums upwards.
    Cells are along the last axis.

    >>> polya_tree([4.0, 6.0, 5.0, 5.0, 101.0, 99.0, 300.0, 100.0], [1], [50.0]).round(1).tolist()
    [4.8, 5.4, 5.1, 5.1, 100.9, 99.2, 299.5, 100.1]
    """
    noise = level_noise(estimate, block_sizes, variances)
    shrunk = np.empty_like(noise.estimate)
    for place in np.ndindex(shrunk.shape[:-1]):
        shrunk[place] = _shrunk(noise.estimate[place], noise)
    return shrunk


def _shrunk(cells: Reals, noise: LevelNoise) -> Reals:
    """From the whole domain down to the cells. Block 1 is the domain, the halves of block v are 2v and 2v + 1."""
    height, parts, spreads = (cells.size - 1).bit_length(), len(SPREADS), np.array(SPREADS)
    width = 1 << height
    sums, shrunk, belief = np.zeros(2 * width), np.empty(2 * width), np.empty((2 * width, parts))
    sums[width : width + cells.size] = cells
    for level in range(height):
        first = width >> level
        sums[first // 2 : first] = sums[first : 2 * first : 2] + sums[first + 1 : 2 * first : 2]
    mixture, likelihood, means = np.full(parts, 1 / parts), np.empty((width, parts)), np.empty((width, parts))
    shrunk[1], belief[1] = sums[1], mixture
    for level in range(height - 1, -1, -1):
        size, first = 1 << level, width >> (level + 1)
        blocks = -(-cells.size // (2 * size))  # those that hold cells
        held = cells.size - 2 * size * (blocks - 1)  # by the last of them, whose halves may be unequal
        uneven = (2 * min(size, held) - held) / held
        variance = 2 * noise.sum_variance(size)
        inherited = INHERITED if variance < np.inf else 1.0
        if variance < np.inf:
            _compare(sums, shrunk, first, blocks, uneven, variance, spreads, likelihood, means)
            _fit(mixture, belief, first, blocks, likelihood, np.empty(parts))
        else:
            likelihood[:blocks], means[:blocks] = 1, 0
        _divide(shrunk, belief, first, blocks, uneven, mixture, likelihood, means, inherited)
    return shrunk[width : width + cells.size]


@compiled
def _compare(
    sums: Reals,
    shrunk: Reals,
    first: int,
    blocks: int,
    uneven: float,
    variance: float,
    spreads: Reals,
    likelihood: Reals,
    means: Reals,
) -> None:
    """The likelihood of each part of the mixture for the difference of each block's halves, and the posterior mean in
    it; both are about what the difference is more than even shares would make it."""
    for i in range(blocks):
        node, highest = first + i, -np.inf
        held = shrunk[node] if shrunk[node] > 0 else 0.0
        excess = sums[2 * node] - sums[2 * node + 1] - sums[node] * (uneven if i == blocks - 1 else 0.0)
        for part in range(len(spreads)):
            prior = (spreads[part] * held) * (spreads[part] * held) + held  # τ²M² + M
            whole = prior + variance
            likelihood[i, part] = -0.5 * (excess * excess / whole + math.log(whole))
            means[i, part] = excess * (prior / whole)
            highest = max(highest, likelihood[i, part])
        for part in range(len(spreads)):
            likelihood[i, part] = math.exp(likelihood[i, part] - highest)


@compiled
def _fit(mixture: Reals, belief: Reals, first: int, blocks: int, likelihood: Reals, counts: Reals) -> None:
    """Fit the level's own mixture by EM, from that of the level above; one block's worth of belief is even."""
    for _ in range(EM_STEPS):
        for part in range(len(mixture)):
            counts[part] = 1.0 / len(mixture)
        for i in range(blocks):
            total = 0.0
            for part in range(len(mixture)):
                total += ((1 - INHERITED) * mixture[part] + INHERITED * belief[first + i, part]) * likelihood[i, part]
            for part in range(len(mixture)):
                counts[part] += (1 - INHERITED) * mixture[part] * likelihood[i, part] / total
        total = 0.0
        for part in range(len(mixture)):
            total += counts[part]
        for part in range(len(mixture)):
            mixture[part] = counts[part] / total


@compiled
def _divide(
    shrunk: Reals,
    belief: Reals,
    first: int,
    blocks: int,
    uneven: float,
    mixture: Reals,
    likelihood: Reals,
    means: Reals,
    inherited: float,
) -> None:
    """Divide each block between its halves by the posterior mean of their difference, and hand its posterior down."""
    for i in range(blocks):
        node, total, mean = first + i, 0.0, 0.0
        for part in range(len(mixture)):
            weight = ((1 - inherited) * mixture[part] + inherited * belief[node, part]) * likelihood[i, part]
            belief[2 * node, part] = weight
            total += weight
            mean += weight * means[i, part]
        for part in range(len(mixture)):
            belief[2 * node, part] /= total
            belief[2 * node + 1, part] = belief[2 * node, part]
        even = uneven if i == blocks - 1 else 0.0
        difference = shrunk[node] * even + (mean / total if even < 1 else 0.0)
        shrunk[2 * node] = (shrunk[node] + difference) / 2
        shrunk[2 * node + 1] = (shrunk[node] - difference) / 2
