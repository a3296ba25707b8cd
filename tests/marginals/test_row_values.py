"""Codes become values that the engine reads as the same codes again, also from a file."""

import re

import numpy as np
import pytest

import adyton as ad
from adyton.errors import BadInput
from adyton.result.rows import arrow_rows, write_rows
from adyton.schema import Boolean, Categorical, Integer, Numeric, Schema
from adyton.schema.files import FileFormat

SCHEMA = Schema(
    {
        "city": Categorical(["Paris", "Lyon"], outside="other", nulls="level"),
        "grade": Categorical([1, 2, 7], outside="other"),
        "age": Integer(-3, 20, step=5, outside="other", nulls="level"),
        "income": Numeric(0, 1, bins=3, nulls="level"),
        "rate": Numeric(edges=[0, 1e-9, 10, 1e6], outside="other"),
        "smoker": Boolean(nulls="level"),
        "member": Boolean(outside="other"),
    }
)


@pytest.fixture(scope="module")
def codes():
    random = np.random.default_rng(3)
    return np.stack([random.integers(size, size=400) for size in SCHEMA.shape], axis=1).astype(np.int32)


def test_values_are_read_as_their_cells(codes):
    rows = arrow_rows(SCHEMA, codes, np.random.default_rng(4))
    assert rows.num_rows == 400
    table = ad.Kernel(rows, schema=SCHEMA, epsilon=700).root
    for place, name in enumerate(SCHEMA.names):
        vector = table.select(name).vectorize()
        counts = vector.measure(ad.workloads.Identity(vector.shape), epsilon=100).answers
        # noise of scale 1/100 is 0 but with a chance below e^-98 in all
        assert counts.tolist() == np.bincount(codes[:, place], minlength=vector.cells).tolist(), name


def test_numbers_fill_their_cells(codes):
    rows = arrow_rows(SCHEMA, codes, np.random.default_rng(5))
    ages = {age for age in rows.column("age").to_pylist() if age is not None}
    assert ages == set(range(-3, 22))  # every number, and one beyond the largest for what lies outside
    incomes = [value for value in rows.column("income").to_pylist() if value is not None]
    assert len(set(incomes)) > 100
    assert all(income == round(income, 3) for income in incomes)


AS_WRITTEN = Schema(
    {
        "cost": Numeric(0, 25_600, bins=512, column="COST", currency="€", decimal=",", thousands="."),
        "fare": Numeric(0, 10, bins=40, currency="$", outside="other"),
        "share": Numeric(-1, 1, bins=30),
        "edge": Numeric(edges=[0, 0.1 + 0.2, 5, 1000.005], nulls="level"),
        "age": Integer(0, 109, step=5, column="AGE"),
        "day": ad.Date("2024-01-15", "2024-12-31", by="month", format="%d.%m.%Y", nulls="level"),
        "at": ad.Datetime("2024-01-01", "2024-01-31", by="day", every=3),
        "weekday": ad.Date(by="weekday"),
        "stay": ad.Duration(0, 90, bins=9, unit="minutes"),
        "borough": Categorical({"north": ["BX", "MN"], "süd": ["BK"]}, nulls="level", outside="other"),
        "icd": Categorical({"heart": ["I2", "I5"], "eye": ["H1"]}, first=2, case="ignore"),
        "smoker": Boolean(nulls="level"),
        "home": ad.Point((-74.3, 40.5, -73.7, 40.9), (6, 4), longitude="x", latitude="y"),
    },
    file=FileFormat(delimiter=";", encoding="latin-1"),
)
FORMS = {
    "COST": r"\d+,\d\d", "fare": r"\d+\.\d\d", "share": r"-?[01]\.\d{4}", "edge": r"(\d+\.\d{3})?", "AGE": r"\d+",
    "day": r"(\d\d\.\d\d\.2024)?", "at": r"2024-01-\d\d \d\d:\d\d:\d\d", "weekday": r"[A-Z][a-z]+day",
    "stay": r"\d+\.\d\d", "borough": r"north|süd|\(other\)|", "icd": "I2|H1", "smoker": "true|false|",
    "x": r"-\d\d\.\d{3}", "y": r"\d\d\.\d{3}",
}  # fmt: skip


class Listed:
    """Rows that are given as cells."""

    def __init__(self, codes):
        self._codes = codes

    def codes(self, rows, seed):
        return iter([self._codes])

    def tables(self):
        return {}


@pytest.mark.parametrize("kind", ["csv", "parquet", "no header"])
def test_the_schema_reads_the_file_that_was_written(tmp_path, kind):
    """Header, order, numbers, times and levels are those that it says; no value is in another cell, or in none."""
    schema, file = AS_WRITTEN, tmp_path / ("rows.parquet" if kind == "parquet" else "rows.csv")
    if kind == "no header":
        columns = [*reversed(schema.columns), "another"]
        schema = Schema(schema.attributes, file=FileFormat(delimiter="|", header=False, columns=columns))
    random = np.random.default_rng(1)
    codes = np.stack([random.integers(size, size=600) for size in schema.shape], axis=1).astype(np.int32)
    write_rows(Listed(codes), schema, file, 600, 1, ())
    if kind == "csv":
        header, *lines = (
            [text.strip('"') for text in line.split(";")] for line in file.read_text("latin-1").splitlines()
        )
        assert (tuple(header), len(lines)) == (schema.columns, 600)
        for name, values in zip(header, zip(*lines, strict=True), strict=True):
            assert all(re.fullmatch(FORMS[name], value) for value in values), (name, values[:5])
    table = ad.Kernel(str(file), schema=schema, epsilon=1000).root
    for place, name in enumerate(schema.names):
        vector = table.select(name).vectorize()
        counts = vector.measure(ad.workloads.Identity(vector.shape), epsilon=60).answers
        # noise of scale 1/60 is 0 but with a chance below e^-50 in all
        assert counts.tolist() == np.bincount(codes[:, place], minlength=vector.cells).tolist(), name


def test_attributes_of_one_column_keep_their_own_names():
    days = {name: ad.Date(by=name.replace("_", " "), column="day") for name in ("weekday", "month_of_year")}
    rows = arrow_rows(Schema(days), np.zeros((2, 2), dtype=np.int32), np.random.default_rng(0))
    assert rows.column_names == ["weekday", "month_of_year"]


@pytest.mark.parametrize(("given", "words"), [(np.zeros((2, 3)), "7 attributes"), (np.full((2, 7), 9), "a cell")])
def test_codes_that_do_not_fit_are_refused(given, words):
    with pytest.raises(BadInput, match=words):
        arrow_rows(SCHEMA, given.astype(np.int32), np.random.default_rng(0))
