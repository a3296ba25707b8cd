"""Arrow columns and tables, without the functions that load pandas, half a second, wherever it is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.arrays import Array

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_column(values: Sequence[Any] | Array, kind: str | None = None) -> pa.Array:
    """Numbers and texts as an Arrow array, as ``pyarrow.array()`` makes it; of another kind, if one is given."""
    import pyarrow as pa

    column = _column(values)
    if kind in (None, str(column.type)):
        return column
    if kind == "binary" and column.type == pa.string():
        return column.view(kind)  # the same bytes
    return column.cast(kind)


def _column(values: Sequence[Any] | Array) -> pa.Array:
    import pyarrow as pa
    from pyarrow.lib import StringBuilder

    if isinstance(values, tuple | list) and values and all(type(value) is int for value in values):
        values = np.array(values)
    number = getattr(values, "dtype", None)
    if number in (np.int32, np.int64, np.float64):
        numbers = np.ascontiguousarray(values)
        return pa.Array.from_buffers(pa.from_numpy_dtype(number), numbers.size, [None, pa.py_buffer(numbers)])
    if not (len(values) and all(isinstance(value, str) for value in values)):
        return pa.array(values)
    texts = StringBuilder()
    texts.append_values(values)
    return texts.finish()


def arrow_memtable(table: pa.Table) -> Any:
    """An Arrow table for Ibis, as ``ibis.memtable()`` makes it."""
    import ibis
    from ibis.expr.operations import InMemoryTable
    from ibis.formats.pyarrow import PyArrowTableProxy

    name, schema = ibis.util.gen_name("adyton_memtable"), ibis.schema(table.schema)
    return InMemoryTable(name=name, schema=schema, data=PyArrowTableProxy(table)).to_expr()
