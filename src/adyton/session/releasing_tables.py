"""Releasing many tables one by one, where the whole domain is too large or need not be looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeGuard

from adyton import odds
from adyton.errors import BadInput
from adyton.exact import Rational, budget
from adyton.kernel.kernel import Kernel
from adyton.kernel.recorder import Recorder
from adyton.kernel.sources import TableSource
from adyton.marginals.registry import AUTO, PROGRAMS, program_named
from adyton.marginals.tables_release import TablesRelease
from adyton.marginals.wanted import Wanted
from adyton.plans.limits import MOST_CELLS, MOST_PLAIN_CELLS
from adyton.plans.registry import check_name
from adyton.result.pending import carry_out, in_short
from adyton.result.receipt import Receipt
from adyton.schema import Schema
from adyton.schema.coarsening import changes
from adyton.session.misfits import MisfitCount
from adyton.tasks import Marginals, Task

MANY_ATTRIBUTES = 5
"""From so many on, ``auto`` measures tables of two attributes one by one."""
NAMED = tuple(name for name in PROGRAMS if name != AUTO)


def measures_tables(task: Task, schema: Schema, algorithm: str) -> TypeGuard[Marginals]:
    """Whether a release is made of tables that are measured one by one: by public facts alone."""
    check_name(algorithm)
    if not isinstance(task, Marginals):
        if algorithm in NAMED:
            raise BadInput(f"{algorithm} is for tables: --marginals 2 (ad.Marginals(way=2)). This is {task}.")
        check_held(task, task.select(schema))
        return False
    selected = task.select(schema)
    if algorithm in NAMED:
        return True
    if algorithm == AUTO:
        many = len(selected.names) >= MANY_ATTRIBUTES and task.widest(schema) <= 2
        return many or task.weights is not None or selected.cells > MOST_CELLS
    if selected.cells > MOST_PLAIN_CELLS:
        raise BadInput(
            f"these attributes have {in_words(selected.cells)} cells together, allowed are {MOST_PLAIN_CELLS:,} where "
            f"an algorithm works on all of them. Name {' or '.join(NAMED)}, or auto: these measure tables one by one."
        )
    return False


def check_held(task: Task, schema: Schema) -> None:
    """Refuse a domain that cannot be held, before anything of its size is made; say which way would work."""
    if schema.cells > MOST_PLAIN_CELLS:
        some = ", ".join(f'"{name}"' for name in schema.names[:2])
        raise BadInput(
            f"{task}: {in_words(schema.cells)} cells, allowed are {MOST_PLAIN_CELLS:,} where every one is counted. "
            "Name fewer attributes, or ask for tables of two of them each, measured one by one: --marginals 2 "
            f"(in Python ad.Marginals(way=2, attrs=[{some}, …])). Rows made from those have all attributes."
        )


def wanted_of(task: Marginals, schema: Schema) -> Wanted:
    """The tables of a task, out of a table with this schema; an error if they cannot be worked with."""
    wanted = Wanted.fitting(task, task.select(schema))
    wanted.check()
    return wanted


def release_tables(
    kernel: Kernel[TableSource],
    task: Marginals,
    epsilon: Rational,
    algorithm: str,
    where: str | None,
    misfits: Rational | bool | None,
    options: Mapping[str, Any],
    keep: Callable[[Any], None],
) -> TablesRelease:
    """Measure the tables of a task, spending *epsilon*; *keep* is as in :func:`~adyton.result.pending.carry_out`.

    A request that cannot be carried out to its end is refused before anything is spent. Should it nevertheless end
    early, between two measurements, the tables that are there are released, with a warning, at the price that was paid.
    """
    root, amount = kernel.root, budget(epsilon, "epsilon")
    wanted, program = wanted_of(task, root.schema), program_named(algorithm, **options)
    coarser = changes(root.schema.select(wanted.schema.names), wanted.schema)
    kernel.budget.afford(amount, kernel.ledger.path)
    source = (root if where is None else root.where(where)).select(list(wanted.schema.names)).coarsen(wanted.schema)
    planned = MisfitCount.planned(root, wanted.schema.names, where, misfits)
    row_epsilon = amount * (1 - planned.share(amount)) / source.stability
    program.admit(source, wanted, row_epsilon)
    odds.warn(amount, "a release", kernel.terms.named_unit)
    receipt = Receipt.opened(kernel)

    def work(recorder: Recorder) -> TablesRelease:
        counted, paid = planned.measure(amount), amount
        outcome = program.carry_out(source, wanted, row_epsilon)
        if outcome.ended is not None:
            paid = recorder.charged
            counted = None if counted is None else replace(counted, share=counted.epsilon / paid)
        return TablesRelease(
            schema=wanted.schema,
            task=task,
            where=where,
            algorithm=outcome.algorithm,
            options={
                name: value for name, value in options.items() if name in PROGRAMS[outcome.algorithm].option_names()
            },
            epsilon=paid,
            measured=outcome.measured,
            why="; ".join((outcome.why, *coarser)),
            bought=outcome.bought,
            receipt=receipt.paid(kernel.ledger, recorder.debits),
            misfits=counted,
            unfinished=None if outcome.ended is None else in_short(outcome.ended),
        )

    return carry_out(kernel, work, keep, amount)


def in_words(cells: int) -> str:
    """A number of cells, short if it is huge."""
    return f"{cells:,}" if cells < 10**15 else f"{float(min(cells, 10**300)):.1e}"
