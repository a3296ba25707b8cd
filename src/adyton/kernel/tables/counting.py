"""Expressions at work: what the engine counted, as columns of whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from adyton.arrays import Integers


def fetched(backend: Any, expression: Any) -> dict[str, Integers]:
    """The columns of the result; from DuckDB directly, because Ibis and Arrow would load pandas on the way."""
    relation = getattr(backend, "_to_duckdb_relation", None)
    if relation is not None:
        return {name: np.asarray(column) for name, column in relation(expression).fetchnumpy().items()}
    found = backend.to_pyarrow(expression)
    return {name: found.column(name).to_numpy() for name in found.column_names}


def by_column(backend: Any, rows: Any) -> dict[str, Integers]:
    """How many rows there are (``rows``) for each value of the only column (``cell``)."""
    cells = rows.rename(cell=rows.columns[0])
    return fetched(backend, cells.group_by("cell").aggregate(rows=cells.count()))


def by_columns(backend: Any, rows: Any) -> dict[str, Integers]:
    """The same for several columns in one pass of DuckDB; they have no value in common, and no null.

    In each line of the result all columns but one are null. (Ibis has no grouping sets, hence the text.)
    """
    backend._to_duckdb_relation(rows)  # makes the small tables known that it is joined with, and runs nothing
    names = ", ".join(f'"{name}"' for name in rows.columns)
    sets = ", ".join(f'("{name}")' for name in rows.columns)
    counted = f"select coalesce({names}) as cell, count(*) as rows from ({backend.compile(rows)})"
    query = f"{counted} group by grouping sets ({sets})"
    return {name: np.asarray(column) for name, column in backend.con.sql(query).fetchnumpy().items()}
