"""Private decision trees on public tables, as Jostle's evaluation compared them: five published algorithms, and the
tree whose choices are made inside the program.

Imola and Yang, "Automatic, fine-grained algorithmic choice for differential privacy", 2018, Chapter 4 (Fig. 4.2): the
part of the rows whose class is predicted, against ε, on 30 % of the rows that nothing was learnt from. Naive Bayes,
naive-Bayes trees, profiled trees and what is chosen among all stand beside them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from adyton.kernel.kernel import Kernel
from adyton.learning.registry import Learner, learner_named
from adyton_lab.corpus.labelled_tables import LabelledTable, labelled_table, split
from adyton_lab.engine import Advance, unseen
from adyton_lab.reproduce.naive_bayes import TREE_TABLES, Score

FIGURE = "fig4.2"
PRESETS = ("friedman-schuster", "mohammed", "jagannathan", "patil-singh", "fletcher-islam")
METHODS = (*PRESETS, "chosen", "naive-bayes", "naive-bayes-tree", "profiled-tree", "auto")
EPSILONS = ("0.1", "0.5", "1", "2")
_LEARNING = 0.7


def steps(*, quick: bool = False) -> int:
    """How many classifiers are learnt in all."""
    return len(TREE_TABLES) * trials(quick=quick) * len(EPSILONS) * len(METHODS)


def trials(*, quick: bool) -> int:
    """How many splits into rows to learn from and rows to judge by."""
    return 5 if quick else 20


def run(data: str | os.PathLike[str], *, public: bool, quick: bool = False, advance: Advance = unseen) -> list[Score]:
    """Every score. *public* says that the tables in the folder *data* are public: nothing here is protected."""
    scores = []
    for name in TREE_TABLES:
        table = labelled_table(name, data, public=public)
        for trial in range(trials(quick=quick)):
            found = list(_scores(table, trial))
            scores += found
            advance(len(found))
    return scores


def _scores(table: LabelledTable, trial: int) -> Iterator[Score]:
    """All methods on the same split, with noise of their own."""
    learning, judging = split(len(table.codes), _LEARNING, trial)
    for place, epsilon in enumerate(EPSILONS):
        for number, method in enumerate(METHODS):
            noise = np.random.SeedSequence([trial, place, number])
            kernel = Kernel.simulated_table(table.codes[learning], table.schema, epsilon=epsilon, seed=noise)
            model = learner(method, trial).fit(kernel.root, table.target.label, epsilon)
            right = model.places(table.inputs[judging]) == table.classes[judging]
            yield Score(FIGURE, table.name, len(table.codes), epsilon, method, trial, float(right.mean()))


def learner(method: str, trial: int) -> Learner:
    """A method; published ones draw random attributes that can be repeated."""
    return learner_named(method, **({"seed": trial} if method in PRESETS else {}))
