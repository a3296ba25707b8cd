"""How far off answers are in some part of simulated runs, from few runs: answers of like kind are looked at together.

Each answer has a deviation of its own: the root of its mean squared error, drawn a little to that of answers of like
size. Each error is then told in times the deviation that the *other* runs give, and the same for all answers of like
size make one sample, out of which the quantile is taken. A few errors as a normal law would have them stand beside
those that were seen, so that few answers in few runs have bounds, too.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals

_ALIKE = 64
"""As many answers of like size are looked at together, if there are so many."""
_MOST_KINDS = 32
_DRAWN = 3.0
"""How many runs the mean deviation of answers of like size counts as, beside an answer's own."""
_DOUBT = 0.7
"""Answers of like size are not of one law, and simulated runs not quite like the true one: so much of the part of
errors beyond the bounds is allowed for."""
_SUPPOSED = 40
"""How many errors of a normal law stand beside those that were seen."""


def pooled_radius(errors: npt.NDArray[np.float32], answers: Reals, rate: float) -> Reals:
    """Within how far of the truth each answer lies in this part of all runs; *errors* have a row for each run.

    >>> deviations = np.linspace(1, 5, 500)
    >>> runs = np.random.default_rng(1).normal(size=(20, 500)) * deviations
    >>> far = pooled_radius(np.abs(runs).astype(np.float32), np.arange(500.0), 0.95)
    >>> float((far / deviations).mean().round(1))
    2.2
    """
    squares = np.square(errors, dtype=np.float64)
    order = np.argsort(answers, kind="stable")
    kinds = max(1, min(_MOST_KINDS, answers.size // _ALIKE))
    far = np.empty(answers.shape)
    for kind in np.array_split(order, kinds):
        far[kind] = _of_one_kind(squares[:, kind], rate)
    return far


def _of_one_kind(squares: Reals, rate: float) -> Reals:
    runs, alike = len(squares), float(squares.mean())
    sums = squares.sum(axis=0) + _DRAWN * alike
    others = np.maximum(sums - squares, 1e-300) / (runs - 1 + _DRAWN)
    times = np.sqrt(squares / others)
    supposed = _normal(runs)
    weight = math.sqrt(squares.shape[1]) / squares.shape[1]  # answers of one run are not independent
    values = np.concatenate([times.ravel(), supposed])
    weights = np.concatenate([np.full(times.size, weight), np.ones(supposed.size)])
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    place = min(int(np.searchsorted(reached, (1 - _DOUBT * (1 - rate)) * reached[-1])), values.size - 1)
    return np.asarray(values[order][place] * np.sqrt(sums / (runs + _DRAWN)))


def _normal(runs: int) -> Reals:
    """Normal errors in times a deviation that so many runs give: the quantiles of Student's law, nearly."""
    parts = (np.arange(_SUPPOSED) + 0.5) / _SUPPOSED
    plain = np.array([NormalDist().inv_cdf((1 + part) / 2) for part in parts])
    return np.asarray(plain * (1 + (np.square(plain) + 1) / (4 * (runs + _DRAWN))))
