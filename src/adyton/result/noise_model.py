"""How the answers of a release scatter: their expected error and confidence intervals. They cost no budget.

Where the noise does not depend on the data (queries fixed beforehand, then least squares, and the answer follows from
what was measured), its law is the same on any data. It has a closed form, or is simulated on an empty
table; the interval covers the true count at the stated rate. Everywhere else the algorithm is run again on the
published estimate, as if that were the data: an approximation without a formal guarantee.

Simulated runs use public information only. If they are slow, fewer are made than planned, and the result says how many.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Reals
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.exact import share
from adyton.plans.base import ErrorKind, ExpectedError, Plan
from adyton.plans.registry import simulate
from adyton.queries import Explicit, Product, Queries, Stack
from adyton.result.intervals import Interval, Kind, around_measured, pooled_radius, radius, within_counts
from adyton.result.sheets import Look
from adyton.solving.noise_moments import Moments

MOST_QUERIES = 1 << 17
NO_BOUNDS = "No bounds: they are found by running the algorithm again, and that was too slow here."
_KEPT = 1 << 26
"""How many simulated answers are held in memory at most."""
_WORK = {True: 1 << 27, False: 1 << 16}
_MOST_RUNS, _FEWEST_RUNS = {True: 4000, False: 100}, {True: 200, False: 16}
"""Limits on the simulated cells and on the number of runs; the key is whether the noise has one law for all data."""
_BEYOND, _POOLED = {True: 10.0, False: 2.0}, 0.4
"""Bounds are given only if at least this many runs are expected to lie outside them; the second number, less than one
run, is for answers that are pooled with others of similar size."""
_RESAMPLED = 20
"""How many runs are made for the expected error if there is no closed form."""
_LEAST_RUNS, _FEWEST_TOGETHER = 5, 40
_LEAST_CONFIDENCE = 0.8
"""If slow runs do not allow at least this confidence, no bounds are given."""
_USUAL, _NORMAL_AT_USUAL = 0.95, 1.959964
"""The confidence at which covariances agree with intervals, and the quantile of |X| for a normal X there."""
_UNSEEN = 1.25
"""Approximate bounds are wider by this factor than simulated runs say, where no measurement shows what the runs do not:
found on public data."""
_APART = 1 << 20
"""The distance between the seeds of combined parts, so that no two of them simulate with the same noise."""


@dataclass(frozen=True, eq=False)
class NoiseModel:
    """How the answers of a plan scatter: the plan, its budget and workload, and its estimate."""

    plan: Plan
    """The plan as it was run, including its post-processing."""
    workload: Queries
    epsilon: Fraction
    """The budget per row."""
    estimate: Reals
    measured: Reals | None = None
    """The noisy answers that the estimate was computed from, where they are known: see :meth:`Plan.unbiased`."""

    def expected_error(self) -> ExpectedError | None:
        """The error of the plan if it is the same on all data, otherwise None."""
        try:
            expected = self.plan.expected_error(self.workload, self.epsilon)
        except BadInput:
            return None  # it depends on the data
        return expected if expected.kind in ("exact", "estimate") else None

    def kind(self, queries: Queries | None = None) -> Kind:
        """Whether the noise in the answers to these queries (the workload, if none are given) has one law on all data.

        It does if they follow from what was measured, and only linear equations were solved.
        """
        asked = self.workload if queries is None else queries
        return "exact" if _one_law(self.plan, self.workload, self.epsilon, asked) else "approximate"

    def moments(self, queries: Queries) -> Moments | None:
        """The moments of the noise in these answers, if it has one law on all data and a closed form."""
        return _moments(self.plan, self.workload, self.epsilon, queries)

    def variances(self, queries: Queries) -> Reals:
        """The exact variances of the answers, if :meth:`kind` is ``exact``."""
        moments = self.moments(queries)
        return self.plan.variances(self.workload, self.epsilon, queries) if moments is None else moments.variances

    def covariances(self, queries: Queries, others: Queries | None = None) -> Reals:
        """The covariances of the errors of answers, a row for each of *queries* and a column for each of *others* (of
        *queries*, if there are no others).

        They are exact if :meth:`kind` is: cov(a, b) = (var(a + b) − var(a) − var(b))/2, with the exact variances of
        the answers and of their sums. Otherwise the correlations are those of the errors in simulated runs, times the
        deviations that :meth:`interval` gives: half the width of a 95% interval, divided by 1.96; so intervals and
        covariances agree. Like the intervals, they follow from public information, and are the same after a release
        is read from a file.
        """
        many, asked = queries.count, queries if others is None else Stack([queries, others])
        if self.kind(asked) == "exact":
            first, second = (
                np.triu_indices(many, 1) if others is None else np.indices((many, others.count)).reshape(2, -1)
            )
            second = second if others is None else second + many
            own, sums = self.variances(asked), _sums(asked, first, second)
            pairs = np.zeros(0) if sums is None else (self.variances(sums) - own[first] - own[second]) / 2
            if others is not None:
                return np.asarray(pairs.reshape(many, others.count))
            found = np.diag(own)
            found[first, second] = found[second, first] = pairs
            return found
        errors = self.drawn(asked)
        return np.asarray(errors[:, :many].T @ (errors if others is None else errors[:, many:]) / len(errors))

    def drawn(self, queries: Queries, most: int = _MOST_RUNS[True]) -> Reals:
        """Errors of these answers as they might be, a row for each of at most *most* simulated runs; none if runs are
        too slow. Unless :meth:`kind` is ``exact``, they are scaled to the deviations that :meth:`interval` gives."""
        exact = self.kind(queries) == "exact"
        interval = None if exact else self.interval(queries, _USUAL)
        if interval is not None and not interval.bounded:
            return np.full((1, queries.count), np.inf)
        number = min(most, self._number(queries, exact, False))
        errors = np.concatenate(list(self.runs.errors(queries, number, exact=exact)))
        if interval is not None:
            deviations = (interval.upper - interval.lower) / (2 * _NORMAL_AT_USUAL)
            errors *= deviations / np.maximum(np.sqrt(np.square(errors).mean(axis=0)), 1e-300)
        return errors

    def cell_covariances(self, queries: Queries) -> Reals | None:
        """The exact covariances of the errors of answers with those of all cells, queries × cells; None if the noise
        depends on the data."""
        if self.kind(queries) != "exact":
            return None
        return self.plan.cell_covariances(self.workload, self.epsilon, queries)

    def mean_absolute(self, queries: Queries) -> Reals | None:
        """The mean of |error| of each answer, from the variances or from simulated runs; None if the answers do not
        follow from what was measured, because runs then say nothing about the error."""
        if not self.determines(queries):
            return None
        moments = self.moments(queries)
        if moments is not None:
            part = np.clip(moments.excess / 3, 0, 1)  # √(Var/2) for the Laplace law, √(2Var/π) for the normal one
            return np.asarray(np.sqrt(2 * moments.variances / np.pi) * (1 - part * (1 - np.sqrt(np.pi) / 2)))
        batches = list(self.runs.errors(queries, _RESAMPLED, exact=self.kind(queries) == "exact"))
        return np.asarray(np.abs(np.concatenate(batches)).mean(axis=0))

    def determines(self, queries: Queries) -> bool:
        """Whether the answers follow from what was measured, as far as is known without the data."""
        return _determines(self.plan, self.workload, self.epsilon, queries)

    def interval(self, queries: Queries, confidence: float, *, together: bool = False) -> Interval:
        """Bounds on the true answers, from a closed form or from the quantile of |error| in simulated runs.

        They hold for each answer separately; with *together*, for all of them at once.
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
        """Whether some of the answers do not follow from what was measured, although those of the task do."""
        return self.kind(queries) != "exact" and not self.determines(queries) and self.determines(self.workload)

    def unbiased(self, queries: Queries) -> tuple[Reals, Moments] | None:
        """The answers that follow from what was measured by linear equations alone, with the moments of their noise;
        None if that is not known."""
        if self.measured is None:
            return None
        return self.plan.unbiased(self.workload, self.epsilon, self.measured, queries)

    def _simulated(self, queries: Queries, rate: float, together: bool) -> Interval:
        kind = self.kind(queries)
        exact = kind == "exact"
        beyond = _BEYOND[exact] if exact or together else _POOLED
        planned = self._number(queries, exact, together)
        most = 1 - beyond / planned
        if rate > most:
            raise BadInput(
                f"confidence is at most {most:.4g} here, given {rate:g}: the bounds come from {planned:,} simulated "
                "runs, which do not allow more."
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
        reached = min(rate, max(floor, math.floor(100 * (1 - beyond / runs)) / 100))
        errors = np.concatenate(made)
        pooled = not exact and not together
        far = pooled_radius(errors, answers, reached) if pooled else _exceeded(errors, reached, together)
        note, lower, upper = _about_runs(runs, planned, reached, rate), answers - far, answers + far
        if not exact and not unmeasured:
            plain = self.unbiased(queries)
            if plain is None:
                lower, upper = answers - _UNSEEN * far, answers + _UNSEEN * far
            else:
                each = 1 - (1 - reached) / queries.count if together else reached
                sums = np.asarray(queries @ np.ones(queries.domain)) != 1
                lower, upper = around_measured(answers, far, *plain, each, sums)
            if _counts_rows(queries):
                lower, upper = within_counts(answers, lower, upper)
        return Interval(answers, lower, upper, reached, kind, unmeasured, note)

    def resampled_error(self, queries: Queries | None = None) -> ExpectedError:
        """The error on the workload or on other queries, over simulated runs; over fewer if runs are slow."""
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
        """How many runs are enough: the same for one answer as for many, so that the runs are made only once."""
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


def _sums(queries: Queries, first: Integers, second: Integers) -> Queries | None:
    """The sums of pairs of queries, None if there are no pairs."""
    if not first.size:
        return None
    places, ones = np.tile(np.arange(first.size), 2), np.ones(2 * first.size, dtype=np.int64)
    return Product(Explicit(queries.count, places, np.concatenate([first, second]), ones, first.size), queries)


@lru_cache(maxsize=16)
def _counts_rows(queries: Queries) -> bool:
    """Whether every query adds up whole multiples of counts, so that no true answer is fractional or negative."""
    if not queries.whole:
        return False
    return int(queries.column_sums().sum()) == int(np.asarray(queries @ np.ones(queries.cells, dtype=np.int64)).sum())


def _exceeded(errors: npt.NDArray[np.float32], rate: float, together: bool) -> Reals:
    """For each answer, the |error| that it does not exceed in this part of all runs. With *together*, a multiple of
    each answer's deviation, so large that in this part of all runs no answer exceeds its own."""
    if not together:
        return np.quantile(errors, rate, axis=0, method="higher").astype(np.float64)
    deviations = np.sqrt(np.square(errors, dtype=np.float64).mean(axis=0))
    times = (errors / np.maximum(deviations, 1e-300)).max(axis=1)
    return np.asarray(deviations * np.quantile(times, rate, method="higher"))


def _about_runs(runs: int, planned: int, reached: float, asked: float) -> str:
    """A remark if the bounds come from fewer runs than planned."""
    if runs >= planned:
        return ""
    lower = f", enough for {100 * reached:g}% and not for {100 * asked:g}%" if reached < asked else ""
    return f"The bounds come from {runs:,} simulated runs instead of {planned:,}{lower}: runs were slow here."


# ---- simulated runs --------------------------------------------------------------------------------------------------


SECONDS, PATIENCE = 20.0, 3.0
"""How long the runs for one purpose may take: seconds of processor time, and the factor by which a busy machine may
lengthen them. A run that has begun is finished, and at least two are made."""
_MEMORY = 60.0
"""For how many seconds slow runs are remembered; later the machine may be less busy."""
_SEED = 20141107
_LARGEST_COUNT = 2.0**53
_AT_ONCE, _KEPT_CELLS = 1 << 22, 1 << 23
"""How many simulated cells (or answers) are held at a time, and how many cells are kept for later queries."""
_MOST_IN_BATCH = {True: 4000, False: 10}
"""How many runs a batch has at most; the key is whether the noise has one law for all data. If not, every batch
simulates its own stand-in for the data."""

Batch = tuple[npt.NDArray[np.int64], Reals]
"""Public counts, and the estimates of some runs on them."""


@dataclass(frozen=True, eq=False)
class SimulatedRuns:
    """Runs of a plan, on an empty table if the noise has one law for all data, otherwise on the published estimate."""

    plan: Plan
    workload: Queries
    epsilon: Fraction
    estimate: Reals
    seed: int = _SEED
    _kept: dict[bool, list[Batch]] = field(default_factory=lambda: {True: [], False: []})
    """Runs on domains that are not too large are kept for reuse."""
    _pace: dict[bool, tuple[float, float]] = field(default_factory=dict)
    """How many seconds the last run took, and when it was made."""

    def errors(self, queries: Queries, number: int, *, exact: bool, least: int = 0) -> Iterator[Reals]:
        """Errors of simulated answers in *number* runs, some runs at a time.

        Fewer runs are made if the algorithm is slow, and none if *least* runs are known to take too long.
        """
        some = max(1, _AT_ONCE // queries.count)
        for data, cells in self._batches(number, exact, least):
            truth = queries @ data
            for start in range(0, len(cells), some):
                yield np.asarray(queries @ cells[start : start + some] - truth, dtype=np.float64)

    def _batches(self, number: int, exact: bool, least: int) -> Iterator[Batch]:
        kept = self._kept[exact]
        most = max(1, min(_MOST_IN_BATCH[exact], _AT_ONCE // self.estimate.size))
        if self._hopeless(exact, least):
            return
        begin = clock()
        done = place = 0
        while done < number:
            start, fresh = clock(), place >= len(kept)
            if not fresh:
                batch = kept[place]
            else:
                size = self._next_size(place, most, SECONDS - _since(begin), self._seconds(exact))
                if not size:
                    return
                batch = self._batch(exact, self.seed + done, size)
                if (done + size) * self.estimate.size <= _KEPT_CELLS:
                    kept.append(batch)
            data, cells = batch
            yield data, cells[: number - done]
            if fresh and place:  # the first run may include compilation
                self._pace[exact] = _since(start) / len(cells), clock()[1]
            done += len(cells)
            place += 1

    def _seconds(self, exact: bool) -> float:
        """How long a run takes, if known."""
        return self._pace.get(exact, (0.0, 0.0))[0]

    def _hopeless(self, exact: bool, least: int) -> bool:
        """Whether *least* runs cannot be made in time, because recent runs took too long."""
        missing = least - sum(len(cells) for _, cells in self._kept[exact])
        _, tried = self._pace.get(exact, (0.0, 0.0))
        return missing * self._seconds(exact) > SECONDS and clock()[1] < tried + _MEMORY

    def _next_size(self, place: int, most: int, left: float, pace: float) -> int:
        """How many runs to make next: one, one more, then ever more, but not more than there is time for.

        Unless time runs short, every repetition makes batches of the same sizes, and so has the same result.
        """
        if place < 2:
            return 1
        if left <= 0:
            return 0
        return int(min(most, 10 ** (place - 1), max(1.0, left / max(pace, 1e-9))))

    def _batch(self, exact: bool, seed: int, trials: int) -> Batch:
        data = np.zeros(self.estimate.shape, dtype=np.int64) if exact else self._stand_in(seed)
        plan = replace(self.plan, total=None if self.plan.total is None else int(data.sum()))
        return data, simulate(plan, data, self.workload, self.epsilon, seed=seed, trials=trials)

    def _stand_in(self, seed: int) -> npt.NDArray[np.int64]:
        """Counts such as the data might have: the estimate is smoother than data are, so randomness is added."""
        random = np.random.default_rng(seed)
        likely = Look(nonnegative=True).shown(self.estimate)
        return random.poisson(np.minimum(likely, _LARGEST_COUNT)).astype(np.int64)


def clock() -> tuple[float, float]:
    """The processor time of this thread, and the wall-clock time, in seconds."""
    return time.thread_time(), time.monotonic()


def _since(start: tuple[float, float]) -> float:
    """The seconds of work since *start*: processor time, or a part of the wall-clock time if that is more."""
    worked, passed = (now - then for now, then in zip(clock(), start, strict=True))
    return max(worked, passed / PATIENCE)


# ---- of several releases that are combined ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CombinedRuns(SimulatedRuns):
    """Simulated runs of all parts, combined by their weights."""

    parts: tuple[SimulatedRuns, ...] = ()
    weights: tuple[float, ...] = ()

    def errors(self, queries: Queries, number: int, *, exact: bool, least: int = 0) -> Iterator[Reals]:
        """Errors of combined answers, in as many runs as the slowest part makes."""
        streams = [part.errors(queries, number, exact=exact, least=least) for part in self.parts]
        for pieces in _side_by_side(streams):
            yield sum((weight * piece for weight, piece in zip(self.weights, pieces, strict=True)), np.zeros(1))


@dataclass(frozen=True, eq=False)
class CombinedNoise(NoiseModel):
    """How a weighted average of independent estimates scatters. Cumulants of independent errors add up."""

    parts: tuple[NoiseModel, ...] = ()
    weights: tuple[float, ...] = ()

    @classmethod
    def of(cls, parts: Sequence[NoiseModel], weights: Sequence[float], estimate: Reals) -> CombinedNoise:
        """The model of several estimates whose weighted average is *estimate*."""
        first = parts[0]
        return cls(first.plan, first.workload, first.epsilon, estimate, parts=tuple(parts), weights=tuple(weights))

    def expected_error(self) -> ExpectedError | None:
        """√Σ (weight·error)², if each part has the same error on all data and was made for the same task."""
        if any(part.workload is not self.workload for part in self.parts):
            return None
        errors = [error for part in self.parts if (error := part.expected_error()) is not None]
        if len(errors) < len(self.parts):
            return None
        total = math.hypot(*(weight * error.total for weight, error in zip(self.weights, errors, strict=True)))
        kind: ErrorKind = "exact" if all(error.kind == "exact" for error in errors) else "estimate"
        return ExpectedError(total, self.workload.count, kind)

    def kind(self, queries: Queries | None = None) -> Kind:
        """``exact`` if all parts are."""
        asked = self.workload if queries is None else queries
        return "exact" if all(part.kind(asked) == "exact" for part in self.parts) else "approximate"

    def moments(self, queries: Queries) -> Moments | None:
        """Σ weight²·variance and Σ weight⁴·fourth cumulant, if all are known."""
        known = [moments for part in self.parts if (moments := part.moments(queries)) is not None]
        return None if len(known) < len(self.parts) else self._added(known)

    def unbiased(self, queries: Queries) -> tuple[Reals, Moments] | None:
        """The average of what all parts measured; parts with exact noise are their own measurements."""
        known = []
        for part in self.parts:
            moments = part.moments(queries)
            own = part.unbiased(queries) if moments is None else (np.asarray(queries @ part.estimate), moments)
            if own is None:
                return None
            known.append(own)
        answers = sum((weight * own[0] for weight, own in zip(self.weights, known, strict=True)), np.zeros(1))
        return np.asarray(answers, dtype=np.float64), self._added([moments for _, moments in known])

    def _added(self, known: Sequence[Moments]) -> Moments:
        pairs = list(zip(self.weights, known, strict=True))
        variances = sum((weight**2 * moments.variances for weight, moments in pairs), np.zeros(1))
        fourths = sum((weight**4 * moments.fourths for weight, moments in pairs), np.zeros(1))
        return Moments(np.asarray(variances), np.asarray(fourths), any(moments.at_most for moments in known))

    def variances(self, queries: Queries) -> Reals:
        """Σ weight²·variance."""
        pairs = zip(self.weights, self.parts, strict=True)
        return np.asarray(sum((weight**2 * part.variances(queries) for weight, part in pairs), np.zeros(1)))

    def cell_covariances(self, queries: Queries) -> Reals | None:
        """Σ weight²·covariance, if all are known."""
        known = [found for part in self.parts if (found := part.cell_covariances(queries)) is not None]
        if len(known) < len(self.parts):
            return None
        return np.asarray(sum(weight**2 * found for weight, found in zip(self.weights, known, strict=True)))

    def determines(self, queries: Queries) -> bool:
        """Whether all parts determine the answers."""
        return all(part.determines(queries) for part in self.parts)

    @cached_property
    def runs(self) -> CombinedRuns:
        """Runs of each part on data like the combined estimate, each with its own noise."""
        own = [
            replace(SimulatedRuns(part.plan, part.workload, part.epsilon, self.estimate), seed=(place + 1) * _APART)
            for place, part in enumerate(self.parts)
        ]
        return CombinedRuns(
            self.plan, self.workload, self.epsilon, self.estimate, parts=tuple(own), weights=self.weights
        )


def _side_by_side(streams: Sequence[Iterator[Reals]]) -> Iterator[list[Reals]]:
    """Batches of equal lengths from streams of batches of any length, until one stream ends.

    >>> first, second = iter([np.zeros((3, 1))]), iter([np.ones((1, 1)), np.ones((4, 1))])
    >>> [[len(piece) for piece in pieces] for pieces in _side_by_side([first, second])]
    [[1, 1], [2, 2]]
    """
    held: list[Reals | None] = [None] * len(streams)
    while True:
        for place, stream in enumerate(streams):
            if held[place] is None:
                held[place] = next(stream, None)
        ready = [piece for piece in held if piece is not None]
        if len(ready) < len(streams):
            return
        length = min(map(len, ready))
        yield [piece[:length] for piece in ready]
        held = [piece[length:] if len(piece) > length else None for piece in ready]
