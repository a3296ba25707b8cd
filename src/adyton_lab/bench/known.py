"""Known totals and shrunk means on public data: how often intervals hold, and what happens to the errors.

A histogram of 256 cells has known totals of eight ranges of 32 cells and of all rows, exact ones or with an error of
4/ε. The tables of the means are those of :mod:`adyton_lab.bench.numbers`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.kernel.kernel import Kernel
from adyton.plans import plan_named, simulate
from adyton.queries import Identity, Queries
from adyton.result.known import Adjustment, KnownNoise
from adyton.result.noise_model import NoiseModel
from adyton.schema import Integer, Schema
from adyton.statistics.grouped import GroupedNumbers
from adyton.statistics.parts import reported
from adyton.statistics.programs import rank
from adyton.tasks import Mean
from adyton.tasks.known import KnownTotals
from adyton_lab.bench.common import CONFIDENCE, Coverage, Folder, Held, needed, shapes
from adyton_lab.corpus.tables import FRESH, JUDGED, cases_in, number_rows
from adyton_lab.training.engine import geometric_mean

CELLS, PARTS, ROWS = 256, 8, 10_000
EPSILONS = ("0.1", "1")
LINEAR, ADAPTIVE = ("identity", "hb"), ("denoised-cells", "change-points", "dawa")
_SCHEMA = Schema({"value": Integer(0, CELLS - 1)})


def known_coverage(data: Folder, trials: int) -> Iterator[Coverage]:
    """Intervals of every cell after adjusting to known totals, and of shrunk means; *trials* releases of each."""
    folder = needed(data, "public histograms and tables", "known totals are measured")
    for epsilon in EPSILONS:
        for algorithms, word in ((LINEAR, "linear"), (ADAPTIVE, "adaptive")):
            for exact in (True, False):
                kind = f"cells, {word} algorithms, {'exact' if exact else 'approximate'} known totals"
                held = Held(kind=kind, epsilon=epsilon)
                for case in _cases(folder, algorithms, epsilon, exact=exact, trials=trials):
                    interval = case.after.interval(case.cells, CONFIDENCE)
                    # those that totals decide count only where they are wrong
                    kept = (interval.upper > interval.lower) | (np.abs(case.truth - interval.estimate) > 1e-6)
                    middle, low, high = (part[kept] for part in (interval.estimate, interval.lower, interval.upper))
                    held.add(case.data, middle, low, high, case.truth[kept])
                    known = case.after.expected_error() or case.after.resampled_error()
                    held.expect(known.per_query, case.errors[1])
                yield held.coverage()
    yield from shrunk_coverage(folder, trials)


def shrunk_coverage(folder: Any, trials: int) -> Iterator[Coverage]:
    """Intervals of means of groups, shrunk towards the mean of all groups."""
    for epsilon in EPSILONS:
        held = Held(kind="means by group, shrunk", epsilon=epsilon)
        for run in _means(folder, epsilon, trials):
            own = run.figures[1]
            middle, low, high = (part[run.there] for part in (own.estimate, own.lower, own.upper))
            held.add(run.table, middle, low, high, run.truth)
            held.expect(math.sqrt(float(np.square(own.error[run.there]).mean())), run.errors[1])
        yield held.coverage()


@dataclass(frozen=True, kw_only=True)
class ErrorRatio:
    """The root mean square error with known totals, or of shrunk means, divided by that without."""

    kind: str
    epsilon: str
    data: int
    """How many data sets there were."""
    ratio: float
    """The geometric mean over data sets and algorithms."""
    worst: float
    """The largest, of one data set and algorithm over all releases."""
    off_totals: float | None = None
    """The largest difference from an exact total."""


def error_ratios(data: Folder, trials: int) -> Iterator[ErrorRatio]:
    """What known totals and shrinking do to errors."""
    folder = needed(data, "public histograms and tables", "known totals are measured")
    for epsilon in EPSILONS:
        for algorithms, word in ((LINEAR, "linear"), (ADAPTIVE, "adaptive")):
            for exact in (True, False):
                errors: dict[tuple[str, str], list[tuple[float, float]]] = {}
                off = 0.0
                for case in _cases(folder, algorithms, epsilon, exact=exact, trials=trials):
                    errors.setdefault((case.data, case.algorithm), []).append(case.errors)
                    off = max(off, case.off_totals)
                kind = f"cells, {word} algorithms, {'exact' if exact else 'approximate'} known totals"
                yield _ratio(kind, epsilon, errors, off if exact else None)
    for epsilon in EPSILONS:
        by_table: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for run in _means(folder, epsilon, trials):
            by_table.setdefault((run.table, "mean"), []).append(run.errors)
        yield _ratio("means by group, shrunk", epsilon, by_table)


def _ratio(
    kind: str, epsilon: str, errors: dict[tuple[str, str], list[tuple[float, float]]], off: float | None = None
) -> ErrorRatio:
    squares = [np.square(np.array(pairs)).mean(axis=0) for pairs in errors.values()]
    ratios = [math.sqrt(after / before) for before, after in squares]
    number = len({name for name, _ in errors})
    return ErrorRatio(
        kind=kind, epsilon=epsilon, data=number, ratio=geometric_mean(ratios), worst=max(ratios), off_totals=off
    )


@dataclass(frozen=True, eq=False)
class _Case:
    """One release of one histogram, before and after it was adjusted."""

    data: str
    algorithm: str
    truth: Integers
    before: NoiseModel
    after: KnownNoise
    known: KnownTotals

    @property
    def cells(self) -> Queries:
        """Every cell."""
        return Identity(self.truth.shape)

    @property
    def errors(self) -> tuple[float, float]:
        """The root mean square errors of the cells before and after."""
        pair = (np.sqrt(np.square(model.estimate - self.truth).mean()) for model in (self.before, self.after))
        before, after = (float(error) for error in pair)
        return before, after

    @property
    def off_totals(self) -> float:
        """The largest difference of the adjusted counts from the totals."""
        return float(np.abs(self.known.rows(_SCHEMA) @ self.after.estimate - np.array(self.known.counts)).max())


def _cases(folder: Any, algorithms: tuple[str, ...], epsilon: str, *, exact: bool, trials: int) -> Iterator[_Case]:
    amount, workload = Fraction(epsilon), Identity(CELLS)
    for place, (name, shape) in enumerate(shapes(1, CELLS, folder, public=True).items()):
        random = np.random.default_rng(place)
        truth: Integers = random.multinomial(ROWS, shape / shape.sum())
        for number, algorithm in enumerate(algorithms):
            seed = place * len(algorithms) + number
            estimates = simulate(algorithm, truth, workload, amount, seed=seed, trials=trials)
            for estimate in estimates:
                before = NoiseModel(plan_named(algorithm), workload, amount, estimate)
                known = _totals(truth, exact=exact, error=4 / float(amount), random=random)
                adjusted = Adjustment.of(before, known, _SCHEMA)
                after = KnownNoise.adjusting(before, known, _SCHEMA, adjusted)
                yield _Case(name, algorithm, truth, before, after, known)


def _totals(truth: Integers, *, exact: bool, error: float, random: np.random.Generator) -> KnownTotals:
    """The totals of equal ranges and of all rows; if they are not exact, each with a normal error."""
    side = CELLS // PARTS
    parts = [{}, *({"value": (start, start + side - 1)} for start in range(0, CELLS, side))]
    counts = np.array([truth.sum(), *truth.reshape(PARTS, side).sum(axis=1)], dtype=float)
    if not exact:
        counts = np.maximum(counts + error * random.standard_normal(counts.size), 0.0)
    spread = 0.0 if exact else error
    lines = [{"of": part, "count": count, "error": spread} for part, count in zip(parts, counts, strict=True)]
    return KnownTotals.of(lines).checked(_SCHEMA)


@dataclass(frozen=True, eq=False)
class _Means:
    """One release of means, before and after shrinking; groups without rows are left out."""

    table: str
    figures: tuple[Any, Any]
    there: list[int]
    truth: Reals

    @property
    def errors(self) -> tuple[float, float]:
        """The root mean square errors over groups before and after."""
        before, after = (float(np.sqrt(np.square(of.estimate[self.there] - self.truth).mean())) for of in self.figures)
        return before, after


def _means(folder: Any, epsilon: str, trials: int) -> Iterator[_Means]:
    amount = Fraction(epsilon)
    for case in (*cases_in(folder, JUDGED), *cases_in(folder, FRESH)):
        rows = number_rows(case, folder, public=True)
        asked, lines = GroupedNumbers.of(Mean(case.attribute, by=case.groups), case.schema), rows.grouped(True)
        there = [line for line, values in enumerate(lines) if values.size]
        if asked.groups < 3:
            continue
        truth, program = np.array([lines[line].mean() for line in there]), rank(asked, amount).program
        for trial in range(trials):
            kernel = Kernel.simulated_table(rows.codes, case.schema, epsilon=amount, seed=trial)
            parts = list(program.measuring(kernel.root, asked, amount)())
            plain, moved = (reported(asked, parts, CONFIDENCE, shrink=shrink)[-1] for shrink in (False, True))
            yield _Means(f"{case.name} {case.attribute}", (plain, moved), there, truth)
