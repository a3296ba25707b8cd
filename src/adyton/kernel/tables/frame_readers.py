"""Tables in memory: pandas, polars and Arrow.

A column's type is public, whoever inferred it. :mod:`adyton.kernel.tables.plain_columns` says which types can be read;
all others are refused when the table is opened. In a column of Python objects each value is read by itself. Columns
become Arrow when they are first counted, the wanted ones only; a lazy frame is collected then. No library is imported
unless the caller has done so already.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from adyton.errors import SchemaError
from adyton.kernel.engines.own import Stream
from adyton.kernel.sealed import quietly
from adyton.kernel.tables.expressions import ExpressionReader
from adyton.kernel.tables.plain_columns import is_uuid, own_text, plain, plain_type, text_of, texts, unit_type
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


@dataclass(frozen=True)
class _Plan:
    """A column to read: where it is, its plain type, and the text of a value that has no Arrow type."""

    index: int
    kind: Any
    text: Callable[[object], str | None] = text_of


class FrameReader(Reader):
    """What the three kinds of frames share: plain types are known at once, plain columns are made when counted."""

    kinds: list[Any]
    """The Arrow type of every column: that of texts for Python objects."""

    def read(self, wanted: Sequence[int], exact: Collection[str] = (), *, unit: bool = False) -> Any:
        """A stream of the wanted columns, which are converted once."""
        import pyarrow

        plans = [_Plan(index, plain_type(self.kinds[index])) for index in wanted]
        if unit:
            objects = self.columns[wanted[-1]].from_text
            plans[-1] = _Plan(wanted[-1], unit_type(self.kinds[wanted[-1]]), own_text if objects else text_of)

        @cache
        def table() -> Any:
            arrays = self.arrays(plans)
            return pyarrow.table({f"c{place}": array for place, array in enumerate(arrays)})

        def batches() -> Iterator[Any]:
            yield from table().to_batches(max_chunksize=_ROWS_AT_A_TIME)

        return Stream([plan.kind for plan in plans], batches).table()

    @abstractmethod
    def arrays(self, plans: Sequence[_Plan]) -> list[Any]:
        """The wanted columns in their plain types."""


class ArrowReader(FrameReader):
    """An Arrow table."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.kinds = [field.type for field in table.schema]
        self.columns = [_column(field.name, field.type, str(field.type)) for field in table.schema]

    def arrays(self, plans: Sequence[_Plan]) -> list[Any]:
        """Without a copy where the type is plain."""
        return [plain(self.table.column(plan.index), plan.kind) for plan in plans]


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
            objects = dtype == polars.Object
            if objects or dtype.is_integer():  # Arrow has no whole numbers of 128 bits
                arrow = pyarrow.large_string() if objects or arrow is None else arrow
            self.kinds.append(arrow)
            self.columns.append(_column(name, arrow, str(dtype), objects=objects))

    def arrays(self, plans: Sequence[_Plan]) -> list[Any]:
        """Column by column; where polars cannot make Arrow of one, through Python's values."""
        import polars

        names = [self.columns[plan.index].name for plan in plans]
        frame, found = self.frame.lazy().select(list(dict.fromkeys(names))).collect(), []
        for name, plan in zip(names, plans, strict=True):
            series = frame.get_column(name)
            arrow = None if series.dtype == polars.Object else quietly(series.to_arrow)
            found.append(texts(series.to_list, plan.kind, plan.text) if arrow is None else plain(arrow, plan.kind))
        return found


class PandasReader(FrameReader):
    """A pandas frame. Columns of Python objects, which may hold anything, are read as text, like a CSV file."""

    def __init__(self, frame: Any) -> None:
        import pyarrow

        self.frame = frame
        self.kinds, self.columns = [], []
        for index in range(frame.shape[1]):
            values = _spelled_out(frame.iloc[:0, index])
            objects = _are_objects(values)
            kind = pyarrow.large_string() if objects else quietly(lambda values=values: _arrow(values).type)  # type: ignore[misc]
            self.kinds.append(kind)
            own, inner = str(frame.dtypes.iloc[index]), str(values.dtype)
            shown = own if own != "category" else f"category of {inner}"
            self.columns.append(_column(str(frame.columns[index]), kind, shown, objects=objects))

    def arrays(self, plans: Sequence[_Plan]) -> list[Any]:
        """Not-a-number becomes missing."""
        return [self._array(self.frame.iloc[:, plan.index], plan.kind, plan.text) for plan in plans]

    def _array(self, values: Any, kind: Any, text: Callable[[object], str | None]) -> Any:
        import pyarrow

        if hasattr(values.dtype, "categories"):
            codes = values.cat.codes.to_numpy()
            levels = self._array(values.cat.categories.to_series(), kind, text)
            return levels.take(pyarrow.array(codes, mask=codes < 0))
        values = _dense(values.copy())  # Arrow would look at the frame's own memory, which its owner can change
        return texts(lambda: values, kind, text) if _are_objects(values) else plain(_arrow(values), kind)


def _spelled_out(values: Any) -> Any:
    """An empty series of the values that stand in one: of a category's levels, of what is sparse."""
    while hasattr(values.dtype, "categories"):
        values = values.dtype.categories[:0].to_series()
    return _dense(values)


def _are_objects(values: Any) -> bool:
    """Whether values are read as Python objects, one by one."""
    return str(values.dtype) == "object" or getattr(values.dtype, "storage", "") == "python"


def _arrow(values: Any) -> Any:
    import pyarrow

    return pyarrow.array(values, from_pandas=True)


def _dense(values: Any) -> Any:
    return np.asarray(values) if hasattr(values, "sparse") and str(values.dtype).startswith("Sparse") else values


def _column(name: str, kind: Any, shown: str, *, objects: bool = False) -> Column:
    """What is public about a column of a frame; of a dictionary, the type of what it spells."""
    import pyarrow
    from ibis.expr import datatypes
    from pyarrow import types

    while kind is not None and (types.is_dictionary(kind) or types.is_run_end_encoded(kind)):
        kind = kind.value_type
    found = datatypes.string if objects else quietly(lambda: datatypes.DataType.from_pyarrow(kind))
    if kind is None or plain_type(kind) is None:
        found = datatypes.unknown
    elif isinstance(kind, pyarrow.BaseExtensionType):
        found = datatypes.uuid if is_uuid(kind) else datatypes.string
    elif found is None or isinstance(found, datatypes.Unknown):
        found = datatypes.binary
    name_of_type = shorten(shown).strip("'")
    return Column(name, name_of_type, found, from_text=objects or found.is_null(), inferred=True)
