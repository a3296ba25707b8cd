"""The hidden chain of intensities, compiled: forward and backward passes, and EM for the rates of change."""

from __future__ import annotations

import numpy as np

from adyton.compiling import compiled
from adyton.inference.intensities import Integers, Reals
from adyton.inference.intensities_compiled import SCATTERED, SPIKES, blended, first_shares, relearnt, smoothed

CHANGE = 0.001
"""The rates of drift and of fresh starts before anything was seen. A large start overfits."""
ARRIVALS = 50.0
"""Cells' worth of belief in the base distribution of fresh levels."""
BLOCK = 1 << 14
"""Cells whose forward vectors are kept at once; longer chains keep one vector a block and go forward again."""


@compiled
def forward(
    bins: Integers, evidence: Reals, stay: Reals, drift: float, fresh: Reals, rows: Reals, sizes: Reals
) -> None:
    """Filter one block of cells: ``rows[i + 1]`` becomes the filtered vector of cell i, of sum ``sizes[i + 1]``.

    The vector before the block is in ``rows[0]`` and ``sizes[0]``. Every row ends with a zero.
    """
    levels = stay.size
    current = rows[0].copy()
    for i in range(bins.size):
        row, new, scale, size = evidence[bins[i]], rows[i + 1], 1 / sizes[i], 0.0
        left, middle = 0.0, current[0] * scale
        for k in range(levels):
            right = current[k + 1] * scale
            value = (stay[k] * middle + drift * (left + right) + fresh[k]) * row[k]
            current[k] = new[k] = value
            size += value
            left, middle = middle, right
        sizes[i + 1] = size


@compiled
def backward(
    bins: Integers,
    evidence: Reals,
    stay: Reals,
    drift: float,
    fresh: Reals,
    rows: Reals,
    sizes: Reals,
    ahead: Reals,
    occupied: Reals,
    landed: Reals,
) -> tuple[float, float]:
    """Go back over one block: the expected number of fresh starts, and Σ P(level before)·P(future | same level).

    *ahead* is P(later cells | level), on the scale where filtered·ahead is the posterior; it ends as that of the cell
    before the block. Adds to the expected number of cells by bin and level, and to the weights of arrival in *landed*.
    """
    levels = stay.size
    weighed = np.zeros(levels + 1)
    starts, same = 0.0, 0.0
    for i in range(bins.size - 1, -1, -1):
        here, before, row, share = rows[i + 1], rows[i], evidence[bins[i]], occupied[bins[i]]
        scale, jump, kept = 1 / sizes[i + 1], 0.0, 0.0
        for k in range(levels):
            future = ahead[k] * scale
            share[k] += here[k] * future
            weight = row[k] * future
            weighed[k] = weight
            jump += fresh[k] * weight
        left, middle = 0.0, weighed[0]
        for k in range(levels):
            right = weighed[k + 1]
            ahead[k] = stay[k] * middle + drift * (left + right) + jump
            landed[k] += middle
            kept += before[k] * middle
            left, middle = middle, right
        starts += jump
        same += kept / sizes[i]
    return starts, same


@compiled
def conclude(
    bins: Integers,
    evidence: Reals,
    mean: Reals,
    stay: Reals,
    drift: float,
    fresh: Reals,
    rows: Reals,
    sizes: Reals,
    ahead: Reals,
    estimate: Reals,
    weight: Reals,
) -> None:
    """Go back over one block for the last time: posterior means, and how well the others predicted each cell.

    P(y_i | all other cells) = 1/Σ_k P(k | all cells)/P(y_i | k).
    """
    levels = stay.size
    weighed = np.zeros(levels + 1)
    for i in range(bins.size - 1, -1, -1):
        here, row, means, scale = rows[i + 1], evidence[bins[i]], mean[bins[i]], 1 / sizes[i + 1]
        value, surprise, jump = 0.0, 0.0, 0.0
        for k in range(levels):
            future = ahead[k] * scale
            value += here[k] * future * means[k]
            surprise += here[k] * future / row[k]
            weighed[k] = row[k] * future
            jump += fresh[k] * weighed[k]
        estimate[i], weight[i] = value, 1 / surprise
        left = 0.0
        for k in range(levels):
            ahead[k] = stay[k] * weighed[k] + drift * (left + weighed[k + 1]) + jump
            left = weighed[k]


@compiled
def fitted(
    bins: Integers, tables: Reals, moments: Reals, kind: Integers, base: Reals, steps: int
) -> tuple[Reals, Reals]:
    """Fit the chain by EM; then the posterior means of the cells, and how well the other cells predicted each."""
    parts, seen, levels = tables.shape
    cells = bins.size
    blocks = (cells + BLOCK - 1) // BLOCK
    rows, sizes = np.zeros((min(cells, BLOCK) + 1, levels + 1)), np.ones(min(cells, BLOCK) + 1)
    marks, scales = np.zeros((blocks, levels + 1)), np.ones(blocks)
    estimate, weight = np.empty(cells), np.empty(cells)
    shares, spikes, arrivals = first_shares(parts, SCATTERED, SPIKES), base.copy(), base.copy()
    change = drifting = CHANGE
    for step in range(steps + 1):
        evidence = blended(tables, kind, shares, spikes)
        mean = blended(moments, kind, shares, spikes) / evidence if step == steps else evidence
        stay, drift, fresh = np.full(levels, 1 - change - drifting), drifting / 2, change * arrivals
        stay[0] += drift  # a drift off the grid stays
        stay[levels - 1] += drift
        rows[0, :levels], sizes[0] = arrivals, 1.0  # the cell before the first one: a fresh start
        for block in range(blocks):
            marks[block], scales[block] = rows[0], sizes[0]
            part = bins[block * BLOCK : (block + 1) * BLOCK]
            forward(part, evidence, stay, drift, fresh, rows, sizes)
            rows[0], sizes[0] = rows[part.size], sizes[part.size]
        ahead, occupied, landed = np.ones(levels), np.zeros((seen, levels)), np.zeros(levels)
        starts, same = 0.0, 0.0
        for block in range(blocks - 1, -1, -1):
            start, stop = block * BLOCK, min(cells, (block + 1) * BLOCK)
            rows[0], sizes[0] = marks[block], scales[block]
            if block < blocks - 1:
                forward(bins[start:stop], evidence, stay, drift, fresh, rows, sizes)
            if step < steps:
                jumps, kept = backward(
                    bins[start:stop], evidence, stay, drift, fresh, rows, sizes, ahead, occupied, landed
                )
                starts, same = starts + jumps, same + kept
            else:
                conclude(
                    bins[start:stop],
                    evidence,
                    mean,
                    stay,
                    drift,
                    fresh,
                    rows,
                    sizes,
                    ahead,
                    estimate[start:stop],
                    weight[start:stop],
                )
        if step < steps:
            drifts = max(0.0, cells - starts - (1 - change - drifting) * same)
            arrivals = smoothed(fresh * landed) + ARRIVALS * base
            arrivals /= arrivals.sum()
            change, drifting = (starts + 0.5) / (cells + 1), (drifts + 0.5) / (cells + 1)
            occupied[seen - 1] = 0  # cells above the limit say nothing about shares
            shares, spikes = relearnt(tables, kind, base, shares, spikes, evidence, occupied)
    return estimate, weight
