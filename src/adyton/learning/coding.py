"""From tables of new rows to codes, by the kernel's own rules for levels, bins, values outside and missing values.

A row that the schema would leave out of a count still gets a prediction: its code is −1 where a value has no cell, and
the model then uses the other attributes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from adyton.arrays import Array, Integers
from adyton.errors import BadInput, SchemaError
from adyton.exact import Rational, budget
from adyton.kernel.counting.public_rows import row_codes, rows_beside_codes
from adyton.kernel.kernel import Kernel
from adyton.kernel.ledger import Ledger
from adyton.kernel.reading.arrow import texts
from adyton.kernel.sources import TableSource
from adyton.learning.model import Target
from adyton.messages import listing, suggestion
from adyton.noise.source import NoiseSource
from adyton.schema import Schema


@contextmanager
def opened(
    data: Any,
    schema: Schema,
    epsilon: Rational,
    ledger: Ledger | str | os.PathLike[str] | None,
    dataset: str | None,
    unit: str | None,
    noise: NoiseSource | None,
) -> Iterator[Kernel[TableSource]]:
    """A kernel with the total of its ledger, or with *epsilon* if there is no ledger yet."""
    total = budget(epsilon, "epsilon")
    if isinstance(ledger, Ledger):
        total = ledger.total
    elif ledger is not None and Ledger.exists(ledger):
        total = Ledger.read(ledger).total
    kernel = Kernel(data, schema=schema, epsilon=total, ledger=ledger, dataset=dataset, unit=unit, noise=noise)
    try:
        yield kernel
    finally:
        if not isinstance(ledger, Ledger) and isinstance(kernel.ledger, Ledger):
            kernel.ledger.close()


def codes_of(data: Any, schema: Schema) -> Integers:
    """The number of the cell of every attribute, for each row: an array of shape (rows, attributes).

    *data* is whatever a session opens (a file, a frame, an Arrow or Ibis table), a dict of columns, or an array whose
    columns are those of the attributes in the order of the schema.

    >>> from adyton.schema import Categorical, Integer
    >>> schema = Schema({"age": Integer(0, 119, step=10), "sex": Categorical(["F", "M"])})
    >>> codes_of({"age": [34, 200], "sex": ["M", "F"]}, schema).tolist()
    [[3, 1], [-1, 0]]
    """
    batches = list(code_batches(data, schema))
    return np.concatenate(batches) if batches else np.empty((0, len(schema.names)), dtype=np.int64)


def code_batches(data: Any, schema: Schema) -> Iterator[Integers]:
    """As :func:`codes_of`, in batches in the order of the rows: for files that do not fit into memory."""
    return row_codes(as_table(data, schema.columns), schema)


def kept_batches(data: Any, schema: Schema, *, keep: bool) -> tuple[tuple[str, ...], Iterator[tuple[Integers, Any]]]:
    """The columns' names, and the codes in batches; if *keep*, with all columns of the same rows as an Arrow table."""
    return rows_beside_codes(as_table(data, schema.columns), schema, keep=keep)


def as_table(data: Any, names: Sequence[str], who: str = "the schema") -> Any:
    """Something that a kernel opens: arrays and dicts of columns become Arrow tables, anything else stays as it is."""
    import pyarrow

    if hasattr(data, "toarray"):
        raise BadInput("sparse input is not supported: every cell of a row counts. Give X.toarray().")
    if isinstance(data, Mapping):
        columns = {str(name): as_column(values) for name, values in data.items()}
        if len({len(column) for column in columns.values()}) > 1:
            raise BadInput("the columns have different lengths. Give each the same number of values.")
        return pyarrow.table(columns)
    if hasattr(data, "__array__") and not hasattr(data, "columns") and not hasattr(data, "column_names"):
        data = np.asarray(data)
    elif isinstance(data, list | tuple):
        data = np.array(data, dtype=None if _regular(data) else object)
    if isinstance(data, np.ndarray):
        if data.ndim != 2:
            raise BadInput(
                f"rows must be a table or an array with two axes, given {data.ndim}. Reshape your data: one row of "
                "values is x.reshape(1, -1)."
            )
        check_width(data.shape[1], names, who)
        return pyarrow.table({name: as_column(data[:, place]) for place, name in enumerate(names)})
    return data


def columns_of(data: Any) -> list[str] | None:
    """The names of the columns of a frame, an Arrow table or a dict; None for data without names, and for files."""
    if isinstance(data, str | os.PathLike | np.ndarray | list | tuple | type):
        return None
    if isinstance(data, Mapping):
        return [str(name) for name in data]
    names = getattr(data, "column_names", None)
    if names is None and hasattr(data, "collect_schema"):
        names = data.collect_schema().names()
    names = getattr(data, "columns", None) if names is None else names
    return None if names is None else [str(name) for name in names]


def check_columns(data: Any, schema: Schema, also: Sequence[str] = ()) -> None:
    """Refuse named columns that the schema does not declare, and say which are missing. Files may have more."""
    given = columns_of(data)
    if given is None:
        return
    columns = schema.columns
    unknown = [name for name in given if name not in columns and name not in also]
    if unknown:
        raise SchemaError(
            f"X has the columns {listing(unknown)}, which are not among the attributes to predict from: "
            f"{listing(columns)}.{suggestion(unknown[0], columns)} Leave them out, or declare them."
        )
    missing = [name for name in columns if name not in given]
    if missing:
        raise SchemaError(f"X has no column {listing(missing)}. It has {listing(given)}.")


def check_width(given: int, names: Sequence[str], who: str) -> None:
    """Refuse an array with another number of columns than there are attributes."""
    if given != len(names):
        raise BadInput(
            f"X has {given} features, but {who} is expecting {len(names)} features as input: {listing(names)}, in "
            "this order. Give a column for each."
        )


def _regular(data: Sequence[Any]) -> bool:
    """Whether NumPy may choose one type for all values: not where texts and numbers are mixed."""
    kinds = {type(value) for row in data if isinstance(row, list | tuple) for value in row}
    return not any(issubclass(kind, str) for kind in kinds) and type(None) not in kinds


def as_column(values: Any) -> Any:
    """An Arrow column; values of any kind are read as texts, like those of a CSV file."""
    import pyarrow

    if isinstance(values, pyarrow.Array | pyarrow.ChunkedArray):
        return values
    array = np.asarray(values if not isinstance(values, list | tuple) or _plain(values) else np.array(values, object))
    if array.dtype.kind == "c":
        raise BadInput("Complex data not supported: values are numbers, texts or booleans.")
    if array.dtype.kind in "biuf" and array.dtype.itemsize <= 8:
        return pyarrow.array(np.ascontiguousarray(array))
    return texts(array.tolist() if array.dtype.kind in "US" else array)


def _plain(values: Sequence[Any]) -> bool:
    return _regular([values])


def labelled_table(rows: Any, labels: Any, target: Target, who: str) -> Any:
    """A table of *rows* with a column of *labels*; no message reveals the number of rows."""
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
        raise BadInput(f"y must have one label for each row, given an array of {array.ndim} axes.")
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
