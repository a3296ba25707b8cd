"""The column that says whose row it is: of a type that tells people apart, and at most so many rows of each are kept.

Two tables that differ by one person differ by at most ``rows_per_unit`` rows, on every source, whatever the names are.
"""

import uuid
from decimal import Decimal

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from pyarrow import parquet

import adyton as ad
from adyton.errors import SchemaError
from adyton.kernel.counting import open_table
from adyton.schema.predicates import parse_predicate

LIMIT = 3
SOURCES = ["csv", "quoted csv", "parquet", "pandas", "polars", "arrow", "duckdb"]


def stored(table, source, folder):
    """An Arrow table as another kind of table."""
    path = folder / f"{uuid.uuid4().hex}.{'csv' if 'csv' in source else source}"
    match source:
        case "csv":
            table.to_pandas().to_csv(path, index=False)
        case "quoted csv":
            table.to_pandas().to_csv(path, index=False, quoting=1)
        case "parquet":
            parquet.write_table(table, path)
        case "pandas":
            return table.to_pandas(types_mapper=pandas.ArrowDtype)
        case "polars":
            return polars.from_arrow(table)
        case "arrow":
            return table
        case "duckdb":
            with duckdb.connect(str(path)) as connection:
                connection.register("given", table)
                connection.execute("create table rows as select * from given")
            return f"{path}#rows"
    return path


PEOPLE = [f"{number}.5" for number in range(4) for _ in range(5)]
"""They are coordinates, too."""
LEVELS = sorted(set(PEOPLE))
OTHER = [str(place % 3) for place in range(20)]
TWICE = {
    "same name": ({"who": ad.Categorical(LEVELS)}, ["who"]),
    "identifier": ({"who": ad.Identifier(), "x": ad.Integer(0, 2)}, ["x"]),
    "another name": ({"person": ad.Categorical(LEVELS, reading=ad.schema.Reading(column="who"))}, ["person"]),
    "two attributes": (
        {
            "one": ad.Numeric(0, 4, bins=4, reading=ad.schema.Reading(column="who")),
            "two": ad.Categorical(LEVELS, reading=ad.schema.Reading(column="who")),
        },
        ["one", "two"],
    ),
    "point": ({"place": ad.Point((0, 0, 4, 4), (4, 4), longitude="who", latitude="x")}, ["place"]),
}


@pytest.mark.parametrize(
    ("source", "case"),
    [
        pytest.param(source, case, marks=[] if source in ("csv", "duckdb") or case == "same name" else pytest.mark.full)
        for source in SOURCES
        for case in TWICE
    ],
)
def test_the_unit_may_be_an_attribute_too(source, case, tmp_path):
    """A column that is wanted twice is there twice: all values are read, and each of four people keeps three rows."""
    data = stored(pyarrow.table({"who": PEOPLE, "x": OTHER}), source, tmp_path)
    attributes, names = TWICE[case]
    table = open_table(data, ad.Schema(attributes, LIMIT, unit="who"))
    assert table.select(names).vectorize().sum() == 4 * LIMIT
    name = next(iter(table.schema.names))
    assert table.where(parse_predicate(f"{name} is not null", table.schema)).count() == 4 * LIMIT
    assert table.by_unit("n", 9).count() == 4


SPELLINGS = ["7", "7.0", "07", "007", "7e0", "+7", "70e-1", "7.", "0x7", "７", "seven", "7\u00a0"]


@pytest.mark.parametrize("source", SOURCES)
def test_texts_are_compared_as_texts(source, tmp_path):
    """Nobody is taken for somebody else whose name can be read as the same number."""
    schema = ad.Schema({"x": ad.Integer(0, 2)}, LIMIT, unit="who")
    everybody = pyarrow.table({"who": SPELLINGS * 5, "x": [str(place % 3) for place in range(len(SPELLINGS) * 5)]})
    table = open_table(stored(everybody, source, tmp_path), schema)
    assert (table.by_unit("n", 9).count(), table.count()) == (len(SPELLINGS), LIMIT * len(SPELLINGS))
    without = everybody.filter(pyarrow.compute.not_equal(everybody["who"], "7"))
    fewer = open_table(stored(without, source, tmp_path), schema)
    assert abs(table.vectorize() - fewer.vectorize()).sum() == LIMIT


KINDS = {
    "long": [2**53, 2**53 + 1, -(2**63), 2**63 - 1],
    "unsigned": pyarrow.array([2**64 - 1, 2**64 - 2, 2**63, 1], pyarrow.uint64()),
    "decimal": pyarrow.array([Decimal(2**90), Decimal(2**90 + 1), Decimal(-1), Decimal(0)], pyarrow.decimal128(38, 0)),
    "bytes": [b"\xff\xfe", b"\xff\xff", b"7", b"37"],
    "uuid": pyarrow.array([uuid.UUID(int=number).bytes for number in (0, 1, 2**127, 2**128 - 1)], pyarrow.uuid()),
    "coded": pyarrow.array(["7", "007", "a", "A"]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", SOURCES[2:])
def test_every_type_of_unit_tells_people_apart(source, kind, tmp_path):
    if (source, kind) in (("polars", "uuid"), ("pandas", "uuid")):
        pytest.skip("has no such type")
    people = pyarrow.chunked_array([pyarrow.array(KINDS[kind]) if isinstance(KINDS[kind], list) else KINDS[kind]] * 5)
    table = pyarrow.table({"who": people, "x": list(range(20))})
    opened = open_table(stored(table, source, tmp_path), ad.Schema({"x": ad.Integer(0, 19)}, LIMIT, unit="who"))
    assert (opened.by_unit("n", 9).count(), opened.count()) == (4, 4 * LIMIT)


REFUSED = {
    "double": [0.5, 1.0],
    "single": pyarrow.array([0.5, 1.0], pyarrow.float32()),
    "doubles in a dictionary": pyarrow.array([0.5, 1.0]).dictionary_encode(),
    "boolean": [True, False],
    "time": pyarrow.array([0, 1], pyarrow.timestamp("us")),
    "duration": pyarrow.array([0, 1], pyarrow.duration("us")),
    "list": [[1], [2]],
    "structure": [{"a": 1}, {"a": 2}],
    "null": pyarrow.nulls(2),
}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("source", SOURCES[2:])
def test_other_types_of_units_are_refused_at_opening(source, kind, tmp_path):
    """By the type alone: whether a table opens says nothing about its rows."""
    if kind == "duration" and source == "parquet":
        pytest.skip("whole numbers, there")
    if kind == "null" and source in ("parquet", "duckdb"):
        pytest.skip("has no such type")
    data = stored(pyarrow.table({"who": REFUSED[kind], "x": [1, 2]}), source, tmp_path)
    with pytest.raises(SchemaError, match="the unit 'who' has the type .* which cannot tell units apart"):
        open_table(data, ad.Schema({"x": ad.Integer(0, 3)}, unit="who"))


def test_ids_that_pandas_made_doubles_of_are_refused():
    """One row without an id rounds all others. As Int64, they stay what they are, and keep the same rows."""
    ids = np.repeat(np.random.default_rng(0).integers(2**60, 2**62, 30), 4)
    whole = pandas.DataFrame({"who": ids, "x": np.arange(120)})
    schema = ad.Schema({"x": ad.Integer(0, 119)}, unit="who")
    nobody = pandas.DataFrame({"who": [None], "x": [5]})
    for frame in (pandas.concat([whole, nobody.astype({"who": float})]), whole.assign(who=ids.astype(complex))):
        with pytest.raises(SchemaError, match="cannot tell units apart"):
            open_table(frame, schema)
    with pytest.raises(SchemaError, match="as text or, in pandas, as Int64"):
        open_table(whole.astype({"who": "float64"}), schema)
    with pytest.raises(SchemaError, match="category of float64"):
        open_table(whole.astype({"who": "float64"}).astype({"who": "category"}), schema)
    nullable = pandas.concat([whole.astype({"who": "Int64"}), nobody.astype({"who": "Int64"})])
    assert (open_table(nullable, schema).vectorize() == open_table(whole, schema).vectorize()).all()


MIXED = ["a", "b", "7", 7, 7.0, True, None, b"a", Decimal(7), uuid.UUID(int=7), (1,), 2**70, float("nan"), "007"]


@pytest.mark.parametrize("library", ["pandas", "pandas categories", "polars"])
def test_a_unit_among_objects_is_a_text_or_a_whole_number(library):
    """Every value by itself: what else stands in the column does not matter."""

    def frame(people):
        if library == "polars":
            return polars.DataFrame({"who": polars.Series(people, dtype=polars.Object), "x": [0] * len(people)})
        frame = pandas.DataFrame({"who": pandas.Series(people, dtype=object), "x": [0] * len(people)})
        return frame.astype({"who": "category"}) if "categories" in library else frame

    schema = ad.Schema({"x": ad.Integer(0, 3)}, LIMIT, unit="who")
    equal = (tuple, float, Decimal) if "categories" in library else ()  # to pandas, 7.0 is the category 7
    people = [person for person in MIXED if not isinstance(person, equal)]
    assert open_table(frame(people), schema).by_unit("n", 9).count() == 5  # a, b, 7, 2⁷⁰ and 007
    assert open_table(frame(people), schema).count() == 6
    assert open_table(frame([*people, "x"]), schema).count() == 7


IDS = [place // 4 - 3 for place in range(120)]
"""Thirty people, some with negative ids, of four rows each."""
VALUES = [place % 7 for place in range(120)]
ALIKE = {
    "small": lambda: pyarrow.table({"who": pyarrow.array(IDS, pyarrow.int8()), "x": VALUES}),
    "texts": lambda: pyarrow.table({"who": list(map(str, IDS)), "x": VALUES}),
    "blanks": lambda: pyarrow.table({"who": [f" {name}\t" for name in IDS], "x": VALUES}),
    "decimals": lambda: pyarrow.table({"who": pyarrow.array(IDS).cast(pyarrow.decimal128(22, 2)), "x": VALUES}),
    "coded": lambda: pyarrow.table({"who": pyarrow.array(IDS).dictionary_encode(), "x": VALUES}),
    "other values": lambda: pyarrow.table({"who": IDS, "x": list(map(str, VALUES))}),
    "doubles": lambda: pyarrow.table({"who": IDS, "x": pyarrow.array(VALUES, pyarrow.float64())}),
    "pandas": lambda: pandas.DataFrame({"who": [*IDS, "zz"], "x": [*VALUES, 7]}),
    "pandas arrays": lambda: pandas.DataFrame({"who": [*map(np.int16, IDS), None], "x": [*VALUES, 0]}, dtype=object),
    "pandas nullable": lambda: pandas.DataFrame({"who": pandas.array([*IDS, None], "Int64"), "x": [*VALUES, 0]}),
    "pandas categories": lambda: pandas.DataFrame({"who": IDS, "x": VALUES}).astype({"who": "category"}),
    "polars": lambda: polars.DataFrame({"who": IDS, "x": VALUES}),
    "polars texts": lambda: polars.DataFrame({"who": [*IDS, "zz"], "x": [*VALUES, 7]}, strict=False),
    "polars objects": lambda: polars.DataFrame({"who": [*IDS, b"zz"], "x": [*VALUES, 0]}, strict=False),
    "polars long": lambda: polars.DataFrame({"who": [*IDS, 2**70], "x": [*VALUES, 7]}, strict=False),
}
"""The same people and rows; the last few with somebody else, who changes the type of the column."""


def _kept(data, name="who"):
    return open_table(data, ad.Schema({"x": ad.Integer(0, 7)}, unit=name)).vectorize()


@pytest.mark.parametrize("kind", ALIKE)
def test_which_rows_are_kept_does_not_depend_on_types(kind):
    """The name of a whole number is its digits: one person with another kind of name makes the type of everybody's."""
    expected = _kept(pyarrow.table({"who": IDS, "x": VALUES}))
    assert expected.sum() == 30
    kept = _kept(ALIKE[kind]())
    assert (kept[:7] == expected[:7]).all()
    assert kept[7] == (kind in ("pandas", "polars texts", "polars long"))


@pytest.mark.parametrize("spread", [1, 2**55])
@pytest.mark.parametrize("source", SOURCES)
def test_which_rows_are_kept_is_the_same_in_every_source(source, spread, tmp_path):
    """Of ids that lie close together, and of others; beyond 2⁶³, too."""
    ids = [2**63 + number * spread for number in IDS]
    texts = pyarrow.table({"who": list(map(str, ids)), "x": VALUES})
    whole = texts.set_column(0, "who", pyarrow.array(ids, pyarrow.uint64()))
    assert (_kept(stored(whole, source, tmp_path)) == _kept(texts)).all()


@pytest.mark.parametrize("attribute", [ad.Integer(0, 1, nulls="level"), ad.Identifier()])
def test_a_row_is_the_same_row_in_every_type(attribute):
    """Truth values that cannot be numbers, or are names: somebody's text makes a column of objects of them."""
    frame = pandas.DataFrame({"who": IDS, "x": VALUES, "y": [place % 3 == 0 for place in range(120)]})
    schema = ad.Schema({"x": ad.Integer(0, 7), "y": attribute}, unit="who")
    odd = pandas.concat([frame, pandas.DataFrame({"who": ["zz"], "x": [7], "y": ["one"]})])
    first, other = (open_table(data, schema).select(["x"]).vectorize()[:7] for data in (frame, odd))
    assert (first == other).all()
