"""The errors of counts, means and variances that come from noise at points: public, known before anything is spent."""

from __future__ import annotations

import math

import numpy as np

from adyton.arrays import Reals
from adyton.statistics.asked import Asked

_TYPICAL = 0.25
"""Where between the bounds a mean is taken to lie for errors: those elsewhere differ from it by a fifth at most."""


def moment_errors(asked: Asked, places: Reals, squares: Reals, epsilon: float) -> dict[str, float]:
    """The standard errors that come from noise of the scale 1/ε at points: of a count, and of moments times rows."""
    width, noise, place = asked.grid.width, math.sqrt(2) / epsilon, _TYPICAL
    spread = place * (1 - place) / 2  # half of what it can be at most
    moved = squares - 2 * place * places + place**2 - spread
    variance = width**2 * noise * float(np.sqrt((moved**2).sum()))
    return {
        "count": noise * math.sqrt(places.size),
        "mean": width * noise * float(np.sqrt(((places - place) ** 2).sum())),
        "variance": variance,
        "deviation": variance / (2 * width * math.sqrt(spread)),
    }


def points(asked: Asked) -> tuple[Reals, Reals]:
    """The points between which rows are shared out, and what a row at each adds to Σ u²."""
    if {"variance", "deviation"} & set(asked.task.statistics):
        return np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.0, 1.0])
    return np.array([0.0, 1.0]), np.array([0.0, 1.0])
