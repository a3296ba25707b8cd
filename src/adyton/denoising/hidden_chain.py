"""A hidden chain of levels with change points: forward and backward passes over blocks of cells."""

from __future__ import annotations

from adyton.arrays import Integers, Reals
from adyton.compiling import compiled


@compiled
def forward(
    bins: Integers,
    restarts: Reals,
    evidence: Reals,
    chances: Reals,
    rates: Reals,
    rows: Reals,
    sizes: Reals,
    spare: Reals,
) -> None:
    """Filter one block of cells: ``rows[i + 1]`` becomes the filtered vector of cell i, of sum ``sizes[i + 1]``.

    The vector before the block is in ``rows[0]`` and ``sizes[0]``. Every row ends with a zero, and so does
    *spare*, which the loops write to. Cell i starts afresh with chance ``restarts[i]``; otherwise it moves as every
    cell does: stays, drifts to either side, or starts afresh. *chances* hold for each level those to stay there and to
    arrive there by a fresh start; *rates* those of a drift and of a fresh start.
    """
    stay, arrivals, drift, change = chances[0], chances[1], rates[0], rates[1]
    levels, current = stay.size, spare
    for k in range(levels):
        current[k] = rows[0, k]
    for i in range(bins.size):
        row, new, usual, size = evidence[bins[i]], rows[i + 1], 1 - restarts[i], 0.0
        scale, fresh = usual / sizes[i], restarts[i] + usual * change
        left, middle = 0.0, current[0] * scale
        for k in range(levels):
            right = current[k + 1] * scale
            value = (stay[k] * middle + drift * (left + right) + fresh * arrivals[k]) * row[k]
            current[k] = new[k] = value
            size += value
            left, middle = middle, right
        sizes[i + 1] = size


@compiled
def backward(
    bins: Integers,
    restarts: Reals,
    evidence: Reals,
    chances: Reals,
    rates: Reals,
    rows: Reals,
    sizes: Reals,
    spare: Reals,
    ahead: Reals,
    occupied: Reals,
    landed: Reals,
    starts: Reals,
) -> float:
    """Go back over one block: Σ P(usual move)·P(level before)·P(future | same level).

    *ahead* is P(later cells | level), on the scale where filtered·ahead is the posterior; it ends as that of the cell
    before the block. ``starts[i]`` becomes the posterior chance that cell i started afresh. Adds to the expected number
    of cells by bin and level, and to the weights of arrival in *landed*.
    """
    stay, arrivals, drift, change = chances[0], chances[1], rates[0], rates[1]
    levels, weighed = stay.size, spare
    same = 0.0
    for i in range(bins.size - 1, -1, -1):
        here, before, row, share = rows[i + 1], rows[i], evidence[bins[i]], occupied[bins[i]]
        scale, usual, jump, kept = 1 / sizes[i + 1], 1 - restarts[i], 0.0, 0.0
        fresh = restarts[i] + usual * change
        for k in range(levels):
            ahead[k] *= scale
            share[k] += here[k] * ahead[k]
        for k in range(levels):
            weight = row[k] * ahead[k]
            weighed[k] = weight
            jump += arrivals[k] * weight
        jump *= fresh
        left, middle = 0.0, weighed[0]
        for k in range(levels):
            right = weighed[k + 1]
            ahead[k] = usual * (stay[k] * middle + drift * (left + right)) + jump
            kept += before[k] * middle
            left, middle = middle, right
        for k in range(levels):
            landed[k] += fresh * weighed[k]
        starts[i] = jump
        same += usual * kept / sizes[i]
    return same


@compiled
def conclude(
    bins: Integers,
    restarts: Reals,
    evidence: Reals,
    chances: Reals,
    rates: Reals,
    rows: Reals,
    sizes: Reals,
    spare: Reals,
    ahead: Reals,
    mean: Reals,
    estimate: Reals,
    weight: Reals,
) -> None:
    """Go back over one block for the last time: posterior means, and how well the others predicted each cell.

    P(y_i | all other cells) = 1/Σ_k P(k | all cells)/P(y_i | k).
    """
    stay, arrivals, drift, change = chances[0], chances[1], rates[0], rates[1]
    levels, weighed = stay.size, spare
    for i in range(bins.size - 1, -1, -1):
        here, row, means, scale = rows[i + 1], evidence[bins[i]], mean[bins[i]], 1 / sizes[i + 1]
        usual, value, surprise, jump = 1 - restarts[i], 0.0, 0.0, 0.0
        for k in range(levels):
            future = ahead[k] * scale
            value += here[k] * future * means[k]
            surprise += here[k] * future / row[k]
            weighed[k] = row[k] * future
            jump += arrivals[k] * weighed[k]
        jump *= restarts[i] + usual * change
        estimate[i], weight[i] = value, 1 / surprise
        left = 0.0
        for k in range(levels):
            ahead[k] = usual * (stay[k] * weighed[k] + drift * (left + weighed[k + 1])) + jump
            left = weighed[k]
