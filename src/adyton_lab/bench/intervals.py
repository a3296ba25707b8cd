"""How often confidence intervals hold the true count, measured on public data where it is known.

For algorithms with fixed noise that is a matter of arithmetic (and of a test). Here are the others: those that are
chosen privately, whose intervals come from running them again on what they published.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from adyton.arrays import Integers
from adyton.exact import positive
from adyton.kernel.kernel import Kernel
from adyton.queries import Identity, Queries, RandomRanges
from adyton.result.noise_model import NoiseModel
from adyton.selection.pythia import Chosen, Pythia
from adyton_lab.bench.shapes import shapes
from adyton_lab.corpus.public_files import draw
from adyton_lab.engine import geometric_mean

CONFIDENCE = 0.95
_SIDES = {1: 1024, 2: 32}
_SCALES = (10**4, 10**6)
_EPSILONS = ("0.1", "1")
_TASKS = ("cells", "ranges")


@dataclass(frozen=True, kw_only=True)
class IntervalRecord:
    """One kind of task, over all data sets."""

    dimensions: int
    task: str
    rows: int
    epsilon: str
    holds: float
    """The part of the intervals that hold the true answer; 0.95 is aimed at."""
    worst: float
    """The same for the data set where it is least."""
    error_ratio: float
    """The error that the release expects, divided by its true error: the geometric mean."""


def compare(
    *,
    data: str | os.PathLike[str] | None = None,
    public: bool = False,
    trials: int = 10,
) -> Iterator[IntervalRecord]:
    """Measure for cells and ranges, in one and two dimensions, for few and many rows, at two budgets."""
    for ndim, task, rows, epsilon in itertools.product(_SIDES, _TASKS, _SCALES, _EPSILONS):
        side = _SIDES[ndim]
        domain = (side,) * ndim
        workload: Queries = Identity(domain) if task == "cells" else RandomRanges(domain, 500, seed=2)
        rates, ratios = [], []
        for place, shape in enumerate(shapes(ndim, side, data, public=public).values()):
            x = draw(shape, rows, seed=place)
            found = [_one(x, workload, epsilon, seed) for seed in range(trials)]
            rates.append(float(np.mean([rate for rate, _ in found])))
            ratios += [ratio for _, ratio in found]
        yield IntervalRecord(
            dimensions=ndim,
            task=task,
            rows=rows,
            epsilon=epsilon,
            holds=float(np.mean(rates)),
            worst=min(rates),
            error_ratio=geometric_mean(ratios),
        )


def steps(**_: object) -> int:
    """How many records :func:`compare` yields."""
    return len(_SIDES) * len(_TASKS) * len(_SCALES) * len(_EPSILONS)


def _one(x: Integers, workload: Queries, epsilon: str, seed: int) -> tuple[float, float]:
    """One release: how many of its intervals hold the truth, and the expected error divided by the true one."""
    amount = positive(epsilon, "epsilon")
    source = Kernel.simulated(x, epsilon=amount, seed=seed).root
    plan = Pythia()
    choice = plan.choose(source, workload, amount)
    estimate = plan.follow(source, workload, choice)
    chosen = Chosen.named(choice.algorithm, finished=choice.finished)
    noise = NoiseModel(chosen, workload, choice.left, estimate)
    interval, truth = noise.interval(workload, CONFIDENCE), workload @ x
    holds = (truth >= interval.lower) & (truth <= interval.upper)
    error = float(np.linalg.norm(interval.estimate - truth))
    return float(holds.mean()), noise.resampled_error().total / max(error, 1e-9)
