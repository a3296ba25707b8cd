"""New rows get the cells that the kernel would count them in; and no cell where it would leave them out."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from learning_tables import SCHEMA, columns, rows

import adyton as ad
from adyton.errors import BadInput, SchemaError
from adyton.kernel.counting import open_table
from adyton.learning.coding import check_columns, code_batches, codes_of

ODD = {
    "whole": (ad.Integer(-3, 8, step=3), [0, -3, 8, 9, -4, 2.5, None, np.nan, 7.99, 1e300]),
    "clamped": (ad.Integer(0, 5, outside="clamp", nulls="level"), [0, -9, 99, 3.2, None, np.inf, -np.inf, 5, 1, 2]),
    "binned": (ad.Numeric(0, 1, bins=10, outside="other"), [0.29, 0.3, 1.0, 1.1, None, -0.1, 0.999, 0.5, 0.7, 0.6]),
    "edges": (ad.Numeric(edges=[0, 1, 10, 100]), [0, 0.5, 1, 10, 100, 101, None, 99.9, -1, 5]),
    "text": (ad.Categorical(["a", "b", " 007"]), ["a", "b ", "A", None, " 007", "007", "", "b", "a", "c"]),
    "trimmed": (ad.Categorical(["a", "b"], outside="other", nulls="level"), ["a", " b ", "c", None] * 2 + ["", "b"]),
    "numbers": (ad.Categorical([3, 1, 2], nulls="level"), [1, 2, 3, 4, None, 1, 1, 2, 2, 3]),
    "flags": (ad.Boolean(outside="other"), ["true", "no", "maybe", None, "1", "0", "T", "F", "yes", "x"]),
    "one flag": (ad.Categorical([True]), [True, False, None, True] * 2 + [True, False]),
}


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "dict", "csv"])
def test_codes_are_the_kernels_cells(kind, tmp_path):
    """Row by row: the kernel's count of one row is a 1 in the cell that the code names, or no 1 at all."""
    schema = ad.Schema({name: attribute for name, (attribute, _) in ODD.items()})
    columns = {name: values for name, (_, values) in ODD.items()}
    frame = pd.DataFrame(columns)

    def table(file):
        if kind == "csv":
            frame.to_csv(tmp_path / file, index=False, na_rep="")
            return tmp_path / file
        if kind == "polars":
            return pl.DataFrame({name: pl.Series(frame[name].tolist(), strict=False) for name in frame})
        return (
            frame if kind == "pandas" else pa.table({name: pa.array(frame[name], from_pandas=True) for name in frame})
        )

    codes = codes_of(columns if kind == "dict" else table("all.csv"), schema)
    assert codes.shape == (10, len(ODD))
    counted = open_table(table("again.csv"), schema).tables([[name] for name in ODD])
    for place, (name, counts) in enumerate(zip(ODD, counted, strict=True)):
        cells = codes[codes[:, place] >= 0, place]
        assert np.array_equal(np.bincount(cells, minlength=counts.size), counts), name
    if kind == "pandas":
        for row in range(5):
            found = open_table(frame.iloc[[row]], schema).tables([[name] for name in ODD])
            assert [one.argmax() if one.any() else -1 for one in found] == codes[row].tolist()


def test_order_is_kept_over_batches(tmp_path):
    number = (1 << 18) + 12345
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.integers(0, 100, number), "b": random.choice(["x", "y", "z"], number)})
    schema = ad.Schema({"a": ad.Integer(0, 99), "b": ad.Categorical(["x", "y", "z"])})
    expected = np.column_stack([frame["a"], frame["b"].map({"x": 0, "y": 1, "z": 2})])
    frame.to_parquet(tmp_path / "t.parquet")
    duckdb.connect(str(tmp_path / "t.duckdb")).execute("create table t as select * from frame").close()
    for data in (frame, tmp_path / "t.parquet", tmp_path / "t.duckdb"):
        batches = list(code_batches(data, schema))
        assert len(batches) > 1
        assert np.array_equal(np.concatenate(batches), expected)


def test_arrays_are_read_by_place():
    codes = rows(30)
    named = columns(codes)
    expected = codes[:, :3]
    schema = SCHEMA.select(["age", "smoker", "town"])
    mixed = np.array(list(zip(*named.values(), strict=True)), dtype=object)
    for given in (named, mixed, mixed.tolist(), pd.DataFrame(named), pd.DataFrame(named)[["town", "age", "smoker"]]):
        assert np.array_equal(codes_of(given, schema), expected)
    numbers = ad.Schema({"a": ad.Integer(0, 9), "b": ad.Numeric(0, 1, bins=4)})
    assert codes_of(np.array([[3, 0.6], [10, 2]]), numbers).tolist() == [[3, 2], [-1, -1]]
    assert codes_of(np.empty((0, 2)), numbers).shape == (0, 2)


def test_refusals():
    schema = ad.Schema({"a": ad.Integer(0, 9), "b": ad.Integer(0, 9)})
    for given, words in (
        (np.zeros(3), "two axes, given 1"),
        (np.zeros((2, 3)), "X has 3 features, but the schema is expecting 2 features"),
        ({"a": [1, 2], "b": [1]}, "different lengths"),
        (np.zeros((1, 2), dtype=complex), "Complex data not supported"),
    ):
        with pytest.raises(BadInput, match=words):
            codes_of(given, schema)
    with pytest.raises(SchemaError, match="no column 'b'"):
        codes_of({"a": [1]}, schema)
    with pytest.raises(SchemaError, match=r"columns 'bb', which are not among .* Did you mean 'b'\?"):
        check_columns({"a": [1], "bb": [2]}, schema)
    with pytest.raises(SchemaError, match="X has no column 'b'"):
        check_columns({"a": [1]}, schema)
