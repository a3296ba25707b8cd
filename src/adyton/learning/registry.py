"""What a learner is, all learners by name, and their expected quality. A learner is imported when it is first used.

Results on public tables are part of the package, in a JSON file. Each result describes a table by its rows, cells,
classes and attributes, and gives two accuracies at some ε: the fraction of new rows that a method predicted correctly,
and that of always predicting the most frequent class. The expected quality is that on the public tables that are most
like this one; it is left out if there are too few.
"""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Any

from adyton.choice.decision import Decision
from adyton.exact import Rational
from adyton.kernel.sources import TableSource
from adyton.learning.model import Model, Target
from adyton.plans.algorithm import Algorithm
from adyton.plans.registry import Registry
from adyton.schema.plain_values import as_real, as_text, of_kind, part_of

if TYPE_CHECKING:
    from adyton.learning.model import Model


@dataclass(frozen=True, eq=False)
class Learnt:
    """A model, the name of the method that learnt it, and what was decided before."""

    model: Model
    method: str
    decisions: tuple[Decision, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Learner(Algorithm[TableSource, str]):
    """A way to learn to predict a label from all other attributes."""

    def fit(self, source: TableSource, label: str, epsilon: Rational) -> Model:
        """Learn to predict a label from all other attributes, spending *epsilon*."""
        return self.run(source, label, self.admitted(source, label, epsilon))

    @property
    def runs(self) -> str:
        """The name of the method that learns, which a learner that prepares the cells for another one has from that."""
        return self.name

    def learn(self, source: TableSource, label: str, epsilon: Fraction) -> Learnt:
        """Run an admitted request, and say what was decided."""
        return Learnt(self.run(source, label, epsilon), self.name)

    def check_asked(self, source: TableSource, label: str) -> None:
        """Refuse a label that is not an attribute with at least two classes."""
        Target.of(source.schema, label)

    def check_run(self, source: TableSource, label: str, epsilon: Fraction) -> Callable[[], Learnt]:
        """The run, after the learner's own check."""
        self.check(source, Target.of(source.schema, label), epsilon)
        return partial(self.learn, source, label, epsilon)

    @abstractmethod
    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """Refuse requests that this learner cannot serve. It may derive sources, but must not measure anything."""

    @abstractmethod
    def run(self, source: TableSource, label: str, epsilon: Fraction) -> Model:
        """Run an admitted request: spends *epsilon*, or less if the learner says so, and never more."""


AUTO, DEFAULT = "auto", "profiled-tree"
"""The default is used where no method is named."""
WHY_DEFAULT = "which was the most accurate on average over 60 public tables (name another with method=…)"
"""According to the public results that come with the package."""
LEARNERS: Registry[Learner] = Registry(
    "method",
    {
        "chosen": "learning.chosen_tree:ChosenTree",
        "contingency": "learning.naive_bayes:Contingency",
        "fletcher-islam": "learning.published_trees:FletcherIslam",
        "friedman-schuster": "learning.published_trees:FriedmanSchuster",
        "jagannathan": "learning.published_trees:Jagannathan",
        "majority": "learning.chosen_tree:Majority",
        "mohammed": "learning.published_trees:Mohammed",
        "naive-bayes": "learning.naive_bayes:NaiveBayes",
        "naive-bayes-tree": "learning.profiled_tree:NaiveBayesTree",
        "patil-singh": "learning.published_trees:PatilSingh",
        "profiled-tree": "learning.profiled_tree:ProfiledTree",
        "select-ls": "learning.naive_bayes:SelectLs",
        "workload": "learning.naive_bayes:Workload",
        "workload-ls": "learning.naive_bayes:WorkloadLs",
    },
)


def learners() -> list[str]:
    """The names of all learners.

    >>> "naive-bayes" in learners()
    True
    """
    return LEARNERS.names()


_MERGING: Registry[Learner] = Registry("method", {AUTO: "learning.automatic:Automatic"})
"""What merges cells before one of the others learns."""
MERGED = ("chosen", "naive-bayes", "profiled-tree")
"""The methods before which cells can be merged."""
_ITS_OWN = ("cells", "rows", "rows_share", "groups_share")


def learner_named(name: object, **options: Any) -> Learner:
    """The learner of this name, with these options. ``auto`` is the default on merged cells; with *cells*, the named
    methods that are on ``MERGED`` learn from merged cells, too.

    >>> learner_named("auto").runs, learner_named("auto", cells=8).cells, learner_named("naive-bayes").name
    ('profiled-tree', 8, 'naive-bayes')
    """
    automatic = isinstance(name, str) and name == AUTO
    if not automatic and not (isinstance(name, str) and name in MERGED and "cells" in options):
        return LEARNERS.named(name, **options)
    own = {key: options.pop(key) for key in _ITS_OWN if key in options and (automatic or key == "cells")}
    return _MERGING.named(AUTO, method=LEARNERS.named(DEFAULT if automatic else name, **options), **own)


FORMAT, VERSION = "adyton public results", 1
FILE = "public_results.json"
"""A file in the folder ``trained``. ``{"format": …, "version": 1, "epsilons": [0.1, 1], "tables": [{"table": "nursery",
"rows": 9072, "cells": 27, "classes": 5, "attributes": 8, "majority": 0.33, "accuracies": {"naive-bayes": [0.84,
0.88]}}, …]}``; *cells* is the sum over all attributes, and accuracies are means on held-out rows, one for each ε."""
_NUMBERS = ("rows", "cells", "classes", "attributes", "majority")
_FAR = 2.0
"""Tables further away are not similar: rows·ε/(cells·classes) four times as large, or four times as many classes."""
_FEWEST, _MOST = 3, 8
"""The least and the largest number of tables that a range is given for."""
_WEIGHTS = (1.0, 1.0, 0.5)
"""The weights of the signal, the classes and the attributes, each as a logarithm to base 2."""


@dataclass(frozen=True)
class PublicResult:
    """How a method did on a public table."""

    method: str
    table: str
    rows: float
    cells: float
    """The sum over all attributes."""
    classes: float
    attributes: float
    epsilon: float
    accuracy: float
    majority: float
    """The accuracy of always predicting the most frequent class."""

    @property
    def facts(self) -> tuple[float, ...]:
        """The properties by which two tables are compared."""
        return facts(self.rows, self.epsilon, self.cells, self.classes, self.attributes)


@dataclass(frozen=True)
class LookAlikes:
    """The public tables that are most like a table, and how the method did on them."""

    method: str
    results: tuple[PublicResult, ...]
    """The nearest result of each table, the most similar first."""

    @property
    def accuracy(self) -> tuple[float, float]:
        """The least and the greatest fraction of new rows that was predicted correctly."""
        return _range([result.accuracy for result in self.results])

    @property
    def majority(self) -> tuple[float, float]:
        """The least and the greatest accuracy of always predicting the most frequent class."""
        return _range([result.majority for result in self.results])

    def in_words(self) -> str:
        """The accuracies in two sentences."""
        tables = ", ".join(result.table for result in self.results)
        return (
            f"On the {len(self.results)} public tables most like this one ({tables}), {self.method} predicted "
            f"{_percent(*self.accuracy)} of new rows right; always predicting the most frequent class got "
            f"{_percent(*self.majority)} right. Test it on new rows with known labels to see how accurate it is here."
        )

    def to_plain(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "method": self.method,
            "tables": [result.table for result in self.results],
            "accuracy": list(self.accuracy),
            "majority": list(self.majority),
        }


def look_alikes(
    method: str, model: Model, epsilon: Fraction, results: Sequence[PublicResult] | None = None
) -> LookAlikes | None:
    """The public tables like the one a model was learnt from, and how the method did there; None if there are too few.

    *epsilon* is for one row. The table is described by its schema and its noisy number of rows.
    """
    if not model.rows:
        return None
    sizes = model.schema.shape
    here = facts(model.rows, float(epsilon), sum(sizes), len(model.classes), len(sizes))
    nearest: dict[str, tuple[float, PublicResult]] = {}
    for result in public_results() if results is None else results:
        if result.method == method:
            pair = _distance(here, result.facts), result
            nearest[result.table] = min(pair, nearest.get(result.table, pair), key=lambda known: known[0])
    near = sorted((pair for pair in nearest.values() if pair[0] <= _FAR), key=lambda pair: pair[0])
    return LookAlikes(method, tuple(result for _, result in near[:_MOST])) if len(near) >= _FEWEST else None


def facts(rows: float, epsilon: float, cells: float, classes: float, attributes: float) -> tuple[float, ...]:
    """Dimensionless properties, as logarithms to base 2: rows·ε/(cells·classes), the classes, the attributes."""
    return math.log2(rows * epsilon / (cells * classes)), math.log2(classes), math.log2(attributes)


@cache
def public_results() -> tuple[PublicResult, ...]:
    """The results that come with the package; empty if their file is missing or cannot be read."""
    try:
        text = (resources.files("adyton.learning") / "trained" / FILE).read_text(encoding="utf-8")
        return results_of(json.loads(text))
    except (OSError, ValueError, RecursionError):
        return ()


def results_of(plain: object) -> tuple[PublicResult, ...]:
    """The results that plain values describe; or an error."""
    if part_of(plain, "format") != FORMAT or part_of(plain, "version") != VERSION:
        raise ValueError("no results on public tables.")
    epsilons = [as_real(epsilon, "an epsilon") for epsilon in of_kind(list, part_of(plain, "epsilons"), "epsilons")]
    tables = of_kind(list, part_of(plain, "tables"), "tables")
    return tuple(result for table in tables for result in _results(table, epsilons))


def _results(plain: object, epsilons: Sequence[float]) -> Iterator[PublicResult]:
    """The results on one table."""
    table = as_text(part_of(plain, "table"), "table")
    rows, cells, classes, attributes, majority = (as_real(part_of(plain, name), name) for name in _NUMBERS)
    if min([rows, cells, classes, attributes, *epsilons]) <= 0:
        raise ValueError("rows, cells, classes, attributes and epsilons are greater than 0.")
    for method, values in of_kind(dict, part_of(plain, "accuracies"), "accuracies").items():
        for epsilon, value in zip(epsilons, of_kind(list, values, "accuracies"), strict=True):
            name, accuracy = as_text(method, "a method"), as_real(value, "an accuracy")
            yield PublicResult(name, table, rows, cells, classes, attributes, epsilon, accuracy, majority)


def _distance(here: Sequence[float], there: Sequence[float]) -> float:
    weighted = ([weight * fact for weight, fact in zip(_WEIGHTS, facts, strict=True)] for facts in (here, there))
    return math.dist(*weighted)


def _range(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _percent(least: float, most: float) -> str:
    low, high = f"{100 * least:.0f}", f"{100 * most:.0f}"
    return f"{low}%" if low == high else f"{low} to {high}%"
