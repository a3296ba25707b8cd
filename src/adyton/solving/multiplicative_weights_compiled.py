"""The replay of multiplicative updates, compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy.typing as npt

from adyton.arrays import Reals
from adyton.compiling import compiled

STEEPEST = 50.0
"""Exponents are cut here: e^50 moves all but 10⁻²¹ of the total, which is more than a double can tell."""

DRIFT = 1e3
"""The running sum is added up anew when it has changed by this factor."""


@compiled
def replay(
    starts: npt.NDArray[Any],
    cells: npt.NDArray[Any],
    coefficients: Reals,
    answers: Reals,
    totals: Reals,
    x: Reals,
    rounds: int,
) -> None:
    """Replay all rows, in order, *rounds* times on each trial (a row of *x*), in place.

    Only the cells of a row are touched: the histogram is x · total / mass, and its mass is kept up to date.
    """
    for trial in range(x.shape[0]):
        histogram, total = x[trial], totals[trial]
        for _ in range(rounds):
            mass = rescale(histogram, total)
            for row in range(starts.size - 1):
                answer = 0.0
                for place in range(starts[row], starts[row + 1]):
                    answer += coefficients[place] * histogram[cells[place]]
                pull = (answers[trial, row] - answer * (total / mass)) / (2 * total)
                last, factor = 0.0, 1.0
                for place in range(starts[row], starts[row + 1]):
                    if coefficients[place] != last:
                        last = coefficients[place]
                        factor = math.exp(min(max(last * pull, -STEEPEST), STEEPEST))
                    before = histogram[cells[place]]
                    histogram[cells[place]] = before * factor
                    mass += before * factor - before
                if not total / DRIFT < mass < total * DRIFT:
                    mass = rescale(histogram, total)
        rescale(histogram, total)


@compiled
def rescale(histogram: Reals, total: float) -> float:
    """Make the sum the total, and return it. Nothing is done where all has underflowed to zero."""
    mass = histogram.sum()
    if mass > 0:
        histogram *= total / mass
    return total
