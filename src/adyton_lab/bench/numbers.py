"""Means, medians and quartiles on public tables: the error, the error expected beforehand, how often bounds hold.

The error of a group is the root mean square over runs; groups are combined by geometric means, without empty groups.
Errors below a twentieth of a cell count as a twentieth of a cell.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from adyton.arrays import Flags, Reals
from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.programs.numbers import NumbersOutlook
from adyton.statistics.grouped import Figures, GroupedNumbers
from adyton.statistics.parts import reported
from adyton.statistics.programs import rank
from adyton.tasks import Mean, NumbersTask, Quantiles, Sum, Variance
from adyton_lab.bench.common import CONFIDENCE, Coverage, Folder, Rows, needed
from adyton_lab.corpus.tables import FRESH, JUDGED, UNSEEN, NumberRows, NumbersCase, cases_in, number_rows
from adyton_lab.training.engine import geometric_mean

EPSILONS = ("0.1", "1")
STATISTICS = ("mean by group", "median", "median by group", "quartiles", "quartiles by group")
_BY = " by group"
_MOMENTS: dict[str, type[NumbersTask]] = {"sum": Sum, "mean": Mean, "deviation": Variance}
COVERED = tuple(
    statistic + groups for statistic in ("sum", "mean", "deviation", "median", "quartiles") for groups in ("", _BY)
)
"""The statistics whose intervals are compared with the truth."""


@dataclass(frozen=True, kw_only=True)
class NumbersRecord:
    """One statistic of one attribute with one budget."""

    table: str
    attribute: str
    statistic: str
    groups: int
    epsilon: str
    program: str
    error: float
    """In the unit of the attribute."""
    told_ratio: float | None
    """The error expected before spending divided by the measured error: for means in their unit, for quantiles in rows;
    None if all estimates were exact."""
    holds: float
    """The percentage of the intervals that contain the truth; the target is 95."""
    bounds: str
    """Whether these intervals are exact."""


def numbers(*, data: Folder = None, public: bool = False, trials: int = 10) -> Rows:
    """Every statistic of every attribute with every budget."""
    cases, places = _cases(data), list(itertools.product(STATISTICS, EPSILONS))
    rows = (number_rows(case, needed(data, *_PURPOSE), public=public) for case in cases)
    records = (measured(case, *place, trials).record() for case in rows for place in places)
    return len(cases) * len(places), records


def number_coverage(data: Folder, trials: int = 20, *, public: bool = False) -> Iterator[Coverage]:
    """How often the intervals of every statistic contain the truth, over all attributes: a record for each statistic
    and budget. The tables are not those to which constants were fitted."""
    cases = [*_cases(data), *cases_in(needed(data, *_PURPOSE), UNSEEN)]
    rows = [number_rows(case, needed(data, *_PURPOSE), public=public) for case in cases]
    for statistic, epsilon in itertools.product(COVERED, EPSILONS):
        runs = [measured(case, statistic, epsilon, trials) for case in rows]
        inside = [100 * float(one.inside.mean()) for one in runs]
        widths = [one.width for one in runs if one.width is not None]
        expected = [one.expected for one in runs if one.expected is not None]
        yield Coverage(
            kind=statistic,
            data=f"{len(runs)} attributes",
            epsilon=epsilon,
            intervals=sum(one.inside.size for one in runs),
            holds=float(np.mean(inside)),
            worst=min(inside),
            width=geometric_mean(widths) if widths else None,
            expected=geometric_mean(expected) if expected else None,
        )


_PURPOSE = ("public tables", "numbers are measured")


def _cases(data: Folder) -> list[NumbersCase]:
    """The attributes whose tables are in a folder."""
    folder = needed(data, *_PURPOSE)
    cases = cases_in(folder, JUDGED) or cases_in(folder, FRESH)
    if not cases:
        raise BadInput(f"{data} holds none of the known tables. Give the folder that has {JUDGED[0].file}.")
    return cases


@dataclass(frozen=True, eq=False)
class MeasuredNumbers:
    """Runs of one release: arrays over runs × statistics × groups, without empty groups."""

    rows: NumberRows
    statistic: str
    epsilon: str
    program: str
    off: Reals
    """The estimate minus the truth, in the unit of the attribute."""
    off_rows: Reals
    """For quantiles, how many rows lie between the estimate and the truth; for means, the same as *off*."""
    reported: Reals
    """Statistics × groups: the error expected before spending."""
    inside: Flags
    kind: str
    bounds: Reals
    """Below and above × the arrays over runs: the distances of the bounds from the estimate."""
    after: Reals
    """The error that each release reports."""

    @property
    def errors(self) -> Reals:
        """Statistics × groups: root mean squares over runs, a twentieth of a cell at least."""
        least = 0.05 * cell_width(self.rows)
        return np.asarray(np.maximum(np.sqrt(np.mean(self.off**2, axis=0)), least))

    @property
    def told_ratio(self) -> float | None:
        """The expected error divided by the measured error; None if all estimates were exact.

        Errors in rows are about the same in all groups, and often zero: both errors are root mean squares over groups.
        Errors of means depend on the number of rows of a group: the ratio is the geometric mean over groups.
        """
        errors = np.sqrt(np.mean(self.off_rows**2, axis=0))
        if self.statistic.startswith("mean"):
            return geometric_mean((self.reported / np.maximum(errors, 1e-9)).ravel().tolist())
        return float(np.sqrt(np.mean(self.reported**2) / np.mean(errors**2))) if errors.any() else None

    @property
    def width(self) -> float | None:
        """The width of the intervals, relative to that of the same intervals, all stretched or shrunk by one factor
        until 95% contain the truth; None if 95% of the estimates are exact, or if no factor is large enough."""
        side = np.where(self.off > 0, self.bounds[0], self.bounds[1])
        far = np.abs(self.off) > 1e-9 * cell_width(self.rows)
        factor = float(np.quantile(np.where(far, np.abs(self.off) / np.maximum(side, 1e-300), 0.0), CONFIDENCE))
        return 1 / factor if 0 < factor < 1e100 else None

    @property
    def expected(self) -> float | None:
        """The reported error divided by the measured one; None if all estimates were exact. For quantiles, both are
        root mean squares over runs and groups; for others, each error is divided by the one reported for its group.

        A quantile is known no better than to its cell, which is part of what is reported.
        """
        task = task_of(self.rows.case, self.statistic)
        if not self.off.any():
            return None
        if not task.quantiles:
            return float(1 / np.sqrt(np.mean((self.off / self.after) ** 2)))
        own = (cell_width(self.rows) - GroupedNumbers.of(task, self.rows.case.schema).gap) ** 2 / 12
        return float(np.sqrt(np.mean(self.after**2) / (np.mean(self.off**2) + own)))

    def record(self) -> NumbersRecord:
        """The summary."""
        case = self.rows.case
        return NumbersRecord(
            table=case.name,
            attribute=case.attribute,
            statistic=self.statistic,
            groups=self.off.shape[-1],
            epsilon=self.epsilon,
            program=self.program,
            error=geometric_mean(self.errors.ravel().tolist()),
            told_ratio=self.told_ratio,
            holds=100 * float(self.inside.mean()),
            bounds=self.kind,
        )


def cell_width(rows: NumberRows) -> float:
    """How wide the cells of a case are."""
    numbers = rows.case.numbers
    return (numbers.max - numbers.min) / max(numbers.base_size - 1, 1)


def task_of(case: NumbersCase, statistic: str) -> NumbersTask:
    """The task of a statistic."""
    by, kind = case.groups if statistic.endswith(_BY) else (), statistic.removesuffix(_BY)
    if kind in _MOMENTS:
        return _MOMENTS[kind](case.attribute, by=by)
    return Quantiles(case.attribute, "median" if statistic.startswith("median") else "quartiles", by=by)


def measured(rows: NumberRows, statistic: str, epsilon: str, trials: int) -> MeasuredNumbers:
    """Repeated runs of the release that ``auto`` makes."""
    task, amount = task_of(rows.case, statistic), Fraction(epsilon)
    asked, lines = GroupedNumbers.of(task, rows.case.schema), rows.grouped(bool(task.by))
    weighed = rank(asked, amount)
    names = [name for name in task.statistics if name.endswith("%") or name == statistic.removesuffix(_BY)]
    there = [line for line, values in enumerate(lines) if values.size]
    runs: list[list[Figures]] = []
    for trial in range(trials):
        seed = zlib.crc32(f"{rows.case}, {statistic}, {epsilon}, {trial}".encode())
        kernel = Kernel.simulated_table(rows.codes, rows.case.schema, epsilon=amount, seed=seed)
        parts = list(weighed.program.measuring(kernel.root, asked, amount)())
        runs.append([figures for figures in reported(asked, parts, CONFIDENCE) if figures.name in names])
    truth = np.array([[_truth(name, lines[line]) for line in there] for name in names])
    estimates = np.array([[figures.estimate[there] for figures in run] for run in runs])
    low = np.array([[figures.lower[there] for figures in run] for run in runs])
    high = np.array([[figures.upper[there] for figures in run] for run in runs])
    in_rows = estimates - truth
    if task.quantiles:
        in_rows = np.array(
            [[_rows_off(run[at], names[at], lines, there) for at in range(len(names))] for run in estimates]
        )
    return MeasuredNumbers(
        rows,
        statistic,
        epsilon,
        weighed.chosen,
        estimates - truth,
        in_rows,
        np.array([[_expected(asked, name, lines[line].size, amount) for line in there] for name in names]),
        (low <= truth + 1e-9) & (truth <= high + 1e-9),
        " and ".join(sorted({figures.kind for figures in runs[0]})),
        np.array([estimates - low, high - estimates]),
        np.array([[figures.error[there] for figures in run] for run in runs]),
    )


def _expected(asked: GroupedNumbers, name: str, rows: int, epsilon: Fraction) -> float:
    """The error of a statistic expected before spending, for a group of *rows* rows."""
    task = replace(asked.task, rows=rows)
    return NumbersOutlook(GroupedNumbers(task, asked.schema)).promised(epsilon)[name]


def _truth(name: str, values: Reals) -> float:
    if name in _MOMENTS:
        return float({"sum": values.sum(), "mean": values.mean(), "deviation": values.std()}[name])
    return float(np.quantile(values, float(name[:-1]) / 100, method="inverted_cdf"))


def _rows_off(estimates: Reals, name: str, lines: list[Reals], there: list[int]) -> Reals:
    """How many rows lie between an estimate and the quantile; 0 if their values are equal."""
    part, off = float(name[:-1]) / 100, []
    for value, line in zip(estimates, there, strict=True):
        below, upto = (int(np.searchsorted(lines[line], value, side)) for side in ("left", "right"))
        target = part * lines[line].size
        off.append(max(0.0, target - upto, below - target))
    return np.array(off)
