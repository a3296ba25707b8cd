"""The hidden chain of intensities, compiled: forward and backward passes over blocks of cells."""

from __future__ import annotations

import numpy as np

from adyton.compiling import compiled
from adyton.inference.intensities import Integers, Reals


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
    mean: Reals,
    evidence: Reals,
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
