"""What quality to expect: how the method did on public tables that are most like this one, by facts that have no unit.

Results on public tables are part of the package, in one JSON file. Each says how a method did on a table with so many
rows, cells, classes and attributes, at some ε: which part of new rows it predicted right, and which part is right for
whoever always names the most frequent class. Nothing is told where there is nothing like it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib import resources
from typing import Any

from adyton.learning.model import Model
from adyton.schema.plain_values import as_real, as_text, of_kind, part_of

FORMAT, VERSION = "adyton public results", 1
FILE = "public_results.json"
"""Its place is the folder ``trained``. ``{"format": …, "version": 1, "epsilons": [0.1, 1], "tables": [{"table":
"nursery", "rows": 9072, "cells": 27, "classes": 5, "attributes": 8, "majority": 0.33, "accuracies": {"naive-bayes":
[0.84, 0.88]}}, …]}``; *cells* are those of all attributes, added up, and accuracies are means on rows that were kept
apart, one for each ε."""
_NUMBERS = ("rows", "cells", "classes", "attributes", "majority")
_FAR = 2.0
"""Tables further away are not alike: rows·ε/(cells·classes) four times as large, or four times as many classes."""
_FEWEST, _MOST = 3, 8
"""Of how many tables a range is told."""
_WEIGHTS = (1.0, 1.0, 0.5)
"""How much the signal, the classes and the attributes count, each by its power of two."""


@dataclass(frozen=True)
class PublicResult:
    """How one method did on one public table."""

    method: str
    table: str
    rows: float
    cells: float
    """Of all attributes, added up."""
    classes: float
    attributes: float
    epsilon: float
    accuracy: float
    majority: float
    """What is right for whoever always names the most frequent class."""

    @property
    def facts(self) -> tuple[float, ...]:
        """What two tables are compared by."""
        return facts(self.rows, self.epsilon, self.cells, self.classes, self.attributes)


@dataclass(frozen=True)
class LookAlikes:
    """The public tables that are most like one, and how the method did on them."""

    method: str
    results: tuple[PublicResult, ...]
    """The nearest of each table, the most alike first."""

    @property
    def accuracy(self) -> tuple[float, float]:
        """The least and the greatest part of new rows that was predicted right."""
        return _range([one.accuracy for one in self.results])

    @property
    def majority(self) -> tuple[float, float]:
        """The same for whoever always names the most frequent class."""
        return _range([one.majority for one in self.results])

    def in_words(self) -> str:
        """For people."""
        tables = ", ".join(one.table for one in self.results)
        return (
            f"On the {len(self.results)} public tables most like this one ({tables}), {self.method} predicted "
            f"{_percent(*self.accuracy)} of new rows right; always predicting the most frequent class got "
            f"{_percent(*self.majority)} right. Test it on new rows with known labels to see how accurate it is here."
        )

    def to_plain(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "method": self.method,
            "tables": [one.table for one in self.results],
            "accuracy": list(self.accuracy),
            "majority": list(self.majority),
        }


def look_alikes(
    method: str, model: Model, epsilon: Fraction, results: Sequence[PublicResult] | None = None
) -> LookAlikes | None:
    """The public tables like the one that a model was learnt from, and how the method did there; None for too few.

    *epsilon* is for one row. What is known of the table comes from the schema and the noisy number of its rows.
    """
    if not model.rows:
        return None
    sizes = model.schema.shape
    here = facts(model.rows, float(epsilon), sum(sizes), len(model.classes), len(sizes))
    nearest: dict[str, tuple[float, PublicResult]] = {}
    for one in public_results() if results is None else results:
        if one.method == method:
            pair = _distance(here, one.facts), one
            nearest[one.table] = min(pair, nearest.get(one.table, pair), key=lambda found: found[0])
    near = sorted((pair for pair in nearest.values() if pair[0] <= _FAR), key=lambda pair: pair[0])
    return LookAlikes(method, tuple(one for _, one in near[:_MOST])) if len(near) >= _FEWEST else None


def facts(rows: float, epsilon: float, cells: float, classes: float, attributes: float) -> tuple[float, ...]:
    """What has no unit, as powers of two: rows·ε/(cells·classes), the classes, the attributes."""
    return math.log2(rows * epsilon / (cells * classes)), math.log2(classes), math.log2(attributes)


@cache
def public_results() -> tuple[PublicResult, ...]:
    """The results that come with the package; none where their file is missing or cannot be read."""
    try:
        text = (resources.files("adyton.learning") / "trained" / FILE).read_text(encoding="utf-8")
        return results_of(json.loads(text))
    except (OSError, ValueError, RecursionError):
        return ()


def results_of(plain: object) -> tuple[PublicResult, ...]:
    """The results that plain values describe; or an error."""
    if part_of(plain, "format") != FORMAT or part_of(plain, "version") != VERSION:
        raise ValueError("no results on public tables.")
    epsilons = [as_real(one, "an epsilon") for one in of_kind(list, part_of(plain, "epsilons"), "epsilons")]
    tables = of_kind(list, part_of(plain, "tables"), "tables")
    return tuple(result for one in tables for result in _results(one, epsilons))


def _results(plain: object, epsilons: Sequence[float]) -> Iterator[PublicResult]:
    """All that is known of one table."""
    table = as_text(part_of(plain, "table"), "table")
    rows, cells, classes, attributes, majority = (as_real(part_of(plain, name), name) for name in _NUMBERS)
    if min([rows, cells, classes, attributes, *epsilons]) <= 0:
        raise ValueError("rows, cells, classes, attributes and epsilons are greater than 0.")
    for method, values in of_kind(dict, part_of(plain, "accuracies"), "accuracies").items():
        for epsilon, value in zip(epsilons, of_kind(list, values, "accuracies"), strict=True):
            found = as_real(value, "an accuracy")
            name = as_text(method, "a method")
            yield PublicResult(name, table, rows, cells, classes, attributes, epsilon, found, majority)


def _distance(here: Sequence[float], there: Sequence[float]) -> float:
    return math.dist(*([weight * fact for weight, fact in zip(_WEIGHTS, one, strict=True)] for one in (here, there)))


def _range(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _percent(least: float, most: float) -> str:
    low, high = f"{100 * least:.0f}", f"{100 * most:.0f}"
    return f"{low}%" if low == high else f"{low} to {high}%"
