"""Counts as people look at them: cells, totals, margins, blocks, weekdays and hours, tails, and the cells that differ
most from their neighbours. Each is measured beside sums of the same noisy counts and of denoised cells alone."""

from __future__ import annotations

import csv
import gzip
import itertools
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

from adyton.arrays import Flags, Integers, Places, Reals
from adyton.exact import positive
from adyton.kernel.kernel import Kernel
from adyton.plans import plan_named
from adyton.plans.strategy_plan import DenoisedCellsPlan
from adyton.queries import Explicit, Identity
from adyton.result.noise_model import NoiseModel
from adyton_lab.bench.common import CONFIDENCE, Folder, Rows, needed
from adyton_lab.bench.intervals import HISTOGRAMS
from adyton_lab.corpus.public_files import confirm_public, draw, file_in

TABLES = (
    "adult: age × hours-per-week",
    "adult: education × race",
    "adult: capital-gain",
    "cps: age × marital",
    "cps: income",
    "credit: PAY_AMT1",
    "diamonds: carat",
    "diamonds: price",
    "flights: carrier × month",
    "flights: dep_delay",
    "rides: hr × weekday",
    "stops: lat × long",
    "titanic: Fare",
    "HEPTH 1024",
    "ADULT 4096",
)
"""The names of public histograms."""
EPSILONS = ("0.1", "0.3", "1")
DECADE = 10
RARE = 0.01
"""The part of the cells that are called farthest, largest or tail."""
_NO_ERROR = 1e-12
_WITH_INTERVALS = 4
"""The most releases of a case whose intervals are computed."""


@dataclass(frozen=True, kw_only=True)
class CountLook:
    """One kind of answers about one table: root mean square errors, and intervals."""

    table: str
    epsilon: str
    algorithm: str
    part: str
    answers: int
    error: float
    """Of the algorithm."""
    alone: float
    """Of denoised cells, added up."""
    raw: float
    """Of noisy cells, added up."""
    ratio: float
    """The error relative to the smaller of the other two."""
    holds: float
    """The percentage of intervals that contain the truth, at 95%."""
    middle: float
    """The percentage of estimates that lie in the middle half of their intervals."""


@dataclass(frozen=True, eq=False)
class _Case:
    name: str
    counts: Integers
    ordered: bool
    parts: dict[str, Places]
    """For each kind of sums, the group of every cell."""

    @property
    def algorithm(self) -> str:
        """The algorithm that denoises cells of such a table."""
        return "denoised-cells" if not self.ordered else "change-points" + "-striped" * (self.counts.ndim > 2)


def looks(*, data: Folder = None, public: bool = False, trials: int = 10) -> Rows:
    """Counts as people look at them: errors of cells and of sums, and how often intervals hold, by kind of answer."""
    confirm_public(public, "a benchmark of counts", "")
    return None, count_looks(needed(data, "public tables", "looks are measured"), trials)


def count_looks(folder: Path, trials: int) -> Iterator[CountLook]:
    """All tables and series at all budgets."""
    for case, epsilon in itertools.product(itertools.chain(_tables(folder), _series(folder)), EPSILONS):
        yield from _measured(case, epsilon, trials)


def _tables(folder: Path) -> Iterator[_Case]:
    for histogram in HISTOGRAMS:
        if histogram.name in TABLES:
            counts = histogram.counts(folder)
            places, cells = np.indices(counts.shape).reshape(counts.ndim, -1), counts.size
            longest = int(np.argmax(counts.shape))
            margins = {f"places of axis {axis + 1}": places[axis] for axis in range(counts.ndim) if counts.ndim > 1}
            decades = {"decades": places[longest] // DECADE}
            mixed = {"random tenths": np.random.default_rng(1).permutation(cells) % 10}
            yield _Case(histogram.name, counts, histogram.ordered, {**margins, **decades, **mixed})


def _series(folder: Path) -> Iterator[_Case]:
    """Rides by hour and by day, and flights by day, of several numbers of rows."""
    rides = _rides(folder)
    for start, rows in itertools.product((120, 400, 600), (5000, 20_000)):
        hours = np.arange(28 * 24)
        counts = draw(rides[start * 24 :][: hours.size] / 1.0, rows, seed=start)
        parts = {"hours of the day": hours % 24, "weekdays": hours // 24 % 7, "days": hours // 24}
        yield _Case(f"rides by hour from day {start}, {rows:,}", counts, True, parts)
    dates = np.arange(rides.size // 24)
    by_day = {"weekdays": dates % 7, "months": dates * 24 // dates.size}
    yield _Case("rides by day", draw(rides.reshape(-1, 24).sum(axis=1) / 1.0, 30_000, seed=1), True, by_day)
    (flights,) = (histogram for histogram in HISTOGRAMS if histogram.name == "flights: month × day")
    year = flights.counts(folder)
    lengths = [monthrange(2013, month)[1] for month in range(1, 13)]
    line = np.concatenate([days[:length] for days, length in zip(year, lengths, strict=True)])
    months = np.repeat(np.arange(12), lengths)
    for rows in (5000, 20_000):
        parts = {"weekdays": np.arange(line.size) % 7, "months": months}
        yield _Case(f"flights by day, {rows:,}", draw(line / 1.0, rows, seed=rows), True, parts)


def _rides(folder: Path) -> Integers:
    with gzip.open(file_in(folder, "bike_sharing_hour.csv.gz"), "rt") as file:
        rows = [(date.fromisoformat(row["dteday"]), int(row["hr"]), int(row["cnt"])) for row in csv.DictReader(file)]
    first = min(day for day, _, _ in rows)
    counts = np.zeros(((max(day for day, _, _ in rows) - first).days + 1) * 24, dtype=np.int64)
    for day, hour, count in rows:
        counts[(day - first).days * 24 + hour] += count
    return counts


def _measured(case: _Case, epsilon: str, trials: int) -> Iterator[CountLook]:
    plan, amount = plan_named(case.algorithm), positive(epsilon, "epsilon")
    assert isinstance(plan, DenoisedCellsPlan)
    cells, truth = Identity(case.counts.shape), case.counts.reshape(-1).astype(np.float64)
    source = Kernel.simulated(case.counts, epsilon=amount, seed=1, trials=trials).root
    noisy = np.asarray(plan.strategy(cells).measure(source, amount).answers, dtype=np.float64)
    alone, made = plan.denoised(noisy, cells, amount), plan.cells_from(noisy, cells, amount)
    some = range(min(trials, _WITH_INTERVALS))
    noise = [NoiseModel(plan, cells, amount, made[run].reshape(case.counts.shape), noisy[run]) for run in some]

    def look(part: str, groups: Places, chosen: Flags) -> CountLook:
        number = int(groups.max()) + 1
        asked = Explicit(case.counts.shape, groups, np.arange(truth.size), np.ones(truth.size, dtype=np.int64), number)
        right = np.bincount(groups, truth)[chosen]
        sums = [np.stack([np.bincount(groups, run) for run in each])[:, chosen] for each in (made, alone, noisy)]
        error, plain, raw = (float(np.sqrt(np.square(each - right).mean())) for each in sums)
        found = [model.interval(cells if number == truth.size else asked, CONFIDENCE) for model in noise]
        low, high, middle = (
            np.stack([each.reshape(-1)[chosen] for each in side])
            for side in zip(*((one.lower, one.upper, one.estimate) for one in found), strict=True)
        )
        return CountLook(
            table=case.name,
            epsilon=epsilon,
            algorithm=case.algorithm,
            part=part,
            answers=int(chosen.sum()),
            error=error,
            alone=plain,
            raw=raw,
            ratio=error / max(min(plain, raw), _NO_ERROR),
            holds=100 * float(((low <= right) & (right <= high)).mean()),
            middle=100 * float((np.abs(middle - (low + high) / 2) <= (high - low) / 4 + 1e-9).mean()),
        )

    own = np.arange(truth.size)
    for part, groups in {"total": np.zeros_like(own), **case.parts}.items():
        yield look(part, groups, np.ones(int(groups.max()) + 1, dtype=np.bool_))
    few = max(1, round(RARE * truth.size))
    kinds = {"all": np.ones(truth.size, dtype=np.bool_), "empty": truth == 0}
    kinds["largest"] = _first(-truth, few)
    if case.ordered:
        kinds["farthest from their neighbours"] = _first(-_apart(case.counts), few)
    for kind, chosen in kinds.items():
        if chosen.any():
            yield look(f"cells: {kind}", own, chosen)
    if case.counts.ndim == 1 and case.ordered:
        tail = (np.cumsum(truth) >= (1 - RARE) * truth.sum()).astype(np.int64)
        yield look("upper tail", tail, np.array([False, True]))


def _first(keys: Reals, number: int) -> Flags:
    chosen = np.zeros(keys.size, dtype=np.bool_)
    chosen[np.argsort(keys, kind="stable")[:number]] = True
    return chosen


def _apart(counts: Integers) -> Reals:
    """How far each cell is from the mean of the cells beside it, along the axis where it is nearest to it."""
    away = np.full(counts.shape, np.inf)
    for axis, side in enumerate(counts.shape):
        if side > 1:
            padded = np.pad(counts, [(1, 1) if other == axis else (0, 0) for other in range(counts.ndim)], "reflect")
            before, after = np.take(padded, range(side), axis), np.take(padded, range(2, side + 2), axis)
            away = np.minimum(away, np.abs(counts - (before + after) / 2))
    return away.reshape(-1)
