"""The decisions that a learner makes on its way, for whoever asked for the model: which method was chosen, and why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from adyton.choice.decision import Decision

_OPEN: ContextVar[list[Decision] | None] = ContextVar("decisions", default=None)


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
