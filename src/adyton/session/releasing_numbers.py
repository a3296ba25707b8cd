"""Releasing numbers by groups: a request is checked, priced and measured, and loses nothing on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from adyton import odds
from adyton.errors import BadInput
from adyton.exact import Rational, budget
from adyton.kernel.kernel import Kernel
from adyton.kernel.recorder import Ended, Recorder
from adyton.kernel.sources import TableSource
from adyton.messages import listing
from adyton.result.pending import carry_out, in_short
from adyton.result.receipt import Receipt
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
    keep: Callable[[Any], None],
) -> NumbersRelease:
    """Measure what is asked for, spending *epsilon*. What can be refused is refused before anything is spent; should
    a later measurement fail, what was measured until then is released."""
    root, amount = kernel.root, budget(epsilon, "epsilon")
    asked = asked_of(task, root.schema, options)
    kernel.budget.afford(amount, kernel.ledger.path)
    source = root if where is None else root.where(where)
    planned = MisfitCount.planned(root, asked.schema.names, where, misfits)
    row_epsilon = amount * (1 - planned.share(amount)) / source.stability
    weighed = weigh(asked, row_epsilon, algorithm)
    steps = weighed.program.steps(source, asked, row_epsilon)
    odds.warn(amount, "a release", kernel.terms.named_unit)
    receipt = Receipt.opened(kernel)

    def work(recorder: Recorder) -> NumbersRelease:
        counted, paid = planned.measure(amount), amount
        parts, ended = _carried_out(steps)
        if ended is not None:
            paid = recorder.charged
            counted = None if counted is None else replace(counted, share=counted.epsilon / paid)
        return NumbersRelease(
            schema=asked.schema,
            task=asked.task,
            where=where,
            algorithm=weighed.chosen,
            epsilon=paid,
            parts=parts,
            why=weighed.why(),
            receipt=receipt.paid(kernel.ledger, recorder.debits),
            misfits=counted,
            unfinished=None if ended is None else in_short(ended),
        )

    return carry_out(kernel, work, keep, amount)


def _carried_out(steps: Sequence[Step]) -> tuple[tuple[Part, ...], BaseException | None]:
    """The answers, and what ended them early if something did."""
    parts: list[Part] = []
    try:
        for step in steps:
            parts.append(step())
    except (Ended, Exception) as end:
        if not parts:
            raise
        return tuple(parts), end.cause if isinstance(end, Ended) else end
    return tuple(parts), None
