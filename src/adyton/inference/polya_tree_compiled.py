"""The loops of the Pólya tree, compiled: from the whole domain down to the cells, one level after the other."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from adyton.compiling import compiled

Reals = npt.NDArray[np.float64]

EM_STEPS = 3
INHERITED = 0.6
"""How much of a block's mixture comes from its parent's posterior; the rest is the level's own mixture."""


@compiled
def shrink_trials(estimates: Reals, noise: Reals, spreads: Reals) -> Reals:
    """Shrink every row. ``noise[l]`` is the variance of the difference of two blocks of 2^l cells, infinite where nothing
    tells them apart; *spreads* are the τ of the mixture."""
    trials, cells = estimates.shape
    height, parts = noise.size, spreads.size
    width = 1 << height
    result = np.empty_like(estimates)
    sums, own = np.zeros(2 * width), np.zeros(2 * width)
    belief = np.empty((2 * width, parts))
    likelihood, means = np.empty((width, parts)), np.empty((width, parts))
    mixture, counts = np.empty(parts), np.empty(parts)
    for trial in range(trials):
        sums[width : width + cells] = estimates[trial]
        for node in range(width - 1, 0, -1):
            sums[node] = sums[2 * node] + sums[2 * node + 1]
        own[1] = sums[1]
        belief[1, :] = 1.0 / parts
        mixture[:] = 1.0 / parts
        for level in range(height - 1, -1, -1):
            first = width >> (level + 1)
            size = 1 << level
            blocks = min(first, (cells + 2 * size - 1) // (2 * size))  # those that hold cells
            variance = noise[level]
            if variance < np.inf:
                for i in range(blocks):
                    _compare(
                        sums, own, first + i, size, cells - 2 * size * i, variance, spreads, likelihood[i], means[i]
                    )
                for _ in range(EM_STEPS):
                    counts[:] = 1.0 / parts
                    for i in range(blocks):
                        total = 0.0
                        for part in range(parts):
                            total += _prior(mixture, belief, first + i, part) * likelihood[i, part]
                        for part in range(parts):
                            counts[part] += (1 - INHERITED) * mixture[part] * likelihood[i, part] / total
                    mixture[:] = counts / counts.sum()
            for i in range(blocks):
                node = first + i
                here = cells - 2 * size * i
                left, right = min(size, here), max(0, min(size, here - size))
                difference = own[node] * (left - right) / (left + right)
                if variance < np.inf:
                    total, mean = 0.0, 0.0
                    for part in range(parts):
                        weight = _prior(mixture, belief, node, part) * likelihood[i, part]
                        belief[2 * node, part] = weight
                        total += weight
                        mean += weight * means[i, part]
                    belief[2 * node] /= total
                    if right > 0:
                        difference += mean / total
                else:
                    belief[2 * node] = belief[node]
                belief[2 * node + 1] = belief[2 * node]
                own[2 * node] = (own[node] + difference) / 2
                own[2 * node + 1] = (own[node] - difference) / 2
        result[trial] = own[width : width + cells]
    return result


@compiled
def _prior(mixture: Reals, belief: Reals, node: int, part: int) -> float:
    return (1 - INHERITED) * mixture[part] + INHERITED * belief[node, part]


@compiled
def _compare(
    sums: Reals,
    own: Reals,
    node: int,
    size: int,
    here: int,
    variance: float,
    spreads: Reals,
    likelihood: Reals,
    means: Reals,
) -> None:
    """The likelihood of each part of the mixture for the difference of a block's halves, and the posterior mean in it.

    Both are about what the difference is more than even shares would make it; *here* cells are left from the block's
    first cell to the end of the domain.
    """
    left, right = min(size, here), max(0, min(size, here - size))
    held = max(0.0, own[node])
    excess = sums[2 * node] - sums[2 * node + 1] - sums[node] * (left - right) / (left + right)
    highest = -np.inf
    for part in range(spreads.size):
        prior = (spreads[part] * held) ** 2 + held  # τ²M² + M
        whole = prior + variance
        likelihood[part] = -0.5 * (excess * excess / whole + math.log(whole))
        means[part] = excess * (prior / whole)
        highest = max(highest, likelihood[part])
    for part in range(spreads.size):
        likelihood[part] = math.exp(likelihood[part] - highest)
