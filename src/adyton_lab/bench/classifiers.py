"""How accurate each method for classifiers is on three tables that the default method was not chosen by."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.learning.registry import learner_named
from adyton_lab.corpus.labelled_tables import labelled_table
from adyton_lab.training.classifiers import EPSILONS, METHODS, accuracy, majority

TABLES = ("nursery", "contraceptive", "hiv-1")
METHODS_SHOWN = (*METHODS, "jagannathan", "mohammed", "patil-singh")


@dataclass(frozen=True, kw_only=True)
class ClassifierRecord:
    """One method on one table, or on all of them."""

    table: str
    method: str
    accuracies: tuple[float, ...]
    """In percent, at ε = 0.1, 0.5, 1 and 2: the means over splits of 70/30."""
    mean: float
    error: float | None
    """The standard error of that mean; None for a single split."""
    majority: float


def compare(
    *, data: str | os.PathLike[str] | None = None, public: bool = False, trials: int = 10
) -> Iterator[ClassifierRecord]:
    """Every method on every table with the same splits, then the means over all tables."""
    if data is None:
        raise BadInput("classifiers are judged on public tables. Give the folder that holds them with --data.")
    every: dict[str, list[Reals]] = {}
    baselines = []
    for name in TABLES:
        table = labelled_table(name, data, public=public)
        baselines.append(100 * majority(table, trials))
        for method in METHODS_SHOWN:
            learner = learner_named(method)
            found = [[accuracy(table, learner, Fraction(one), trial) for trial in range(trials)] for one in EPSILONS]
            every.setdefault(method, []).append(100 * np.array(found))
            yield _record(name, method, every[method][-1], baselines[-1])
    for method, all_found in every.items():
        yield _record("all", method, np.mean(all_found, axis=0), float(np.mean(baselines)))


def _record(table: str, method: str, found: Reals, baseline: float) -> ClassifierRecord:
    means = found.mean(axis=0)
    error = float(means.std(ddof=1) / np.sqrt(means.size)) if means.size > 1 else None
    return ClassifierRecord(
        table=table,
        method=method,
        accuracies=tuple(found.mean(axis=1).tolist()),
        mean=float(found.mean()),
        error=error,
        majority=baseline,
    )


def steps(**_: object) -> int:
    """How many records :func:`compare` yields."""
    return (len(TABLES) + 1) * len(METHODS_SHOWN)
