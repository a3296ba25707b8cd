"""What a method did in one trial of a case study, and the file that keeps it: a run that was stopped goes on there."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from adyton.errors import BadInput

_TABLE = "CREATE TABLE IF NOT EXISTS outcomes (key TEXT PRIMARY KEY, value REAL, seconds REAL) WITHOUT ROWID"


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """One figure of one trial."""

    part: str
    """A table or figure of the paper, such as ``table1`` or ``fig3``."""
    data: str
    workload: str
    epsilon: str
    method: str
    trial: int
    value: float
    """What the part shows: an error, a cost, a number of buckets or a time."""
    seconds: float
    """The processor time that it took."""


@dataclass(frozen=True, kw_only=True)
class MeanOutcome:
    """All trials of one method in one place."""

    part: str
    data: str
    workload: str
    epsilon: str
    method: str
    trials: int
    mean: float
    deviation: float
    """The standard error of the mean."""
    seconds: float
    """The mean."""


@dataclass(frozen=True)
class Job:
    """A trial to be run: where it belongs, and what yields its figure."""

    part: str
    data: str
    workload: str
    epsilon: str
    method: str
    trial: int
    run: Callable[[int], float]
    """Takes a seed."""
    text: str = ""
    """What else tells it from others: the text of the plan, for example."""

    @property
    def key(self) -> str:
        """What tells it apart from all others."""
        return json.dumps([self.part, self.data, self.workload, self.epsilon, self.method, self.trial, self.text])

    @property
    def seed(self) -> int:
        """The same in every run, and another for every method, so that no two share their noise."""
        return int.from_bytes(hashlib.sha256(self.key.encode()).digest()[:6], "big")


class Notebook:
    """A file of figures. What is in it is not measured again; without a file, nothing is kept.

    >>> job = Job("table1", "made up", "cells", "1", "nothing", 0, lambda seed: 2.5)
    >>> [one.value for one in Notebook(None).carry_out([job], lambda steps: None)]
    [2.5]
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._path = ":memory:" if path is None else Path(path)

    def carry_out(self, jobs: Iterable[Job], advance: Callable[[int], None]) -> list[Outcome]:
        """Every outcome, in order; each is kept as soon as it is there."""
        found = []
        with self._open() as file:
            for job in jobs:
                found.append(_outcome(job, *_figure(file, job)))
                advance(1)
        return found

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._path, isolation_level=None, timeout=60)) as file:
                file.execute(_TABLE)
                yield file
        except sqlite3.Error as error:
            raise BadInput(f"{self._path} cannot hold experiments ({error}). Give the path of a new file.") from None


def _figure(file: sqlite3.Connection, job: Job) -> tuple[float, float]:
    kept: tuple[float, float] | None = file.execute(
        "SELECT value, seconds FROM outcomes WHERE key = ?", (job.key,)
    ).fetchone()
    if kept is not None:
        return kept
    begun = time.process_time()  # others may use the machine too
    value = job.run(job.seed)
    seconds = time.process_time() - begun
    file.execute("INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?)", (job.key, value, seconds))
    return value, seconds


def _outcome(job: Job, value: float, seconds: float) -> Outcome:
    return Outcome(
        part=job.part,
        data=job.data,
        workload=job.workload,
        epsilon=job.epsilon,
        method=job.method,
        trial=job.trial,
        value=float(value),
        seconds=float(seconds),
    )


def means(outcomes: Iterable[Outcome]) -> list[MeanOutcome]:
    """The mean of all trials, in the order in which places and methods first occur."""
    places: dict[tuple[str, ...], list[Outcome]] = {}
    for one in outcomes:
        places.setdefault((one.part, one.data, one.workload, one.epsilon, one.method), []).append(one)
    return [_mean(found) for found in places.values()]


def _mean(found: Sequence[Outcome]) -> MeanOutcome:
    values = np.array([one.value for one in found])
    spread = float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else 0.0
    shared = {name: value for name, value in asdict(found[0]).items() if name not in ("trial", "value", "seconds")}
    seconds = float(np.mean([one.seconds for one in found]))
    return MeanOutcome(**shared, trials=values.size, mean=float(values.mean()), deviation=spread, seconds=seconds)
