"""Releasing numbers by groups: what is asked is checked, priced, measured, and told whatever happens on the way."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from adyton import odds
from adyton.errors import AdytonError, BadInput, UnfinishedRelease
from adyton.exact import Rational, budget, display
from adyton.interrupts import deferred
from adyton.kernel.kernel import Kernel
from adyton.kernel.ledger.records import refusal
from adyton.kernel.receipts import Debit
from adyton.kernel.sources import TableSource
from adyton.messages import listing
from adyton.release.misfits import Misfits
from adyton.release.receipt import Receipt
from adyton.session.misfits import MisfitCount
from adyton.statistics.asked import Asked
from adyton.statistics.choosing import weigh
from adyton.statistics.numbers_release import NumbersRelease
from adyton.statistics.parts import Part
from adyton.statistics.program import Step
from adyton.tasks import NumbersTask

MOST_GROUPS = 1_000_000


def asked_of(task: NumbersTask, schema: Any, options: Mapping[str, Any]) -> Asked:
    """What is asked of a table with this schema; refused where there are more groups than can be told."""
    if options:
        raise BadInput(f"algorithms for numbers have no options, given {listing(options)}. Leave them out.")
    asked = Asked.of(task, schema)
    if asked.groups > MOST_GROUPS:
        raise BadInput(f"{task}: {asked.groups:,} groups, allowed are {MOST_GROUPS:,}. Group by fewer attributes.")
    return asked


def release_numbers(
    kernel: Kernel[TableSource],
    task: NumbersTask,
    epsilon: Rational,
    algorithm: str,
    where: str | None,
    misfits: Rational | bool | None,
    options: Mapping[str, Any],
    keep: Callable[[NumbersRelease], None],
) -> NumbersRelease:
    """Measure what is asked for, spending *epsilon*. What can be refused is refused before anything is spent; should
    a later measurement fail, what was measured until then comes out."""
    root, amount = kernel.root, budget(epsilon, "epsilon")
    asked, account = asked_of(task, root.schema, options), kernel.budget
    if amount > account.remaining:
        raise refusal(amount, account.remaining, account.total, kernel.ledger.path)
    source = root if where is None else root.where(where)
    planned = MisfitCount.planned(root, asked.schema.names, where, misfits)
    row_epsilon = amount * (1 - planned.share) / source.stability
    weighed = weigh(asked, row_epsilon, algorithm)
    steps = weighed.program.steps(source, asked, row_epsilon)
    odds.warn(amount, "a release", kernel.terms.named_unit)
    receipt = Receipt.opened(kernel)
    with kernel.receipts() as debits:
        counted = planned.measure(amount)
        parts, ended = _carried_out(steps)
    if ended is not None and not parts:
        raise _lost(ended, counted, debits)
    if ended is not None:
        amount = sum((debit.amount for debit in debits), Fraction(0))
        counted = None if counted is None else replace(counted, share=counted.epsilon / amount)
    with deferred():
        release = NumbersRelease(
            schema=asked.schema,
            task=task,
            where=where,
            algorithm=weighed.chosen,
            epsilon=amount,
            parts=parts,
            why=weighed.why(),
            receipt=receipt.paid(kernel.ledger, debits),
            misfits=counted,
            unfinished=None if ended is None else _in_short(ended),
        )
        keep(release)
    if ended is not None and not isinstance(ended, Exception):
        raise ended  # somebody ended the program
    if ended is not None:
        warnings.warn(f"{_in_short(ended)} {_charge(debits)} What was measured is here.", UnfinishedRelease, 3)
    return release


def _carried_out(steps: Sequence[Step]) -> tuple[tuple[Part, ...], BaseException | None]:
    """The answers, and what ended them early if something did."""
    parts: list[Part] = []
    try:
        for step in steps:
            parts.append(step())
    except BaseException as cause:  # what was paid for must not be lost over it
        return tuple(parts), cause
    return tuple(parts), None


def _lost(cause: BaseException, counted: Misfits | None, debits: Sequence[Debit]) -> BaseException:
    """The error of a release that ended before anything was measured but, perhaps, misfits."""
    if counted is None:
        return cause
    came = f"Until then came out: misfits: {counted.in_words()}"
    if isinstance(cause, Exception):
        return AdytonError(f"{_in_short(cause)} {_charge(debits)} {came}")
    cause.add_note(came)
    return cause


def _in_short(cause: BaseException) -> str:
    """What happened. Messages say nothing about rows; of other errors only the kind is told."""
    what = str(cause).rstrip(".") if isinstance(cause, AdytonError) else type(cause).__name__
    return f"the release ended early ({what})."


def _charge(debits: Sequence[Debit]) -> str:
    return f"ε = {display(sum((debit.amount for debit in debits), Fraction(0)))} was charged and stays spent."
