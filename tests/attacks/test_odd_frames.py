"""One odd row can change the type of a frame's column: other rows count as before, or the type is refused."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime, time, tzinfo
from decimal import Decimal
from functools import cache

import duckdb
import ibis
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.csv
import pyarrow.dataset
import pytest

import adyton as ad
from adyton.errors import SchemaError
from adyton.kernel.counting import open_table
from adyton.schema import Boolean, Categorical, Identifier, Integer, Numeric, Schema


def _categories(frame):
    return frame.astype("category")


def _polars(values):
    """As polars infers it; where it refuses to, a column of objects, which is what is left to a caller then."""
    try:
        return polars.Series(values)
    except (TypeError, OverflowError):
        return polars.Series(values, dtype=polars.Object)


TEXT_READERS = {
    "pandas": lambda text: pandas.read_csv(io.StringIO(text)),
    "pandas dates": lambda text: pandas.read_csv(io.StringIO(text), parse_dates=["day", "moment", "zoned"]),
    "pandas categories": lambda text: _categories(pandas.read_csv(io.StringIO(text))),
    "pandas arrow": lambda text: pandas.read_csv(io.StringIO(text), dtype_backend="pyarrow"),
    "polars": lambda text: polars.read_csv(text.encode(), try_parse_dates=True),
    "arrow": lambda text: pyarrow.csv.read_csv(io.BytesIO(text.encode())),
}
VALUE_READERS = {
    "pandas": pandas.DataFrame,
    "pandas categories": lambda columns: _categories(pandas.DataFrame(columns)),
    "polars": lambda columns: polars.DataFrame({name: _polars(values) for name, values in columns.items()}),
}
KEEP = {"nulls": "level", "outside": "other"}
DAYS = Categorical(["2020-01-31", "2020-02-01"], **KEEP)
WRITTEN = {
    "whole": (["1", "2"], Integer(1, 2, **KEEP)),
    "fraction": (["0.5", "2"], Numeric(0, 4, bins=2, **KEEP)),
    "digit": (["1", "2"], Categorical(["1", "2"], **KEEP)),
    "padded": (["007", "010"], Categorical(["007", "010"], **KEEP)),
    "price": (["1.50", "2.0"], Categorical(["1.5", "2"], **KEEP)),
    "number": (["1", "2"], Categorical([1, 2], **KEEP)),
    "flag": (["true", "false"], Boolean(**KEEP)),
    "bit": (["1.0", "0.0"], Boolean(**KEEP)),
    "word": (["true", "false"], Categorical(["true", "false"], **KEEP)),
    "loud": (["TRUE", "FALSE"], Categorical(["true", "FALSE"], **KEEP)),
    "no number": (["true", "false"], Integer(0, 1, **KEEP)),
    "day": (["2020-01-31", "2020-02-01"], DAYS),
    "moment": (["2020-01-31 10:00:00", "2020-02-01"], Categorical(["2020-01-31T10:00", "2020-02-01"], **KEEP)),
    "zoned": (["2020-01-31T10:00:00Z"] * 2, Categorical(["2020-01-31 10:00:00+00:00"], **KEEP)),
    "clock": (["10:00", "11:30"], Categorical(["10:00", "11:30"], **KEEP)),
}
"""Values as a file has them, and what the schema says of them."""
ODD_TEXTS = ["abc", "", "7", "0.25", "true", "2020-03-01", "2020-03-01 10:30:00.5", "9223372036854775809", "x\ufffd"]
LARGE = 2**53 + 1
UTC = [datetime(2020, 1, 31, hour, tzinfo=UTC) for hour in (10, 11)]
MADE = {
    "whole": ([1, 2], Integer(1, 2, **KEEP)),
    "fraction": ([0.5, 2.0], Numeric(0, 4, bins=2, **KEEP)),
    "digit": ([1, 2], Categorical(["1", "2"], **KEEP)),
    "large": ([LARGE, LARGE + 1], Categorical([str(LARGE), str(LARGE + 1)], **KEEP)),
    "flag": ([True, False], Boolean(**KEEP)),
    "word": ([True, False], Categorical(["true", "false"], **KEEP)),
    "loud": ([True, False], Categorical(["TRUE", "FALSE"], **KEEP)),
    "text": (["a", "b"], Categorical(["a", "b"], **KEEP)),
    "bytes": ([b"a", b"b"], Categorical(["a", "b"], **KEEP)),
    "day": ([date(2020, 1, 31), date(2020, 2, 1)], DAYS),
    "moment": ([datetime(2020, 1, 31), datetime(2020, 2, 1)], DAYS),
    "zoned": (UTC, Categorical(["2020-01-31T10:00Z", "2020-01-31 11:00:00+00:00"], **KEEP)),
    "clock": ([time(10), time(11)], Categorical(["10:00", "11:00"], **KEEP)),
    "decimal": ([Decimal("1.50"), Decimal(2)], Categorical(["1.50", "2"], **KEEP)),
}
"""Values of Python, and what the schema says of them."""
ODD_VALUES = [None, float("nan"), "abc", True, 7, 0.25, 2**63 + 1, 2**70, Decimal("0.1"), date(2020, 3, 1),
              datetime(2020, 3, 1, 10, 30, 0, 5), UTC[0], b"\xff", (1, 2)]  # fmt: skip
AT_ONCE = 8


def _moved(build, columns, odd):
    """The columns in which an odd row, put last, changes where the other rows are counted."""
    schema = Schema({name: attribute for name, (_, attribute) in columns.items()})
    parts = [schema.names[first : first + AT_ONCE] for first in range(0, len(schema.names), AT_ONCE)]

    def opened(*last):
        return open_table(build({name: [*values, *last] for name, (values, _) in columns.items()}), schema)

    def differ(names):
        return np.abs(table.select(names).vectorize() - expected(tuple(names))).sum() != 1

    plain, moved = opened(), {}
    expected = cache(lambda names: plain.select(names).vectorize())
    for row in odd:
        table = opened(row)
        changed = [name for names in parts if differ(names) for name in names if differ([name])]
        if changed:
            moved[str(row)] = changed
    return moved


SOME_TEXTS, SOME_VALUES = ["abc", "", "2020-03-01 10:30:00.5"], [None, "abc", 2**63 + 1]
"""Those that every run of the tests tries: one for each way in which types change."""


def some_or_all(some, every):
    return pytest.mark.parametrize("odd", [some, pytest.param(every, marks=pytest.mark.full)], ids=["some", "all"])


def long_for(readers, *long):
    return [pytest.param(name, marks=[pytest.mark.full] if name in long else []) for name in readers]


@some_or_all(SOME_TEXTS, ODD_TEXTS)
@pytest.mark.parametrize("reader", long_for(TEXT_READERS, "pandas arrow"))  # Arrow's types, through pandas
def test_one_odd_line_of_a_file_moves_no_other_row(reader, odd):
    def build(columns):
        lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
        return TEXT_READERS[reader]("\n".join(lines) + "\n")

    assert _moved(build, WRITTEN, odd) == {}


@some_or_all(SOME_VALUES, ODD_VALUES)
@pytest.mark.parametrize("reader", long_for(VALUE_READERS, "pandas categories"))  # of texts they are above
def test_one_odd_value_in_a_frame_moves_no_other_row(reader, odd):
    doubles = {"None", "nan", "0.25"}.intersection(map(str, odd))  # pandas makes doubles of numbers: known-limits.md
    by_pandas = {row: ["large"] for row in doubles}
    assert _moved(VALUE_READERS[reader], MADE, odd) == ({} if reader == "polars" else by_pandas)


BIG = Decimal(10) ** 69
BROKEN = (np.array([0, 1, 3], np.int32), b"1\xff\xfe")
SINGLE = {
    "objects": pandas.DataFrame({"x": pandas.Series([True, 1, 2.5, "3", None, b"4", [1], object()], dtype=object)}),
    "sparse": pandas.DataFrame({"x": pandas.arrays.SparseArray([1, 0, 0])}),
    "sparse objects": pandas.DataFrame({"x": pandas.arrays.SparseArray(["1", "q", 2.5])}),
    "huge": pandas.DataFrame({"x": [10**400, 1]}),
    "decimals": pandas.DataFrame({"x": [Decimal("1e5000"), Decimal("sNaN"), Decimal(1)]}),
    "time zones": pandas.DataFrame({"x": pandas.to_datetime(["2020-01-01"], utc=True)}),
    "polars objects": polars.DataFrame({"x": polars.Series([object(), 1], dtype=polars.Object)}),
    "polars 128": polars.DataFrame({"x": polars.Series([2**100, 1], dtype=polars.Int128)}),
    "polars decimals": polars.DataFrame({"x": polars.Series(["1.5", "1"]).cast(polars.Decimal(38, 2))}),
    "polars durations": polars.DataFrame({"x": polars.Series([1], dtype=polars.Duration)}),
    "decimal256": pyarrow.table({"x": pyarrow.array([BIG, Decimal(1)], pyarrow.decimal256(70, 0))}),
    "decimal32": pyarrow.table({"x": pyarrow.array([Decimal(1)], pyarrow.decimal32(9, 0))}),
    "float16": pyarrow.table({"x": pyarrow.array(np.array([1, np.inf], np.float16))}),
    "views": pyarrow.table({"x": pyarrow.array(["1", None], pyarrow.string_view())}),
    "bytes": pyarrow.table({"x": pyarrow.array([b"1", b"\xff"])}),
    "broken text": pyarrow.table({"x": pyarrow.StringArray.from_buffers(2, *map(pyarrow.py_buffer, BROKEN))}),
    "in memory": ibis.memtable(pandas.DataFrame({"x": pandas.Series([1, "q"], dtype=object)})),
    "no such zone": pyarrow.table({"x": pyarrow.array([None, 5]).view(pyarrow.timestamp("s", tz="Nowhere/City"))}),
    "far times": pyarrow.table({"x": pyarrow.array([1, 2**40]).view(pyarrow.time64("us"))}),
    "beyond the dictionary": pyarrow.table(
        {
            "x": pyarrow.DictionaryArray.from_arrays(
                pyarrow.array([0, 7, -1], pyarrow.int8()), pyarrow.array(["1"]), safe=False
            )
        }
    ),
    "nulls": pyarrow.table({"x": pyarrow.nulls(3)}),
    "dictionary": pyarrow.table({"x": pyarrow.array(["1", "x"]).dictionary_encode()}),
    "runs": pyarrow.table({"x": pyarrow.RunEndEncodedArray.from_arrays([2, 3], [1, 5])}),
    "far dates": pyarrow.table({"x": pyarrow.array([2**62, 0], pyarrow.timestamp("s"))}),
    "days": pandas.DataFrame({"x": [date(2020, 1, 1), "1"]}),
}


ONES = {
    "objects": 1,
    "sparse": 1,
    "sparse objects": 1,
    "huge": 1,
    "decimals": 1,
    "polars objects": 1,
    "polars 128": 1,
    "decimal256": 1,
}
ONES |= {
    "broken text": 1,
    "polars decimals": 2,
    "bytes": 1,
    "dictionary": 1,
    "runs": 2,
    "views": 1,
    "float16": 1,
    "days": 1,
    "decimal32": 1,
    "in memory": 1,
    "beyond the dictionary": 1,
}


@pytest.mark.parametrize("name", SINGLE)
def test_every_type_of_single_values_opens_for_every_attribute(name):
    frame = SINGLE[name]
    rows = 2 if name == "in memory" else len(frame)
    numbers = open_table(frame, Schema({"x": Integer(0, 3, **KEEP)})).vectorize()
    assert (numbers.sum(), numbers[1]) == (rows, ONES.get(name, 0))
    assert open_table(frame, Schema({"x": Categorical(["1", "2020-01-01"], **KEEP)})).vectorize().sum() == rows
    open_table(frame, Schema({"x": Boolean()}))
    named = open_table(frame, Schema({"x": Identifier()}))
    if name in ("objects", "decimal256", "far dates"):
        assert 1 <= named.group_by("x", "n", 1).count() <= rows


REFUSED = {
    "complex": pandas.DataFrame({"x": [1 + 2j]}),
    "one complex value": pandas.concat([pandas.DataFrame({"x": [1, 2]}), pandas.DataFrame({"x": [3 + 0j]})]),
    "complex levels": pandas.DataFrame({"x": pandas.Series([1j]).astype("category")}),
    "sparse complex": pandas.DataFrame({"x": pandas.arrays.SparseArray([1j])}),
    "long doubles": pandas.DataFrame({"x": np.ones(2, np.longdouble)}),
    "intervals": pandas.DataFrame({"x": pandas.cut([1, 2, 3], 2)}),
    "periods": pandas.DataFrame({"x": pandas.period_range("2020", "2022", freq="Y")}),
    "pandas lists": pandas.DataFrame(
        {"x": pandas.Series([[1]], dtype=pandas.ArrowDtype(pyarrow.list_(pyarrow.int8())))}
    ),
    "lists": pyarrow.table({"x": [[1]]}),
    "structures": pyarrow.table({"x": [{"a": 1}]}),
    "other extensions": pyarrow.table({"x": pyarrow.array([1], pyarrow.int8()).cast(pyarrow.bool8())}),
    "polars lists": polars.DataFrame({"x": [[1]]}),
    "polars structures": polars.DataFrame({"x": [{"a": 1}]}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_types_that_are_not_on_the_list_are_refused_at_opening(name):
    for attribute in (Integer(0, 3), Categorical(["1"]), Boolean(), Identifier(), ad.Date(by="weekday")):
        with pytest.raises(SchemaError, match="column 'x' has the type"):
            open_table(REFUSED[name], Schema({"x": attribute}))


class Array:
    """Not a frame, but something that makes its rows when it is asked for them."""

    def __array__(self, *_, **__):
        raise AssertionError

    __arrow_c_stream__ = __iter__ = __call__ = to_arrow = to_pandas = collect = compute = __array__


class DataFrame(Array):
    """Of dask, modin, or whoever calls a class that."""


WORDS = pyarrow.table({"x": ["1"]})
CALLED = {
    "lazy": lambda: polars.LazyFrame({"x": ["1"]}),
    "lazy, with a plan": lambda: polars.LazyFrame({"x": [1]}).filter(polars.len() > 0),
    "lazy, with a function": lambda: polars.LazyFrame({"x": [1]}).map_batches(str),
    "arrays": Array,
    "frame": DataFrame,
    "function": lambda: lambda: WORDS,
    "generator": lambda: (row for row in [{"x": 1}]),
    "dataset": lambda: pyarrow.dataset.dataset(WORDS),
    "scanner": lambda: pyarrow.dataset.dataset(WORDS).scanner(),
    "batches": lambda: WORDS.to_reader(),
    "relation": lambda: duckdb.connect().sql("select 1 as x"),
    "groups": lambda: pandas.DataFrame({"x": [1]}).groupby("x"),
}


@pytest.mark.parametrize("kind", CALLED)
def test_what_would_compute_its_rows_later_is_refused(kind):
    with pytest.raises(SchemaError, match="cannot be opened"):
        open_table(CALLED[kind](), Schema({"x": Integer(0, 3)}))


class Loud(str):
    """A text with methods of somebody's own, which must not run on a row."""

    def encode(self, *_):
        raise SystemExit

    __str__ = __hash__ = __eq__ = __format__ = encode


class Number(int):
    def __int__(self):
        raise SystemExit

    __str__ = __index__ = __abs__ = __float__ = __int__


class Zone(tzinfo):
    def utcoffset(self, _):
        raise SystemExit


class Liar:
    @property
    def __class__(self):
        raise SystemExit

    __str__ = __float__ = __int__ = __index__ = __bytes__ = lambda self: self.__class__


class Frame(pandas.DataFrame):
    @property
    def iloc(self):
        raise SystemExit


class Lines(polars.DataFrame):
    def get_column(self, *_, **__):
        raise SystemExit


class OwnArray(pandas.arrays.IntervalArray):
    """What another library's column is to pandas: it converts itself."""

    def __arrow_array__(self, *_, **__):
        return pyarrow.array([1] * len(self))


def test_no_method_of_somebody_else_runs_on_rows():
    """Texts and numbers in values of derived classes are read, other values of unknown classes are missing."""
    odd = [Loud("2"), Number(2), Liar(), datetime(2020, 1, 31, tzinfo=Zone()), 2]
    schema = Schema({"x": Categorical(["2", "3"], nulls="level", outside="other")}, 9, unit="who")
    for frame in (
        pandas.DataFrame({"x": pandas.Series(odd, dtype=object), "who": pandas.Series(odd, dtype=object)}),
        polars.DataFrame({name: polars.Series(odd, dtype=polars.Object) for name in ("x", "who")}),
    ):
        opened = open_table(frame, schema)
        assert (opened.vectorize().tolist(), opened.by_unit("n", 9).count()) == ([3, 0, 0, 0], 1)
    for frame in (Frame({"x": ["2"], "who": ["a"]}), Lines({"x": ["2"], "who": ["a"]})):
        assert open_table(frame, schema).vectorize().tolist() == [1, 0, 0, 0]


def test_a_column_that_converts_itself_is_refused():
    class OwnType(pandas.IntervalDtype):
        pass

    column = OwnArray.from_breaks([0, 1, 2])
    column._dtype = OwnType(column.dtype.subtype)
    with pytest.raises(SchemaError, match="column 'x' has the type"):
        open_table(pandas.DataFrame({"x": column}), Schema({"x": Integer(0, 3)}))
