"""The errors of counts, means and variances that come from noise at points: public, known before anything is spent."""

from __future__ import annotations

import functools
import math

import numpy as np

from adyton.arrays import Reals
from adyton.statistics.asked import Asked

_TYPICAL = 0.25
"""Where between the bounds a mean is taken to lie for the errors of variances."""
_NODES = 48
"""Of each of two noises, so many values stand for all."""
_PLACES = (0.05, 0.15, 0.3, 0.5)
"""Where means are taken to lie when groups are small."""


def moment_errors(asked: Asked, places: Reals, squares: Reals, epsilon: float) -> dict[str, float]:
    """The standard errors that come from noise of the scale 1/ε at points: of a count, and of moments times rows.

    That of a mean depends on where it lies between the bounds: it is least in the middle and largest at a bound, for
    two points 1.41 times as large. What is told lies between, as far in times from either: within 19% wherever it is.
    """
    width, noise, place = asked.grid.width, math.sqrt(2) / epsilon, _TYPICAL
    spread = place * (1 - place) / 2  # half of what it can be at most
    moved = squares - 2 * place * places + place**2 - spread
    variance = width**2 * noise * float(np.sqrt((moved**2).sum()))
    least, most = (float(np.sqrt(((places - at) ** 2).sum())) for at in (0.5, 0.0))
    small = 1.0 if asked.task.rows is None else _of_small_groups(asked.task.rows * epsilon / math.sqrt(places.size / 2))
    return {
        "count": noise * math.sqrt(places.size),
        "mean": width * noise * math.sqrt(least * most) * small,
        "variance": variance,
        "deviation": variance / (2 * width * math.sqrt(spread)),
    }


@functools.lru_cache(maxsize=4096)
def _of_small_groups(rows: float) -> float:
    """The error of a mean of so many rows, in scales of noise, in times what it would be if noise were small.

    The mean is a ratio of two noisy numbers that is cut off at the bounds: of few rows it is off by more than the noise
    says, and of hardly any by less, since nothing is beyond the bounds. The noise is followed through, value by value.
    """
    if rows > 200:
        return 1.0
    parts = (np.arange(_NODES) + 0.5) / _NODES
    values = np.sign(parts - 0.5) * -np.log1p(-np.abs(2 * parts - 1))  # of a Laplace noise
    low, high = np.meshgrid(values, values)
    logs = []
    for place in _PLACES:
        linear = np.sqrt(np.mean((high * (1 - place) - low * place) ** 2)) / rows
        total = rows + low + high
        found = np.where(total > 0, np.clip((rows * place + high) / np.where(total > 0, total, 1.0), 0, 1), place)
        logs.append(math.log(float(np.sqrt(np.mean((found - place) ** 2))) / linear))
    return math.exp(sum(logs) / len(logs))


def points(asked: Asked) -> tuple[Reals, Reals]:
    """The points between which rows are shared out, and what a row at each adds to Σ u²."""
    if {"variance", "deviation"} & set(asked.task.statistics):
        return np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.0, 1.0])
    return np.array([0.0, 1.0]), np.array([0.0, 1.0])
