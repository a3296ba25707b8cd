"""Sets of disjoint sums, replayed by multiplicative updates."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Reals
from adyton.compiling import compiled

Labels = npt.NDArray[np.int32]

_LONGEST = 1.0
"""No update changes a group by more than a factor e."""
_STEEPEST = 60.0
"""No answer changes a group by more than a factor e^60 in all."""
_LEAST = 1e-280
"""No mass vanishes, so that what is left can be rescaled."""


@compiled
def add_up(labels: Labels, coefficients: Reals, plain: int, x: Reals, sums: Reals, curvatures: Reals) -> None:
    """Σ q_i·x_i and Σ q_i²·x_i for every sum of a set."""
    sums[:] = 0.0
    curvatures[:] = 0.0
    for i in range(x.size):
        label = labels[i]
        if label >= 0:
            if plain:
                sums[label] += x[i]
            else:
                sums[label] += coefficients[i] * x[i]
                curvatures[label] += coefficients[i] * coefficients[i] * x[i]
    if plain:
        curvatures[:] = sums


@compiled
def update(labels: Labels, coefficients: Reals, plain: int, steps: Reals, factors: Reals, x: Reals) -> float:
    """x_i ← x_i·exp(q_i·step) for every cell that is counted; returns Σ x_i."""
    mass = 0.0
    for i in range(x.size):
        label = labels[i]
        if label >= 0:
            power = max(-_STEEPEST, min(_STEEPEST, coefficients[i] * steps[label]))
            x[i] = max(_LEAST, x[i] * (factors[label] if plain else math.exp(power)))
        mass += x[i]
    return mass


@compiled
def replay_sets(
    labels: Labels,
    coefficients: Reals,
    plain: Integers,
    starts: Integers,
    answers: Reals,
    pulls: Reals,
    total: float,
    x: Reals,
    exponents: Reals,
    sweeps: int,
    tolerance: float,
) -> int:
    """Replay all the sets (rows of *labels*) until no answer moves by more than *tolerance*; returns the sweeps made.

    Label l ≥ 0 in row j stands for the sum with the answer ``answers[starts[j] + l]``; *x* are masses of groups of
    cells, changed in place with the *exponents*, and end at the total. A set is *plain* if its coefficients are 1.
    """
    sets = len(labels)
    widest = 1
    for j in range(sets):
        widest = max(widest, starts[j + 1] - starts[j])
    sums, curvatures, steps, factors = np.zeros((4, widest))
    mass = x.sum()
    done = 0
    while done < sweeps:
        done += 1
        x *= total / mass
        mass = total
        moved = 0.0
        for j in range(sets):
            first, count = starts[j], starts[j + 1] - starts[j]
            add_up(labels[j], coefficients[j], plain[j], x, sums[:count], curvatures[:count])
            scale = total / mass
            for place in range(count):
                sums[place] *= scale
                curvatures[place] *= scale
                slope = curvatures[place] + pulls[j]
                if count == 1:  # a sum on its own gives to the rest what it loses, and takes what it gains
                    slope -= sums[place] * sums[place] / total
                exponent = exponents[first + place]
                step = (answers[first + place] - sums[place] - pulls[j] * exponent) / max(slope, 1e-12 * total)
                step = min(max(step, -_LONGEST), _LONGEST)
                step = min(max(exponent + step, -_STEEPEST), _STEEPEST) - exponent
                exponents[first + place] = exponent + step
                steps[place], factors[place] = step, math.exp(step)
            before, mass = mass, update(labels[j], coefficients[j], plain[j], steps, factors, x)
            shift = math.log(mass / before)
            for place in range(count):
                moved = max(moved, abs(steps[place] * curvatures[place] - shift * sums[place]))
        if moved <= tolerance:
            break
    x *= total / mass
    return done
