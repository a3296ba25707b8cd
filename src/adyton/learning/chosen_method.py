"""The learner behind ``auto``: it chooses a learner by public facts and at most one noisy look, and runs it.

What informs the choice has no unit: how many classes and attributes there are, how many cells an attribute has, ε, and
the only thing that is measured, the support ñ·ε/(cells·classes) in powers of two. It was learned on public tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache
from importlib.resources import as_file, files
from typing import Any

from adyton.choice.decision import Decision
from adyton.choice.maker import ChoiceMaker
from adyton.choice.metafeatures import metafeature
from adyton.choice.options import Option
from adyton.errors import BadInput
from adyton.kernel.sources import TableSource
from adyton.learning.model import Model, Target
from adyton.learning.registry import Learner, learner_named

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


_OPEN: ContextVar[list[Decision] | None] = ContextVar("decisions", default=None)


@dataclass(frozen=True, kw_only=True)
class ChosenMethod(Learner):
    """Chooses among trees, forests and naive Bayes by what public tables have taught; ε in all.

    A look at the number of rows is bought only if what was learnt asks for it, and the learner is told what it saw.
    Outside of what public tables have shown, and wherever choosing did not pay on tables that were held out, it is the
    learner that did best on all of them.
    """

    name = "auto"

    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """Whatever may be chosen can be carried out, with and without a look; else the default alone must be."""
        table, maker = in_order(source, target.label), shipped_maker()
        if self._all_able(maker, table, target, epsilon):
            maker.admit(table, epsilon)
        else:
            _default(maker).check(table, target, epsilon)

    def run(self, source: TableSource, label: str, epsilon: Fraction) -> Model:
        """Choose, then learn with what is left."""
        target = Target.of(source.schema, label)
        table, maker = in_order(source, label), shipped_maker()
        if self._all_able(maker, table, target, epsilon):
            decision = maker.decide(table, epsilon=epsilon)
        else:
            words = "the default stands: not every method can be carried out on this table"
            decision = Decision(_default(maker).name, epsilon, (), {}, (words,))
        note(decision)
        learner = learner_named(decision.chosen)
        if SUPPORT in decision.measured:
            learner = told(learner, rows_seen(decision.measured[SUPPORT], table, epsilon))
        return learner.run(table, label, decision.left)

    def _all_able(self, maker: ChoiceMaker, table: TableSource, target: Target, epsilon: Fraction) -> bool:
        """Whether every option can be carried out here, by public facts alone."""
        try:
            for option in maker.options:
                for amount in (epsilon, (1 - maker.share) * epsilon):
                    learner_named(option.name).check(table, target, amount)
        except BadInput:
            return False
        return True


def told(learner: Learner, rows: int) -> Learner:
    """The learner that need not buy a number of rows, if it would."""
    known: dict[str, Any] = {"rows": rows} if any(one.name == "rows" for one in fields(learner)) else {}
    return replace(learner, **known)


def _default(maker: ChoiceMaker) -> Learner:
    assert maker.default is not None
    return learner_named(maker.default)


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


def in_order(source: TableSource, label: str) -> TableSource:
    """The table with its label last: there the metafeatures look for it."""
    return source.select(*(name for name in source.schema.names if name != label), label)


def rows_seen(value: float, source: TableSource, epsilon: Fraction) -> int:
    """The noisy number of rows that a support was computed from."""
    return max(1, round(math.exp2(value) * _cells(source) / float(epsilon)))


def _cells(source: TableSource) -> int:
    sizes = source.schema.shape
    return sum(sizes[:-1]) * sizes[-1]


@contextmanager
def collected() -> Iterator[list[Decision]]:
    """The decisions that are noted within the block, in this thread alone; a block around it gets them too.

    >>> from fractions import Fraction
    >>> with collected() as decisions:
    ...     note(Decision("naive-bayes", Fraction(1), (), {}))
    >>> decisions[0].chosen
    'naive-bayes'
    """
    outer = _OPEN.get()
    decisions: list[Decision] = []
    token = _OPEN.set(decisions)
    try:
        yield decisions
    finally:
        _OPEN.reset(token)
        if outer is not None:
            outer.extend(decisions)


def note(decision: Decision) -> None:
    """A learner decided; forgotten where nobody collects."""
    decisions = _OPEN.get()
    if decisions is not None:
        decisions.append(decision)
