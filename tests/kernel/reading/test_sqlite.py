"""Tables of SQLite files: values of any type in any column, each read by itself."""

import sqlite3

import pytest

import adyton as ad
from adyton.errors import SchemaError
from adyton.kernel.counting import open_table

ROWS = [
    *(("a", 1, 2.5, "F"), ("a", "2", "7.25", " M "), ("b", 3.0, None, "x"), ("b", "three", float("inf"), None)),
    *((7, 4, b"1.5", b"F"), ("07", -1, 1e300, "F"), (7.5, 5, 3, "M"), (None, 2**62, -1, 1), ("a", None, "nan", "F")),
]
SCHEMA = {
    "x": ad.Integer(0, 9, nulls="level", outside="other"),
    "cost": ad.Numeric(0, 10, bins=4, nulls="level"),
    "sex": ad.Categorical(["F", "M"], nulls="level", outside="other"),
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "city.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("create table trips (who, x integer, cost real, sex text)")
        connection.executemany("insert into trips values (?, ?, ?, ?)", ROWS)
        connection.execute("create index fast on trips (sex, x)")
        connection.execute("create view seen as select * from trips")
    return path


def test_each_value_is_read_by_itself(file, tmp_path):
    table = open_table(file, ad.Schema(SCHEMA))
    assert table.count() == len(ROWS)
    assert table.select("x").vectorize().tolist() == [
        0,
        1,
        1,
        1,
        1,
        1,
        0,
        0,
        0,
        0,
        2,
        2,
    ]
    assert table.select("sex").vectorize().tolist() == [4, 2, 2, 1]
    lines = [
        ",".join("" if one is None else one.decode() if isinstance(one, bytes) else str(one) for one in row)
        for row in ROWS
    ]
    (tmp_path / "t.csv").write_text("\n".join(["who,x,cost,sex", *lines, ""]))
    other = open_table(tmp_path / "t.csv", ad.Schema(SCHEMA))
    assert (table.vectorize() == other.vectorize()).all()


def test_units_are_whole_numbers_and_texts(file):
    table = open_table(f"{file}#trips", ad.Schema(SCHEMA, 1, unit="who"))
    assert table.by_unit("n", 5).select("n").vectorize().tolist() == [2, 1, 1, 0, 0]  # a, b, 7 and 07
    assert table.count() == 4
    assert table.select(["sex", "x"]).vectorize().sum() == 4  # an index would put rows in another order


def test_a_number_and_a_text_of_its_digits_are_one_unit(tmp_path):
    """Texts that are none are units, too: what is kept of one does not depend on another."""
    path = tmp_path / "people.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("create table trips (who, x)")
        connection.executemany("insert into trips values (?, ?)", [(7, 2), ("7", 2), (" 7\t", 2), ("007", 3), (7.0, 6)])
        connection.execute("insert into trips values (cast(x'ff' as text), 4), (cast(x'fe' as text), 5)")
    table = open_table(path, ad.Schema({"x": ad.Integer(0, 9)}, 1, unit="who"))
    assert table.vectorize().tolist()[:7] == [0, 0, 1, 1, 1, 1, 0]


def test_rows_that_change_are_a_new_moment(file):
    table = open_table(file, ad.Schema(SCHEMA))
    before = table.moment()
    with sqlite3.connect(file) as connection:
        connection.execute("insert into trips values ('z', 1, 1, 'F')")
    assert table.moment() != before
    assert table.count() == len(ROWS) + 1


@pytest.mark.parametrize(
    ("table", "words"),
    [("seen", "has no table 'seen'. It has 'trips'"), ("nothing", "has no table 'nothing'"), ("more", "computed")],
)
def test_what_cannot_be_opened(file, table, words):
    if table == "more":
        with sqlite3.connect(file) as connection:
            connection.execute("create table more (x integer, y integer generated always as (x + 1))")
    with pytest.raises(SchemaError, match=words):
        open_table(f"{file}#{table}", ad.Schema({"x": ad.Integer(0, 9)}))


def test_a_release_and_a_file_that_is_none(file, tmp_path):
    session = ad.Session(str(file), schema=ad.Schema(SCHEMA), epsilon=1, dataset="city")
    assert session.release(ad.Histogram("sex"), epsilon=1, algorithm="identity").estimate.shape == (4,)
    with pytest.raises(SchemaError, match="not a DuckDB or SQLite file"):
        open_table(
            tmp_path.joinpath("broken.sqlite").write_bytes(b"no") and tmp_path / "broken.sqlite", ad.Schema(SCHEMA)
        )
