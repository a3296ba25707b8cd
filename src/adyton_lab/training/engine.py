"""The engine of all experiments: the errors of a plan on public counts, over trials with seeded noise."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.exact import Rational
from adyton.plans import Plan, simulate
from adyton.plans.base import Estimate
from adyton.queries import Queries

Advance: TypeAlias = Callable[[int], None]
"""Advances a progress bar by a number of steps."""


def unseen(steps: int) -> None:
    """No progress bar."""


@dataclass(frozen=True, eq=False)
class Runs:
    """The estimates of all trials for a workload."""

    workload: Queries
    x: Integers
    estimates: Estimate
    """trials × domain."""
    seconds: float
    """All trials together, including any preparation."""

    @property
    def errors(self) -> Reals:
        """‖W·x̂ − W·x‖₂ of each trial."""
        return distances(self.workload, self.estimates, self.x)


@dataclass(eq=False)
class Trials:
    """A plan on public counts, run *trials* times. Workloads that the plan treats alike share the runs.

    >>> from adyton.plans import plan_named
    >>> from adyton.queries import Identity, Prefix
    >>> trials = Trials(plan_named("hb"), np.array([3, 0, 5, 1]), 1, seed=0, trials=10)
    >>> trials.on(Identity(4)).estimates is trials.on(Prefix(4)).estimates
    True
    """

    plan: Plan
    x: Integers
    epsilon: Rational
    seed: int = field(kw_only=True)
    trials: int | None = field(kw_only=True)
    """None for a single run, without an axis for trials."""
    _ran: tuple[object, Estimate, float] | None = field(default=None, init=False)
    """What the plan used of the last workload, the estimates, and the seconds."""

    def on(self, workload: Queries) -> Runs:
        """Run the trials, or reuse those of the last workload."""
        minded = self.plan.minds(workload)
        if self._ran is None or self._ran[0] != minded:
            begun = time.perf_counter()
            estimates = simulate(self.plan, self.x, workload, self.epsilon, seed=self.seed, trials=self.trials)
            self._ran = minded, estimates, time.perf_counter() - begun
        _, estimates, seconds = self._ran
        return Runs(workload, self.x, estimates, seconds)


def distances(workload: Queries, estimates: Estimate, x: Integers) -> Reals:
    """‖W·x̂ − W·x‖₂ for each estimate x̂."""
    return np.asarray(np.linalg.norm(workload @ (estimates - x), axis=-1))


def geometric_mean(values: Sequence[float]) -> float:
    """exp of the mean logarithm."""
    return float(np.exp(np.mean(np.log(values))))
