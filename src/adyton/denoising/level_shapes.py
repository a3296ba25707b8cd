"""What the cells of a level look like, learnt from the noisy counts: parts that several estimators share.

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


def distribution(counts: Reals, base: Reals, belief: float) -> Reals:
    """Counts of the levels, smoothed by [1 2 1]/4, with *belief* cells' worth of the base distribution, as shares of 1.

    The empty level is not smoothed.
    """
    shares = np.empty_like(counts)
    _smooth(counts, base, belief, shares)
    return shares


@compiled
def _smooth(counts: Reals, base: Reals, belief: float, shares: Reals) -> None:
    total, last = 0.0, len(counts) - 1
    for k in range(len(counts)):
        left, right = counts[k if k < 2 else k - 1], counts[k if k == last else k + 1]
        shares[k] = belief * base[k] + (0.25 * left + 0.5 * counts[k] + 0.25 * right if k > 0 else counts[0])
        total += shares[k]
    for k in range(len(counts)):
        shares[k] /= total


def first_shares(parts: int, scattered: float, spikes: float) -> Reals:
    """The shares that EM starts from, for every kind of level: its own intensity, each spread, spikes."""
    own = 1 - scattered * (parts - 1) - spikes
    return np.tile([own, *[scattered] * (parts - 1), spikes], (KINDS, 1))


def blended(tables: Reals, kind: Integers, shares: Reals, spikes: Reals) -> Reals:
    """Likelihoods, or moments, of the cells of a level, by bin and level.

    Σ_c share_c·table_c[b, k] + share of spikes·Σ_j spikes_j·table_0[b, j].
    """
    result = np.empty(tables.shape[1:])
    _blend(tables, kind, shares, spikes, result)
    return result


@compiled
def _blend(tables: Reals, kind: Integers, shares: Reals, spikes: Reals, result: Reals) -> None:
    parts, bins, levels = tables.shape
    for b in range(bins):
        spike = 0.0
        for k in range(levels):
            spike += spikes[k] * tables[0, b, k]
        for k in range(levels):
            value = shares[kind[k], parts] * spike
            for c in range(parts):
                value += shares[kind[k], c] * tables[c, b, k]
            result[b, k] = value


def relearnt(
    tables: Reals, kind: Integers, base: Reals, shares: Reals, spikes: Reals, likelihood: Reals, occupied: Reals
) -> tuple[Reals, Reals]:
    """One EM step for the shares and the spikes, given the expected number of cells by bin and level."""
    counts, heights = np.zeros_like(shares), np.zeros_like(spikes)
    _attribute(tables, kind, shares, spikes, likelihood, occupied, counts, heights)
    _pool(counts, np.empty(counts.shape[1]))
    return counts, distribution(heights, base, SPIKE_CELLS)


@compiled
def _pool(counts: Reals, pooled: Reals) -> None:
    """Turn counts by kind of level and part into shares that are drawn towards those of all kinds together."""
    kinds, parts = counts.shape
    total = 0.0
    for c in range(parts):
        pooled[c] = 0.5 if c < parts - 1 else 0.5 * SPIKES / SCATTERED
        for g in range(kinds):
            pooled[c] += counts[g, c]
        total += pooled[c]
    for g in range(kinds):
        size = CELLS
        for c in range(parts):
            size += counts[g, c]
        for c in range(parts):
            counts[g, c] = (counts[g, c] + CELLS * pooled[c] / total) / size


@compiled
def _attribute(
    tables: Reals,
    kind: Integers,
    shares: Reals,
    spikes: Reals,
    likelihood: Reals,
    occupied: Reals,
    counts: Reals,
    heights: Reals,
) -> None:
    """Add up how many cells of each kind of level are of each part, and how high the spikes among them are."""
    parts, bins, levels = tables.shape
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
