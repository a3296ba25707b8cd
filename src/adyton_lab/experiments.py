"""Experiments: the error of every algorithm on every training input, measured once and kept in a file."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.plans import Plan, plan_named
from adyton.selection.selector import true_features
from adyton.selection.workload_kinds import workload_named
from adyton.whole import whole
from adyton_lab.engine import Advance, Trials, unseen
from adyton_lab.executors import Executor, Processes
from adyton_lab.inputs import Input
from adyton_lab.measured import Measured

TRIALS = 20

_TABLES = """
CREATE TABLE IF NOT EXISTS errors (
    input TEXT, workload TEXT, algorithm TEXT, trials INTEGER, errors BLOB, seconds REAL,
    PRIMARY KEY (input, workload, algorithm)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS features (input TEXT PRIMARY KEY, features BLOB) WITHOUT ROWID;
"""
_KEEP = """
INSERT INTO errors VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
SET trials = excluded.trials, errors = excluded.errors, seconds = excluded.seconds WHERE excluded.trials > trials
"""


@dataclass(frozen=True, eq=False)
class _Job:
    """One algorithm on one input, for all workloads that are still missing; without an algorithm, the features."""

    input: Input
    algorithm: str
    plan: Plan | None
    workloads: tuple[str, ...]
    trials: int

    def work(self) -> tuple[Reals, float]:
        """workloads × trials, or the features; and the seconds that each workload took."""
        begun = time.perf_counter()
        x = self.input.counts()
        if self.plan is None:
            found = true_features(x, self.input.epsilon)
        else:
            runs = Trials(self.plan, x, self.input.epsilon, seed=self.input.seed, trials=self.trials)
            found = np.stack([runs.on(workload_named(name, x.shape)).errors for name in self.workloads])
        return found, (time.perf_counter() - begun) / len(self.workloads)


class Experiments:
    """A file of measured errors. What is in it is not measured again; a run that was killed goes on where it was.

    Without a file, everything is measured and forgotten.

    >>> from adyton_lab.corpus import made_up_corpus
    >>> from adyton_lab.inputs import grid
    >>> inputs = grid(made_up_corpus(1)[:1], [16], [100])
    >>> found = Experiments().measure(inputs, ["identity", "uniform"], ["prefix"], trials=3, processes=1)
    >>> found.errors["prefix"].shape
    (1, 2, 3)
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = ":memory:" if path is None else Path(path)
        with self._open():
            pass

    def measure(
        self,
        inputs: Sequence[Input],
        algorithms: Sequence[str] | Mapping[str, Plan],
        workloads: Sequence[str],
        *,
        trials: int = TRIALS,
        processes: int | None = None,
        executor: Executor | None = None,
        advance: Advance = unseen,
    ) -> Measured:
        """Everything about these inputs; what is missing is measured, in parallel. *advance* is told of every error.

        Algorithms are names from the library, or plans under names of one's own. Work is done by an *executor*, or else
        by so many *processes*: what comes out is the same, bit for bit.
        """
        number = whole(trials, "trials", 1)
        named = algorithms if isinstance(algorithms, Mapping) else {name: plan_named(name) for name in algorithms}
        plans = {_label(name, plan): plan for name, plan in named.items()}
        with self._open() as file:
            jobs = _missing(file, inputs, plans, workloads, number)
            advance(len(inputs) * (len(plans) * len(workloads) + 1) - sum(len(job.workloads) for job in jobs))
            for place, (values, seconds) in (executor or Processes(processes)).results(jobs):
                _keep(file, jobs[place], values, seconds)
                advance(len(jobs[place].workloads))
            errors = {name: _errors(file, inputs, list(plans), name, number) for name in workloads}
            kept = dict(file.execute("SELECT input, features FROM features"))
        return Measured(tuple(inputs), tuple(named), errors, np.array([np.frombuffer(kept[one.key]) for one in inputs]))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, isolation_level=None, timeout=60)) as file:
                file.execute("PRAGMA journal_mode = WAL")
                file.execute("PRAGMA synchronous = NORMAL")
                file.executescript(_TABLES)
                yield file
        except sqlite3.Error as error:
            raise BadInput(f"{self.path} cannot hold experiments ({error}). Give the path of a new file.") from None


def _missing(
    file: sqlite3.Connection,
    inputs: Sequence[Input],
    plans: Mapping[str, Plan],
    workloads: Sequence[str],
    trials: int,
) -> list[_Job]:
    """The jobs that are left, large domains first."""
    done = set(file.execute("SELECT input, workload, algorithm FROM errors WHERE trials >= ?", (trials,)))
    featured = {key for (key,) in file.execute("SELECT input FROM features")}
    jobs = [_Job(one, "", None, ("features",), 1) for one in inputs if one.key not in featured]
    for one, (label, plan) in itertools.product(inputs, plans.items()):
        left = tuple(workload for workload in workloads if (one.key, workload, label) not in done)
        if left:
            jobs.append(_Job(one, label, plan, left, trials))
    return sorted(jobs, key=lambda job: -np.prod(job.input.domain))


def _errors(
    file: sqlite3.Connection, inputs: Sequence[Input], labels: Sequence[str], workload: str, trials: int
) -> Reals:
    """inputs × algorithms × trials: ‖W·x̂ − W·x‖₂ of each run."""
    query = "SELECT input, algorithm, errors FROM errors WHERE workload = ? AND trials >= ?"
    kept = {(one, name): blob for one, name, blob in file.execute(query, (workload, trials))}
    found = [[np.frombuffer(kept[one.key, label])[:trials] for label in labels] for one in inputs]
    return np.array(found).reshape(len(inputs), len(labels), trials)


@lru_cache(maxsize=256)
def _label(name: str, plan: Plan) -> str:
    """The name under which errors are kept: a plan with other options, or whose text was changed, is another one."""
    try:
        text = inspect.getsource(type(plan))
    except (OSError, TypeError):  # written in an interpreter
        codes = [value.__code__ for value in vars(type(plan)).values() if inspect.isfunction(value)]
        text = repr([(code.co_name, code.co_code, repr(code.co_consts)) for code in codes])
    text += repr(sorted((field.name, repr(getattr(plan, field.name))) for field in fields(plan)))
    return f"{name}#{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _keep(file: sqlite3.Connection, job: _Job, values: Reals, seconds: float) -> None:
    """All of a job, or nothing."""
    file.execute("BEGIN")
    if job.plan is None:
        file.execute("INSERT OR REPLACE INTO features VALUES (?, ?)", (job.input.key, values.tobytes()))
    else:
        for name, errors in zip(job.workloads, values, strict=True):
            file.execute(_KEEP, (job.input.key, name, job.algorithm, job.trials, errors.tobytes(), seconds))
    file.execute("COMMIT")
