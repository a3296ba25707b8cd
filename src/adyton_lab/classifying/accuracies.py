"""Accuracies: how a learner does on rows of a public table that were kept apart, measured once and kept in a file."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from dataclasses import fields
from fractions import Fraction

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.kernel import Kernel
from adyton.learning.registry import Learner
from adyton_lab.corpus.labelled_tables import LabelledTable, split

LEARNING = 0.7
"""The part of the rows that is learnt from."""


class Accuracies:
    """A file of accuracies, by table, learner, ε and split. After a change to a learner, begin a new one.

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
        """The part of the rows kept apart that is predicted right, for one split, with noise of its own."""
        text = f"{digest(table)} {_words(learner)} {epsilon} {trial}"
        key = hashlib.sha256(text.encode()).hexdigest()
        kept = self._file.execute("SELECT accuracy FROM accuracies WHERE key = ?", (key,)).fetchone()
        if kept is not None:
            return float(kept[0])
        found = accuracy(table, learner, epsilon, trial)
        self._file.execute("INSERT OR REPLACE INTO accuracies VALUES (?, ?)", (key, found))
        return found


def accuracy(table: LabelledTable, learner: Learner, epsilon: Fraction, trial: int) -> float:
    """One split, one run."""
    _, judged = split(len(table.codes), LEARNING, trial)
    model = learner.fit(opened(table, epsilon, trial).root, table.target.label, epsilon)
    return float((model.places(table.inputs[judged]) == table.classes[judged]).mean())


def opened(table: LabelledTable, epsilon: Fraction, trial: int, seed: int = 0) -> Kernel:  # type: ignore[type-arg]
    """A kernel on the rows of a split that are learnt from, with simulated noise."""
    learnt, _ = split(len(table.codes), LEARNING, trial)
    noise = np.random.SeedSequence([seed, trial])
    return Kernel.simulated_table(table.codes[learnt], table.schema, epsilon=epsilon, seed=noise)


def majority(table: LabelledTable, trials: int) -> float:
    """What is right for whoever names the most frequent class of the rows that are learnt from, without any noise."""
    found = []
    for trial in range(trials):
        learnt, judged = split(len(table.codes), LEARNING, trial)
        most = np.bincount(table.classes[learnt], minlength=len(table.target.classes)).argmax()
        found.append(float((table.classes[judged] == most).mean()))
    return float(np.mean(found))


def digest(table: LabelledTable) -> str:
    """Tells a table apart from all others."""
    return hashlib.sha256(repr(table.schema.shape).encode() + np.ascontiguousarray(table.codes).tobytes()).hexdigest()


def _words(learner: Learner) -> str:
    return f"{learner.name} " + " ".join(f"{one.name}={getattr(learner, one.name)}" for one in fields(learner))
