"""Releasing the counts of a task: of rows by their cells, or of units by their rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from adyton import odds
from adyton.errors import BadInput
from adyton.exact import Rational, budget
from adyton.kernel.kernel import Kernel
from adyton.kernel.recorder import Recorder
from adyton.kernel.sources import TableSource, VectorSource
from adyton.result import Release
from adyton.result.misfits import NO_SHARE
from adyton.result.pending import carry_out
from adyton.result.receipt import Receipt
from adyton.schema import Schema
from adyton.session.misfits import MisfitCount
from adyton.session.outlook import plan_of
from adyton.tasks import Task


def release_counts(
    kernel: Kernel[TableSource],
    task: Task,
    epsilon: Rational,
    algorithm: str,
    where: str | None,
    misfits: Rational | bool | None,
    options: Mapping[str, Any],
    keep: Callable[[Any], None],
) -> Release:
    """Measure the counts of a task, spending *epsilon*; *keep* is as in :func:`~adyton.result.pending.carry_out`.

    A request that cannot be carried out to its end is refused before anything is spent.
    """
    root = kernel.root
    schema = task.select(root.schema)
    workload = task.workload(schema)
    amount = budget(epsilon, "epsilon")
    plan, kept = plan_of(task, schema, algorithm, options)
    kernel.budget.afford(amount, kernel.ledger.path)
    x = vector_of(root if where is None else root.where(where), task, schema)
    planned = planned_misfits(root, task, schema, where, misfits)
    row_epsilon = amount * (1 - planned.share(amount)) / x.stability
    plan.admit(x, workload, row_epsilon)
    odds.warn(amount, "a release", kernel.terms.named_unit)
    receipt = _receipt_for(Receipt.opened(kernel), task)

    def work(recorder: Recorder) -> Release:
        counted = planned.measure(amount)
        outcome = plan.carry_out(x, workload, row_epsilon)
        return Release(
            schema=schema,
            task=task,
            where=where,
            algorithm=outcome.algorithm,
            options=kept,
            epsilon=amount,
            estimate=outcome.estimate,
            choice=outcome.choice,
            receipt=receipt.paid(kernel.ledger, recorder.debits),
            misfits=counted,
        )

    return carry_out(kernel, work, keep, amount)


def vector_of(source: TableSource, task: Task, schema: Schema) -> VectorSource:
    """The counts that a task is about; the schema is that of its attributes."""
    if task.per_unit:
        (name,) = schema.names
        return source.units(name, most=schema.cells).vectorize()
    return source.select(list(schema.names)).coarsen(schema).vectorize()


def planned_misfits(
    root: TableSource, task: Task, schema: Schema, where: str | None, given: Rational | bool | None
) -> MisfitCount:
    """The count of rows that do not fit; none for units, all of whose rows are counted whatever they say."""
    if not task.per_unit:
        return MisfitCount.planned(root, schema.names, where, given)
    if given:
        raise BadInput("rows that do not fit are not looked at where units are counted. Leave misfits out.")
    if where is not None:
        root.where(where)
    return MisfitCount(root, (), (), NO_SHARE)


def _receipt_for(receipt: Receipt, task: Task) -> Receipt:
    """The receipt of a task: where units are counted, each counts once, not as often as it has rows."""
    return replace(receipt, rows_per_unit=1) if task.per_unit else receipt
