"""A column of texts counted by itself: first how many rows have each text, then which cell each text falls into.

Engines group texts faster than they look them up, most of all where a file says each of them once. It takes memory for
every text that there is, so that it is tried on engines that are bounded, and given up where it would take too much.

Claim.  The counts are those of the cells of all rows.
Proof.  Rows with the same bytes have the same cell, and the numbers of rows are added up.  ∎
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from adyton.arrays import Integers
from adyton.kernel.engines import Engine
from adyton.kernel.engines.engine import Counted
from adyton.kernel.tables.cells import cell_table
from adyton.kernel.tables.columns import holds_levels
from adyton.schema import Schema


def counted_by_values(engine: Engine, rows: Any, schema: Schema, columns: Mapping[str, str]) -> Counted | None:
    """How many rows have each cell; None unless the schema is one attribute of texts, and these are not too many."""
    (name, attribute), *others = schema.attributes.items()
    column = rows[columns[name]]
    if others or not engine.groups_first or not holds_levels(attribute, str) or not column.type().is_string():
        return None
    grouped = rows.group_by(value=engine.same_bytes(column)).aggregate(times=rows.count())
    values = grouped.mutate(value=engine.text_of(grouped["value"]))
    cells = cell_table(values, schema, {name: "value"}, engine=engine, carry=["times"])
    sums = cells.group_by("cell").aggregate(rows=cells["times"].sum().cast("int64"))
    found = engine.run(lambda: (engine.bounded(lambda: engine.fetched(sums)),))[0]
    return None if found is None else (found["cell"], found["rows"])


def vector_of(length: int, counted: Counted) -> Integers:
    """The number of rows of every value below *length*."""
    vector = np.zeros(length, dtype=np.int64)
    values, counts = counted
    vector[values] = counts
    return vector
