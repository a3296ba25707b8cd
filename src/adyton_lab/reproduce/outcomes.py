"""Case studies trial by trial: the outcomes, the file that keeps them, and the tables and bar charts of all methods.

A run that was stopped continues where the file ends.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adyton.errors import BadInput
from adyton_lab.pages import BLUE, VERMILLION, canvas, panels
from adyton_lab.reproduce.evaluation import Given, Started
from adyton_lab.reproduce.sheets import Sheet
from adyton_lab.training.engine import Advance

_TABLE = "CREATE TABLE IF NOT EXISTS outcomes (key TEXT PRIMARY KEY, value REAL, seconds REAL) WITHOUT ROWID"
_WIDE = 4
_NOT_PRIVATE = "not private"


@dataclass(frozen=True)
class _Place:
    """Where a figure belongs."""

    part: str
    """A table or figure of the paper, such as ``table1`` or ``fig3``."""
    data: str
    workload: str
    epsilon: str
    method: str

    @property
    def place(self) -> tuple[str, ...]:
        """All five fields."""
        return self.part, self.data, self.workload, self.epsilon, self.method


@dataclass(frozen=True, kw_only=True)
class Outcome(_Place):
    """One figure of one trial."""

    trial: int
    value: float
    """The quantity that the part shows: an error, a cost, a number of buckets or a time."""
    seconds: float
    """The processor time of the trial."""


@dataclass(frozen=True, kw_only=True)
class MeanOutcome(_Place):
    """All trials of one method in one place."""

    trials: int
    mean: float
    deviation: float
    """The standard error of the mean."""
    seconds: float
    """The mean processor time of a trial."""


@dataclass(frozen=True)
class Job(_Place):
    """A trial to be run: where it belongs, and the function that computes its figure."""

    trial: int
    run: Callable[[int], float]
    """Takes a seed."""

    @property
    def key(self) -> str:
        """The key that identifies the job."""
        return json.dumps([*self.place, self.trial, ""])

    @property
    def seed(self) -> int:
        """The same in every run, and different for every method, so no two methods share their noise."""
        return int.from_bytes(hashlib.sha256(self.key.encode()).digest()[:6], "big")


class Notebook:
    """A file of figures, which are not measured again; without a file, nothing is kept.

    >>> job = Job("table1", "made up", "cells", "1", "nothing", 0, lambda seed: 2.5)
    >>> [outcome.value for outcome in Notebook(None).carry_out([job], lambda steps: None)]
    [2.5]
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._path = ":memory:" if path is None else Path(path)

    def carry_out(self, jobs: Iterable[Job], advance: Advance) -> list[Outcome]:
        """Every outcome, in order; each is saved as soon as it is known."""
        outcomes = []
        try:
            with closing(sqlite3.connect(self._path, isolation_level=None, timeout=60)) as file:
                file.execute(_TABLE)
                for job in jobs:
                    value, seconds = _figure(file, job)
                    outcomes.append(Outcome(*job.place, trial=job.trial, value=float(value), seconds=float(seconds)))
                    advance(1)
        except sqlite3.Error as error:
            raise BadInput(f"{self._path} cannot hold experiments ({error}). Give the path of a new file.") from None
        return outcomes


def _figure(file: sqlite3.Connection, job: Job) -> tuple[float, float]:
    kept: tuple[float, float] | None = file.execute(
        "SELECT value, seconds FROM outcomes WHERE key = ?", (job.key,)
    ).fetchone()
    if kept is not None:
        return kept
    begun = time.process_time()  # not wall time: others may use the machine too
    value = job.run(job.seed)
    seconds = time.process_time() - begun
    file.execute("INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?)", (job.key, value, seconds))
    return value, seconds


def started(given: Given, jobs: Iterable[Job]) -> Started:
    """An evaluation that carries out these jobs."""
    listed = list(jobs)
    return len(listed), lambda advance: Notebook(given.kept).carry_out(listed, advance)


def means(outcomes: Iterable[Outcome]) -> list[MeanOutcome]:
    """The means over all trials, in the order in which places and methods first occur."""
    places: dict[tuple[str, ...], list[Outcome]] = {}
    for outcome in outcomes:
        places.setdefault(outcome.place, []).append(outcome)
    return [_mean(place, trials) for place, trials in places.items()]


def _mean(place: tuple[str, ...], trials: Sequence[Outcome]) -> MeanOutcome:
    values = np.array([outcome.value for outcome in trials])
    spread = float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else 0.0
    seconds = float(np.mean([outcome.seconds for outcome in trials]))
    return MeanOutcome(*place, trials=values.size, mean=float(values.mean()), deviation=spread, seconds=seconds)


def grid_sheet(
    part: str, title: str, outcomes: Sequence[MeanOutcome], column: Callable[[MeanOutcome], str], note: str = ""
) -> Sheet:
    """A table with a row for each method and a column for each value of *column*: mean ± standard error."""
    columns = list(dict.fromkeys(map(column, outcomes)))
    cells = {(outcome.method, column(outcome)): _shown(outcome) for outcome in outcomes}
    methods = dict.fromkeys(outcome.method for outcome in outcomes)
    rows = tuple((name, *(cells.get((name, place), "–") for place in columns)) for name in methods)
    return Sheet(part, title, ("method", *columns), rows, list(outcomes), note)


def _shown(outcome: MeanOutcome) -> str:
    return f"{outcome.mean:.4g} ± {outcome.deviation:.2g}" if outcome.trials > 1 else f"{outcome.mean:.4g}"


def draw_bars(path: Path, title: str, outcomes: Sequence[MeanOutcome], panel: Callable[[MeanOutcome], str]) -> Path:
    """Draw bars to *path* and to a PNG file next to it; *panel* names an outcome's panel. Red means not private."""
    names = list(dict.fromkeys(map(panel, outcomes)))
    columns = min(_WIDE, len(names))
    most = max(len({outcome.method for outcome in outcomes if panel(outcome) == name}) for name in names)
    size = max(6.5, 3.4 * columns), (0.24 * most + 0.7) * -(-len(names) // columns) + 0.6
    with canvas(path, size) as figure:
        figure.suptitle(title, fontsize=12)
        for place, (axes, name) in enumerate(zip(panels(figure, len(names), columns), names, strict=True)):
            own = [outcome for outcome in outcomes if panel(outcome) == name and outcome.mean > 0][::-1]
            lengths, errors = [outcome.mean for outcome in own], [outcome.deviation for outcome in own]
            colours = [VERMILLION if _NOT_PRIVATE in outcome.method else BLUE for outcome in own]
            labels = [outcome.method if place % columns == 0 else "" for outcome in own]
            axes.barh(range(len(own)), lengths, xerr=errors, color=colours)
            axes.set_yticks(range(len(own)), labels, fontsize=7)
            axes.set_xscale("log")
            axes.set_title(name, fontsize=9)
            axes.xaxis.set_tick_params(labelsize=7)
    return path
