"""Classifiers on public tables with fine numbers: what ``auto`` learns beside each method by name, several numbers of
cells, and, where the package ``interpret`` is installed, boosting with (ε, δ).

The profiled tree is not among the methods by name: on cells that are merged, it is ``auto``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy.stats import rankdata

from adyton.arrays import Integers, Reals
from adyton.kernel.kernel import Kernel
from adyton.learning.registry import learner_named
from adyton.schema.cell_groups import coarsened
from adyton_lab.bench.common import Folder, Rows, needed
from adyton_lab.corpus.fine_tables import TABLES, at, fine_table, recoded
from adyton_lab.corpus.labelled_tables import LabelledTable, split

EPSILONS = ("0.1", "0.3", "1", "3")
FINEST, EQUAL = 256, 8
"""The most cells of a number, and those of equal length for methods whose cells cannot be merged."""
LEARNING = 0.7
Judged: TypeAlias = Callable[[LabelledTable, str, int], tuple[float, float]]
"""Learns from one split with one ε; returns the accuracy and the area on the held-out rows."""
AUTO, BOOSTING, DELTA = "auto", "dp-ebm", 1e-6
_WITHIN, _WITHIN_CELLS, _FALL = 0.015, 0.01, 0.003
_DEVIATIONS = 3
"""A fall by more than this many standard errors is beyond noise."""


@dataclass(frozen=True, kw_only=True)
class ClassifierRecord:
    """One method on one table, or what follows for all tables."""

    table: str
    """``all`` for means over the tables, ``two classes`` for those over the tables with two classes."""
    method: str
    """A method, or what is compared."""
    accuracies: tuple[float, ...]
    """The fraction of held-out rows predicted correctly at ε = 0.1, 0.3, 1 and 3: means over 70/30 splits."""
    areas: tuple[float, ...]
    """The areas under the ROC curve there: means over the classes, each against all others."""


def classifiers(*, data: Folder = None, public: bool = False, trials: int = 10) -> Rows:
    """Every method on every table with the same splits; means over the tables; and ``auto`` beside the best."""
    folder = needed(data, "public tables", "classifiers are judged")
    return None, _classifiers(folder, public, trials)


def _classifiers(folder: Path, public: bool, trials: int) -> Iterator[ClassifierRecord]:
    every: dict[str, dict[str, Reals]] = {}
    two = []
    for name in TABLES:
        table = fine_table(name, folder, FINEST, public=public)
        if len(table.target.classes) == 2:
            two.append(name)
        for method, judge in methods(table).items():
            figures = np.array(
                [[judge(table, epsilon, trial) for epsilon in EPSILONS] for trial in range(trials)]
            ).transpose(2, 0, 1)
            every.setdefault(method, {})[name] = figures
            yield _record(name, method, figures.mean(axis=1))
    yield from compared(every, two)


def methods(table: LabelledTable) -> dict[str, Judged]:
    """What is judged on a table, by name."""
    merging: dict[str, Judged] = {
        AUTO: partial(judged, AUTO, {}),
        **{f"{AUTO}, {cells} cells": partial(judged, AUTO, {"cells": cells}) for cells in (4, 8, 16)},
        f"{AUTO}, all cells": partial(judged, AUTO, {"cells": None}),
        **{name: partial(judged, name, {"cells": AUTO}) for name in ("chosen", "naive-bayes")},
    }
    coarse = at(table, coarsened(table.schema, EQUAL))
    for name in ("naive-bayes-tree", "friedman-schuster", "jagannathan", "majority"):
        merging[name] = partial(_elsewhere, coarse, partial(judged, name, {}))
    if len(table.target.classes) == 2 and find_spec("interpret"):
        merging[BOOSTING] = boosted
    return merging


def _elsewhere(coarse: LabelledTable, judge: Judged, table: LabelledTable, epsilon: str, trial: int) -> Any:
    return judge(coarse, epsilon, trial)


def judged(
    method: str, options: Mapping[str, Any], table: LabelledTable, epsilon: str, trial: int
) -> tuple[float, float]:
    """One run of a method of Adyton with simulated noise."""
    learnt, held = split(len(table.codes), LEARNING, trial)
    noise = np.random.SeedSequence([0, trial])
    kernel = Kernel.simulated_table(table.codes[learnt], table.schema, epsilon=Fraction(epsilon), seed=noise)
    model = learner_named(method, **options).fit(kernel.root, table.target.label, Fraction(epsilon))
    inputs = recoded(table.inputs[held], table.target.schema, model.schema)
    return scores(model.probabilities(inputs), table.classes[held])


def boosted(table: LabelledTable, epsilon: str, trial: int) -> tuple[float, float]:
    """One run of the explainable boosting machine of ``interpret``, with its own noise and δ = 10⁻⁶.

    It knows the bounds of numbers, and the number of rows. Nori et al., "Accuracy, interpretability, and differential
    privacy via explainable boosting", ICML 2021.
    """
    from interpret.privacy import DPExplainableBoostingClassifier

    learnt, held = split(len(table.codes), LEARNING, trial)
    attributes = list(table.target.schema.attributes.values())
    machine = DPExplainableBoostingClassifier(
        epsilon=float(epsilon),
        delta=DELTA,
        feature_types=["continuous" if attribute.ordered else "nominal" for attribute in attributes],
        privacy_bounds={
            place: (0.0, attribute.size - 1.0) for place, attribute in enumerate(attributes) if attribute.ordered
        },
        random_state=trial,
        n_jobs=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.fit(table.inputs[learnt], table.classes[learnt])
    return scores(machine.predict_proba(table.inputs[held]), table.classes[held])


def compared(every: Mapping[str, Mapping[str, Reals]], two: Sequence[str]) -> Iterator[ClassifierRecord]:
    """What follows from the figures of each method and table, of shape (accuracy or area, trials, budgets)."""
    means = {method: {name: part.mean(axis=1) for name, part in by.items()} for method, by in every.items()}
    named = [method for method in means if not method.startswith(AUTO) and method != BOOSTING]
    numbers = [method for method in means if method.startswith(AUTO) and method != AUTO]
    names = list(means[AUTO])

    def over(method: str, chosen: Sequence[str]) -> Reals:
        return np.asarray(np.mean([means[method][name] for name in chosen], axis=0))

    for method in means:
        if method != BOOSTING:
            yield _record("all", method, over(method, names))
    if BOOSTING in means:
        for method in means:
            yield _record("two classes", method, over(method, two))
    best = np.max([over(method, names) for method in named], axis=0)
    yield _record("all", "auto − best method by name", over(AUTO, names) - best)
    for others, words, within in ((named, "method by name", _WITHIN), (numbers, "number of cells", _WITHIN_CELLS)):
        gaps = np.array([means[AUTO][name] - np.max([means[one][name] for one in others], axis=0) for name in names])
        yield _record("worst table", f"auto − best {words} there", gaps.min(axis=0))
        yield _record("all", f"tables within {within:g} of the best {words} there", (gaps >= -within).sum(axis=0))
    auto = np.stack([every[AUTO][name] for name in names])
    rises = np.diff(auto, axis=-1, prepend=auto[..., :1])
    rise, trials = rises.mean(axis=2), rises.shape[2]
    error = rises.std(axis=2, ddof=1) / np.sqrt(trials) if trials > 1 else np.zeros_like(rise)
    yield _record("worst table", "auto − auto at the ε before", rise.min(axis=0))
    falls = rise + _DEVIATIONS * error < -_FALL
    yield _record("all", f"tables on which that is below −{_FALL:g} beyond noise", falls.sum(axis=0))


def _record(table: str, method: str, figures: Reals) -> ClassifierRecord:
    accuracies, areas = figures.tolist()
    return ClassifierRecord(table=table, method=method, accuracies=tuple(accuracies), areas=tuple(areas))


def scores(probabilities: Reals, classes: Integers) -> tuple[float, float]:
    """The accuracy, and the area under the ROC curve."""
    return float((probabilities.argmax(axis=1) == classes).mean()), area(probabilities, classes)


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
