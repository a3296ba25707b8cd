"""Confidence intervals for the answers of a release, from simulated runs of the algorithm. They cost no budget.

Where the noise does not depend on the data (queries fixed beforehand, then least squares, and the answer follows from
what was measured), its law is the same on any data, so it is simulated on an empty table and the interval covers the
true count at the stated rate. Everywhere else the algorithm is run again on the published estimate, as if that were the
data: an approximation, that no theorem backs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.exact import share
from adyton.plans.base import ExpectedError, Plan
from adyton.plans.simulation import simulate
from adyton.queries import Queries
from adyton.queries.base import Reals
from adyton.release.presentation import shown
from adyton.remembered import cached_property

Kind: TypeAlias = Literal["exact", "approximate"]

MOST_QUERIES = 1 << 17
_SHOWN = 6
_SEED = 20141107
_LARGEST_COUNT = 2.0**53
_AT_ONCE, _KEPT = 1 << 22, 1 << 26
"""How many simulated cells (or answers) are held at a time, and how many answers in all."""
_WORK = {True: 1 << 27, False: 1 << 19}
_MOST_RUNS, _FEWEST_RUNS = {True: 4000, False: 100}, {True: 200, False: 40}
"""How many cells are simulated, in how many runs, by whether the noise has one law for all data."""
_BATCH, _FEWEST, _SECONDS = 10, 20, 20.0
_AT_LEAST = {True: 500, False: _FEWEST}
"""However slow an algorithm is, it is run so often; and then for as long as these seconds last."""


@dataclass(frozen=True, eq=False)
class Interval:
    """Answers with bounds: *kind* says whether the rate is a promise (``exact``) or an ``approximate`` one."""

    estimate: Reals
    lower: Reals
    upper: Reals
    confidence: float
    kind: Kind
    beyond: bool = False
    """Whether some of the answers do not follow from what was measured, although the task's own do."""

    @property
    def meaning(self) -> str:
        """What the intervals promise, in plain words."""
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
        return f"<{100 * self.confidence:g}% intervals ({self.kind}): {self._listed()}>"

    def __str__(self) -> str:
        return f"{self._listed()}. {self.meaning}"

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

    def interval(self, queries: Queries, confidence: float) -> Interval:
        """Bounds on the true answers, as wide as |error| is in that part of the simulated runs."""
        rate = float(share(confidence, "confidence"))
        if queries.count > MOST_QUERIES:
            raise BadInput(
                f"intervals are computed for at most {MOST_QUERIES:,} queries at a time, given {queries.count:,}. Ask "
                "for some of them."
            )
        exact = self.kind(queries) == "exact"
        runs = self._number(queries, exact)
        _check_rate(rate, runs, exact)
        answers = np.asarray(queries @ self.estimate, dtype=np.float64)
        errors = np.concatenate([np.abs(batch).astype(np.float32) for batch in self._errors(queries, runs)])
        _check_rate(rate, len(errors), exact)
        radius = np.quantile(errors, rate, axis=0, method="higher").astype(np.float64)
        beyond = not exact and self.kind() == "exact"
        return Interval(answers, answers - radius, answers + radius, rate, "exact" if exact else "approximate", beyond)

    def expected_total(self) -> float:
        """√E‖W·x̂ − W·x‖² over some simulated runs."""
        squares = [np.square(batch).sum(axis=-1) for batch in self._errors(self.workload, 20)]
        return float(np.sqrt(np.concatenate(squares).mean()))

    def _number(self, queries: Queries, exact: bool) -> int:
        """How many runs tell enough."""
        enough = max(_FEWEST_RUNS[exact], _WORK[exact] // self.estimate.size)
        return min(_MOST_RUNS[exact], enough, max(_FEWEST, _KEPT // queries.count))

    def _errors(self, queries: Queries, number: int) -> Iterator[Reals]:
        """Errors of simulated answers, some runs at a time."""
        exact = self.kind(queries) == "exact"
        some = max(1, _AT_ONCE // queries.count)
        for data, cells in self._runs(exact, number):
            truth = queries @ data
            for start in range(0, len(cells), some):
                yield np.asarray(queries @ cells[start : start + some] - truth, dtype=np.float64)

    def _runs(self, exact: bool, number: int) -> Iterator[tuple[npt.NDArray[np.int64], Reals]]:
        """Data and estimates of so many simulated runs, or fewer of a slow algorithm; those of small domains stay."""
        kept = self._kept[exact]
        step = _BATCH if not exact else max(1, min(_MOST_RUNS[True], _AT_ONCE // self.estimate.size))
        deadline = time.monotonic() + _SECONDS
        done = 0
        while done < number:
            if done >= _AT_LEAST[exact] and time.monotonic() > deadline:
                return
            place = done // step
            batch = kept[place] if place < len(kept) else self._batch(exact, _SEED + done, step)
            if place == len(kept) and (done + step) * self.estimate.size <= _AT_ONCE:
                kept.append(batch)
            data, cells = batch
            yield data, cells[: number - done]
            done += step

    def _batch(self, exact: bool, seed: int, trials: int) -> tuple[npt.NDArray[np.int64], Reals]:
        data = np.zeros(self.workload.domain, dtype=np.int64) if exact else self._stand_in(seed)
        plan = replace(self.plan, total=None if self.plan.total is None else int(data.sum()))
        return data, simulate(plan, data, self.workload, self.epsilon, seed=seed, trials=trials)

    @cached_property
    def _kept(self) -> dict[bool, list[tuple[npt.NDArray[np.int64], Reals]]]:
        return {True: [], False: []}

    def _stand_in(self, seed: int) -> npt.NDArray[np.int64]:
        """Counts such as the data might have: the estimate is smoother than they are, so that chance is added again."""
        random = np.random.default_rng(seed)
        likely = shown(self.estimate, integer=False, nonnegative=True)
        return random.poisson(np.minimum(likely, _LARGEST_COUNT)).astype(np.int64)


@lru_cache(maxsize=16)
def _one_law(plan: Plan, workload: Queries, epsilon: Fraction, queries: Queries) -> bool:
    return plan.one_law(workload, epsilon, queries)


def _check_rate(rate: float, runs: int, exact: bool) -> None:
    """Refuse a confidence that so many runs cannot tell."""
    most = 1 - (10 if exact else 2) / runs
    if rate > most:
        raise BadInput(
            f"confidence is at most {most:.4g} here, given {rate:g}: the bounds are found by {runs:,} simulated runs, "
            "which do not tell more."
        )
