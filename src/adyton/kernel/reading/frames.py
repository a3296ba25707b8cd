"""Tables in memory: pandas, polars and Arrow.

A column's type is public, whoever inferred it; one that cannot be read is refused when the table is opened. In a
column of Python objects each value is read by itself. Columns become Arrow when they are first counted, the wanted ones
only; a lazy frame is collected then. No library is imported unless the caller has done so already.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from adyton.compiling import cached_property
from adyton.errors import SchemaError
from adyton.kernel.reading.readers import Column, Family, Reader
from adyton.kernel.reading.value_texts import own_text, text_of, texts
from adyton.kernel.sealed import quietly
from adyton.messages import shorten

_ROWS_AT_A_TIME = 122_880
Text = Callable[[object], str | None]
"""What makes a text of an object."""


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
        from adyton.kernel.engines.ibis_tables import ibis_reader

        return ibis_reader(data)
    return None


class FrameReader(Reader):
    """What the three kinds of frames share: types are known at once, columns are taken when they are counted."""

    _declared: tuple[str, ...] = ()
    _unit: str | None = None

    def declare(self, names: Sequence[str], unit: str | None) -> None:
        """All of these are taken when the first is counted, so that rows stay rows whatever becomes of the frame."""
        self._declared, self._unit = tuple(names), unit

    @cached_property
    def _taken(self) -> dict[tuple[str, bool], Any]:
        """The columns by name, and whether they say whose row it is: among objects, only texts name a unit."""
        keys = [*((name, False) for name in self._declared), *([] if self._unit is None else [(self._unit, True)])]
        places = {column.name: place for place, column in reversed(list(enumerate(self.columns)))}
        objects = {column.name for column in self.columns if column.from_text}
        wanted = [(places[name], own_text if unit and name in objects else text_of) for name, unit in keys]
        return dict(zip(keys, self.arrays(wanted), strict=True))

    def batches(self, names: Sequence[str], unit: str | None = None) -> Iterator[Sequence[Any]]:
        """The columns in pieces of some hundred thousand rows."""
        import pyarrow

        keys = [*((name, False) for name in names), *([] if unit is None else [(unit, True)])]
        table = pyarrow.table({f"c{place}": self._taken[key] for place, key in enumerate(keys)})
        for batch in table.to_batches(max_chunksize=_ROWS_AT_A_TIME):
            yield batch.columns

    @abstractmethod
    def arrays(self, wanted: Sequence[tuple[int, Text]]) -> list[Any]:
        """Columns as Arrow arrays, all at one moment, in memory that nobody else can change; *wanted* has the place of
        each, and what makes a text of an object."""


class ArrowReader(FrameReader):
    """An Arrow table."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.columns = [_column(field.name, field.type, str(field.type)) for field in table.schema]

    def arrays(self, wanted: Sequence[tuple[int, Text]]) -> list[Any]:
        """As they are: Arrow's memory does not change."""
        return [self.table.column(index) for index, _ in wanted]


class PolarsReader(FrameReader):
    """A polars frame. The schema of a lazy one is resolved at opening; it is collected once, when it is counted."""

    def __init__(self, frame: Any) -> None:
        import polars
        import pyarrow

        self.frame = frame
        schema = quietly(frame.collect_schema)
        if schema is None:
            raise SchemaError("polars cannot tell the columns of the lazy frame. Collect it yourself, then open that.")
        self.columns = []
        for name, dtype in schema.items():
            empty = polars.DataFrame(schema={"x": dtype})
            arrow = quietly(lambda empty=empty: empty.to_arrow().schema.field("x").type)  # type: ignore[misc]
            objects = dtype == polars.Object
            if objects or dtype.is_integer():  # Arrow has no whole numbers of 128 bits
                arrow = pyarrow.large_string() if objects or arrow is None else arrow
            self.columns.append(_column(name, arrow, str(dtype), objects=objects))

    def arrays(self, wanted: Sequence[tuple[int, Text]]) -> list[Any]:
        """A lazy frame is collected once. Where polars cannot make Arrow of a column, through Python's values."""
        import polars

        names = [self.columns[index].name for index, _ in wanted]
        frame, found = self.frame.lazy().select(list(dict.fromkeys(names))).collect(), []
        for name, (_, text) in zip(names, wanted, strict=True):
            series = frame.get_column(name)
            arrow = None if series.dtype == polars.Object else quietly(series.to_arrow)
            found.append(texts(series.to_list, text) if arrow is None else arrow)
        return found


class PandasReader(FrameReader):
    """A pandas frame. Columns of Python objects, which may hold anything, are read as text, like a CSV file."""

    def __init__(self, frame: Any) -> None:
        import pyarrow

        self.frame = frame
        self.columns = []
        for index in range(frame.shape[1]):
            values = _spelled_out(frame.iloc[:0, index])
            objects = _are_objects(values)
            kind = pyarrow.large_string() if objects else quietly(lambda values=values: _arrow(values).type)  # type: ignore[misc]
            own, inner = str(frame.dtypes.iloc[index]), str(values.dtype)
            shown = own if own != "category" else f"category of {inner}"
            self.columns.append(_column(str(frame.columns[index]), kind, shown, objects=objects))

    def arrays(self, wanted: Sequence[tuple[int, Text]]) -> list[Any]:
        """Copies; not-a-number becomes missing."""
        return [self._array(self.frame.iloc[:, index], text) for index, text in wanted]

    def _array(self, values: Any, text: Text) -> Any:
        import pyarrow

        if hasattr(values.dtype, "categories"):
            codes = values.cat.codes.to_numpy()
            levels = self._array(values.cat.categories.to_series(), text)
            return levels.take(pyarrow.array(codes, mask=codes < 0))
        values = _dense(values.copy())  # Arrow would look at the frame's own memory, which its owner can change
        return texts(lambda: values, text) if _are_objects(values) else _arrow(values)


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
    found = Family("string") if objects else Family.of(kind)
    return Column(name, shorten(shown).strip("'"), found, from_text=objects or found == "null", inferred=True)
