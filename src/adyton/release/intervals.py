"""Confidence intervals for the answers of a release. They cost no budget.

Where the noise does not depend on the data (queries fixed beforehand, then least squares, and the answer follows from
what was measured), its law is the same on any data. It comes from a closed form, or else is simulated on an empty table,
and the interval covers the true count at the stated rate. Everywhere else the algorithm is run again on the published estimate, as if that were the
data: an approximation, that no theorem backs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.exact import share
from adyton.plans.base import Plan
from adyton.plans.expected_error import ExpectedError
from adyton.queries import Queries
from adyton.release.noise_bounds import radius
from adyton.release.simulated_runs import SimulatedRuns
from adyton.remembered import cached_property
from adyton.solving.noise_moments import Moments

Kind: TypeAlias = Literal["exact", "approximate"]

MOST_QUERIES = 1 << 17
NO_BOUNDS = "No bounds: they are found by running the algorithm again, and that was too slow here."
NOT_MEASURED = "No bounds: these counts do not follow from what was measured. Ask for them in a release of their own."
_SHOWN = 6
_KEPT = 1 << 26
"""How many simulated answers are held in all."""
_WORK = {True: 1 << 27, False: 1 << 19}
_MOST_RUNS, _FEWEST_RUNS = {True: 4000, False: 100}, {True: 200, False: 40}
"""How many cells are simulated, in how many runs, by whether the noise has one law for all data."""
_BEYOND = {True: 10, False: 2}
"""How many runs must lie beyond the bounds for these to be told at all."""
_RESAMPLED = 20
"""In how many runs the expected error is found where there is no closed form."""
_LEAST_CONFIDENCE = 0.8
"""Where slow runs tell no more than this, no bounds are given."""


@dataclass(frozen=True, eq=False)
class Interval:
    """Answers with bounds: *kind* says whether the rate is a promise (``exact``) or an ``approximate`` one."""

    estimate: Reals
    lower: Reals
    upper: Reals
    confidence: float
    """Lower than what was asked for if runs were slow: then *note* says so."""
    kind: Kind
    beyond: bool = False
    """Whether some of the answers do not follow from what was measured, although the task's own do."""
    note: str = ""
    """What has to be said about the runs that the bounds come from, if anything."""

    @property
    def bounded(self) -> bool:
        """Whether there are bounds. If too few runs could be made in time, they are infinite."""
        return bool(np.isfinite(self.upper).all())

    @property
    def missing(self) -> str:
        """Why no bounds may stand beside the counts: there are none, or what they say of true counts is wrong. Empty if
        they may."""
        return self.note if not self.bounded else NOT_MEASURED if self.beyond else ""

    @property
    def meaning(self) -> str:
        """What the intervals promise, in plain words."""
        if not self.bounded:
            return self.note
        rate = f"{100 * self.confidence:g}"
        if self.kind == "exact":
            return (
                f"Of all releases made in this way, {rate} in 100 have the true count of a query inside its interval. "
                "The noise that was added is accounted for, and nothing else: not rows that are missing or wrong."
            )
        if self.beyond:
            return (
                "These answers do not follow from what was measured: what the task did not ask for is filled in "
                "evenly. The intervals tell how far noise moves them; nobody guarantees more, and true counts can lie "
                "far outside. Ask for these counts in a release of their own."
            )
        return (
            f"The intervals are meant to hold the true count in {rate} of 100 releases, but nobody guarantees it: the "
            "algorithm adapts to the data, and its error was estimated by running it again on what it published. Where "
            "it smooths real detail away, intervals are too narrow."
        )

    def __repr__(self) -> str:
        return (
            f"<{100 * self.confidence:g}% intervals ({self.kind}): {self._listed()}>" if self.bounded else "<no bounds>"
        )

    def __str__(self) -> str:
        return f"{self._listed()}. {self.meaning}{self.note and ' ' + self.note}" if self.bounded else self.note

    def _listed(self) -> str:
        pairs = zip(self.lower.reshape(-1).tolist()[:_SHOWN], self.upper.reshape(-1).tolist()[:_SHOWN], strict=True)
        more = ", …" if self.lower.size > _SHOWN else ""
        return ", ".join(f"{low:.6g} to {high:.6g}" for low, high in pairs) + more


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

    def determines(self, queries: Queries) -> bool:
        """Whether the answers follow from what was measured, as far as can be known without the data."""
        return _determines(self.plan, self.workload, self.epsilon, queries)

    def interval(self, queries: Queries, confidence: float) -> Interval:
        """Bounds on the true answers: from a closed form, or as wide as |error| is in that part of simulated runs."""
        rate = float(share(confidence, "confidence"))
        if queries.count > MOST_QUERIES:
            raise BadInput(
                f"intervals are computed for at most {MOST_QUERIES:,} queries at a time, given {queries.count:,}. Ask "
                "for some of them."
            )
        moments = self.moments(queries)
        if moments is not None:
            answers = np.asarray(queries @ self.estimate, dtype=np.float64)
            far = radius(moments, rate)
            return Interval(answers, answers - far, answers + far, rate, "exact")
        return self._simulated(queries, rate)

    def beyond(self, queries: Queries) -> bool:
        """Whether some of the answers do not follow from what was measured, although the task's own do."""
        return self.kind(queries) != "exact" and not self.determines(queries) and self.determines(self.workload)

    def _simulated(self, queries: Queries, rate: float) -> Interval:
        kind = self.kind(queries)
        exact = kind == "exact"
        planned = self._number(queries, exact)
        if rate > _told(planned, exact):
            raise BadInput(
                f"confidence is at most {_told(planned, exact):.4g} here, given {rate:g}: the bounds are found by "
                f"{planned:,} simulated runs, which do not tell more."
            )
        answers = np.asarray(queries @ self.estimate, dtype=np.float64)
        beyond = self.beyond(queries)
        floor = min(rate, _LEAST_CONFIDENCE)
        least = math.ceil(_BEYOND[exact] / (1 - floor) - 1e-9)
        batches = self.runs.errors(queries, planned, exact=exact, least=least)
        made = [np.abs(batch).astype(np.float32) for batch in batches]
        runs = sum(map(len, made))
        if runs < least:
            endless = np.full(answers.shape, np.inf)
            return Interval(answers, -endless, endless, rate, kind, beyond, NO_BOUNDS)
        told = min(rate, max(floor, math.floor(100 * _told(runs, exact)) / 100))
        radius = np.quantile(np.concatenate(made), told, axis=0, method="higher").astype(np.float64)
        note = _about_runs(runs, planned, told, rate)
        return Interval(answers, answers - radius, answers + radius, told, kind, beyond, note)

    def resampled_error(self) -> ExpectedError:
        """The error on the workload over some simulated runs: twenty, or fewer slow ones."""
        exact = self.kind() == "exact"
        batches = self.runs.errors(self.workload, _RESAMPLED, exact=exact)
        squares = np.concatenate([np.square(batch).sum(axis=-1) for batch in batches])
        runs = len(squares) if len(squares) < _RESAMPLED else None
        return ExpectedError(float(np.sqrt(squares.mean())), self.workload.count, "resampled", runs)

    @cached_property
    def runs(self) -> SimulatedRuns:
        """Simulated runs of the plan."""
        return SimulatedRuns(self.plan, self.workload, self.epsilon, self.estimate)

    def _number(self, queries: Queries, exact: bool) -> int:
        """How many runs tell enough."""
        enough = max(_FEWEST_RUNS[exact], _WORK[exact] // self.estimate.size)
        return min(_MOST_RUNS[exact], enough, max(_FEWEST_RUNS[exact], _KEPT // queries.count))


@lru_cache(maxsize=16)
def _one_law(plan: Plan, workload: Queries, epsilon: Fraction, queries: Queries) -> bool:
    return plan.one_law(workload, epsilon, queries)


@lru_cache(maxsize=16)
def _moments(plan: Plan, workload: Queries, epsilon: Fraction, queries: Queries) -> Moments | None:
    return plan.moments(workload, epsilon, queries)


@lru_cache(maxsize=16)
def _determines(plan: Plan, workload: Queries, epsilon: Fraction, queries: Queries) -> bool:
    return plan.determines(workload, epsilon, queries)


def _told(runs: int, exact: bool) -> float:
    """The highest confidence that so many runs tell."""
    return 1 - _BEYOND[exact] / runs


def _about_runs(runs: int, planned: int, told: float, asked: float) -> str:
    """What has to be said of bounds from fewer runs than planned."""
    if runs >= planned:
        return ""
    lower = f", which tell {100 * told:g}% and not {100 * asked:g}%" if told < asked else ""
    return f"The bounds come from {runs:,} simulated runs instead of {planned:,}{lower}: runs were slow here."
