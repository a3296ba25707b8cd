"""Private tables: the same counts from every source, for any value at all, and no word about the rows."""

from __future__ import annotations

import copy
import gzip
import itertools
import math
import pickle
import traceback
from decimal import Decimal
from fractions import Fraction

import duckdb
import ibis
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.errors import KernelFailure, SchemaError
from adyton.kernel.counting import open_table
from adyton.queries import Partition
from adyton.schema import Boolean, Categorical, Identifier, Integer, Numeric, Schema
from adyton.schema.predicates import parse_predicate

CANARY = "CANARY7261"


def cell_of(attribute, value):
    """The cell of a value by the definition, in exact arithmetic; None if the row is dropped."""
    if isinstance(value, float) and math.isnan(value):
        value = None
    if value is None:
        return attribute.size - 1 if attribute.nulls == "level" else None
    cell = base_cell(attribute, value)
    if cell is None and attribute.outside == "other":
        return attribute.base_size
    return cell


def base_cell(attribute, value):  # noqa: PLR0911
    if isinstance(attribute, Categorical):
        if isinstance(value, str) and all(level == level.strip(" ") for level in attribute.levels):
            value = value.strip(" ")
        return attribute.levels.index(value) if value in attribute.levels else None
    if isinstance(attribute, Boolean):
        return int(value) if value in (0, 1) else None
    if attribute.outside == "clamp":
        value = min(max(value, attribute.min), attribute.max)
    if math.isinf(value):
        return None
    if isinstance(attribute, Integer):
        whole = math.floor(value)
        return (whole - attribute.min) // attribute.step if attribute.min <= whole <= attribute.max else None
    if not attribute.min <= value <= attribute.max:
        return None
    if attribute.edges:
        return min(sum(value >= edge for edge in attribute.edges) - 1, attribute.bins - 1)
    low, width = Fraction(attribute.min), (Fraction(attribute.max) - Fraction(attribute.min)) / attribute.bins
    return min(math.floor((Fraction(value) - low) / width + Fraction(1, 10**9)), attribute.bins - 1)


def oracle(columns, schema):
    counts = np.zeros(schema.shape, dtype=np.int64)
    for row in zip(*(columns[name] for name in schema.names), strict=True):
        cells = [cell_of(schema.attributes[name], value) for name, value in zip(schema.names, row, strict=True)]
        if None not in cells:
            counts[tuple(cells)] += 1
    return counts


INTEGERS = {f"{sign}int{bits}": (bits, sign) for bits in (8, 16, 32, 64) for sign in ("", "u")}
SPECIAL = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 2.0**53, -(2.0**63), 2.0**31, -0.0]


@st.composite
def ordered_attributes(draw):
    policies = {
        "nulls": draw(st.sampled_from(["drop", "level"])),
        "outside": draw(st.sampled_from(["drop", "clamp", "other"])),
    }
    low = draw(st.sampled_from([0, 0, -3, 7, -(2**31), 2**40, -(2**52)]))
    size = draw(st.sampled_from([1, 2, 5, 10, 2**31, 2**52]))
    cells = draw(st.integers(1, 12))
    match draw(st.sampled_from(["integer", "bins", "edges"])):
        case "integer":
            return Integer(low, low + size, step=max(1, size // cells), **policies)
        case "bins":
            return Numeric(low, low + size, bins=1 if size < 2**31 and abs(low) > 2**50 else cells, **policies)
        case _:
            edges = {low, low + size, *(low + Fraction(size) * i / 16 for i in draw(st.sets(st.integers(1, 15))))}
            return Numeric(edges=sorted({float(edge) for edge in edges}), **policies)


@st.composite
def columns(draw, rows):
    """An Arrow column of any type, the values as the kernel should read them, and an attribute for it."""
    policies = {"nulls": draw(st.sampled_from(["drop", "level"])), "outside": draw(st.sampled_from(["drop", "other"]))}
    kind = draw(st.sampled_from([*INTEGERS, "float32", "float64", "decimal", "string", "bool"]))

    def values(strategy):
        return draw(st.lists(st.none() | strategy, min_size=rows, max_size=rows))

    if kind == "string":
        levels = draw(st.lists(st.sampled_from(["a", "b", "", "é", "it's", "A", " a"]), min_size=1, unique=True))
        found = values(st.sampled_from(["a", "b", "", "é", "it's", "A", "zz", " a", "é  ", "  "]))
        return pyarrow.array(found, pyarrow.string()), found, Categorical(levels, **policies)
    if kind == "bool":
        found = values(st.booleans())
        attribute = draw(
            st.sampled_from([Boolean(**policies), Categorical([True], **policies), Categorical([True, False])])
        )
        return pyarrow.array(found, pyarrow.bool_()), found, attribute
    attribute = draw(
        st.one_of(ordered_attributes(), st.just(Boolean(**policies)), st.just(Categorical([1, -3, 5], **policies)))
    )
    low, high = getattr(attribute, "min", -3), getattr(attribute, "max", 5)
    marks = [low, high, low - 1, high + 1, 0, 1, -3, 5, low + (high - low) // 2, low + 1]
    if kind in INTEGERS:
        bits, sign = INTEGERS[kind]
        least, most = (0, 2**bits - 1) if sign else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        marks = [int(mark) for mark in marks if least <= mark <= most]
        found = values(st.sampled_from([*marks, least, most]) | st.integers(least, most))
        seen = [float(v) if v is not None and kind == "uint64" else v for v in found]
        return pyarrow.array(found, getattr(pyarrow, kind)()), seen, attribute
    if kind == "decimal":
        numbers = st.sampled_from(marks).map(lambda mark: Decimal(int(mark))) | st.decimals(-999, 999, places=3)
        found = values(numbers | st.just(Decimal(10) ** 34))
        seen = [None if v is None else float(v) for v in found]
        return pyarrow.array(found, pyarrow.decimal128(38, 3)), seen, attribute
    numbers = st.sampled_from([*map(float, marks), *SPECIAL]) | st.integers(-(2**20), 2**20).map(lambda n: n / 64)
    found = values(numbers)
    if kind == "float32":
        found = [
            None if v is None else float(np.float32(v)) if abs(v) < 1e38 or v - v != 0 else math.inf for v in found
        ]
    return pyarrow.array(found, getattr(pyarrow, kind)()), found, attribute


@st.composite
def tables(draw):
    rows = draw(st.integers(0, 12))
    drawn = [draw(columns(rows)) for _ in range(draw(st.integers(1, 3)))]
    names = [f"column {i}" for i in range(len(drawn))]
    table = pyarrow.table({name: column for name, (column, _, _) in zip(names, drawn, strict=True)})
    values = {name: found for name, (_, found, _) in zip(names, drawn, strict=True)}
    return table, values, Schema({name: attribute for name, (_, _, attribute) in zip(names, drawn, strict=True)})


@settings(max_examples=25, deadline=None)
@given(tables())
def test_every_type_and_every_policy(drawn):
    check_counts(*drawn)


@pytest.mark.full
@settings(max_examples=300, deadline=None)
@given(tables())
def test_every_type_and_every_policy_many_times(drawn):
    check_counts(*drawn)


def check_counts(table, values, schema):
    private = open_table(table, schema)
    np.testing.assert_array_equal(private.vectorize(), oracle(values, schema))
    assert private.count() == len(table)


ROWS = {
    "age": [34, 51, None, -1, 999, 17, 17, 119],
    "pay": [0.5, 10.0, 9.99, None, math.inf, -1.0, 2.5, 7.25],
    "sex": ["F", "M", "F", None, "X", 'it"s, so', "F", "M"],
    "code": [1, 2, 3, 1, None, 1, 2, 9],
    "smoker": [True, False, None, True, True, False, False, True],
}
SCHEMA = Schema(
    {
        "sex": Categorical(["F", "M", 'it"s, so'], nulls="level", outside="other"),
        "age": Integer(0, 119, step=20, outside="clamp", nulls="level"),
        "pay": Numeric(0, 10, bins=4, outside="other", nulls="level"),
        "code": Categorical([1, 2, 3], outside="other", nulls="level"),
        "smoker": Boolean(nulls="level"),
    }
)
TYPES = {"age": "int64", "pay": "float64", "sex": "string", "code": "int16", "smoker": "bool_"}


def arrow():
    return pyarrow.table({name: pyarrow.array(ROWS[name], getattr(pyarrow, kind)()) for name, kind in TYPES.items()})


def csv_text():
    def text(value):
        if value is None:
            return ""
        return f'"{value.replace(chr(34), chr(34) * 2)}"' if isinstance(value, str) else str(value)

    lines = [",".join(text(value) for value in row) for row in zip(*ROWS.values(), strict=True)]
    return "\r\n".join([",".join(ROWS), *lines]) + "\r\n"


def sources(folder):
    table = arrow()
    (folder / "t.csv").write_bytes(b"\xef\xbb\xbf" + csv_text().encode())
    (folder / "odd [1]*'.csv").write_bytes(csv_text().encode())
    (folder / "t.csv.gz").write_bytes(gzip.compress(csv_text().encode()))
    (folder / "t.tsv").write_text(
        "\n".join("\t".join(map(str, row)) for row in [ROWS, *zip(*ROWS.values(), strict=True)])
    )
    pyarrow.parquet.write_table(table, folder / "t.parquet")
    (folder / "parts").mkdir()
    pyarrow.parquet.write_table(table.slice(0, 3), folder / "parts" / "a.parquet")
    pyarrow.parquet.write_table(table.slice(3), folder / "parts" / "b.parquet")
    database = duckdb.connect(str(folder / "t.duckdb"))
    database.register("frame", table)
    database.execute('create table "my ""table" as select * from frame')
    database.close()
    connection = ibis.duckdb.connect()
    connection.con.register("frame", table)
    connection.raw_sql("create table stored as select * from frame")
    stored = connection.table("stored")
    frame = pandas.DataFrame({name: pandas.Series(values, dtype=object) for name, values in ROWS.items()})
    typed = table.to_pandas()
    return {
        "csv": folder / "t.csv",
        "csv with an odd name": folder / "odd [1]*'.csv",
        "csv.gz": str(folder / "t.csv.gz"),
        "parquet": folder / "t.parquet",
        "pattern": str(folder / "parts" / "*.parquet"),
        "directory": folder / "parts",
        "duckdb": folder / "t.duckdb",
        "duckdb table": f'{folder / "t.duckdb"}#my "table',
        "pandas": typed,
        "pandas categories": typed.astype({"sex": "category"}),
        "pandas objects": frame,
        "pandas nullable": typed.convert_dtypes(),
        "polars": polars.from_arrow(table),
        "polars categories": polars.from_arrow(table).with_columns(polars.col("sex").cast(polars.Categorical)),
        "arrow": table,
        "arrow dictionary": table.set_column(2, "sex", table.column("sex").dictionary_encode()),
        "ibis": stored,
        "ibis expression": stored.filter(stored.age.notnull() | stored.age.isnull()).mutate(more=stored.age),
        "ibis in memory": ibis.memtable(table),
    }


def test_the_same_counts_from_every_source(tmp_path):
    expected = oracle(ROWS, SCHEMA)
    predicate = parse_predicate("(age >= 17 and sex in ('F', 'M')) or smoker = true", SCHEMA)
    for name, source in sources(tmp_path).items():
        table = open_table(source, SCHEMA)
        np.testing.assert_array_equal(table.vectorize(), expected, err_msg=name)
        assert table.count() == 8, name
        assert table.where(predicate).count() == 6, name
        assert table.where(parse_predicate("pay is null", SCHEMA)).count() == 1, name


def test_tabs_and_text_that_is_no_number(tmp_path):
    sources(tmp_path)
    table = open_table(tmp_path / "t.tsv", SCHEMA.select(["age", "smoker"]))
    without_none = Schema({"age": SCHEMA.attributes["age"], "smoker": Boolean(outside="other")})
    assert open_table(tmp_path / "t.tsv", without_none).select("smoker").vectorize().tolist() == [3, 4, 1]
    np.testing.assert_array_equal(table.select("age").vectorize(), oracle(ROWS, SCHEMA.select("age")))


def test_select_split_and_group_by():
    table = open_table(arrow(), SCHEMA)
    children = table.split("sex", Partition([0, 1, -1, 0, 1], groups=3))
    assert [child.count() for child in children] == [4, 3, 0]
    assert children[0].select("sex").vectorize().tolist() == [3, 0, 0, 1, 0]
    assert children[0].split("age", Partition([0] * 7))[0].count() == 4
    many = Schema({"age": Integer(0, 119)})
    ages = open_table(arrow(), many)
    odd = ages.split("age", Partition([cell % 2 for cell in range(120)]))
    assert [child.count() for child in odd] == [1, 4]
    grouped = table.group_by(["sex"], "visits", 2)
    assert grouped.schema.names == ("sex", "visits")
    assert grouped.count() == 5
    assert grouped.select("visits").vectorize().tolist() == [3, 2]
    assert grouped.where(parse_predicate("visits > 2 and sex = 'F'", grouped.schema)).count() == 1
    assert grouped.vectorize().sum() == 5


def test_group_by_an_identifier(tmp_path):
    (tmp_path / "v.csv").write_text("person,day\na,1\na,2\nb,1\n,5\n")
    table = open_table(tmp_path / "v.csv", Schema({"person": Identifier(), "day": Integer(0, 9)}))
    assert table.group_by("person", "visits", 3).select("visits").vectorize().tolist() == [2, 1, 0]
    known = table.where(parse_predicate("person is not null", table.schema))
    assert known.group_by("person", "visits", 3).select("visits").vectorize().tolist() == [1, 1, 0]
    with pytest.raises(SchemaError, match="'person' is an identifier"):
        table.vectorize()


def test_decimal_edges_are_where_people_expect_them():
    values = [i / 100 for i in range(101)]
    table = open_table(pyarrow.table({"x": values}), Schema({"x": Numeric(0, 1, bins=100)}))
    assert table.vectorize().tolist() == [1] * 99 + [2]


def test_many_levels_and_huge_domains():
    levels = [f"code {i}" for i in range(20_000)]
    schema = Schema({"x": Categorical(levels, outside="other")})
    counts = open_table(pyarrow.table({"x": ["code 19999", "code 0", "none"]}), schema).vectorize()
    assert np.flatnonzero(counts).tolist() == [0, 19_999, 20_000]
    wide = Schema({name: Integer(0, 2**20) for name in ("x", "y")})
    with pytest.raises(SchemaError, match=r"1,099,513,724,929 cells; at most 134,217,728 are allowed\. Select fewer"):
        open_table(pyarrow.table({"x": [1], "y": [2]}), wide).vectorize()


@pytest.mark.parametrize("outside", ["drop", "clamp", "other"])
@pytest.mark.parametrize("nulls", ["drop", "level"])
def test_many_edges(outside, nulls):
    schema = Schema({"x": Numeric(edges=[i * abs(i) / 7 for i in range(-200, 201)], outside=outside, nulls=nulls)})
    values = [None, *SPECIAL, *schema.attributes["x"].edges, *np.linspace(-6000, 6000, 999).tolist()]
    np.testing.assert_array_equal(
        open_table(pyarrow.table({"x": values}), schema).vectorize(), oracle({"x": values}, schema)
    )


def test_engine_integers_beyond_64_bits():
    connection = ibis.duckdb.connect()
    connection.raw_sql(
        "create table t as select unnest([170141183460469231731687303715884105727, -5, 7]::hugeint[]) as x"
    )
    for attribute, expected in [
        (Integer(0, 9, outside="clamp"), [1, 0, 0, 0, 0, 0, 0, 1, 0, 1]),
        (Integer(0, 9, outside="other"), [0] * 7 + [1, 0, 0, 2]),
    ]:
        assert open_table(connection.table("t"), Schema({"x": attribute})).vectorize().tolist() == expected


PIECES = [b",", b'"', b"\n", b"\r\n", b"\r", b"a", b"17", b"\xff", b"\0", b"\\", b" ", "é".encode(), b"true", b"1e999"]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join), st.booleans())
def test_no_csv_file_makes_counting_fail(tmp_path_factory, body, compressed):
    raw = b"age,sex,smoker\n" + body
    path = tmp_path_factory.getbasetemp() / ("fuzz.csv.gz" if compressed else "fuzz.csv")
    path.write_bytes(gzip.compress(raw) if compressed else raw)
    keeping = {"nulls": "level", "outside": "other"}
    schema = Schema(
        {"age": Integer(0, 99, **keeping), "sex": Categorical(["a"], **keeping), "smoker": Boolean(**keeping)}
    )
    table = open_table(path, schema)
    assert 0 <= table.vectorize().sum() <= table.count()


def test_a_csv_file_with_everything_wrong(tmp_path):
    lines = [
        b"1,F",
        b"2",
        b"3,M,extra",
        b'4,"a""b"',
        b'5,"open',
        b"6,\xff\xfe",
        b"7,a\0b",
        b" 8 ,F",
        b"9e0,M",
        b"x,F",
    ]
    lines += [b"10," + b"z" * 300_000, b"11,F"]
    (tmp_path / "t.csv").write_bytes(b"age,sex\r\n" + b"\r\n".join(lines))
    schema = Schema(
        {"age": Integer(1, 11, nulls="level"), "sex": Categorical(["F", "M"], nulls="level", outside="other")}
    )
    table = open_table(tmp_path / "t.csv", schema)
    assert table.count() == 12
    assert table.select("age").vectorize().tolist() == [1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 3]
    assert table.select("sex").vectorize().tolist() == [4, 2, 3, 3]


def test_files_with_next_to_nothing_in_them(tmp_path):
    schema = Schema({"x": Integer(0, 1, nulls="level")})
    for raw, expected in [
        (b"x", [0, 0, 0]),
        (b"x,y\n", [0, 0, 0]),
        (b"x,y\n\n\r\n", [0, 0, 0]),
        (b"x\n\n1", [0, 1, 1]),
    ]:
        (tmp_path / "t.csv").write_bytes(raw)
        assert open_table(tmp_path / "t.csv", schema).vectorize().tolist() == expected


def test_what_a_table_shows():
    table = open_table(pyarrow.table({"name": [CANARY]}), Schema({"name": Categorical([CANARY[:3]])}))
    assert repr(table) == str(table) == f"{table}" == "<private table: name>"
    for attempt in (len, list, bool, copy.copy, copy.deepcopy, pickle.dumps, lambda t: t[0], np.asarray):
        with pytest.raises(TypeError):
            attempt(table)
    for change in (lambda: setattr(table, "_rows", None), lambda: delattr(table, "_rows")):
        with pytest.raises(AttributeError):
            change()


def test_a_failing_engine_says_nothing_of_the_rows():
    connection = ibis.duckdb.connect()
    connection.raw_sql("create table v as select 1 as x")
    table = open_table(connection.table("v"), Schema({"x": Integer(0, 9)}))
    connection.raw_sql(f"drop table v; create view v as select cast('{CANARY}' as integer) as x")
    for run in (table.vectorize, table.group_by("x", "n", 1).count):
        with pytest.raises(KernelFailure) as caught:
            run()
        assert caught.value.__context__ is None
        assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_frames_with_objects_of_every_kind_are_read_as_text():
    odd = [
        CANARY,
        3,
        4.0,
        Decimal(5),
        True,
        None,
        math.nan,
        b"x",
        [1],
        {"a": 1},
        "6",
        10**400,
        "\ud800",
        np.int8(7),
        pandas.NA,
    ]
    frame = pandas.DataFrame({"x": pandas.Series(odd, dtype=object), "unused": pandas.Series(odd, dtype=object)})
    counts = open_table(frame, Schema({"x": Integer(0, 9, nulls="level")})).vectorize()
    assert counts.tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 10]


def bad_sources(folder):
    number, text = Schema({"x": Integer(0, 9)}), Schema({"x": Categorical([CANARY[:3]])})
    date = pyarrow.table({"x": pyarrow.array([0], pyarrow.date32())})
    words = pyarrow.table({"x": [CANARY]})
    (folder / "empty.csv").touch()
    (folder / "blank.csv").write_text(f"\n{CANARY}\n")
    (folder / "latin.csv").write_bytes(b"\xff\xfe\n1\n")
    (folder / "short.csv.gz").write_bytes(gzip.compress(b"x\n1\n")[:8])
    (folder / "two.csv").write_text(f"x,x\n{CANARY},1\n")
    (folder / "other.csv").write_text(f"xx,y\n{CANARY},1\n")
    (folder / "headless.csv").write_text(f"{CANARY},1\n{CANARY},2\n")
    (folder / "doubtful.csv").write_text(f"{CANARY},17,x\n{CANARY},2,x\n")
    (folder / "huge.csv").write_text(f"x,{CANARY * 20_000}\n")
    (folder / "mac.csv").write_text(f"x\r{CANARY}\r")
    (folder / "quote.csv").write_text(f'x,"y\n{CANARY},1\n{CANARY},"2\n')
    (folder / "bad.parquet").write_bytes(b"PAR1" + CANARY.encode() * 9)
    (folder / "bad.duckdb").write_bytes(CANARY.encode() * 900)
    (folder / "t.xlsx").write_text(CANARY)
    (folder / "t.xls").write_text(CANARY)
    (folder / "none").mkdir()
    (folder / "mixed").mkdir()
    pyarrow.parquet.write_table(words, folder / "mixed" / "a.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"x": [1]}), folder / "mixed" / "b.parquet")
    database = duckdb.connect(str(folder / "two.duckdb"))
    database.execute("create table a as select 1 as x; create table b as select 1 as x")
    database.close()
    pyarrow.parquet.write_table(date, folder / "date.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"x": [True]}), folder / "bool.parquet")
    lazy = polars.LazyFrame({"x": [CANARY]})
    return [
        (folder / "absent.csv", number, "does not exist"),
        ("a" * 5000, number, "does not exist"),
        ("x\0.csv", number, "does not exist"),
        (folder / "empty.csv", number, "is empty"),
        (folder / "blank.csv", number, "does not begin with a header"),
        (folder / "latin.csv", number, "is not UTF-8"),
        (folder / "short.csv.gz", number, "cannot be read"),
        (folder / "two.csv", number, "2 columns called 'x'"),
        (folder / "other.csv", Schema({"x": Boolean(), "y": Boolean()}), "no column 'x'. It has 'xx', 'y'"),
        (folder / "headless.csv", number, "names none of the schema's attributes ('x'). It looks like a row of data"),
        (folder / "doubtful.csv", Schema({"x": Boolean(), "y": Boolean()}), "names no attribute 'y'. It looks like"),
        (folder / "huge.csv", number, "does not begin with a header"),
        (folder / "mac.csv", Schema({"y": Boolean()}), "names none of the schema's attributes ('y')"),
        (folder / "quote.csv", number, "does not begin with a header"),
        (folder / "bad.parquet", number, "cannot be read as Parquet"),
        (folder / "bad.duckdb", number, "it is not a DuckDB or SQLite file"),
        (folder / "absent.duckdb", number, "does not exist"),
        (folder / "t.xlsx", number, "cannot be read as an Excel workbook"),
        (folder / "t.xls", number, "no known ending"),
        (folder / "none", number, "a directory without Parquet, CSV or Excel files"),
        (str(folder / "*.pq"), number, "no file at"),
        (str(folder / "*e*.csv"), number, "is empty"),
        (str(folder / "t*.*"), number, "not of one kind"),
        (folder / "mixed", number, "the column 'x' is string in"),
        (folder / "two.duckdb", number, "more than one table, or none. It has 'a', 'b'"),
        (f"{folder / 'two.duckdb'}#c", number, "no table 'c'. It has 'a', 'b'"),
        (words, Schema({"X": Boolean()}), "no column 'X'. It has 'x'"),
        (folder / "date.parquet", number, "has the type date, but the schema says integer"),
        (folder / "date.parquet", Schema({"x": Identifier()}), "needs texts or numbers. Declare it as type"),
        (folder / "date.parquet", text, 'Declare it as type = "date"'),
        (folder / "bool.parquet", number, "which needs a column of numbers"),
        (pyarrow.table({"x": [[1]]}), number, "needs a column of texts, numbers or dates"),
        (polars.DataFrame({"x": [{"a": 1}]}), text, "needs a column of texts, numbers or dates"),
        (lazy, number, "a polars LazyFrame cannot be opened"),
        ({"x": [CANARY]}, number, "a dict cannot be opened"),
        (None, number, "a NoneType cannot be opened"),
        (words, {"x": number}, "opened with a Schema, given a dict"),
        (ibis.table({"x": "int64"}, name="t"), number, "not bound to any data"),
    ]


def test_what_cannot_be_opened(tmp_path):
    for source, schema, words in bad_sources(tmp_path):
        with pytest.raises(SchemaError) as caught:
            open_table(source, schema)
        assert words in str(caught.value)
        assert caught.value.__context__ is None
        assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_a_split_needs_a_label_for_every_cell():
    table = open_table(arrow(), Schema({"age": Integer(0, 119, step=20)}))
    with pytest.raises(SchemaError, match="6 cells, given a partition of 1"):
        table.split("age", Partition([0]))


def test_children_of_a_split_never_share_a_row():
    table = open_table(arrow(), SCHEMA)
    for name in SCHEMA.names:
        size = SCHEMA.attributes[name].size
        for labels in itertools.islice(itertools.product([-1, 0, 1], repeat=size), 0, 200, 61):
            counts = table.select(name).vectorize()
            expected = [sum(counts[cell] for cell in range(size) if labels[cell] == group) for group in (0, 1)]
            assert [child.count() for child in table.split(name, Partition(labels, groups=2))] == expected


def test_a_relative_path_outlives_a_change_of_directory(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    for name, write in (("t.csv", "to_csv"), ("t.parquet", "to_parquet")):
        getattr(pandas.DataFrame({"x": [1, 1, 2]}), write)(tmp_path / name, index=False)
        monkeypatch.chdir(tmp_path)
        table = open_table(name, Schema({"x": Integer(0, 2)}))
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert table.vectorize().tolist() == [0, 2, 1]
