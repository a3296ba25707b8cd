"""What the cells of a level look like, learnt from the noisy counts: compiled parts that several estimators share.

A cell of level k has its level's own intensity; or one scattered around it (the spreads of ``Intensities``); or it is a
spike, whose intensity comes from one distribution for all levels. The shares of these are learnt for each kind of
level.
"""

from __future__ import annotations

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.compiling import compiled

KINDS = 3
SCATTERED, SPIKES = 0.01, 0.0001
"""What the shares start from. Spikes start rare: a generous start finds spikes in plain noise."""
CELLS, SPIKE_CELLS = 2.0, 10.0
"""Cells' worth of belief in the pooled shares, and in the base distribution of spikes."""


@compiled
def distribution(counts: Reals, base: Reals, belief: float) -> Reals:
    """Counts of the levels, smoothed by [1 2 1]/4, with *belief* cells' worth of the base distribution, as shares of 1.

    The empty level is not smoothed.
    """
    result, total, last = np.empty_like(counts), 0.0, counts.size - 1
    for k in range(counts.size):
        left, right = counts[k if k == 1 else k - 1], counts[min(k + 1, last)]
        result[k] = belief * base[k] + (0.25 * left + 0.5 * counts[k] + 0.25 * right if k > 0 else counts[0])
        total += result[k]
    for k in range(counts.size):
        result[k] /= total
    return result


def first_shares(parts: int, scattered: float, spikes: float) -> Reals:
    """The shares that EM starts from, for every kind of level: its own intensity, each spread, spikes."""
    own = 1 - scattered * (parts - 1) - spikes
    return np.tile([own, *[scattered] * (parts - 1), spikes], (KINDS, 1))


@compiled
def blended(tables: Reals, kind: Integers, shares: Reals, spikes: Reals) -> Reals:
    """Likelihoods, or moments, of the cells of a level, by bin and level.

    Σ_c share_c·table_c[b, k] + share of spikes·Σ_j spikes_j·table_0[b, j].
    """
    parts, bins, levels = tables.shape
    result = np.empty((bins, levels))
    for b in range(bins):
        spike = 0.0
        for k in range(levels):
            spike += spikes[k] * tables[0, b, k]
        for k in range(levels):
            value = shares[kind[k], parts] * spike
            for c in range(parts):
                value += shares[kind[k], c] * tables[c, b, k]
            result[b, k] = value
    return result


@compiled
def relearnt(
    tables: Reals, kind: Integers, base: Reals, shares: Reals, spikes: Reals, likelihood: Reals, occupied: Reals
) -> tuple[Reals, Reals]:
    """One EM step for the shares and the spikes, given the expected number of cells by bin and level."""
    parts, bins, levels = tables.shape
    counts = np.zeros((KINDS, parts + 1))
    heights = np.zeros(levels)
    for b in range(bins):
        spike, weight = 0.0, 0.0
        for k in range(levels):
            spike += spikes[k] * tables[0, b, k]
        for k in range(levels):
            density = occupied[b, k] / likelihood[b, k]
            for c in range(parts):
                counts[kind[k], c] += density * shares[kind[k], c] * tables[c, b, k]
            weight += density * shares[kind[k], parts]
            counts[kind[k], parts] += density * shares[kind[k], parts] * spike
        for k in range(levels):
            heights[k] += weight * spikes[k] * tables[0, b, k]
    total = 0.0
    pooled = np.empty(parts + 1)
    for c in range(parts + 1):
        pooled[c] = 0.5 if c < parts else 0.5 * SPIKES / SCATTERED
        for g in range(KINDS):
            pooled[c] += counts[g, c]
        total += pooled[c]
    for g in range(KINDS):
        size = CELLS
        for c in range(parts + 1):
            size += counts[g, c]
        for c in range(parts + 1):
            counts[g, c] = (counts[g, c] + CELLS * pooled[c] / total) / size
    return counts, distribution(heights, base, SPIKE_CELLS)
