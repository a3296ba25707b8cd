"""Readers: one for each kind of table that can be opened; this file has those of frames.

A reader lists the columns with their types (public), and reads their rows on request. Messages are made from the path,
the header and the types; never from a row.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.compiling import cached_property
from adyton.errors import SchemaError
from adyton.kernel.reading.arrow import is_from_library, name_of, text_of, texts
from adyton.kernel.sealed import quietly
from adyton.messages import listing, shorten, suggestion
from adyton.schema import Schema

NUMBERS = ("integer", "floating", "decimal")
_FAMILIES = {
    "boolean": ("boolean",),
    "integer": ("integer",),
    "floating": ("floating",),
    "decimal": ("decimal",),
    "string": ("string", "large_string", "string_view"),
    "date": ("date",),
    "timestamp": ("timestamp",),
    "time": ("time",),
    "interval": ("duration", "interval"),
    "null": ("null",),
    "binary": ("binary", "large_binary", "binary_view", "fixed_size_binary"),
}
"""The families of types, and Arrow's types in each. There are also ``uuid`` and ``unknown``."""
_KINDS = {"boolean": "boolean", "integer": "integer", "floating": "numeric", "decimal": "numeric"}
_KINDS |= {"string": "categorical", "date": "date", "timestamp": "datetime", "interval": "duration"}
"""The kind of attribute that suits a family."""


def family_of(kind: Any) -> str:
    """The family of an Arrow type; for a dictionary, the family of its values."""
    import pyarrow
    from pyarrow import types

    while kind is not None and (types.is_dictionary(kind) or types.is_run_end_encoded(kind)):
        kind = kind.value_type
    if kind is None or types.is_nested(kind) or types.is_union(kind):
        return "unknown"
    if isinstance(kind, pyarrow.BaseExtensionType):
        ours = type(kind).__module__ == "pyarrow.lib"  # a class of somebody else would make its values
        return {"arrow.uuid": "uuid", "arrow.json": "string"}.get(kind.extension_name * ours, "unknown")
    for family, names in _FAMILIES.items():
        if any(getattr(types, f"is_{name}")(kind) for name in names):
            return family
    return "unknown"


def type_name(kind: Any) -> str:
    """The usual name of an Arrow type."""
    text, family = str(kind), family_of(kind)
    short = {"double": "float64", "float": "float32", "bool": "boolean", "large_string": "string"}
    return short.get(text, family if family in ("date", "timestamp", "time", "interval", "decimal") else text)


@dataclass(frozen=True)
class Column:
    """What is public about a column: its name, the engine's name of its type, and the family of the type.

    With *from_text*, it may hold values of any kind; *inferred* says that its type may have been inferred from rows.
    """

    name: str
    engine_type: str
    type: str
    from_text: bool = False
    inferred: bool = False

    @property
    def kind(self) -> str:
        """The kind of attribute that suits the type, for a draft."""
        return "text" if self.from_text else _KINDS.get(self.type, "unusable")


class Reader(ABC):
    """A table whose columns are listed first and whose rows are read later."""

    columns: Sequence[Column]
    is_text: bool = False
    """Whether all values are texts in any notation, as those of a CSV file are."""
    doubtful: bool = False
    """Whether the names of the columns look like values; if so, they are not shown."""
    files: Sequence[str] = ()
    """The files that are read whenever rows are counted."""
    ours: bool = True
    """Whether no other program changes the place from which the rows are read."""

    _declared: Sequence[tuple[str, bool]] = ()

    def declare(self, names: Sequence[str], unit: str | None) -> None:
        """Announce the columns that will be requested: those of the schema, and the column of the unit."""
        self._declared = column_keys(names, unit)

    def elsewhere(self, schema: Schema, unit: str | None) -> Any | None:
        """Rows that are counted where they are stored; None where they are read in this process."""
        return None

    @abstractmethod
    def batches(self, names: Sequence[str], unit: str | None = None) -> Iterator[Sequence[Any]]:
        """The Arrow arrays of some columns, batch by batch, in the same order each time. If there is a *unit*, its
        column comes last."""


def column_keys(names: Sequence[str], unit: str | None) -> list[tuple[str, bool]]:
    """The names of columns, and for each whether it is read as the unit."""
    return [*((name, False) for name in names), *([] if unit is None else [(unit, True)])]


def wanted_columns(reader: Reader, names: Sequence[str]) -> list[int]:
    """The places of the named columns; an error that lists the existing columns if one is missing or occurs twice.

    Names that look like values are not listed, nor are those of a CSV file that names no column of the schema: its
    first line may be a row.
    """
    present = [column.name for column in reader.columns]
    headed = all(column.engine_type == "text" for column in reader.columns)
    names = list(names)
    missing = [name for name in dict.fromkeys(names) if name not in present]
    none = not set(names) & set(present)
    if headed and (none or (missing and reader.doubtful)):
        which = f"none of the schema's attributes ({listing(names)})" if none else f"no attribute {listing(missing)}"
        looks = " It looks like a row of data." if reader.doubtful else ""
        raise SchemaError(
            f"the first line of the file names {which}.{looks} Check the names, the delimiter and the encoding, and "
            "that the first line names the columns; if it does not, write header = false and "
            "columns = […] under [file] in the schema."
        )
    for name in names:
        times = present.count(name)
        if times == 0:
            raise SchemaError(
                f"the table has no column {name!r}. It has {listing(present)}.{suggestion(name, present)} "
                "Correct the name in the schema, or leave the attribute out."
            )
        if times > 1:
            raise SchemaError(f"the table has {times} columns called {shorten(name)}. Rename all but one.")
    return [present.index(name) for name in names]


def schema_for(reader: Reader, schema: Schema, unit: str | None = None) -> Schema:
    """The schema with the table's columns in place of its patterns; an error if their names look like values."""
    if schema.patterns and reader.doubtful:
        raise SchemaError(
            f"the first line of the file looks like a row of data, whose values the pattern {schema.patterns[0]!r} "
            "would take for names. Write header = false and columns = […] under [file] in the schema, or name each "
            "column in it."
        )
    return schema.for_columns([column.name for column in reader.columns], unit)


def unit_column(reader: Reader, schema: Schema, word: str | None) -> tuple[Schema, int | None]:
    """The schema with its unit, and the place of that column; None where there is no unit.

    The schema's own unit must be a column. A *word* given in addition to the schema is a column if there is one of that
    name, and otherwise just a word for people to read.
    """
    present = [column.name for column in reader.columns]
    if schema.unit is None:
        if not isinstance(word, str) or word not in present:
            return schema, None
        schema = schema.with_unit(word)
    elif word != schema.unit and word in present:
        raise SchemaError(f"the schema says unit = {schema.unit!r}, and {word!r} is another column. Say it once.")
    name = schema.unit
    assert name is not None
    times = present.count(name)
    if times != 1:
        known = "" if reader.doubtful else f" It has {listing(present)}.{suggestion(name, present)}"
        problem = f"{times} columns" if times else "no column"
        raise SchemaError(
            f"the schema says unit = {shorten(name)}, and the table has {problem} of that name.{known} Name the one "
            "column that says whose row it is."
        )
    column = reader.columns[present.index(name)]
    kind = column.type
    if kind not in ("string", "integer", "decimal", "uuid", "binary"):
        rounded = ", because it rounds long numbers" if kind == "floating" else ""
        raise SchemaError(
            f"the unit {name!r} has the type {column.engine_type}, which cannot tell units apart{rounded}. A unit is a "
            f"text, a whole number, a decimal, a UUID or bytes: {_advice(column)}"
        )
    return schema, present.index(name)


def _advice(column: Column) -> str:
    """What to do about a column of another type."""
    if column.inferred and column.type == "floating":
        return (
            "read the table again with this column as text or, in pandas, as Int64, which allows missing values, too. "
            "(Rounded numbers cannot be converted back.)"
        )
    return "convert the column where it is stored, and open the table again."


def file_identity(path: str) -> tuple[int, ...]:
    """Facts that change when a file is written or replaced; none for a file that does not exist."""
    try:
        facts = os.stat(path)
    except OSError:
        return ()
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


_ROWS_AT_A_TIME = 122_880
Text = Callable[[object], str | None]
"""A function from an object to its text."""


def frame_reader(data: Any) -> Reader | None:
    """The reader for a frame; None for anything else. Frames of classes that are derived from the usual ones become
    plain now: none of their methods may run once rows are paid for."""
    pandas, polars, pyarrow = map(sys.modules.get, ("pandas", "polars", "pyarrow"))
    if pandas is not None and isinstance(data, pandas.DataFrame):
        return PandasReader(data if type(data) is pandas.DataFrame else pandas.DataFrame(data))
    if polars is not None and isinstance(data, polars.LazyFrame):
        raise SchemaError(
            "a polars LazyFrame cannot be opened: its plan would run after rows are paid for, and can fail on one. Open"
            " the file that it scans, or collect it: the rows of frame.collect() are those that ε protects."
        )
    if polars is not None and isinstance(data, polars.DataFrame):
        return PolarsReader(data if type(data) is polars.DataFrame else polars.DataFrame(data))
    if pyarrow is not None and isinstance(data, pyarrow.Table):
        return ArrowReader(data)
    return None


class FrameReader(Reader):
    """What the three kinds of frames share: types are known at once, columns are copied when first counted."""

    @cached_property
    def _taken(self) -> dict[tuple[str, bool], Any]:
        """All declared columns, copied when the first is counted, so that later changes of the frame do not mix rows.
        In a column of Python objects, only texts and whole numbers name a unit."""
        places = {column.name: place for place, column in reversed(list(enumerate(self.columns)))}
        objects = {column.name for column in self.columns if column.from_text}
        wanted = [(places[name], name_of if unit and name in objects else text_of) for name, unit in self._declared]
        return dict(zip(self._declared, self.arrays(wanted), strict=True))

    def batches(self, names: Sequence[str], unit: str | None = None) -> Iterator[Sequence[Any]]:
        """The columns in pieces of some hundred thousand rows."""
        import pyarrow

        keys = enumerate(column_keys(names, unit))
        table = pyarrow.table({f"c{place}": self._taken[key] for place, key in keys})
        for batch in table.to_batches(max_chunksize=_ROWS_AT_A_TIME):
            yield batch.columns

    @abstractmethod
    def arrays(self, wanted: Sequence[tuple[int, Text]]) -> list[Any]:
        """Columns as Arrow arrays, all taken at the same moment, in memory that nobody else can change; *wanted* has
        the place of each column, and the function from an object to its text."""


class ArrowReader(FrameReader):
    """An Arrow table."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.columns = [_column(field.name, field.type, str(field.type)) for field in table.schema]

    def arrays(self, wanted: Sequence[tuple[int, Text]]) -> list[Any]:
        """As they are: Arrow's memory does not change."""
        return [self.table.column(index) for index, _ in wanted]


class PolarsReader(FrameReader):
    """A polars frame."""

    def __init__(self, frame: Any) -> None:
        import polars
        import pyarrow

        self.frame = frame
        self.columns = []
        for name, dtype in frame.schema.items():
            empty = polars.DataFrame(schema={"x": dtype})
            arrow = quietly(lambda empty=empty: empty.to_arrow().schema.field("x").type)  # type: ignore[misc]
            objects = dtype == polars.Object
            if objects or dtype.is_integer():  # Arrow has no whole numbers of 128 bits
                arrow = pyarrow.large_string() if objects or arrow is None else arrow
            self.columns.append(_column(name, arrow, str(dtype), objects=objects))

    def arrays(self, wanted: Sequence[tuple[int, Text]]) -> list[Any]:
        """A column that polars cannot convert to Arrow is read as Python values."""
        import polars

        arrays = []
        for index, text in wanted:
            series = self.frame.get_column(self.columns[index].name)
            arrow = None if series.dtype == polars.Object else quietly(series.to_arrow)
            arrays.append(texts(series.to_list(), text) if arrow is None else arrow)
        return arrays


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
        values = _dense(values.copy())  # Arrow would use the frame's own memory, which its owner can change
        return texts(values, text) if _are_objects(values) else _arrow(values)


def _spelled_out(values: Any) -> Any:
    """An empty series of the type of a category's levels or of a sparse column's values."""
    while hasattr(values.dtype, "categories"):
        values = values.dtype.categories[:0].to_series()
    return _dense(values)


def _are_objects(values: Any) -> bool:
    """Whether values are read as Python objects, one by one."""
    return str(values.dtype) == "object" or getattr(values.dtype, "storage", "") == "python"


def _arrow(values: Any) -> Any:
    import pyarrow  # an array of another library would convert itself

    return pyarrow.array(values, from_pandas=True) if is_from_library(values.dtype) else None


def _dense(values: Any) -> Any:
    return np.asarray(values) if hasattr(values, "sparse") and str(values.dtype).startswith("Sparse") else values


def _column(name: str, kind: Any, shown: str, *, objects: bool = False) -> Column:
    """What is public about a column of a frame; the type of a dictionary is that of its values."""
    family = "string" if objects else family_of(kind)
    return Column(name, shorten(shown).strip("'"), family, from_text=objects or family == "null", inferred=True)
