"""One odd row changes the type of a frame's column: the table opens all the same, and other rows count as before."""

from __future__ import annotations

import io
from datetime import date
from decimal import Decimal
from fractions import Fraction

import ibis
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.csv
import pytest

import adyton as ad
from adyton.errors import KernelFailure
from adyton.kernel.tables import open_table
from adyton.schema import Boolean, Categorical, Identifier, Integer, Numeric, Schema

READERS = {
    "pandas": lambda text: pandas.read_csv(io.StringIO(text)),
    "pandas dates": lambda text: pandas.read_csv(io.StringIO(text), parse_dates=["x"]),
    "pandas categories": lambda text: pandas.read_csv(io.StringIO(text)).astype("category"),
    "pandas arrow": lambda text: pandas.read_csv(io.StringIO(text), dtype_backend="pyarrow"),
    "polars": lambda text: polars.read_csv(text.encode(), try_parse_dates=True),
    "arrow": lambda text: pyarrow.csv.read_csv(io.BytesIO(text.encode())),
}
KEEP = {"nulls": "level", "outside": "other"}
COLUMNS = {
    "whole numbers": (["1", "2", "2"], Integer(0, 3, **KEEP)),
    "fractions": (["0.5", "1.5", "2"], Numeric(0, 3, bins=3, **KEEP)),
    "digits as texts": (["1", "2", "2"], Categorical(["1", "2"], **KEEP)),
    "digits as levels": (["1", "2", "2"], Categorical([1, 2], **KEEP)),
    "booleans": (["true", "false", "false"], Boolean(**KEEP)),
    "booleans as texts": (["true", "false", "false"], Categorical(["true", "false"], **KEEP)),
    "booleans that are no numbers": (["true", "false", "false"], Integer(0, 3, **KEEP)),
    "dates that are no numbers": (["2020-01-31", "2020-02-01", "2020-02-01"], Integer(0, 3, **KEEP)),
}
ODD = ["abc", "", "7", "0.25", "true", "2020-01-31"]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("column", COLUMNS)
def test_one_odd_row_moves_no_other(reader, column):
    values, attribute = COLUMNS[column]
    schema = Schema({"x": attribute})

    def counts(*rows):
        text = "id,x\n" + "".join(f"7,{row}\n" for row in rows)
        return open_table(READERS[reader](text), schema).vectorize()

    expected = counts(*values)
    assert expected.sum() == len(values)
    for row in ODD if reader == "pandas" and column in ("whole numbers", "digits as texts") else ODD[:1]:
        vector = counts(*values, row)
        assert vector.sum() == len(values) + 1
        assert np.abs(vector - expected).sum() == 1, row


BIG = Decimal(10) ** 69
BROKEN = (np.array([0, 1, 3], np.int32), b"1\xff\xfe")
SINGLE = {
    "objects": pandas.DataFrame({"x": pandas.Series([True, 1, 2.5, "3", None, b"4", [1], object()], dtype=object)}),
    "intervals": pandas.DataFrame({"x": pandas.cut([1, 2, 3], 2)}),
    "periods": pandas.DataFrame({"x": pandas.period_range("2020", "2022", freq="Y")}),
    "sparse": pandas.DataFrame({"x": pandas.arrays.SparseArray([1, 0, 0])}),
    "complex": pandas.DataFrame({"x": [1 + 2j]}),
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
    "in memory": ibis.memtable(pyarrow.table({"x": pyarrow.array([date(2020, 1, 1)])})),
    "nulls": pyarrow.table({"x": pyarrow.nulls(3)}),
    "dictionary": pyarrow.table({"x": pyarrow.array(["1", "x"]).dictionary_encode()}),
    "runs": pyarrow.table({"x": pyarrow.RunEndEncodedArray.from_arrays([2, 3], [1, 5])}),
    "far dates": pyarrow.table({"x": pyarrow.array([2**62, 0], pyarrow.timestamp("s"))}),
    "days": pandas.DataFrame({"x": [date(2020, 1, 1), "1"]}),
}


ONES = {"objects": 1, "sparse": 1, "huge": 1, "decimals": 1, "polars objects": 1, "polars 128": 1, "decimal256": 1}
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
}


@pytest.mark.parametrize("name", SINGLE)
def test_every_type_of_single_values_opens_for_every_attribute(name):
    frame = SINGLE[name]
    rows = 1 if name == "in memory" else len(frame)
    numbers = open_table(frame, Schema({"x": Integer(0, 3, **KEEP)})).vectorize()
    assert (numbers.sum(), numbers[1]) == (rows, ONES.get(name, 0))
    assert open_table(frame, Schema({"x": Categorical(["1", "2020-01-01"], **KEEP)})).vectorize().sum() == rows
    open_table(frame, Schema({"x": Boolean()}))
    named = open_table(frame, Schema({"x": Identifier()}))
    if name in ("objects", "decimal256", "far dates"):
        assert 1 <= named.group_by("x", "n", 1).count() <= rows


def test_a_lazy_frame_is_collected_inside_a_paid_measurement(tmp_path):
    collected = []

    def tell(frame):
        collected.append(len(frame))
        return frame

    lazy = polars.LazyFrame({"age": [34, 35]}).map_batches(tell)
    session = ad.Session(lazy, schema=Schema({"age": Integer(0, 119)}), epsilon=1)
    assert not collected
    session.count("0.25")
    session.count("0.25")
    assert collected == [2]  # once: what polars makes anew in every run would be another table each time

    (tmp_path / "t.csv").write_text("age\n" + "34\n" * 300 + "abc\n")
    session = ad.Session(polars.scan_csv(tmp_path / "t.csv"), schema=Schema({"age": Integer(0, 119)}), epsilon=1)
    with pytest.raises(KernelFailure) as caught:
        session.count("0.25")
    assert "abc" not in repr(caught.value)
    assert session.spent == Fraction(1, 4)
