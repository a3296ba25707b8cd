"""Tables in memory (pandas, polars, Arrow) and on other engines (Ibis).

Frames become Arrow, column by column and only the wanted ones. Columns of Python objects, whose values may be of any
type, are read as text, like a CSV file: what has no plain text is missing. No library is imported unless the caller
has done so already.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from adyton.errors import SchemaError
from adyton.kernel.sealed import quietly
from adyton.kernel.tables.readers import Column, Reader, TableReader, connect, take
from adyton.messages import shorten

_IN_PLACE = ("duckdb", "postgres", "pyspark")
_UNREADABLE = "the frame cannot be read as a table. Convert it to an Arrow table yourself, then open that."


def frame_reader(data: Any) -> Reader | None:
    """The reader for a frame or an Ibis table; None for anything else."""
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    pyarrow, ibis = sys.modules.get("pyarrow"), sys.modules.get("ibis")
    if pandas is not None and isinstance(data, pandas.DataFrame):
        return PandasReader(data)
    if polars is not None and isinstance(data, polars.DataFrame | polars.LazyFrame):
        return PolarsReader(data)
    if pyarrow is not None and isinstance(data, pyarrow.Table):
        return ArrowReader(data)
    if ibis is not None and isinstance(data, ibis.Table):
        return _engine_reader(data)
    return None


def _engine_reader(table: Any) -> Reader:
    """Run where the table is; an expression over data in memory alone runs in our own engine."""
    backends, has_unbound = table._find_backends()
    names = sorted({backend.name for backend in backends})
    if has_unbound:
        raise SchemaError("the Ibis table is bound to no data. Give a table of a connection.")
    if any(name not in _IN_PLACE for name in names) or len(backends) > 1:
        raise SchemaError(
            f"tables on {' and '.join(names)} cannot be opened, those of one connection to {', '.join(_IN_PLACE)} can. "
            "Write the table to a Parquet file, or turn it into an Arrow table."
        )
    return TableReader(table)


class ArrowReader(Reader):
    """An Arrow table."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.columns = [_arrow_column(field.name, field.type) for field in table.schema]

    def read(self, wanted: Sequence[int]) -> Any:
        """The wanted columns, registered without a copy."""
        return register([_plain(self.table.column(index)) for index in wanted])


class PolarsReader(Reader):
    """A polars frame; a lazy one is collected when it is opened, the wanted columns only."""

    def __init__(self, frame: Any) -> None:
        import polars

        self.frame = frame
        types = frame.collect_schema()
        self.columns = []
        for name, kind in types.items():
            empty = polars.DataFrame(schema={"x": kind})
            arrow = quietly(lambda empty=empty: empty.to_arrow().schema.field("x").type)  # type: ignore[misc]
            self.columns.append(_arrow_column(name, arrow, str(kind)))

    def read(self, wanted: Sequence[int]) -> Any:
        """The wanted columns as Arrow."""
        names = [self.columns[index].name for index in wanted]
        arrays = quietly(
            lambda: [_plain(column) for column in self.frame.lazy().select(names).collect().to_arrow().columns]
        )
        if arrays is None:
            raise SchemaError(_UNREADABLE)
        return register(arrays)


class PandasReader(Reader):
    """A pandas frame. The types are those of its columns, found on an empty slice."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.columns = [self._look(index) for index in range(frame.shape[1])]

    def _look(self, index: int) -> Column:
        import ibis
        import pyarrow

        name, series = str(self.frame.columns[index]), self.frame.iloc[:0, index]
        values = series.dtype.categories if str(series.dtype) == "category" else series
        if values.dtype == object:
            return Column(name, "object", ibis.dtype("string"), from_text=True)
        arrow = quietly(lambda: pyarrow.array(values[:0], from_pandas=True).type)
        return _arrow_column(name, arrow, str(series.dtype))

    def read(self, wanted: Sequence[int]) -> Any:
        """The wanted columns as Arrow; not-a-number becomes missing."""
        arrays = quietly(lambda: [self._column(index) for index in wanted])
        if arrays is None:
            raise SchemaError(_UNREADABLE)
        return register(arrays)

    def _column(self, index: int) -> Any:
        import pyarrow

        series = self.frame.iloc[:, index]
        if self.columns[index].from_text or getattr(series.dtype, "storage", "") == "python":
            return pyarrow.array([_text(value) for value in series], pyarrow.large_string())
        return _plain(pyarrow.array(series, from_pandas=True))


def register(columns: Sequence[Any]) -> Any:
    """Arrow columns as an Ibis table of our own engine."""
    import pyarrow

    connection = connect()
    connection.con.register("source", pyarrow.table({f"c{index}": column for index, column in enumerate(columns)}))
    return take(connection.table("source"), [f"c{index}" for index in range(len(columns))])


def _plain(column: Any) -> Any:
    """Dictionaries spelt out; types the engine does not know turned into those it does."""
    import pyarrow
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        return _plain(column.cast(kind.value_type))
    if types.is_float16(kind):
        return column.cast(pyarrow.float32())
    if types.is_null(kind):
        return column.cast(pyarrow.string())
    return column


def _arrow_column(name: str, kind: Any, shown: str | None = None) -> Column:
    from ibis.expr import datatypes
    from pyarrow import types

    value = kind.value_type if kind is not None and types.is_dictionary(kind) else kind
    found = quietly(lambda: datatypes.DataType.from_pyarrow(value))
    empty = found is not None and found.is_null()
    return Column(name, shorten(shown or str(kind)).strip("'"), found or datatypes.unknown, from_text=empty)


def _text(value: object) -> str | None:
    """The plain text of a Python value, as a CSV file would have it; None for what has none."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, bytes) or value is None:
        return None
    if type(value).__name__ in ("bool", "bool_"):
        return "true" if value else "false"
    if isinstance(value, int | float | Decimal | np.integer | np.floating):
        return _number_text(value)
    return None


def _number_text(value: Any) -> str | None:
    try:
        text = str(int(value)) if isinstance(value, int) and abs(value) < 2**1000 else repr(float(value))
    except (TypeError, ValueError, OverflowError):
        return None
    return None if text == "nan" else text
