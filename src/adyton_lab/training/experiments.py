"""Experiments: the error of every algorithm on every training input, measured once and saved in a file."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.choice.selector import FEATURES, Feature, workload_named
from adyton.errors import BadInput
from adyton.exact import Rational, positive
from adyton.plans import Plan, plan_named
from adyton.queries import Reduction
from adyton.queries.domain_trees import along_curve
from adyton.whole import whole
from adyton_lab.corpus import Shape
from adyton_lab.corpus.public_files import draw
from adyton_lab.training.engine import Advance, Trials, unseen
from adyton_lab.training.executors import Executor, Processes

LINE_SIZES = (128, 256, 512, 1024, 2048, 4096, 8192)
PLANE_SIDES = (4, 8, 16, 32, 64, 128)
SCALES = tuple(2**exponent for exponent in range(5, 25))


@dataclass(frozen=True, eq=False)
class Input:
    """A number of rows drawn from a shape on a domain, to be estimated with a budget."""

    shape: Shape
    domain: tuple[int, ...]
    scale: int
    epsilon: Fraction

    @property
    def data(self) -> str:
        """A name for the counts; different counts have different names."""
        sides = "x".join(str(side) for side in self.domain)
        return f"{self.shape.name}#{self.shape.digest}/{sides}/{self.scale}"

    @property
    def key(self) -> str:
        """A name for the input; different inputs have different names."""
        return f"{self.data}/{self.epsilon}"

    @property
    def seed(self) -> int:
        """The seed of everything that is drawn for these counts: the same in every process and every run."""
        return int.from_bytes(hashlib.sha256(self.data.encode()).digest()[:8], "big")

    def counts(self) -> Integers:
        """The counts of rows drawn from the shape."""
        return draw(self.shape.at(self.domain), self.scale, self.seed)


def grid(
    shapes: Sequence[Shape],
    sides: Iterable[int] | None = None,
    scales: Iterable[int] = SCALES,
    epsilons: Iterable[Rational] = (1,),
) -> list[Input]:
    """Every shape on every domain, of *sides* cells along each axis, at every scale and with every budget."""
    inputs = []
    for shape in shapes:
        lengths = (LINE_SIZES if shape.counts.ndim == 1 else PLANE_SIDES) if sides is None else tuple(sides)
        for side, scale, epsilon in itertools.product(lengths, scales, epsilons):
            inputs.append(Input(shape, (side,) * shape.counts.ndim, scale, positive(epsilon, "epsilon")))
    return inputs


def spread(inputs: Sequence[Input], most: int) -> list[Input]:
    """At most *most* of the inputs: the same every time, picked by a hash of their names."""
    first = sorted(inputs, key=lambda training: hashlib.sha256(training.key.encode()).digest())[:most]
    chosen = set(map(id, first))
    return [training for training in inputs if id(training) in chosen]


_LEAST = 1e-9


@dataclass(frozen=True, eq=False)
class Measured:
    """Errors by workload, each inputs × algorithms × trials, and the true private features, inputs × features."""

    inputs: tuple[Input, ...]
    algorithms: tuple[str, ...]
    errors: dict[str, Reals]
    features: Reals

    @property
    def sources(self) -> tuple[str, ...]:
        """The distinct data sets."""
        return tuple(dict.fromkeys(training.shape.source for training in self.inputs))

    def without(self, source: str) -> Measured:
        """All inputs except those from this data set."""
        return self.where(lambda training: training.shape.source != source)

    def only(self, source: str) -> Measured:
        """The inputs from this data set."""
        return self.where(lambda training: training.shape.source == source)

    def every(self, step: int) -> Measured:
        """The first input and every *step*-th after it."""
        errors = {name: errors[::step] for name, errors in self.errors.items()}
        return Measured(self.inputs[::step], self.algorithms, errors, self.features[::step])

    def where(self, keep: Callable[[Input], bool]) -> Measured:
        """Only the inputs for which *keep* is true."""
        rows = np.array([keep(training) for training in self.inputs])
        kept = tuple(training for training, stays in zip(self.inputs, rows, strict=True) if stays)
        return Measured(
            kept, self.algorithms, {name: errors[rows] for name, errors in self.errors.items()}, self.features[rows]
        )

    def mean_errors(self, workload: str) -> Reals:
        """inputs × algorithms, averaged over the trials; never exactly 0, so ratios and logarithms exist."""
        return np.asarray(np.maximum(self.errors[workload].mean(axis=-1), _LEAST))

    def regrets(self, workload: str) -> Reals:
        """inputs × algorithms: the mean error divided by the least mean error of the input."""
        means = self.mean_errors(workload)
        return np.asarray(means / means.min(axis=1, keepdims=True))

    def best_errors(self, workload: str) -> Reals:
        """For each input, the error of the best algorithm, cross-fitted.

        The least of several noisy means is too low on average. So the best algorithm is found on one half of the
        trials, its error is taken from the other half, and the two results are averaged.
        """
        errors = self.errors[workload]
        halves = errors[..., ::2].mean(axis=-1), errors[..., 1::2].mean(axis=-1)
        first, second = (
            np.take_along_axis(judged, np.argmin(chosen, axis=1)[:, None], axis=1)[:, 0]
            for chosen, judged in (halves, halves[::-1])
        )
        return np.asarray(np.maximum((first + second) / 2, _LEAST))

    def noisy_features(self, price: Fraction, draws: int, seed: int) -> Reals:
        """(draws · inputs) × features, the public feature first, each private feature measured with *price* times ε."""
        random = np.random.default_rng(seed)
        cells = [int(np.prod(training.domain)) for training in self.inputs]
        kinds = [(size, training.epsilon) for size, training in zip(cells, self.inputs, strict=True)]
        scales = {
            (size, epsilon): [feature_noise(feature, size, epsilon, price * epsilon) for feature in FEATURES]
            for size, epsilon in set(kinds)
        }
        noise = np.array([scales[kind] for kind in kinds])
        private = self.features + random.laplace(0, 1, (draws, *noise.shape)) * noise
        public = np.broadcast_to(np.array(cells, dtype=np.float64)[:, None], (draws, len(cells), 1))
        return np.concatenate([public, private], axis=2).reshape(draws * len(cells), -1)


def true_feature(feature: Feature, x: Integers, epsilon: Fraction) -> float:
    """A feature of public counts, without noise."""
    if feature.statistic is None:
        return float(epsilon) * float(x.sum())
    values = x.reshape(-1)
    if feature.along and x.ndim > 1:
        values = np.asarray(Reduction(along_curve(x.shape)) @ values)
    statistic = feature.statistic(epsilon)
    return float(feature.unit(epsilon) * statistic.steps_in(values) * statistic.step(values.size))


def feature_noise(feature: Feature, cells: int, epsilon: Fraction, spent: Fraction) -> float:
    """The scale of the Laplace noise that a feature has when *spent* is spent on it."""
    if feature.statistic is None:
        return float(epsilon / spent)
    statistic = feature.statistic(epsilon)
    return float(feature.unit(epsilon) * max(1, statistic.sensitivity(cells)) * statistic.step(cells) / spent)


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
        """Errors, workloads × trials, or the features; and the mean seconds per workload."""
        begun = time.perf_counter()
        x = self.input.counts()
        if self.plan is None:
            values = np.array([true_feature(feature, x, self.input.epsilon) for feature in FEATURES])
        else:
            runs = Trials(self.plan, x, self.input.epsilon, seed=self.input.seed, trials=self.trials)
            values = np.stack([runs.on(workload_named(name, x.shape)).errors for name in self.workloads])
        return values, (time.perf_counter() - begun) / len(self.workloads)


class Experiments:
    """A file of measured errors, which are not measured again; a run that was killed continues where it stopped.

    Without a file, everything is measured and forgotten.

    >>> from adyton_lab.corpus import made_up_corpus
    >>> inputs = grid(made_up_corpus(1)[:1], [16], [100])
    >>> measured = Experiments().measure(inputs, ["identity", "uniform"], ["prefix"], trials=3, processes=1)
    >>> measured.errors["prefix"].shape
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
        """Errors and features of these inputs; missing ones are measured in parallel. *advance* is called for each.

        Algorithms are names from the library, or plans under your own names. The work is done by an *executor*, or else
        by *processes* processes: the results are the same, bit for bit.
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
        features = np.array([np.frombuffer(kept[training.key]) for training in inputs])
        return Measured(tuple(inputs), tuple(named), errors, features)

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
    """The remaining jobs, large domains first."""
    done = set(file.execute("SELECT input, workload, algorithm FROM errors WHERE trials >= ?", (trials,)))
    featured = {key for (key,) in file.execute("SELECT input FROM features")}
    jobs = [_Job(training, "", None, ("features",), 1) for training in inputs if training.key not in featured]
    for training, (label, plan) in itertools.product(inputs, plans.items()):
        left = tuple(workload for workload in workloads if (training.key, workload, label) not in done)
        if left:
            jobs.append(_Job(training, label, plan, left, trials))
    return sorted(jobs, key=lambda job: -np.prod(job.input.domain))


def _errors(
    file: sqlite3.Connection, inputs: Sequence[Input], labels: Sequence[str], workload: str, trials: int
) -> Reals:
    """inputs × algorithms × trials: ‖W·x̂ − W·x‖₂ of each run."""
    query = "SELECT input, algorithm, errors FROM errors WHERE workload = ? AND trials >= ?"
    kept = {(key, name): blob for key, name, blob in file.execute(query, (workload, trials))}
    errors = [[np.frombuffer(kept[training.key, label])[:trials] for label in labels] for training in inputs]
    return np.array(errors).reshape(len(inputs), len(labels), trials)


@lru_cache(maxsize=256)
def _label(name: str, plan: Plan) -> str:
    """The name under which errors are saved: it changes with the options of the plan and with its source code."""
    try:
        text = inspect.getsource(type(plan))
    except (OSError, TypeError):  # written in an interpreter
        codes = [value.__code__ for value in vars(type(plan)).values() if inspect.isfunction(value)]
        text = repr([(code.co_name, code.co_code, repr(code.co_consts)) for code in codes])
    text += repr(sorted((field.name, repr(getattr(plan, field.name))) for field in fields(plan)))
    return f"{name}#{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _keep(file: sqlite3.Connection, job: _Job, values: Reals, seconds: float) -> None:
    """Save all results of a job, or none."""
    file.execute("BEGIN")
    if job.plan is None:
        file.execute("INSERT OR REPLACE INTO features VALUES (?, ?)", (job.input.key, values.tobytes()))
    else:
        for name, errors in zip(job.workloads, values, strict=True):
            file.execute(_KEEP, (job.input.key, name, job.algorithm, job.trials, errors.tobytes(), seconds))
    file.execute("COMMIT")
