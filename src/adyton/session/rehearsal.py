"""Rehearsals: a request on rows that are made up from the schema, so that nothing is read and nothing is spent.

The program is the one that would run, on a kernel with simulated noise whose root has the facts of the real one: the
same schema, unit and stability. So the form of the result, its noise and its intervals are those of a real one. Rows
are made up as cells: what needs values (a filter, the sizes of groups and units) is made up, too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.kernel.kernel import Kernel
from adyton.kernel.ledger.terms import Terms
from adyton.kernel.shapes import Facts, TableShape
from adyton.programs.base import program_of
from adyton.result.result import Result
from adyton.schema import Schema
from adyton.schema.attributes import CelledAttribute
from adyton.session.run import misfits_share, run
from adyton.statistics.grouped import GroupedNumbers
from adyton.tasks import NumbersTask
from adyton.tasks.request import Request
from adyton.whole import whole

ROWS = 10_000
"""How many rows are made up where the schema does not say how many the table has."""
_MOST = 10**12
_DISTINCT = 100_000
"""How many of them differ at most: more rows are these, several times."""
_WITHOUT_CELL = 0.03
"""The share of values that are outside, or missing, where the schema has a cell for them."""


def rehearsed(request: Request, root: Facts, unit: str | None = None, rows: int | None = None, seed: int = 0) -> Result:
    """The result of a request on rows that are made up for a table with these facts; it is marked as not private."""
    assert isinstance(root.shape, TableShape)
    schema = root.shape.schema
    count = rows_for(request, schema) if rows is None else whole(rows, "rows", 1)
    random = np.random.default_rng(whole(seed, "seed", 0))
    distinct = min(count, _DISTINCT)
    times = np.full(distinct, count // distinct)
    times[: count % distinct] += 1
    codes = codes_for(schema, distinct, random)
    if rows is None and isinstance(request.task, NumbersTask) and request.task.rows is not None:
        _share_out(codes, schema, GroupedNumbers.of(request.task, schema))
    terms = Terms.of(schema.to_dict(), schema.rows_per_unit, None if schema.unit else unit)
    name, own = f"rehearsal of {root.lineage[0]}", int(random.integers(1 << 62))
    kernel = Kernel.rehearsal(codes, times, root, terms, epsilon=request.epsilon, seed=own, dataset=name)
    if request.misfits is None and program_of(request, schema).looks_at is not None:
        share = misfits_share(None, schema, from_text=root.shape.from_text)
        request = replace(request, misfits=bool(share.of(request.epsilon)))
    return run(kernel, request, lambda paid: None)


def rows_for(request: Request, schema: Schema) -> int:
    """How many rows are made up: as many as the schema says; where the request says how many rows a group has, so many
    for each, and twice as many if every other one is filtered."""
    task = request.task
    if not isinstance(task, NumbersTask) or task.rows is None:
        return schema.rows or ROWS
    rows = GroupedNumbers.of(task, schema).groups * task.rows
    return min(_MOST, rows if request.where is None else 2 * rows)


def _share_out(codes: Integers, schema: Schema, numbers: GroupedNumbers) -> None:
    """Give all groups equally many rows, one group after the other."""
    group = np.arange(len(codes)) * numbers.groups // len(codes)
    for name in reversed(numbers.task.by):
        group, codes[:, list(schema.attributes).index(name)] = np.divmod(group, numbers.schema.attributes[name].size)


def facts_of(schema: Schema) -> Facts:
    """The facts of a CSV file with this schema, which need not exist."""
    shape = TableShape(schema, from_text=True, by_unit=schema.unit is not None)
    return Facts(0, shape, ("a table",), schema.rows_per_unit)


def codes_for(schema: Schema, rows: int, random: np.random.Generator) -> Integers:
    """Made-up rows: the number of a cell for each attribute. Along an order the cells have a hump, and others have
    shares of their own."""
    columns = []
    for attribute in schema.attributes.values():
        if not isinstance(attribute, CelledAttribute):
            columns.append(np.zeros(rows, dtype=np.int64))  # it has no cells, and nothing counts its values
            continue
        own = attribute.base_size
        if attribute.ordered:
            cells = np.minimum((random.beta(2, 3, rows) * own).astype(np.int64), own - 1)
        else:
            shares: Reals = random.gamma(2, size=own)
            cells = random.choice(own, rows, p=shares / shares.sum())
        for extra in (attribute.other_cell, attribute.null_cell):
            if extra is not None:
                cells[random.random(rows) < _WITHOUT_CELL] = extra
        columns.append(cells)
    return np.stack(columns, axis=1)
