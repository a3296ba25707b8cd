"""Simulation: what an algorithm would answer on public data, many times over."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.exact import Rational, positive
from adyton.kernel.kernel import Kernel
from adyton.plans.base import Estimate, Plan
from adyton.plans.registry import plan_named
from adyton.queries import Queries
from adyton.whole import whole


def simulate(
    name: str | Plan,
    x: npt.ArrayLike,
    workload: Queries,
    epsilon: Rational,
    *,
    seed: int | None = None,
    trials: int | None = None,
    **options: Any,
) -> Estimate:
    """Estimates of *public* counts by an algorithm, with simulated noise: in the shape of *x*, or (trials, \\*x.shape).

    They protect nobody. For private data, open a kernel or a session.

    >>> import adyton as ad
    >>> ad.simulate("hb", [3, 0, 5, 1], ad.workloads.Prefix(4), 1.0, seed=0, trials=10).shape
    (10, 4)
    """
    plan = name if isinstance(name, Plan) else plan_named(name, **options)
    counts, amount = public_counts(x), positive(epsilon, "epsilon")
    number = None if trials is None else whole(trials, "trials", 1)
    seeds = np.random.SeedSequence(None if seed is None else whole(seed, "seed", 0))

    def run(own: np.random.SeedSequence, at_once: int | None) -> Estimate:
        source = Kernel.simulated(counts, epsilon=amount, seed=own, trials=at_once).root
        plan.admit(source, workload, amount)
        return plan.carry_out(source, workload, amount).estimate

    if number is None or plan.simulates_many:
        return run(seeds, number)
    return np.stack([run(own, None) for own in seeds.spawn(number)])


def public_counts(x: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Whole numbers of at least 0, or an error."""
    counts = np.asarray(x)
    if counts.ndim == 0 or counts.size == 0:
        raise BadInput(f"counts are an array with at least one cell, given an array of shape {counts.shape}.")
    if counts.dtype.kind == "f" and np.isfinite(counts).all() and (counts == np.rint(counts)).all():
        raise BadInput("counts are whole numbers, given floating-point ones. Convert them with x.astype(int).")
    if counts.dtype.kind not in "iu":
        raise BadInput(f"counts are whole numbers, given an array of {counts.dtype} with other values.")
    if int(counts.min()) < 0:
        raise BadInput(f"counts are at least 0, given {int(counts.min())}.")
    return counts
