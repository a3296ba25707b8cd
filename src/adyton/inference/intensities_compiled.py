"""What the cells of a level look like, learnt from the noisy counts: compiled parts that several estimators share.

A cell of level k has its level's own intensity; or one scattered around it (the spreads of ``Intensities``); or it is a
spike, whose intensity comes from one distribution for all levels. The shares of these are learnt for each kind of
level.
"""

from __future__ import annotations

import numpy as np

from adyton.compiling import compiled
from adyton.inference.intensities import Integers, Reals

KINDS = 3
SCATTERED, SPIKES = 0.01, 0.0001
"""What the shares start from. Spikes start rare: a generous start finds spikes in plain noise."""
CELLS, SPIKE_CELLS = 2.0, 10.0
"""Cells' worth of belief in the pooled shares, and in the base distribution of spikes."""


@compiled
def smoothed(counts: Reals) -> Reals:
    """Weights [1 2 1]/4 over neighbouring intensities; the empty level keeps its own."""
    result = counts.copy()
    last = counts.size - 1
    for k in range(2, last):
        result[k] = 0.25 * counts[k - 1] + 0.5 * counts[k] + 0.25 * counts[k + 1]
    result[1] = 0.75 * counts[1] + 0.25 * counts[2]
    result[last] = 0.75 * counts[last] + 0.25 * counts[last - 1]
    return result


@compiled
def first_shares(parts: int, scattered: float, spikes: float) -> Reals:
    """The shares that EM starts from, for every kind of level: its own intensity, each spread, spikes."""
    shares = np.full((KINDS, parts + 1), scattered)
    shares[:, parts] = spikes
    shares[:, 0] = 1 - scattered * (parts - 1) - spikes
    return shares


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
    counts = np.zeros_like(shares)
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
    pooled = np.zeros(parts + 1)
    for c in range(parts + 1):
        pooled[c] = 0.5 if c < parts else 0.5 * SPIKES / SCATTERED
        for g in range(KINDS):
            pooled[c] += counts[g, c]
    pooled /= pooled.sum()
    for g in range(KINDS):
        counts[g] += CELLS * pooled
        counts[g] /= counts[g].sum()
    heights = smoothed(heights) + SPIKE_CELLS * base
    return counts, heights / heights.sum()
