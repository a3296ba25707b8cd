"""Expressions at work: what the engine counted, as arrays of whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from adyton.arrays import Array, Integers

Counted = tuple[Integers, Integers]
"""The values of a column, and how many rows have each."""


def fetched(backend: Any, expression: Any) -> dict[str, Array]:
    """The columns of the result; from DuckDB directly, because Ibis and Arrow would load pandas on the way."""
    relation = getattr(backend, "_to_duckdb_relation", None)
    if relation is not None:
        return {name: np.asarray(column) for name, column in relation(expression).fetchnumpy().items()}
    found = backend.to_pyarrow(expression)
    return {name: found.column(name).to_numpy() for name in found.column_names}


def counted(backend: Any, rows: Any) -> list[Counted]:
    """How many rows have each value, for every column of a table without nulls: in one pass over the rows on DuckDB,
    in one for each column elsewhere."""
    if backend.name == "duckdb" and len(rows.columns) > 1:
        return _counted_together(backend, rows)
    columns = [rows.select(cell=rows[name]) for name in rows.columns]
    tables = [fetched(backend, cells.group_by("cell").aggregate(rows=cells.count())) for cells in columns]
    return [(table["cell"], table["rows"]) for table in tables]


def _counted_together(backend: Any, rows: Any) -> list[Counted]:
    """By grouping sets, of which Ibis has none; in each line of the result all columns but one are null."""
    backend._run_pre_execute_hooks(rows)  # makes the small tables known that it is joined with
    names = [f'"{name}"' for name in rows.columns]
    sets = ", ".join(f"({name})" for name in names)
    query = f"select {', '.join(names)}, count(*) from ({backend.compile(rows)}) group by grouping sets ({sets})"
    *columns, counts = backend.con.sql(query).fetchnumpy().values()
    lines = [~np.ma.getmaskarray(column) for column in columns]
    return [(np.asarray(column)[here], np.asarray(counts)[here]) for column, here in zip(columns, lines, strict=True)]
