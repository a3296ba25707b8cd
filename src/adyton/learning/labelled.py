"""Rows and their labels, given apart, as one table that a kernel opens."""

from __future__ import annotations

from typing import Any

import numpy as np

from adyton.arrays import Array
from adyton.errors import BadInput
from adyton.learning.coding import as_column, as_table, check_columns
from adyton.learning.target import Target


def labelled_table(rows: Any, labels: Any, target: Target, who: str) -> Any:
    """A table of *rows* with a column of *labels*; the number of rows is in no message."""
    if rows is None or labels is None:
        raise BadInput(
            f"{who} requires y to be passed, but the target y is None. Give rows X with labels y, or a table."
        )
    check_columns(rows, target.schema)
    table, column = as_table(rows, target.schema.columns, who), _flat(labels)
    if _length(table) != len(column):
        raise BadInput("X and y have different numbers of rows. Give one label for each row.")
    return _joined(table, target.label, column)


def _flat(labels: Any) -> Array:
    array = np.asarray(labels)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise BadInput(f"y is one label for each row, given an array of {array.ndim} axes.")
    return array


def _length(table: Any) -> int:
    rows = getattr(table, "num_rows", None)
    return len(table) if rows is None else int(rows)


def _joined(table: Any, label: str, column: Array) -> Any:
    """The table with one more column, in its own library."""
    if hasattr(table, "append_column"):
        return table.append_column(label, as_column(column))
    if hasattr(table, "assign"):
        return table.assign(**{label: column})
    if hasattr(table, "with_columns"):
        import polars

        return table.with_columns(polars.Series(label, column))
    raise BadInput(f"a {type(table).__name__} cannot be given as X. Give a frame, an array, or table= with the label.")
