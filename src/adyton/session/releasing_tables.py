"""Releasing many tables one by one, where the whole domain is too large or need not be looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from adyton import odds
from adyton.errors import BadInput
from adyton.exact import Rational, budget
from adyton.interrupts import deferred
from adyton.kernel.kernel import Kernel
from adyton.kernel.ledger.records import refusal
from adyton.kernel.sources import TableSource
from adyton.marginals.registry import AUTO, PROGRAMS, program_named
from adyton.marginals.tables_release import TablesRelease
from adyton.marginals.wanted import Wanted
from adyton.plans.limits import MOST_CELLS, MOST_PLAIN_CELLS
from adyton.release.receipt import Receipt
from adyton.schema import Schema
from adyton.session.misfits import MisfitCount
from adyton.tasks import Marginals, Task

MANY_ATTRIBUTES = 5
"""From so many on, ``auto`` measures tables of two attributes one by one."""
NAMED = tuple(name for name in PROGRAMS if name != AUTO)


def measures_tables(task: Task, schema: Schema, algorithm: str) -> TypeGuard[Marginals]:
    """Whether a release is made of tables that are measured one by one: by public facts alone."""
    if not isinstance(task, Marginals):
        if algorithm in NAMED:
            raise BadInput(f"{algorithm} is for tables of several attributes: ad.Marginals(way=2). This is {task}.")
        return False
    selected = task.select(schema)
    if algorithm in NAMED:
        return True
    if algorithm == AUTO:
        many = len(selected.names) >= MANY_ATTRIBUTES and task.widest <= 2
        return many or task.weights is not None or selected.cells > MOST_CELLS
    if selected.cells > MOST_PLAIN_CELLS:
        raise BadInput(
            f"these attributes have {_in_words(selected.cells)} cells together, allowed are {MOST_PLAIN_CELLS:,} where "
            f"an algorithm works on all of them. Name {' or '.join(NAMED)}, or auto: these measure tables one by one."
        )
    return False


def wanted_of(task: Marginals, schema: Schema) -> Wanted:
    """The tables of a task, out of a table with this schema; an error if they cannot be worked with."""
    selected = task.select(schema)
    wanted = Wanted.of(selected, task.groups(selected), task.importance(selected))
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
    keep: Callable[[TablesRelease], None],
) -> TablesRelease:
    """Measure the tables of a task, spending *epsilon*; *keep* is given the release before any interrupt takes effect.

    A request that cannot be carried out to its end is refused before anything is spent.
    """
    root, amount = kernel.root, budget(epsilon, "epsilon")
    wanted, program = wanted_of(task, root.schema), program_named(algorithm, **options)
    account = kernel.budget
    if amount > account.remaining:
        raise refusal(amount, account.remaining, account.total, kernel.ledger.path)
    source = (root if where is None else root.where(where)).select(list(wanted.schema.names))
    planned = MisfitCount.planned(root, wanted.schema.names, where, misfits)
    row_epsilon = amount * (1 - planned.share) / source.stability
    program.admit(source, wanted, row_epsilon)
    odds.warn(amount, "a release", kernel.terms.named_unit)
    receipt = Receipt.opened(kernel)
    with kernel.receipts() as debits:
        counted = planned.measure(amount)
        outcome = program.run(source, wanted, row_epsilon)
    with deferred():
        release = TablesRelease(
            schema=wanted.schema,
            task=task,
            where=where,
            algorithm=outcome.algorithm,
            options={
                name: value for name, value in options.items() if name in PROGRAMS[outcome.algorithm].option_names()
            },
            epsilon=amount,
            measured=outcome.measured,
            why=outcome.why,
            bought=outcome.bought,
            receipt=receipt.paid(kernel.ledger, debits),
            misfits=counted,
        )
        keep(release)
    return release


def _in_words(cells: int) -> str:
    return f"{cells:,}" if cells < 10**15 else f"{float(min(cells, 10**300)):.1e}"
