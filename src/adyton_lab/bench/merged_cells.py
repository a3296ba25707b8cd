"""Classifiers on public tables at several resolutions: with the cells of the schema, and with cells that the default
method merges first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from adyton.arrays import Integers, Reals
from adyton.kernel.kernel import Kernel
from adyton.learning.registry import Learner, learner_named
from adyton.schema.cell_groups import coarsened
from adyton_lab.bench.common import Folder, Rows, needed
from adyton_lab.corpus.fine_tables import FILES, at, fine_table, recoded
from adyton_lab.corpus.labelled_tables import LabelledTable, split

CELLS = (16, 64, 256)
EPSILONS = ("0.1", "0.3", "1", "3")
METHODS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "auto": ("auto", {}),
    "profiled-tree": ("profiled-tree", {}),
    "naive-bayes": ("naive-bayes", {}),
    "auto, 4 cells": ("auto", {"cells": 4}),
    "auto, 16 cells": ("auto", {"cells": 16}),
}
_LEARNING = 0.7


@dataclass(frozen=True, kw_only=True)
class MergedRecord:
    """One method on one table, or on all tables, with at most so many cells for each number."""

    table: str
    cells: int
    method: str
    accuracies: tuple[float, ...]
    """The fraction of held-out rows predicted correctly at ε = 0.1, 0.3, 1 and 3: means over 70/30 splits."""
    areas: tuple[float, ...]
    """The areas under the ROC curve there: means over the classes, each against all others."""


def merged(*, data: Folder = None, public: bool = False, trials: int = 10) -> Rows:
    """Every method on every table at every resolution, with the same splits; then the means over all tables."""
    folder = needed(data, "public tables", "classifiers are judged")
    return (len(FILES) + 1) * len(CELLS) * len(METHODS), _merged(folder, public, trials)


def _merged(folder: Path, public: bool, trials: int) -> Iterator[MergedRecord]:
    every: dict[tuple[int, str], list[Reals]] = {}
    for name in FILES:
        finest = fine_table(name, folder, CELLS[-1], public=public)
        for cells in CELLS:
            table = at(finest, coarsened(finest.schema, cells))
            for method, (learner, options) in METHODS.items():
                figures = np.array(
                    [
                        [
                            judged(table, learner_named(learner, **options), Fraction(epsilon), trial)
                            for epsilon in EPSILONS
                        ]
                        for trial in range(trials)
                    ]
                ).mean(axis=0)
                every.setdefault((cells, method), []).append(figures)
                yield _record(name, cells, method, figures)
    for (cells, method), tables in every.items():
        yield _record("all", cells, method, np.mean(tables, axis=0))


def _record(table: str, cells: int, method: str, figures: Reals) -> MergedRecord:
    right, areas = (tuple(column.tolist()) for column in figures.T)
    return MergedRecord(table=table, cells=cells, method=method, accuracies=right, areas=areas)


def judged(table: LabelledTable, learner: Learner, epsilon: Fraction, trial: int) -> tuple[float, float]:
    """The accuracy and the area on the held-out rows of one split, in one run with simulated noise."""
    learnt, held = split(len(table.codes), _LEARNING, trial)
    noise = np.random.SeedSequence([0, trial])
    kernel = Kernel.simulated_table(table.codes[learnt], table.schema, epsilon=epsilon, seed=noise)
    model = learner.fit(kernel.root, table.target.label, epsilon)
    inputs = recoded(table.inputs[held], table.target.schema, model.schema)
    probabilities, classes = model.probabilities(inputs), table.classes[held]
    right = float((probabilities.argmax(axis=1) == classes).mean())
    return right, area(probabilities, classes)


def area(probabilities: Reals, classes: Sequence[int] | Integers) -> float:
    """The mean over the classes of the area under the ROC curve, each against all others.

    >>> area(np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]), [0, 1, 1])
    1.0
    """
    areas, given = [], np.asarray(classes)
    for place in np.unique(given).tolist():
        own = given == place
        if not own.all():
            ranks = rankdata(probabilities[:, place])
            inside, outside = int(own.sum()), int((~own).sum())
            areas.append((float(ranks[own].sum()) - inside * (inside + 1) / 2) / (inside * outside))
    return float(np.mean(areas)) if areas else 0.5
