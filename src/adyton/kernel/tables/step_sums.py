"""Sums of the values of an attribute by groups, in whole steps of its public grid.

Claim.  The number of steps of a row is a function of that row's own value, lies in 0 … span whatever the value is, and
no value makes the engine fail.
Proof.  The value is clamped to the bounds of the schema before anything is computed with it; what follows is one
subtraction, one product or quotient, one sum and one rounding of numbers within the bounds, and the result is clamped
again, as a whole number. Nothing overflows there; and nothing below half a step is divided, so that no quotient is too
small for a double, which PostgreSQL would refuse. Rows without a number between the bounds (missing ones, and others
that the schema does not clamp) are left out by the same conditions that decide about cells (see
:mod:`adyton.kernel.tables.cell_codes`).  ∎
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.arrays import Array
from adyton.kernel.engines import Engine
from adyton.kernel.engines.functions import engine_function
from adyton.kernel.tables.cell_codes import base_code
from adyton.kernel.tables.cells import cell_table
from adyton.kernel.tables.columns import is_missing
from adyton.schema import Integer, Numeric, Schema
from adyton.schema.numbers import FixedPoint
from adyton.whole import IntegerArray, whole_array

_BITS = 27
"""Squares are added up in two parts of so many bits, by shifting and masking: engines divide in doubles."""


def step_table(
    table: Any, schema: Schema, columns: Mapping[str, str], attribute: str, by: Sequence[str], *, engine: Engine
) -> Any:
    """The rows that have a group and a number, with the columns ``cell``, the number of the group, and ``steps``."""
    import ibis

    column = columns[attribute]
    if by:
        table = cell_table(table, schema.select(by), columns, engine=engine, carry=[column])
    else:
        table = table.select(table[column], cell=ibis.literal(0, "int64"))
    declared = schema.attributes[attribute]
    assert isinstance(declared, Integer | Numeric)
    value = table[column]
    inside = base_code(value, declared, engine).keep
    kept = ~is_missing(value) if declared.outside == "clamp" else inside & ~is_missing(value)
    return table.filter(kept).select("cell", steps=_steps(value, declared))


def _steps(column: Any, attribute: Integer | Numeric) -> Any:
    """How many steps a value lies above the lower bound, rounded to the next one."""
    import ibis

    grid = FixedPoint.of(attribute)
    if isinstance(attribute, Integer) and column.type().is_integer():
        clamped = ibis.greatest(ibis.least(column.cast("int64"), attribute.max), attribute.min)
        steps = clamped - attribute.min
        if grid.step > 1:  # rounded: the lower bound need not be a multiple of the step
            ahead = attribute.min - grid.low * int(grid.step) + int(grid.step) // 2
            steps = (steps + ahead) // int(grid.step)
        return ibis.greatest(ibis.least(steps, grid.span), 0).cast("int64")
    floor = engine_function("floor", float, float)
    value = column.cast("float64")
    value = floor(value) if isinstance(attribute, Integer) else value
    value = ibis.greatest(ibis.least(value, float(attribute.max)), float(attribute.min))
    offset = value - grid.lower if grid.low else value
    if grid.step > 1:  # half a step first: the quotient of a very small number would be too small for some engines
        scaled = (offset + float(grid.step / 2)) / float(grid.step)
    else:
        scaled = offset * float(1 / grid.step) + 0.5
    return ibis.greatest(ibis.least(floor(scaled).cast("int64"), grid.span), 0)


def sums_by_cell(rows: Any, squares: bool, engine: Engine) -> Any:
    """For each group the number of rows and the sums, as texts: no engine's integer is long enough for all of them."""
    steps = rows["steps"]
    sums = {"steps": engine.total(steps)}
    if squares:
        square = steps * steps
        sums |= {"high": engine.total(square >> _BITS), "low": engine.total(square & ((1 << _BITS) - 1))}
    return rows.group_by("cell").aggregate(
        rows=rows.count().cast("string"), **{name: total.cast("string") for name, total in sums.items()}
    )


def power_sums(fetched: Mapping[str, Array], cells: int, squares: bool) -> list[IntegerArray]:
    """Σ 1, Σ k and, if asked for, Σ k² over the rows of every group, exactly."""
    names = ("rows", "steps", "high", "low") if squares else ("rows", "steps")
    found = {name: [0] * cells for name in names}
    for name in names:
        for cell, total in zip(np.asarray(fetched["cell"]).tolist(), fetched[name], strict=True):
            found[name][int(cell)] = int(Fraction(str(total)))
    columns = [found["rows"], found["steps"]]
    if squares:
        columns.append([(high << _BITS) + low for high, low in zip(found["high"], found["low"], strict=True)])
    return [whole_array(column, (cells,)) for column in columns]
