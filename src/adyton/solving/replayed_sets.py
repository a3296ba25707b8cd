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
    spare: Reals,
) -> None:
    """Replay all the sets (rows of *labels*) until no answer moves by more than *tolerance*, at most *sweeps* times.

    Label l ≥ 0 in row j stands for the sum with the answer ``answers[starts[j] + l]``; *x* are masses of groups of
    cells, changed in place with the *exponents*, and end at the total. A set is *plain* if its coefficients are 1.
    *spare* has room for four numbers for each sum of a set.
    """
    mass = 0.0
    for i in range(x.size):
        mass += x[i]
    for _ in range(sweeps):
        stretch(x, total / mass)
        mass = total
        moved = 0.0
        for j in range(len(labels)):
            first, count = starts[j], starts[j + 1] - starts[j]
            add_up(labels[j], coefficients[j], plain[j], x, count, spare)
            choose_steps(count, pulls[j], total, mass, answers[first : first + count], exponents[first:], spare)
            before, mass = mass, update(labels[j], coefficients[j], plain[j], spare, x)
            shift = math.log(mass / before)
            for place in range(count):
                moved = max(moved, abs(spare[2, place] * spare[1, place] - shift * spare[0, place]))
        if moved <= tolerance:
            break
    stretch(x, total / mass)


@compiled
def stretch(x: Reals, factor: float) -> None:
    """Multiply all masses by a factor."""
    for i in range(x.size):
        x[i] *= factor


@compiled
def add_up(labels: Labels, coefficients: Reals, plain: int, x: Reals, count: int, spare: Reals) -> None:
    """Σ q_i·x_i and Σ q_i²·x_i for every sum of a set, into the first two rows of *spare*."""
    for place in range(count):
        spare[0, place] = spare[1, place] = 0.0
    for i in range(x.size):
        label = labels[i]
        if label >= 0:
            if plain:
                spare[0, label] += x[i]
            else:
                spare[0, label] += coefficients[i] * x[i]
                spare[1, label] += coefficients[i] * coefficients[i] * x[i]
    if plain:
        for place in range(count):
            spare[1, place] = spare[0, place]


@compiled
def choose_steps(
    count: int, pull: float, total: float, mass: float, answers: Reals, exponents: Reals, spare: Reals
) -> None:
    """Newton's steps of the exponents of a set, into the third row of *spare*, and their factors into the fourth."""
    scale = total / mass
    for place in range(count):
        spare[0, place] *= scale
        spare[1, place] *= scale
        held = spare[0, place]
        slope = spare[1, place] + pull
        if count == 1:  # a sum on its own gives to the rest what it loses, and takes what it gains
            slope -= held * held / total
        exponent = exponents[place]
        step = (answers[place] - held - pull * exponent) / max(slope, 1e-12 * total)
        step = min(max(step, -_LONGEST), _LONGEST)
        step = min(max(exponent + step, -_STEEPEST), _STEEPEST) - exponent
        exponents[place] = exponent + step
        spare[2, place], spare[3, place] = step, math.exp(step)


@compiled
def update(labels: Labels, coefficients: Reals, plain: int, spare: Reals, x: Reals) -> float:
    """x_i ← x_i·exp(q_i·step) for every cell that is counted; returns Σ x_i."""
    mass = 0.0
    for i in range(x.size):
        label = labels[i]
        if label >= 0:
            if plain:
                x[i] = max(_LEAST, x[i] * spare[3, label])
            else:
                power = max(-_STEEPEST, min(_STEEPEST, coefficients[i] * spare[2, label]))
                x[i] = max(_LEAST, x[i] * math.exp(power))
        mass += x[i]
    return mass
