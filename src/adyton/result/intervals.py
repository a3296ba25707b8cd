"""Confidence intervals for the answers of a release. They cost no budget.

Where the noise does not depend on the data (queries fixed beforehand, then least squares, and the answer follows from
what was measured), its law is the same on any data. It comes from a closed form, or else is simulated on an empty
table, and the interval covers the true count at the stated rate. Everywhere else the algorithm is run again on the
published estimate, as if that were the data: an approximation, that no theorem backs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.exact import share
from adyton.plans.base import ExpectedError, Plan
from adyton.queries import Queries
from adyton.remembered import cached_property
from adyton.result.interval import Interval, Kind
from adyton.result.noise_bounds import radius
from adyton.result.pooled_bounds import pooled_radius
from adyton.result.simulated_runs import SimulatedRuns
from adyton.solving.noise_moments import Moments

MOST_QUERIES = 1 << 17
NO_BOUNDS = "No bounds: they are found by running the algorithm again, and that was too slow here."
_KEPT = 1 << 26
"""How many simulated answers are held in all."""
_WORK = {True: 1 << 27, False: 1 << 16}
_MOST_RUNS, _FEWEST_RUNS = {True: 4000, False: 100}, {True: 200, False: 16}
"""How many cells are simulated, in how many runs, by whether the noise has one law for all data."""
_BEYOND, _POOLED = {True: 10.0, False: 2.0}, 0.4
"""How many runs must lie beyond the bounds for these to be told at all; where answers of like size are looked at as one
sample, there need not be one."""
_RESAMPLED = 20
"""In how many runs the expected error is found where there is no closed form."""
_LEAST_RUNS, _FEWEST_TOGETHER = 5, 40
_LEAST_CONFIDENCE = 0.8
"""Where slow runs tell no more than this, no bounds are given."""


@dataclass(frozen=True, eq=False)
class NoiseModel:
    """How the answers of a plan scatter: the plan, its budget and workload, and the estimate that it gave."""

    plan: Plan
    """As it was run, with all that follows it."""
    workload: Queries
    epsilon: Fraction
    """What a row got."""
    estimate: Reals

    def expected_error(self) -> ExpectedError | None:
        """The error that the plan has on all data, if there is such a thing."""
        try:
            expected = self.plan.expected_error(self.workload, self.epsilon)
        except BadInput:
            return None  # it depends on the data
        return expected if expected.kind in ("exact", "estimate") else None

    def kind(self, queries: Queries | None = None) -> Kind:
        """Whether the noise in the answers to these queries (the workload, if none are given) has one law on all data.

        It has if they follow from what was measured, and nothing but linear equations was solved.
        """
        asked = self.workload if queries is None else queries
        return "exact" if _one_law(self.plan, self.workload, self.epsilon, asked) else "approximate"

    def moments(self, queries: Queries) -> Moments | None:
        """How the noise in these answers is spread, where it has one law on all data and a closed form."""
        return _moments(self.plan, self.workload, self.epsilon, queries)

    def variances(self, queries: Queries) -> Reals:
        """The exact variances of the answers, where :meth:`kind` is ``exact``."""
        moments = self.moments(queries)
        return self.plan.variances(self.workload, self.epsilon, queries) if moments is None else moments.variances

    def mean_absolute(self, queries: Queries) -> Reals | None:
        """The mean of |error| of each answer: from the variances, or from some simulated runs; None if these do not
        tell because the answers do not follow from what was measured."""
        if not self.determines(queries):
            return None
        moments = self.moments(queries)
        if moments is not None:
            part = np.clip(moments.excess / 3, 0, 1)  # Laplace's law has √(Var/2), the normal one √(2Var/π)
            return np.asarray(np.sqrt(2 * moments.variances / np.pi) * (1 - part * (1 - np.sqrt(np.pi) / 2)))
        batches = list(self.runs.errors(queries, _RESAMPLED, exact=self.kind(queries) == "exact"))
        return np.asarray(np.abs(np.concatenate(batches)).mean(axis=0))

    def determines(self, queries: Queries) -> bool:
        """Whether the answers follow from what was measured, as far as can be known without the data."""
        return _determines(self.plan, self.workload, self.epsilon, queries)

    def interval(self, queries: Queries, confidence: float, *, together: bool = False) -> Interval:
        """Bounds on the true answers: from a closed form, or as wide as |error| is in that part of simulated runs.

        They hold for each answer by itself; *together*, for all of them at once.
        """
        rate = float(share(confidence, "confidence"))
        if queries.count > MOST_QUERIES:
            raise BadInput(
                f"intervals are computed for at most {MOST_QUERIES:,} queries at a time, given {queries.count:,}. Ask "
                "for some of them."
            )
        moments = self.moments(queries)
        if moments is not None:
            answers = np.asarray(queries @ self.estimate, dtype=np.float64)
            far = radius(moments, 1 - (1 - rate) / queries.count if together else rate)
            return Interval(answers, answers - far, answers + far, rate, "exact")
        return self._simulated(queries, rate, together)

    def beyond(self, queries: Queries) -> bool:
        """Whether some of the answers do not follow from what was measured, although the task's own do."""
        return self.kind(queries) != "exact" and not self.determines(queries) and self.determines(self.workload)

    def _simulated(self, queries: Queries, rate: float, together: bool) -> Interval:
        kind = self.kind(queries)
        exact = kind == "exact"
        beyond = _BEYOND[exact] if exact or together else _POOLED
        planned = self._number(queries, exact, together)
        most = 1 - beyond / planned
        if rate > most:
            raise BadInput(
                f"confidence is at most {most:.4g} here, given {rate:g}: the bounds are found by {planned:,} simulated "
                "runs, which do not tell more."
            )
        answers = np.asarray(queries @ self.estimate, dtype=np.float64)
        floor = min(rate, _LEAST_CONFIDENCE)
        least = max(_LEAST_RUNS, math.ceil(beyond / (1 - floor) - 1e-9))
        batches = self.runs.errors(queries, planned, exact=exact, least=least)
        made = [np.abs(batch).astype(np.float32) for batch in batches]
        runs, unmeasured = sum(map(len, made)), self.beyond(queries)
        if runs < least:
            endless = np.full(answers.shape, np.inf)
            return Interval(answers, -endless, endless, rate, kind, unmeasured, NO_BOUNDS)
        told = min(rate, max(floor, math.floor(100 * (1 - beyond / runs)) / 100))
        errors = np.concatenate(made)
        pooled = not exact and not together
        far = pooled_radius(errors, answers, told) if pooled else _exceeded(errors, told, together)
        note = _about_runs(runs, planned, told, rate)
        return Interval(answers, answers - far, answers + far, told, kind, unmeasured, note)

    def resampled_error(self, queries: Queries | None = None) -> ExpectedError:
        """The error on the workload, or on other queries, over some simulated runs; over fewer slow ones."""
        asked = self.workload if queries is None else queries
        exact = self.kind(asked) == "exact"
        planned = min(_RESAMPLED, self._number(asked, exact, False))
        squares = np.concatenate(
            [np.square(batch).sum(axis=-1) for batch in self.runs.errors(asked, planned, exact=exact)]
        )
        runs = len(squares) if len(squares) < planned else None
        return ExpectedError(float(np.sqrt(squares.mean())), asked.count, "resampled", runs)

    @cached_property
    def runs(self) -> SimulatedRuns:
        """Simulated runs of the plan."""
        return SimulatedRuns(self.plan, self.workload, self.epsilon, self.estimate)

    def _number(self, queries: Queries, exact: bool, together: bool) -> int:
        """How many runs tell enough: for one answer and for many the same, so that the runs are made once."""
        fewest = _FEWEST_TOGETHER if together and not exact else _FEWEST_RUNS[exact]
        enough = max(fewest, _WORK[exact] // self.estimate.size)
        return min(_MOST_RUNS[exact], enough, max(fewest, _KEPT // queries.count))


@lru_cache(maxsize=16)
def _one_law(plan: Plan, workload: Queries, epsilon: Fraction, queries: Queries) -> bool:
    return plan.one_law(workload, epsilon, queries)


@lru_cache(maxsize=16)
def _moments(plan: Plan, workload: Queries, epsilon: Fraction, queries: Queries) -> Moments | None:
    return plan.moments(workload, epsilon, queries)


@lru_cache(maxsize=16)
def _determines(plan: Plan, workload: Queries, epsilon: Fraction, queries: Queries) -> bool:
    return plan.determines(workload, epsilon, queries)


def _exceeded(errors: npt.NDArray[np.float32], rate: float, together: bool) -> Reals:
    """How far each answer is off in this part of all runs; or all of them, each in times its own deviation."""
    if not together:
        return np.quantile(errors, rate, axis=0, method="higher").astype(np.float64)
    deviations = np.sqrt(np.square(errors, dtype=np.float64).mean(axis=0))
    times = (errors / np.maximum(deviations, 1e-300)).max(axis=1)
    return np.asarray(deviations * np.quantile(times, rate, method="higher"))


def _about_runs(runs: int, planned: int, told: float, asked: float) -> str:
    """What has to be said of bounds from fewer runs than planned."""
    if runs >= planned:
        return ""
    lower = f", which tell {100 * told:g}% and not {100 * asked:g}%" if told < asked else ""
    return f"The bounds come from {runs:,} simulated runs instead of {planned:,}{lower}: runs were slow here."
