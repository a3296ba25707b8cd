"""Which learner for which table: a choice maker over learners, and what it was taught by public tables.

Whatever informs the choice has no unit: how many classes and attributes there are, how many cells an attribute has, ε,
and the only thing that is measured, the support ñ·ε/(cells·classes) in powers of two.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from importlib.resources import as_file, files
from typing import Any

from adyton.choice.maker import ChoiceMaker
from adyton.choice.metafeatures import metafeature
from adyton.choice.options import Option
from adyton.errors import BadInput
from adyton.kernel.sources import TableSource
from adyton.learning.registry import learner_named

METHODS = (
    "profiled-tree",
    "chosen",
    "naive-bayes",
    "naive-bayes-tree",
    "fletcher-islam",
    "friedman-schuster",
    "majority",
)
"""The learners that are chosen among."""
SHARE = Fraction(1, 50)
"""What the only look may cost, as a part of ε."""
FILE = "method_choice.json"
SUPPORT = "support"


def in_order(source: TableSource, label: str) -> TableSource:
    """The table with its label last: there the metafeatures look for it."""
    return source.select(*(name for name in source.schema.names if name != label), label)


def rows_seen(value: float, source: TableSource, epsilon: Fraction) -> int:
    """The noisy number of rows that a support was computed from."""
    return max(1, round(math.exp2(value) * _cells(source) / float(epsilon)))


@metafeature(public=True)
def classes(source: TableSource, epsilon: Fraction) -> float:
    """How many classes there are."""
    return float(source.schema.shape[-1])


@metafeature(public=True)
def attributes(source: TableSource, epsilon: Fraction) -> float:
    """How many attributes predict."""
    return float(len(source.schema.shape) - 1)


@metafeature(public=True)
def cells_each(source: TableSource, epsilon: Fraction) -> float:
    """How many cells an attribute has on average."""
    sizes = source.schema.shape[:-1]
    return sum(sizes) / len(sizes)


@metafeature(public=True)
def budget(source: TableSource, epsilon: Fraction) -> float:
    """The whole ε, as a power of two."""
    return math.log2(epsilon)


@metafeature
def support(source: TableSource, epsilon: Fraction) -> float:
    """Rows·ε/(cells·classes) for the whole ε, as a power of two."""
    rows = max(1.0, float(source.count(epsilon).value))
    return math.log2(rows * float(epsilon / SHARE) / _cells(source))


def _cells(source: TableSource) -> int:
    sizes = source.schema.shape
    return sum(sizes[:-1]) * sizes[-1]


def method_maker(**options: Any) -> ChoiceMaker:
    """A choice maker over learners that was not taught anything yet; its default is the first."""
    return ChoiceMaker(
        tuple(Option(name, _run(name)) for name in METHODS),
        informed_by=(classes, attributes, cells_each, budget, support),
        share=SHARE,
        **options,
    )


def _run(name: str) -> Any:
    def run(source: TableSource, label: str, *, epsilon: Fraction) -> Any:
        return learner_named(name).run(source, label, epsilon)

    return run


@cache
def shipped_maker() -> ChoiceMaker:
    """With what ``adyton train-classifiers`` has learnt from public tables; the file is checked as a stranger's."""
    with as_file(files("adyton.learning") / "trained" / FILE) as path:
        maker = method_maker().load(path)
    if maker.share != SHARE:
        raise BadInput(f"a look costs {SHARE} of ε, and {FILE} was learnt for {maker.share}. Train it again.")
    return maker
