"""One fit: a learner on a kernel's table, and the model that comes out with its receipt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from adyton import odds
from adyton.choice.decision import Decision
from adyton.exact import Rational, budget
from adyton.kernel.kernel import Kernel
from adyton.kernel.recorder import Debit, Recorder
from adyton.kernel.sources import TableSource
from adyton.learning.decisions import collected
from adyton.learning.learner import Learner
from adyton.learning.model import Model
from adyton.learning.public_randomness import repeated
from adyton.result.pending import carry_out
from adyton.result.receipt import Receipt

Made = TypeVar("Made")
_ROUNDING = Fraction(1, 1 << 40)


@dataclass(frozen=True)
class Fitted:
    """What was learnt, how, and what it cost."""

    model: Model
    learner: Learner
    epsilon: Fraction
    """What was spent, for a person: all that was allowed, or less where a learner did not need it."""
    receipt: Receipt
    decisions: tuple[Decision, ...] = ()
    """What the learner decided on its way, such as the method; empty where there was nothing to decide."""
    asked: Fraction | None = None
    """What was asked for, where a learner needed less; None where all of it was spent."""


def fit(
    kernel: Kernel[TableSource],
    learner: Learner,
    label: str,
    epsilon: Rational,
    *,
    where: str | None = None,
    attributes: Sequence[str] | None = None,
    made: Callable[[Fitted], Made],
    keep: Callable[[Any], None],
) -> Made:
    """Learn to predict *label*, from some *attributes* or all others, spending *epsilon*, or less where a learner does
    not need all of it: the trees of Friedman and Schuster, and of Patil and Singh, whose branches may stop early.

    *where* keeps the rows that satisfy a predicate. What cannot be carried out to its end is refused before anything is
    spent. *made* says what becomes of it; *keep* is as in :func:`~adyton.result.pending.carry_out`.
    """
    amount = budget(epsilon, "epsilon")
    kernel.budget.afford(amount, kernel.ledger.path)
    source = kernel.root if where is None else kernel.root.where(where)
    if attributes is not None:
        source = source.select(*attributes, label)
    row_epsilon = amount / source.stability
    learner.admit(source, label, row_epsilon)
    odds.warn(amount, "a model", kernel.terms.named_unit)
    receipt, keys = Receipt.opened(kernel), list[int]()

    def work(recorder: Recorder) -> Made:
        with collected() as decisions, repeated(keys):
            model = learner.learn(source, label, row_epsilon)
        spent, paid = _spent(recorder.debits, amount), receipt.paid(kernel.ledger, recorder.debits)
        return made(Fitted(model, learner, spent, paid, tuple(decisions), None if spent == amount else amount))

    return carry_out(kernel, work, keep, amount)


def _spent(debits: Sequence[Debit], amount: Fraction) -> Fraction:
    """The sum of the debits; shares that a kernel has rounded down to whole steps count in full."""
    spent = sum((debit.amount for debit in debits), Fraction(0))
    return amount if 0 <= amount - spent <= amount * _ROUNDING else spent
