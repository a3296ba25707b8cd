"""Naive Bayes on public tables, as two papers evaluated it, and on the tables that decision trees were judged by.

Kotsogiannis et al., "Pythia", SIGMOD 2017, Section 8.3 (Figs. 5 and 6): the part of the rows that is misclassified, by
how the histograms were estimated. Zhang et al., "εKTELO", SIGMOD 2018, Section 8.1.2 (Fig. 3): the area under the ROC
curve on credit default, by plan. Then the accuracy on the three tables of Jostle's evaluation.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.kernel.kernel import Kernel
from adyton.learning.model import Model
from adyton.learning.registry import Learner, learner_named
from adyton_lab.corpus.labelled_tables import LabelledTable, labelled_table, split
from adyton_lab.engine import Advance, unseen

UNPERTURBED = "unperturbed"
NO_NOISE = "1000"
"""An ε with which no count is changed: what a classifier would do without noise."""
HISTOGRAMS = {
    UNPERTURBED: {"smoothing": "half"},
    "laplace": {"histograms": "identity", "workload": "identity", "smoothing": "half"},
    "dawa": {"histograms": "dawa", "workload": "identity", "smoothing": "half"},
    "recipe": {"histograms": "recipe"},
    "auto": {"histograms": "auto"},
}
"""The options of naive Bayes for the methods of Figs. 5 and 6. DAWA has the noise that its proof needs."""
PLANS = (UNPERTURBED, "contingency", "workload", "workload-ls", "select-ls", "recipe", "auto")
"""The methods of Fig. 3, and ours."""
TREE_TABLES = ("nursery", "contraceptive", "hiv-1")
_JUDGED = 5000
"""By so many rows a classifier is judged at most."""


@dataclass(frozen=True)
class Score:
    """How a method did in one trial."""

    figure: str
    """``fig5`` and ``fig6`` (misclassified), ``fig3`` (area under the curve) or ``trees`` (accuracy)."""
    table: str
    rows: int
    """How many rows there are to learn from and to judge by."""
    epsilon: str
    method: str
    trial: int
    value: float


@dataclass(frozen=True)
class Protocol:
    """One figure on one table: what is varied, and how often it is repeated."""

    figure: str
    table: str
    sizes: tuple[int | None, ...]
    epsilons: tuple[str, ...]
    methods: tuple[str, ...]
    trials: int

    @property
    def steps(self) -> int:
        """How many classifiers are learnt."""
        return len(self.sizes) * self.trials * sum(1 for _ in self.budgets())

    def budgets(self) -> Iterator[tuple[str, str]]:
        """Each method with each ε; without noise once."""
        for method in self.methods:
            for epsilon in (NO_NOISE,) if method == UNPERTURBED else self.epsilons:
                yield method, epsilon


def protocols(*, quick: bool = False) -> list[Protocol]:
    """All figures; *quick* with fewer trials and without the largest tables."""
    methods, trials = tuple(HISTOGRAMS), 3 if quick else 20
    sizes = {"skin": (1000, 10_000, 100_000), "credit-16": (1000, 10_000)}
    drawn = [
        Protocol(figure, table, sizes[table][: 2 if quick else 3], ("0.1", "1"), methods, trials)
        for figure in ("fig5", "fig6")
        for table in sizes
    ]
    area = Protocol("fig3", "credit", (None,), ("0.001", "0.01", "0.1", "1"), PLANS, 10 if quick else 100)
    accuracy = [
        Protocol(
            "trees", name, (None,), ("0.1", "0.5", "1", "2"), (UNPERTURBED, "workload", "recipe"), 5 if quick else 20
        )
        for name in TREE_TABLES
    ]
    return [*drawn, area, *accuracy]


def steps(*, quick: bool = False) -> int:
    """How many classifiers are learnt in all."""
    return sum(protocol.steps for protocol in protocols(quick=quick))


def run(data: str | os.PathLike[str], *, public: bool, quick: bool = False, advance: Advance = unseen) -> list[Score]:
    """Every score. *public* says that the tables in the folder *data* are public: nothing here is protected."""
    scores = []
    for protocol in protocols(quick=quick):
        table = labelled_table(protocol.table, data, public=public)
        for size in protocol.sizes:
            for trial in range(protocol.trials):
                found = list(_scores(protocol, table, size or len(table.codes), trial))
                scores += found
                advance(len(found))
    return scores


def _scores(protocol: Protocol, table: LabelledTable, rows: int, trial: int) -> Iterator[Score]:
    """All methods on the same split, with noise of their own."""
    learning, judging = _split(protocol, table, rows, trial)
    for number, (method, epsilon) in enumerate(protocol.budgets()):
        model = _learnt(table, learning, _learner(protocol, method), epsilon, seed=(trial, number))
        value = _judged(protocol.figure, model, table.inputs[judging], table.classes[judging])
        yield Score(protocol.figure, protocol.table, rows, "" if epsilon == NO_NOISE else epsilon, method, trial, value)


def _split(protocol: Protocol, table: LabelledTable, rows: int, trial: int) -> tuple[Integers, Integers]:
    """Halves of a sample (Pythia), ten folds, one for each trial (εKTELO), or 70 and 30 % (trees)."""
    if protocol.figure == "fig3":
        order = np.random.default_rng([trial // 10]).permutation(len(table.codes))
        held_out = np.arange(len(order)) % 10 == trial % 10
        return order[~held_out], order[held_out]
    if protocol.figure == "trees":
        return split(len(table.codes), 0.7, trial)
    sample = np.random.default_rng([rows, trial]).permutation(len(table.codes))[:rows]
    return sample[: rows // 2], sample[rows // 2 :][:_JUDGED]


@lru_cache(maxsize=64)
def _learner(protocol: Protocol, method: str) -> Learner:
    if method not in HISTOGRAMS:
        return learner_named(method)
    model = "gaussian" if protocol.figure == "fig5" else "multinomial"
    return learner_named("naive-bayes", model=model, **HISTOGRAMS[method])


def _learnt(table: LabelledTable, rows: Integers, learner: Learner, epsilon: str, seed: tuple[int, int]) -> Model:
    noise = np.random.SeedSequence(seed)
    kernel = Kernel.simulated_table(table.codes[rows], table.schema, epsilon=epsilon, seed=noise)
    return learner.fit(kernel.root, table.target.label, epsilon)


def _judged(figure: str, model: Model, inputs: Integers, classes: Integers) -> float:
    probabilities = model.probabilities(inputs)
    if figure == "fig3":
        return area_under_curve(probabilities[:, 1], classes == 1)
    hits = float((probabilities.argmax(axis=1) == classes).mean())
    return hits if figure == "trees" else 1 - hits


def area_under_curve(scores: Reals, positive: Integers) -> float:
    """How often a positive row has the higher score than a negative one; equal scores count half.

    >>> area_under_curve(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, False, True, True]))
    0.875
    """
    _, place, times = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(times) - (times - 1) / 2)[place]
    hits = int(positive.sum())
    others = len(positive) - hits
    return float((rank[positive].sum() - hits * (hits + 1) / 2) / (hits * others))
