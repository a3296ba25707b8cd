"""Classifiers on public tables at several resolutions: with the cells of the schema, and with cells that the default
method merges first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from adyton.arrays import Integers, Reals
from adyton.kernel.kernel import Kernel
from adyton.learning.model import Target
from adyton.learning.registry import Learner, learner_named
from adyton.schema import Attribute, Categorical, Integer, Numeric, Schema
from adyton.schema.cell_groups import coarsened, merged_cells
from adyton_lab.bench.common import Folder, Rows, needed
from adyton_lab.corpus.labelled_tables import LabelledTable, split
from adyton_lab.corpus.public_files import coded_rows, file_in

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
_MOST_ROWS = 30_000

Numbers = dict[str, tuple[float, float]]
_PAYMENTS: Numbers = {f"PAY_{month}": (-2, 8) for month in (0, 2, 3, 4, 5, 6)}
_AMOUNTS: Numbers = {f"BILL_AMT{month}": (-20_000, 500_000) for month in range(1, 7)}
_PAID: Numbers = {f"PAY_AMT{month}": (0, 100_000) for month in range(1, 7)}
_ADULT: Numbers = {"age": (17, 90), "fnlwgt": (0, 1_500_000), "education-num": (1, 16)}
_ADULT |= {"capital-gain": (0, 100_000), "capital-loss": (0, 5000), "hours-per-week": (1, 99)}
_BIKE: Numbers = {"hr": (0, 23), "temp": (0.0, 1.0), "hum": (0.0, 1.0), "windspeed": (0.0, 1.0), "cnt": (0, 1000)}
_DIAMONDS: Numbers = {"carat": (0.0, 5.0), "depth": (40.0, 80.0), "table": (40.0, 100.0), "price": (0, 20_000)}
_DIAMONDS |= {"x": (0.0, 12.0), "y": (0.0, 60.0), "z": (0.0, 40.0)}
_STROKE: Numbers = {"age": (16, 99), "rsbp": (70, 299), "rdelay": (1, 48)}
_FLIGHTS: Numbers = {"month": (1, 12), "sched_dep_time": (0, 2400), "arr_delay": (-90, 600), "air_time": (0, 700)}
_CPS: Numbers = {"income": (0, 500_000), "age": (15, 90)}
_WIFE: Numbers = {"wife_age": (15, 50), "num_children": (0, 20)}
_COLOURS: Numbers = dict.fromkeys("BGR", (0, 255))
_TITANIC: Numbers = {"Age": (0, 100), "SibSp": (0, 8), "Parch": (0, 9), "Fare": (0, 29)}

TABLES: Mapping[str, tuple[str, str, Numbers, tuple[str, ...]]] = {
    "adult": (
        "adult.csv.gz",
        "income",
        _ADULT,
        ("workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country"),
    ),
    "adult, marital status": ("adult.csv.gz", "marital-status", _ADULT, ("workclass", "education", "race", "sex")),
    "bike, weather": ("bike_sharing_hour.csv.gz", "weathersit", _BIKE, ("season", "mnth", "weekday")),
    "bike, working day": ("bike_sharing_hour.csv.gz", "workingday", _BIKE, ("season", "mnth", "weathersit")),
    "contraceptive": ("cmc.csv", "method", _WIFE, ("wife_education", "husband_education", "sol_index")),
    "cps, marital status": ("cps2000.csv.gz", "marital", _CPS, ("race", "sex")),
    "cps, sex": ("cps2000.csv.gz", "sex", _CPS, ("race", "marital")),
    "credit": (
        "credit_default.csv.gz",
        "default_payment_next_month",
        {"LIMIT_BAL": (0, 1_000_000), "AGE": (18, 81), **_PAYMENTS, **_AMOUNTS, **_PAID},
        ("SEX", "EDUCATION", "MARRIAGE"),
    ),
    "diamonds, colour": ("diamonds.csv.gz", "color", _DIAMONDS, ("cut", "clarity")),
    "diamonds, cut": ("diamonds.csv.gz", "cut", _DIAMONDS, ("color", "clarity")),
    "flights": ("nyc_flights.csv.gz", "origin", _FLIGHTS, ("carrier", "dest")),
    "hiv-1": ("hiv1_protease.csv", "cleaved", {}, tuple(f"p{place}" for place in range(1, 9))),
    "nursery": (
        "nursery.csv.gz",
        "class",
        {},
        ("parents", "has_nurs", "form", "children", "housing", "finance", "social", "health"),
    ),
    "skin": ("skin.csv.gz", "label", _COLOURS, ()),
    "stroke": ("stroke.csv.gz", "occode", _STROKE, ("sex", "rconsc", "rsleep", "rct", "rvisinf", "stype")),
    "titanic": ("titanic.csv", "Survived", _TITANIC, ("Pclass", "Sex", "Cabin", "Embarked")),
}
"""The file, the label, the bounds of the numbers, and the attributes without an order, by the name of the table."""


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
    return (len(TABLES) + 1) * len(CELLS) * len(METHODS), _merged(folder, public, trials)


def _merged(folder: Path, public: bool, trials: int) -> Iterator[MergedRecord]:
    every: dict[tuple[int, str], list[Reals]] = {}
    for name in TABLES:
        finest = _table(name, folder, public)
        for cells in CELLS:
            table = _at(finest, cells)
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


@cache
def _table(name: str, folder: Path, public: bool) -> LabelledTable:
    """The table with 256 cells for each number; a sample of its rows if there are many."""
    import pandas as pd

    file, label, numbers, others = TABLES[name]
    frame = pd.read_csv(file_in(folder, file), usecols=[label, *others])
    attributes: dict[str, Attribute] = {key: _number(*bounds) for key, bounds in numbers.items()}
    for key in (*others, label):
        attributes[key] = Categorical(sorted(frame[key].dropna().unique().tolist()))
    target = Target.of(Schema(attributes), label)
    codes = coded_rows(folder, file, target.whole, public=public, doing="judging classifiers")
    codes = codes[(codes >= 0).all(axis=1)]
    return LabelledTable(name, target, codes[split(len(codes), 1.0, 0)[0][:_MOST_ROWS]])


def _number(low: float, high: float) -> Attribute:
    """An attribute of at most 256 cells; whole bounds mean whole numbers."""
    if isinstance(low, int) and isinstance(high, int) and high - low < CELLS[-1]:
        return Integer(low, high, outside="clamp")
    return Numeric(low, high, bins=CELLS[-1], outside="clamp")


def _at(table: LabelledTable, cells: int) -> LabelledTable:
    """The table with at most so many cells of equal length for each number."""
    target = Target.of(coarsened(table.schema, cells), table.target.label)
    return LabelledTable(table.name, target, _recoded(table.codes, table.schema, target.whole))


def _recoded(codes: Integers, fine: Schema, coarse: Schema) -> Integers:
    columns = [
        merged_cells(fine.attributes[name], coarse.attributes[name])[codes[:, place]]
        for place, name in enumerate(coarse.names)
    ]
    return np.column_stack(columns)


def judged(table: LabelledTable, learner: Learner, epsilon: Fraction, trial: int) -> tuple[float, float]:
    """The accuracy and the area on the held-out rows of one split, in one run with simulated noise."""
    learnt, held = split(len(table.codes), _LEARNING, trial)
    noise = np.random.SeedSequence([0, trial])
    kernel = Kernel.simulated_table(table.codes[learnt], table.schema, epsilon=epsilon, seed=noise)
    model = learner.fit(kernel.root, table.target.label, epsilon)
    inputs = _recoded(table.inputs[held], table.target.schema, model.schema)
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
