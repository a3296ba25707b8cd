"""Known totals: a release adjusted to counts that are public, and how the adjusted answers scatter.

With the estimate x̂, whose error has the covariances C, and totals t = A·x + v, whose errors v have the variances V,
generalised least squares gives

    x' = x̂ + K·(t − A·x̂),  K = C·Aᵀ·(A·C·Aᵀ + V)⁻¹,

with the error (1 − K·A)·e + K·v: the noise of the queries that K leaves over, which is never more than before. An exact
total has V = 0, and its own answer has no error. All this is post-processing of public numbers, and costs no privacy.

For algorithms that only solve linear equations, C is known. For all others C stands for weights: each cell takes a
part of the difference in proportion to the standard deviation of its error in simulated runs. In proportion to the
variance would be best if the runs were right; equal parts are never worse than before, whatever the errors are; this is
the mean of the two. If no count was negative before, none is afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from adyton.arrays import Flags, Reals
from adyton.compiling import cached_property
from adyton.plans.base import ExpectedError
from adyton.queries import Explicit, Identity, Queries, Stack
from adyton.result.intervals import Interval, Kind
from adyton.result.noise_model import NoiseModel, SimulatedRuns
from adyton.result.sheets import Look
from adyton.schema import Schema
from adyton.solving.noise_moments import Moments, laplace_excess
from adyton.tasks.known import KnownTotals

_RUNS = 20
"""How many simulated runs the weights of the cells come from."""
_LEAST_WEIGHT = 0.05
"""The smallest weight of a cell, relative to the mean."""
_SINGULAR = 1e-10
_NOTHING = 1e-9
"""Relative: a coefficient or a variance that is smaller is 0."""
_ROUNDS, _WORK = 100, 1 << 33
"""How often cells that became negative are set to 0, and how much work that may be: totals to the third power."""
_DIGITS = 6
"""Answers that exact totals decide are rounded to this many digits after the point: they follow from whole numbers."""
_MOST_WRITTEN = 1 << 24
_ALARM = math.log(1e4)
"""A total that the measurements contradict is named if that happens by accident in one of 10,000 releases."""
_SEED = 20170619


@dataclass(frozen=True, eq=False)
class Adjustment:
    """An estimate that was adjusted to known totals."""

    estimate: Reals
    """The adjusted counts of all cells, flat."""
    gains: Reals
    """K, totals × cells: what each cell takes of the difference between a total and its answer."""
    covariances: Reals | None
    """A·C, totals × cells, where the covariances are exact."""
    deviations: Reals
    """The standard deviation of the difference between each total and its answer before."""
    rows: Reals
    """A, totals × cells, without empty cells."""
    empty: Flags
    """The cells that have no rows, because an exact total of 0 counts them."""

    @classmethod
    def of(cls, model: NoiseModel, known: KnownTotals, schema: Schema) -> Adjustment:
        """The estimate of *model*, adjusted. Whatever happens to covariances and runs, there is a result."""
        rows, spread = known.rows(schema), np.square(known.deviations)
        totals, before = np.array(known.counts), model.estimate.reshape(-1)
        empty = rows[(totals == 0) & (spread == 0)].any(axis=0)
        rows, before = rows * ~empty, np.where(empty, 0.0, before)
        asked = known.queries(schema)
        queries = Explicit.from_rows(rows.astype(np.int64), schema.shape) if empty.any() else asked
        try:
            exact = model.cell_covariances(queries)
        except Exception:  # the estimate is paid for: weights do as well
            exact = None
        columns = rows * _weights(model, queries, rows) if exact is None else exact
        gains, cells = _gains(rows, columns, spread), before
        nonnegative, free = exact is None and bool(before.min() >= 0), np.ones(before.shape, dtype=bool)
        for _ in range(min(_ROUNDS, 1 + _WORK // len(rows) ** 3)):
            start = np.where(free, before, 0.0)
            cells = _met(start + (totals - rows @ start) @ gains, rows, columns, spread, totals)
            negative = free & (cells < 0)
            if not nonnegative or not negative.any():
                break
            free &= ~negative
            columns = columns * free
            gains = _gains(rows, columns, spread)
        else:  # the totals are met, and some counts are negative
            nonnegative = False
        alone = (rows.sum(axis=1) == 1) & (spread == 0)
        cells[rows[alone].argmax(axis=1)] = totals[alone]
        cells = np.maximum(cells, 0.0) if nonnegative else cells
        cells[empty] = 0.0
        return cls(cells, gains, exact, np.sqrt(_variances(model, asked, rows, columns) + spread), rows, empty)


def _gains(rows: Reals, columns: Reals, spread: Reals) -> Reals:
    """(A·C·Aᵀ + V)⁺·A·C, totals × cells. Totals that follow from others have no weight of their own."""
    middle = rows @ columns.T + np.diag(spread)
    own = np.diag(middle)
    scale = np.where(own > 0, 1 / np.sqrt(np.where(own > 0, own, 1.0)), 0.0)  # 0: all its cells are 0 already
    inverse = np.linalg.pinv(middle * np.outer(scale, scale), rcond=_SINGULAR, hermitian=True)
    return np.asarray((inverse * np.outer(scale, scale)) @ columns)


def _met(cells: Reals, rows: Reals, columns: Reals, spread: Reals, totals: Reals) -> Reals:
    """The cells with rounding errors removed: exact totals are met to the last digits."""
    exact = spread == 0
    if exact.any():
        gains = _gains(rows[exact], columns[exact], spread[exact])
        for _ in range(2):
            cells = cells + (totals[exact] - rows[exact] @ cells) @ gains
    return cells


def _weights(model: NoiseModel, queries: Queries, rows: Reals) -> Reals:
    """A variance for every cell, in proportion to the standard deviation of its error in simulated runs, and such that
    answers to the totals have about the variance that they have in these runs."""
    cells = rows.shape[1]
    try:
        exact = model.kind(queries) == "exact"
        runs = np.concatenate(list(model.runs.errors(Identity(model.estimate.shape), _RUNS, exact=exact)))
        weights = np.sqrt(np.square(runs).mean(axis=0))
        answers = np.square(runs @ rows.T).mean(axis=0)
    except Exception:  # the estimate is paid for, and equal weights always do
        return np.ones(cells)
    if not np.isfinite(weights).all() or not weights.any():
        return np.ones(cells)
    weights = weights + _LEAST_WEIGHT * weights.mean()
    some = rows.any(axis=1)
    level = float(np.median(answers[some] / (rows[some] @ weights))) if some.any() else 1.0
    return np.asarray(weights * (level if level > 0 and math.isfinite(level) else 1.0))


def _variances(model: NoiseModel, queries: Queries, rows: Reals, columns: Reals) -> Reals:
    """The variances of the answers to the totals, exact or in simulated runs; by the weights, if there are no runs."""
    try:
        if model.kind(queries) == "exact":
            return model.variances(queries)
        return np.asarray(np.square(np.concatenate(list(model.runs.errors(queries, _RUNS, exact=False)))).mean(axis=0))
    except Exception:  # only remarks depend on it
        return np.asarray((rows * columns).sum(axis=1))


def contradicted(known: KnownTotals, adjustment: Adjustment, answers: Reals) -> str:
    """A warning that names a known total which the measurements contradict; empty if they contradict none."""
    off = np.abs(np.array(known.counts) - answers)
    limit = (_ALARM + math.log(len(known.counts))) / math.sqrt(2)  # Laplace noise: P(|η| > z·σ) = e^(−√2·z)
    far = off > limit * adjustment.deviations + 1
    if not far.any():
        return ""
    line = int(np.argmax(np.where(far, off / np.maximum(adjustment.deviations, 1e-300), 0.0)))
    others = f" and {far.sum() - 1:,} others" if far.sum() > 1 else ""
    return (
        f"WARNING: the measurements contradict the known total of {known.words(line)}{others}: it was given as "
        f"{known.counts[line]:,.10g}, and measured as {answers[line]:,.6g}, which noise does not explain. It may count "
        "other rows than the release, or be wrong; then the adjusted counts are wrong, too. "
    )


def keeping_totals(look: Look, estimate: Reals, known: KnownTotals, schema: Schema) -> Reals:
    """The estimate as whole or non-negative numbers that keep exact totals: those of the attributes with the most of
    them, and the sum of all other cells."""
    rows, cells = known.rows(schema), estimate.reshape(-1).copy()
    sets: dict[tuple[str, ...], list[int]] = {}
    for line, part in enumerate(known.parts):
        if known.errors[line] == 0:
            sets.setdefault(tuple(part), []).append(line)
    group = np.zeros(cells.shape, dtype=np.int64)
    most: list[int] = max(sets.values(), key=len) if sets else []
    for number, line in enumerate(most, 1):
        group[(rows[line] > 0) & (group == 0)] = number
    for number in np.unique(group):
        cells[group == number] = look.shown(cells[group == number])
    return cells.reshape(estimate.shape)


# ---- how adjusted answers scatter ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class KnownRuns(SimulatedRuns):
    """Simulated runs, adjusted to totals with simulated errors."""

    base: SimulatedRuns | None = None
    totals: Queries | None = None
    gains: Reals | None = None
    spread: Reals | None = None

    def errors(self, queries: Queries, number: int, *, exact: bool, least: int = 0) -> Iterator[Reals]:
        """Errors of adjusted answers: e − K·(A·e − v)."""
        assert self.base is not None
        assert self.totals is not None
        assert self.gains is not None
        assert self.spread is not None
        taken = np.asarray(queries @ self.gains)
        random = np.random.default_rng(_SEED)
        for errors in self.base.errors(Stack([queries, self.totals]), number, exact=exact, least=least):
            own, of_totals = errors[:, : queries.count], errors[:, queries.count :]
            yield own - (of_totals - self.spread * random.standard_normal(of_totals.shape)) @ taken


@dataclass(frozen=True, eq=False, kw_only=True)
class KnownNoise(NoiseModel):
    """How answers that were adjusted to known totals scatter, if the totals are right within their errors."""

    base: NoiseModel
    totals: Queries
    adjustment: Adjustment
    spread: Reals
    """The standard deviations of the totals."""

    @classmethod
    def adjusting(cls, base: NoiseModel, known: KnownTotals, schema: Schema, adjustment: Adjustment) -> KnownNoise:
        """The model of an estimate that was adjusted in this way."""
        cells = adjustment.estimate.reshape(base.estimate.shape)
        queries = known.queries(schema)
        some = adjustment.empty.any()
        totals = Explicit.from_rows(adjustment.rows.astype(np.int64), schema.shape) if some else queries
        plan = base.plan, base.workload, base.epsilon
        return cls(*plan, cells, base=base, totals=totals, adjustment=adjustment, spread=known.deviations)

    def kind(self, queries: Queries | None = None) -> Kind:
        """``exact`` if the answers and the totals had exact errors before."""
        known = self.adjustment.covariances is not None
        return "exact" if known and self.base.kind(queries) == "exact" else "approximate"

    def determines(self, queries: Queries) -> bool:
        """Whether the answers follow from what was measured and from the totals."""
        return self.base.determines(queries) or bool(self._decided(queries).all())

    def variances(self, queries: Queries) -> Reals:
        """The variance before, minus what the totals explain."""
        found = self.base.variances(queries)
        return np.where(self._decided(queries), 0.0, np.maximum(found + self._change(queries), _NOTHING * found))

    def unbiased(self, queries: Queries) -> tuple[Reals, Moments] | None:
        """What was measured, whatever the totals are."""
        return self.base.unbiased(queries)

    def _change(self, queries: Queries) -> Reals:
        """By how much the variances of answers change: −2·k·c + k·(A·C·Aᵀ + V)·k, with k = q·K and c = q·C·Aᵀ."""
        columns = self.adjustment.covariances
        assert columns is not None
        taken, shared = np.asarray(queries @ self.adjustment.gains), np.asarray(queries @ columns)
        middle = self.adjustment.rows @ columns.T + np.diag(np.square(self.spread))
        return np.asarray((taken * (middle @ taken - 2 * shared)).sum(axis=0))

    def _decided(self, queries: Queries) -> Flags:
        """Which answers follow from exact totals alone, whatever the cells are: two random vectors of cells."""
        taken = np.asarray(queries @ self.adjustment.gains)
        probes = np.random.default_rng(_SEED).standard_normal((2, self.estimate.size)) * ~self.adjustment.empty
        true = np.asarray(queries @ probes)
        left, scale = np.abs(true - (self.adjustment.rows @ probes.T).T @ taken).max(axis=0), np.abs(true).max(axis=0)
        return np.asarray((left <= _NOTHING * np.maximum(scale, 1e-9)) & (np.abs(taken.T) @ self.spread <= _NOTHING))

    def expected_error(self) -> ExpectedError | None:
        """√(E‖error before‖² − what the totals explain), if the error was the same on all data."""
        few = self.workload.count * len(self.adjustment.rows) <= _MOST_WRITTEN
        error = self.base.expected_error() if few and self.kind() == "exact" else None
        if error is None:
            return None
        if self.adjustment.empty.any():  # answers about empty cells have no error
            squared = float(self.variances(self.workload).sum())
        else:
            squared = error.total**2 + float(self._change(self.workload).sum())
        return replace(error, total=math.sqrt(max(squared, 0.0)))

    @cached_property
    def _cell_noise(self) -> Reals | None:
        """The variance of each cell, if cells were measured one by one: the covariances of the cells with a random
        sum of all of them are then multiples of its coefficients."""
        cells = self.estimate.size
        marks = np.random.default_rng(_SEED).integers(1, 1 << 20, cells)
        query = Explicit(self.base.workload.domain, np.zeros(cells, dtype=np.int64), np.arange(cells), marks, 1)
        shared = self.base.cell_covariances(query)
        noise = None if shared is None else np.asarray(shared[0] / marks, dtype=np.float64)
        if noise is None or not np.allclose(noise, self.base.variances(Identity(self.estimate.shape)), rtol=1e-6):
            return None
        return noise

    def moments(self, queries: Queries) -> Moments | None:
        """For cells that were measured one by one, from the coefficients of their noises; None for others."""
        noise = self._cell_noise if self.kind(queries) == "exact" else None
        if noise is None:
            return None
        variances, fourth = self.variances(queries), np.square(noise) * laplace_excess(noise)
        if queries.count * queries.cells > _MOST_WRITTEN:
            return Moments(variances, float((fourth / np.square(noise)).max()) * np.square(variances), at_most=True)
        taken, pieces, start = np.asarray(queries @ self.adjustment.gains), [], 0
        for rows in queries.rows():
            left = rows - taken[:, start : start + len(rows)].T @ self.adjustment.rows
            pieces.append(np.square(np.square(left)) @ fourth)
            start += len(rows)
        return Moments(variances, np.concatenate(pieces))

    def interval(self, queries: Queries, confidence: float, *, together: bool = False) -> Interval:
        """Bounds as for any answers; answers that exact totals decide have none to spare."""
        found, decided = super().interval(queries, confidence, together=together), self._decided(queries)
        exact = np.where(decided, np.round(found.estimate, _DIGITS), found.estimate)
        lower, upper = (np.where(decided, exact, bound) for bound in (found.lower, found.upper))
        means = f"{found.meaning} They rely on the known totals: if these are wrong, so may the bounds be."
        return replace(found, estimate=exact, lower=lower, upper=upper, means=means)

    @cached_property
    def runs(self) -> KnownRuns:
        """Runs of the algorithm, adjusted in the same way."""
        plan = self.plan, self.workload, self.epsilon, self.estimate
        return KnownRuns(
            *plan, base=self.base.runs, totals=self.totals, gains=self.adjustment.gains, spread=self.spread
        )
