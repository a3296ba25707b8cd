"""Tables in memory: pandas, polars and Arrow.

A frame's types were inferred from its rows by whoever made it, so that every type of single values can be opened: one
odd row makes a column of numbers one of texts or of objects. Columns become Arrow when they are first counted, the
wanted ones only; a lazy frame is collected then. No library is imported unless the caller has done so already.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from adyton.errors import SchemaError
from adyton.kernel.engines.own import Stream
from adyton.kernel.sealed import quietly
from adyton.kernel.tables.expressions import ExpressionReader
from adyton.kernel.tables.plain_columns import plain, plain_type, texts
from adyton.kernel.tables.readers import Column, Reader
from adyton.messages import shorten

_ROWS_AT_A_TIME = 122_880


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
        from ibis.expr import operations

        table = data.op()
        if isinstance(table, operations.InMemoryTable):  # its types are what Ibis found in the rows
            return frame_reader(table.data.obj)
        return ExpressionReader(data)
    return None


class FrameReader(Reader):
    """What the three kinds of frames share: plain types are known at once, plain columns are made when counted."""

    kinds: list[Any]
    """The plain Arrow type of every column; None where there is none."""

    def read(self, wanted: Sequence[int], exact: Collection[str] = ()) -> Any:
        """A stream of the wanted columns, which are converted once."""
        import pyarrow

        @cache
        def table() -> Any:
            arrays = self.arrays(wanted)
            return pyarrow.table({f"c{place}": array for place, array in enumerate(arrays)})

        def batches() -> Iterator[Any]:
            yield from table().to_batches(max_chunksize=_ROWS_AT_A_TIME)

        return Stream([self.kinds[index] for index in wanted], batches).table()

    @abstractmethod
    def arrays(self, wanted: Sequence[int]) -> list[Any]:
        """The wanted columns in their plain types."""


class ArrowReader(FrameReader):
    """An Arrow table."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.kinds = [plain_type(field.type) for field in table.schema]
        self.columns = [_column(field.name, field.type, str(field.type)) for field in table.schema]

    def arrays(self, wanted: Sequence[int]) -> list[Any]:
        """Without a copy where the type is plain."""
        return [plain(self.table.column(index), self.kinds[index]) for index in wanted]


class PolarsReader(FrameReader):
    """A polars frame. The schema of a lazy one is resolved at opening; it is collected once, when it is counted."""

    def __init__(self, frame: Any) -> None:
        import polars
        import pyarrow

        self.frame = frame
        schema = quietly(frame.collect_schema)
        if schema is None:
            raise SchemaError("polars cannot tell the columns of the lazy frame. Collect it yourself, then open that.")
        self.kinds, self.columns = [], []
        for name, dtype in schema.items():
            empty = polars.DataFrame(schema={"x": dtype})
            arrow = quietly(lambda empty=empty: empty.to_arrow().schema.field("x").type)  # type: ignore[misc]
            arrow = pyarrow.string() if arrow is None or dtype == polars.Object else arrow
            self.kinds.append(plain_type(arrow))
            self.columns.append(_column(name, arrow, str(dtype)))

    def arrays(self, wanted: Sequence[int]) -> list[Any]:
        """Column by column; where polars cannot make Arrow of one, through Python's values."""
        import polars

        frame = self.frame.lazy().select([self.columns[index].name for index in wanted]).collect()
        found = []
        for index, series in zip(wanted, frame.get_columns(), strict=True):
            arrow = None if series.dtype == polars.Object else quietly(series.to_arrow)
            kind = self.kinds[index]
            found.append(texts(series.to_list, kind) if arrow is None else plain(arrow, kind))
        return found


class PandasReader(FrameReader):
    """A pandas frame. Columns of Python objects, which may hold anything, are read as text, like a CSV file."""

    def __init__(self, frame: Any) -> None:
        import pyarrow

        self.frame = frame
        self.kinds, self.columns = [], []
        for index in range(frame.shape[1]):
            kind = _pandas_type(frame.iloc[:0, index])
            self.kinds.append(pyarrow.large_string() if kind is None else plain_type(kind))
            shown = str(frame.dtypes.iloc[index])
            self.columns.append(_column(str(frame.columns[index]), kind, shown, objects=kind is None))

    def arrays(self, wanted: Sequence[int]) -> list[Any]:
        """Not-a-number becomes missing."""
        return [self._array(self.frame.iloc[:, index], self.kinds[index]) for index in wanted]

    def _array(self, values: Any, kind: Any) -> Any:
        import pyarrow

        if hasattr(values.dtype, "categories"):
            codes = values.cat.codes.to_numpy()
            return self._array(values.cat.categories.to_series(), kind).take(pyarrow.array(codes, mask=codes < 0))
        if _pandas_type(values.iloc[:0]) is None:
            return texts(lambda: values, kind)
        values = _dense(values.copy())  # Arrow would look at the frame's own memory, which its owner can change
        arrow = quietly(lambda: pyarrow.array(values, from_pandas=True))
        return texts(lambda: values, kind) if arrow is None else plain(arrow, kind)


def _pandas_type(values: Any) -> Any | None:
    """The Arrow type of an empty series, found without its rows; None if its values are read as Python objects."""
    import pyarrow

    dtype = values.dtype
    if hasattr(dtype, "categories"):
        return _pandas_type(dtype.categories[:0].to_series())
    if str(dtype) == "object" or getattr(dtype, "storage", "") == "python":
        return None
    kind = quietly(lambda: pyarrow.array(_dense(values), from_pandas=True).type)
    return None if kind is None or isinstance(kind, pyarrow.BaseExtensionType) or plain_type(kind) is None else kind


def _dense(values: Any) -> Any:
    return np.asarray(values) if hasattr(values, "sparse") and str(values.dtype).startswith("Sparse") else values


def _column(name: str, kind: Any, shown: str, *, objects: bool = False) -> Column:
    """What is public about a column of a frame; of a dictionary, the type of what it spells."""
    from ibis.expr import datatypes
    from pyarrow import types

    while kind is not None and (types.is_dictionary(kind) or types.is_run_end_encoded(kind)):
        kind = kind.value_type
    found = datatypes.string if objects else quietly(lambda: datatypes.DataType.from_pyarrow(kind))
    if found is None or isinstance(found, datatypes.Unknown):
        single = kind is not None and plain_type(kind) is not None
        found = datatypes.binary if single else datatypes.unknown
    name_of_type = shorten(shown).strip("'")
    return Column(name, name_of_type, found, from_text=objects or found.is_null(), inferred=True)
