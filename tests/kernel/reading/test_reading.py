"""A value is read by itself: what it is does not depend on which others are there, nor on when they are looked at."""

import itertools
import warnings
from uuid import UUID

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import adyton as ad
from adyton.kernel.counting import open_table
from adyton.kernel.counting.opening import reader_for
from adyton.kernel.reading import cells as cells_module
from adyton.kernel.reading import values as module
from adyton.kernel.reading.texts import number_in
from adyton.kernel.reading.values import ValueReader
from adyton.queries import Partition
from adyton.schema import RowTree
from over_cases import over

TEXTS = [
    *(
        "1",
        "1.5",
        "-2e3",
        "+5",
        "+-5",
        "nan",
        "NaN",
        "nan(1)",
        "-nan(abc)",
        "inf",
        "-Infinity",
        "1e400",
        "1e-400",
        "007",
    ),
    *(
        "007",
        " 1",
        "1 ",
        "\t1\n",
        "1\x1c",
        "1_0",
        "0x1F",
        "1,5",
        "",
        " ",
        "x",
        "true",
        "F",
        "2024-03-01",
        "2024-03-01T10:00Z",
    ),
    *("9" * 400, "0." + "0" * 400 + "1", "\u0663", "\uff11", "1\u00a0", "$1,250.50", "10:30", "PT1H", "a" * 70_000),
]
ATTRIBUTES = {
    "integer": ad.Integer(0, 9),
    "numeric": ad.Numeric(0, 10, bins=4, nulls="level", outside="other"),
    "levels": ad.Categorical(["F", "1", "true"], outside="other"),
    "numbers": ad.Categorical([1, 7], nulls="level"),
    "boolean": ad.Boolean(outside="other"),
    "money": ad.Numeric(0, 2000, bins=4, reading=ad.Reading(currency="$", thousands=",", missing=["x", 1])),
    "ignored": ad.Categorical(["f"], reading=ad.Reading(case="ignore", trim=True)),
    "date": ad.Date("2024-01-01", "2024-12-31", by="month"),
    "hour": ad.Datetime(by="hour of day"),
    "duration": ad.Duration(0, 90, bins=3, unit="minutes"),
}


def told(values, place):
    return int(values.state[place]), None if values.state[place] in (1, 2) else float(values.data[place])


@over(ATTRIBUTES)
def test_a_text_is_read_alone_as_among_others(name):
    attribute = ATTRIBUTES[name]
    alone = {text: told(ValueReader(attribute).read(pyarrow.array([text])), 0) for text in TEXTS}
    for pair in itertools.product(TEXTS, ("1", "x", "nan(1)", None)):
        values = ValueReader(attribute).read(pyarrow.array(pair))
        assert told(values, 0) == alone[pair[0]], pair
    for kind in (pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()):
        every = ValueReader(attribute).read(pyarrow.array(TEXTS, kind))
        assert [told(every, place) for place in range(len(TEXTS))] == [alone[text] for text in TEXTS], kind


def test_arrow_reads_no_number_otherwise():
    for text in TEXTS:
        found = module._all_plain(pyarrow.array([text]))
        assert found is None or found[0].as_py() == number_in(text), text


def test_bytes_that_are_no_text_and_indices_that_are_none():
    broken = pyarrow.array([b"F", b"\xff", b"\xc3"], pyarrow.binary()).view(pyarrow.string())
    assert ValueReader(ATTRIBUTES["levels"]).read(broken).state.tolist() == [0, 3, 3]
    indices = pyarrow.array([0, 5, -1, None], pyarrow.int8())
    wild = pyarrow.DictionaryArray.from_arrays(indices, pyarrow.array(["F"]), safe=False)
    assert ValueReader(ATTRIBUTES["levels"]).read(wild).state.tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_a_batch_in_which_nothing_is_spelled(name):
    """A dictionary without a text, as a row group of a Parquet file has where all values are null."""
    empty = pyarrow.DictionaryArray.from_arrays(pyarrow.nulls(3, pyarrow.int32()), pyarrow.array([], pyarrow.string()))
    found = open_table(pyarrow.table({"x": empty}), ad.Schema({"x": ATTRIBUTES[name]})).vectorize()
    assert found.sum() == (3 if ATTRIBUTES[name].null_cell is not None else 0)


def test_a_uuid_is_read_alone_as_among_others():
    """Also one whose bytes happen to be a text."""
    uuids = [bytes(16), b"0123456789abcdef", b"\xff" * 16]
    for attribute in (ad.Categorical([str(UUID(bytes=uuids[1])), "b"], outside="other"), ad.Identifier()):
        read = [ValueReader(attribute).read(pyarrow.array(own, pyarrow.uuid())) for own in (uuids[:2], uuids)]
        assert [told(read[0], place) for place in (0, 1)] == [told(read[1], place) for place in (0, 1)]
        assert list(read[0].keys) == list(read[1].keys)[:2]
    parts = [pyarrow.array(own, pyarrow.uuid()) for own in (uuids[1:2], uuids[1:])]
    table = pyarrow.table({"who": pyarrow.chunked_array(parts), "x": [1, 1, 2]})
    assert open_table(table, ad.Schema({"x": ad.Integer(0, 9)}, 1, unit="who")).count() == 2


def test_units_that_are_no_texts_stay_apart():
    """Each names somebody, or nobody: what is kept of one does not depend on another."""
    schema = ad.Schema({"x": ad.Integer(0, 9)}, 1, unit="who")
    raw = pyarrow.array([b"\xff", b"\xfe", "\ufffd".encode(), b"\xff "], pyarrow.binary()).view(pyarrow.string())
    for who in (raw, raw.dictionary_encode()):
        assert open_table(pyarrow.table({"who": who, "x": [1, 2, 3, 1]}), schema).vectorize().tolist()[1:4] == [1, 1, 1]
    frame = pandas.DataFrame({"who": pandas.Series(["\ud800", "?", "\udfff"], dtype=object), "x": [1, 2, 3]})
    assert open_table(frame, schema).vectorize().tolist()[:4] == [0, 0, 1, 0]


def test_no_value_makes_a_warning(recwarn):
    numbers = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 2.0**63, -(2.0**63), None]
    for kind in (pyarrow.float64(), pyarrow.float32()):
        with np.errstate(over="ignore"):
            column = pyarrow.array(numbers, pyarrow.float64()).cast(kind, safe=False)
        for name in ("integer", "numeric", "numbers", "boolean", "duration"):
            table = open_table(pyarrow.table({"x": column}), ad.Schema({"x": ATTRIBUTES[name]}))
            table.vectorize()
            table.where(ad.schema.predicates.Compare("x", "=", True if name == "boolean" else 1)).count()
    assert not [one for one in recwarn if issubclass(one.category, RuntimeWarning)]


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame])
def test_what_becomes_of_a_frame_after_the_first_count_does_not_matter(frame):
    """All declared columns are taken at once: rows stay rows, and each person has as many as are allowed."""
    rows = frame({"who": ["a"] * 6 + ["b"], "x": [1] * 6 + [2], "y": [1] * 6 + [0]})
    schema = ad.Schema({"x": ad.Integer(0, 2), "y": ad.Integer(0, 1)}, 2, unit="who")
    table = open_table(rows, schema)
    assert table.select("x").vectorize().tolist() == [0, 2, 1]
    if frame is pandas.DataFrame:
        rows.loc[:, "y"] = [0, 0, 0, 0, 0, 0, 1]
        rows.loc[:, "who"] = list("abcdefg")
    else:
        rows.extend(frame({"who": ["c"], "x": [0], "y": [0]}))
    assert table.select("y").vectorize().tolist() == [1, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert table.by_unit("n", 9).select("n").vectorize().tolist() == [1, 0, 0, 0, 0, 1, 0, 0, 0]


def test_units_are_told_apart_by_all_of_their_text():
    long = "a" * 100_000
    people = [long + "b", long + "c", long + "b ", "a", " a" + " " * 100_000]
    table = open_table(pyarrow.table({"who": people, "x": [0] * 5}), ad.Schema({"x": ad.Integer(0, 0)}, 1, unit="who"))
    assert table.count() == 3


def test_whole_numbers_of_128_bits_name_units():
    who = polars.Series([2**100, 2**100 + 1, None, 2**100], dtype=polars.Int128)
    rows = polars.DataFrame({"who": who, "x": [0, 0, 0, 0]})
    table = open_table(rows, ad.Schema({"x": ad.Integer(0, 0)}, 1, unit="who"))
    assert (table.by_unit("n", 3).count(), table.count()) == (2, 2)


def test_a_table_of_very_many_small_attributes_is_counted():
    """With a cell more for each attribute there would be 3²⁰ keys."""
    names = [f"a{place}" for place in range(20)]
    schema = ad.Schema({name: ad.Boolean() for name in names})
    rows = pyarrow.table({name: [place % 2 == 0, True, None] for place, name in enumerate(names)})
    large, pair, single = open_table(rows, schema).tables([names, ["a0", "a1"], ["a1"]])
    assert (large.shape, large.sum(), pair.tolist(), single.tolist()) == ((2,) * 20, 2, [[0, 0], [1, 1]], [1, 1])


@pytest.mark.parametrize("ask", [["a"], ["b"], ["c"], ["a", "c"]])
def test_the_rows_of_a_file_are_the_same_whatever_is_asked_of_them(ask, tmp_path):
    """Quotes and line ends of columns that are not asked for count, too: else whose a row is would be another's."""
    text = 'who,a,b,c\np,1,"x\n1,1",1\n\np,1,x,"1\n"\nq,"1\n",y,1\nr,1,"open,1\n'
    (tmp_path / "t.csv").write_text(text)
    schema = ad.Schema(
        {
            "a": ad.Integer(0, 1, nulls="level"),
            "b": ad.Categorical(["x"], outside="other", nulls="level"),
            "c": ad.Boolean(nulls="level"),
        },
        1,
        unit="who",
        multiline=True,
    )
    table = open_table(tmp_path / "t.csv", schema)
    assert table.select(ask).vectorize().sum() == table.count() == table.by_unit("n", 5).count()


def test_connections_read_texts_of_any_length():
    import ibis

    own = ibis.duckdb.connect()
    columns = "repeat('a', 70000) || i as who, repeat('b', 300000) as x, encode('n' || i) as raw"
    own.con.execute(f"create table t as select {columns} from range(3) r(i)")
    schema = ad.Schema({"x": ad.Categorical(["b"], outside="other")}, 1, unit="who")
    assert open_table(own.table("t"), schema).vectorize().tolist() == [0, 3]
    assert open_table(own.table("t"), schema.with_unit("raw")).by_unit("n", 3).count() == 3
    reader = reader_for(own.table("t"))
    assert all(len(text) <= 1 << 16 for batch in reader.batches(["x"], "who") for text in batch[0].to_pylist())


@over(["int", "uint"], [8, 16, 32, 64])
def test_dictionaries_with_places_of_every_type(kind, bits):
    """As many texts as the places can tell apart, and none beside them: as an attribute, and as a unit."""
    names = [f"level {place}" for place in range(128 if (kind, bits) == ("int", 8) else 256)]
    places = pyarrow.array([*range(len(names)), None, 0], f"{kind}{bits}")
    column = pyarrow.DictionaryArray.from_arrays(places, names)
    data = pyarrow.table({"x": column, "key": column})
    attributes = {"x": ad.Categorical(names, nulls="level"), "key": ad.Identifier()}
    counts = open_table(data, ad.Schema(attributes)).select("x").vectorize()
    assert counts.tolist() == [2] + [1] * len(names)
    known = open_table(data.slice(0, len(names)), ad.Schema(attributes)).select("x").vectorize()
    assert known.tolist() == [1] * len(names) + [0]
    units = open_table(data, ad.Schema(attributes, 1, unit="key"))
    assert (units.count(), units.by_unit("n", 3).count()) == (len(names), len(names))


ENDS = (2**15, 2**31, 2**53, 2**63)
WHOLE = sorted({sign * end + off for end in ENDS for sign in (1, -1) for off in (-2, -1, 0, 1)} | set(range(-3, 12)))
RANGES = [(0, 9), (-3, 5), (-(2**31), 5 - 2**31), (2**31 - 5, 2**31 - 1), (2**31 - 3, 2**31 + 3), (-(2**53), 3 - 2**53)]


@over([16, 32, 64], RANGES)
def test_whole_numbers_at_the_ends_of_their_types(bits, bounds):
    """As one table, and as many that are counted as the rows pass by: those of plain Python."""
    values = [one for one in WHOLE if -(2 ** (bits - 1)) <= one < 2 ** (bits - 1)]
    low, high = bounds
    names = [f"x{place}" for place in range(9)]
    data = pyarrow.table({name: pyarrow.array(values, f"int{bits}") for name in names})
    schema = ad.Schema({name: ad.Integer(low, high) for name in names})
    expected = [values.count(one) for one in range(low, high + 1)]
    table = open_table(data, schema)
    assert table.select("x0").vectorize().tolist() == expected
    assert np.diag(table.select(["x0", "x1"]).vectorize()).tolist() == expected
    for counted in table.tables(list(itertools.combinations(names, 3))):
        assert counted.sum() == sum(expected)
        assert np.einsum("iii->i", counted).tolist() == expected


def test_texts_that_come_and_go_are_read_alike(monkeypatch):
    """However few are remembered, and whatever was read before: plain, listed, with nulls."""
    texts = [f"level {number % 90}" if number % 7 else None for number in range(900)] + ["", " level 3", "x" * 9000]
    attribute = ad.Categorical([f"level {number}" for number in range(60)], nulls="level", outside="other")
    alone = [told(ValueReader(attribute).read(pyarrow.array([text], pyarrow.string())), 0) for text in texts]
    for most in (1 << 16, 50, 7, 0):
        monkeypatch.setattr(module, "_REMEMBERED", most)
        reader, found = ValueReader(attribute), []
        for start in range(0, len(texts), 100):
            array = pyarrow.array(texts[start : start + 100], pyarrow.string())
            values = reader.read(array.dictionary_encode() if start % 200 else array)
            found += [told(values, place) for place in range(len(values))]
        assert found == alone, most


@pytest.mark.parametrize("wrong", [-(2**62), -2, 7, 99, 2**62])
def test_whatever_numbers_a_schema_leads_to_a_row_is_counted_once(monkeypatch, wrong):
    """No value is given to a schema: all that it can do wrong is to lead to numbers that are no cells."""
    schema = ad.Schema({"a": ad.Integer(0, 6), "b": ad.Integer(0, 4, outside="other"), "c": ad.Numeric(0, 9, bins=3)})
    rows = pyarrow.table({name: np.arange(50) % 5 for name in "abc"})
    right = cells_module.base_cells

    def base_cells(values, attribute):
        cells, inside = right(values, attribute)
        return np.where(values.data % 2 == 1, wrong, cells), inside

    monkeypatch.setattr(cells_module, "base_cells", base_cells)
    monkeypatch.setattr(cells_module, "_offsets", lambda values, attribute: None)
    table = open_table(rows, schema)
    tree = RowTree.stump(schema).grow({0: "a"}, schema)
    parts = table.split("a", Partition([0, 0, 0, 1, 1, 1, 1]))
    counted = [
        table.vectorize(),
        *(table.select(name).vectorize() for name in "abc"),
        *table.tables([("a", "b"), ("b", "c"), ("a",)]),
        table.in_leaves(tree, ["b"]),
        table.power_sums("a", ["b"], 1)[0],
        sum(part.count() for part in parts),
    ]
    assert all(0 <= np.sum(counts) <= 50 for counts in counted)
