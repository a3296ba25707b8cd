"""How many rows nested quantiles lie beside the true ones: public scales, known before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals


def rank_scales(parts: Sequence[Fraction], epsilon: float) -> Reals:
    """For each quantile the scales of the Laplace noises that add up to its error in rows, quantiles × choices.

    Among many places, permute-and-flip chooses one that lies r rows beside with a probability that falls by
    e^(−|r|/scale), where the scale is 2·max(q, 1 − q)/(ε of the level) for the part q of the run of rows. An error of
    the run's end moves the target inside the run: by q times that of the upper one and 1 − q times that of the lower.

    >>> rank_scales([Fraction(1, 2)], 1.0).tolist()
    [[1.0]]
    >>> rank_scales([Fraction(part, 4) for part in (1, 2, 3)], 1.0).tolist()
    [[2.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 1.0, 2.0]]
    """
    count = len(parts)
    each, found = epsilon / count.bit_length(), np.zeros((count, count))
    runs = [((0, count), (Fraction(0), Fraction(1)), (np.zeros(count), np.zeros(count)))]
    while runs:
        (first, end), (below, above), (low, high) = runs.pop()
        if first == end:
            continue
        middle = (first + end) // 2
        inside = float((parts[middle] - below) / (above - below))
        found[middle] = (1 - inside) * low + inside * high
        found[middle, middle] = 2 * max(inside, 1 - inside) / each
        runs.append(((first, middle), (below, parts[middle]), (low, found[middle])))
        runs.append(((middle + 1, end), (parts[middle], above), (found[middle], high)))
    return np.abs(found)


DENSE = 3.0
"""Near a quantile there are about so many times as many rows to a cell as on average: typical of public tables."""


def rank_error(part: Fraction, scales: Reals, rows: int | None = None, cells: int | None = None) -> float:
    """The standard error in rows, at most; with so many rows, as far as there are rows on either side; with so many
    cells, of rows that share their cell with others as they typically do.

    >>> round(rank_error(Fraction(1, 2), np.array([10.0])), 1)
    14.1
    >>> round(rank_error(Fraction(1, 2), np.array([10.0]), 1000, 100), 1)
    6.8
    """
    spread = float(np.sqrt(2 * (scales**2).sum()))
    if rows is None:
        return spread
    scale = spread / math.sqrt(2)
    sides = [_side(float(side) * rows / scale) for side in (part, 1 - part)]
    far = scale * math.sqrt(sum(square for _, square in sides) / max(sum(weight for weight, _ in sides), 1e-300))
    return far if cells is None else far * _shared(DENSE * rows / cells / scale)


def _shared(width: float) -> float:
    """The error where cells hold rows worth so many scales, in times that where every row has a cell of its own.

    The quantile may lie anywhere in its own cell, which is chosen with the weight e^depth; one k cells away has the
    weight e^(−distance), and is off by the distance.
    """
    if width < 1e-3:
        return 1.0
    inside = (np.arange(64) + 0.5) / 64 * width
    steps = np.arange(1, 2 + math.ceil(40 / width))[:, None] * width
    own = np.exp(np.minimum(np.minimum(inside, width - inside), 300))
    squares, weights = np.zeros(64), own
    for far in (steps - inside, steps - (width - inside)):
        squares = squares + (far**2 * np.exp(-far)).sum(axis=0)
        weights = weights + np.exp(-far).sum(axis=0)
    return float(np.sqrt(np.mean(squares / weights) / 2))


def _side(far: float) -> tuple[float, float]:
    """∫ e^(−r) and ∫ r²·e^(−r) from 0 to *far*."""
    if far > 700:
        return 1.0, 2.0
    if far < 1e-4:
        return far, far**3 / 3
    return -math.expm1(-far), 2 - math.exp(-far) * (far * far + 2 * far + 2)
