"""What public tables teach about the two conditionals of the chosen tree: by replay, each table held out as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from adyton.choice.learn_choices import LearnedChoices, learn_choices
from adyton.choice.training import PublicData
from adyton.kernel.sources import TableSource
from adyton.learning.model import Model
from adyton.learning.registry import learner_named
from adyton_lab.corpus.labelled_tables import LabelledTable, split
from adyton_lab.engine import Advance, unseen

_LEARNT_FROM = 0.7
_VISITS = 3
_SEED = 1


def taught_conditionals(
    tables: Sequence[LabelledTable], epsilons: Sequence[Fraction], *, trials: int, advance: Advance = unseen
) -> LearnedChoices:
    """Every option at up to three visits of each conditional, in every run; *advance* is told of each run of a tree."""

    def program(source: TableSource, label: str, *, epsilon: Fraction) -> Model:
        advance(1)
        return learner_named("chosen", seed=_SEED).fit(source, label, epsilon)

    return learn_choices(
        program,
        [_halves(table) for table in tables],
        _accuracy,
        epsilons=epsilons,
        trials=trials,
        rounds=1,
        visits=_VISITS,
    )


def _halves(table: LabelledTable) -> PublicData:
    """Rows to learn from, and others to judge by."""
    learnt, judged = split(len(table.codes), _LEARNT_FROM, 0)
    held = (table.inputs[judged], table.classes[judged])
    return PublicData(table.name, table.codes[learnt], schema=table.schema, arguments=(table.target.label,), held=held)


def _accuracy(model: Any, public: PublicData) -> float:
    """In points of a hundred."""
    inputs, classes = public.held
    return 100 * float((model.probabilities(inputs).argmax(axis=1) == classes).mean())
