"""The learner behind ``auto``: it chooses a learner by public facts and at most one noisy look, and runs it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

from adyton.choice.decision import Decision
from adyton.choice.maker import ChoiceMaker
from adyton.errors import BadInput
from adyton.kernel.sources import TableSource
from adyton.learning.decisions import note
from adyton.learning.learner import Learner
from adyton.learning.method_choice import SUPPORT, in_order, rows_seen, shipped_maker
from adyton.learning.model import Model
from adyton.learning.registry import learner_named
from adyton.learning.target import Target


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
