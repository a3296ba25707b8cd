"""The schema: what is declared, what is refused and with which words."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
import re
from dataclasses import replace

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adyton as ad
from adyton.errors import BadInput, SchemaError
from adyton.kernel.checking import draft_schema
from adyton.kernel.counting import open_table
from adyton.schema import Boolean, Categorical, Identifier, Integer, Numeric, Reading, Schema
from adyton.schema.attributes import NULL_LABEL, OTHER_LABEL
from adyton.schema.files import _TYPES
from adyton.schema.predicates import parse_predicate

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)
LEVEL = TEXT.filter(lambda text: text not in (OTHER_LABEL, NULL_LABEL))
"""Hypothesis tries the texts that the package itself has, those of cells that are no levels among them."""
NULLS = st.sampled_from(["drop", "level"])
SAFE = st.integers(-(2**52), 2**52)


@st.composite
def attributes(draw):
    nulls, outside = draw(NULLS), draw(st.sampled_from(["drop", "other"]))
    ordered = draw(st.sampled_from(["drop", "other", "clamp"]))
    low, high = sorted(draw(st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000))))
    edges = draw(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=6, unique=True))
    return draw(
        st.sampled_from(
            [
                Categorical(draw(st.lists(LEVEL, min_size=1, max_size=4, unique=True)), nulls=nulls, outside=outside),
                Categorical(draw(st.lists(SAFE, min_size=1, max_size=4, unique=True)), nulls=nulls, outside=outside),
                Categorical([True], nulls=nulls, outside=outside),
                Boolean(nulls=nulls, outside=outside),
                Integer(low, high, draw(st.integers(1, 9)), nulls=nulls, outside=ordered),
                Numeric(low, high + 0.5, bins=draw(st.integers(1, 50)), nulls=nulls, outside=ordered),
                Numeric(edges=sorted(edges), nulls=nulls, outside=ordered),
                Identifier(),
            ]
        )
    )


@given(st.dictionaries(TEXT, attributes(), min_size=1, max_size=4), st.integers(1, 50))
def test_files_and_dicts_read_back_the_same_schema(attributes, rows):
    if len({name.casefold() for name in attributes}) < len(attributes):
        return
    unit = {"unit": "person", "no_unit": "one"} if rows % 3 == 0 else {}
    schema = Schema(attributes, rows, multiline=rows % 2 == 0, **unit)
    assert Schema.from_toml(schema.to_toml()) == schema
    assert Schema.from_dict(schema.to_dict()) == schema
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert copy.deepcopy(schema) == schema
    assert hash(Schema.from_dict(schema.to_dict())) == hash(schema)


@given(attributes())
def test_labels_are_one_per_cell_and_differ(attribute):
    if isinstance(attribute, Identifier):
        with pytest.raises(SchemaError, match="no cells"):
            _ = attribute.size
        with pytest.raises(SchemaError, match="no labels"):
            _ = attribute.labels
    else:
        assert len(attribute.labels) == attribute.size
        assert attribute.size == attribute.base_size + (attribute.outside == "other") + (attribute.nulls == "level")


@pytest.mark.parametrize(
    ("attribute", "labels"),
    [
        (Categorical(["b", "a"], nulls="level", outside="other"), ("b", "a", "(other)", "(null)")),
        (Boolean(), (False, True)),
        (Integer(3, 5), (3, 4, 5)),
        (Integer(0, 10, 4), ("[0, 3]", "[4, 7]", "[8, 10]")),
        (Numeric(0, 0.3, bins=3), ("[0, 0.1)", "[0.1, 0.2)", "[0.2, 0.3]")),
        (Numeric(edges=[-1, 0.5, 1e15]), ("[-1, 0.5)", "[0.5, 1000000000000000]")),
    ],
)
def test_labels(attribute, labels):
    assert attribute.labels == labels


def test_shape_selection_and_grouping():
    schema = Schema({"id": Identifier(), "age": Integer(0, 9), "sex": Categorical(["F", "M"])}, 3)
    assert schema.select(["sex", "age"]).shape == (2, 10)
    assert schema.select("age").cells == 10
    assert schema.select("age").rows_per_unit == 3
    grouped = schema.grouped(["id", "sex"], "visits", 5)
    assert grouped.names == ("id", "sex", "visits")
    assert grouped.attributes["visits"] == Integer(1, 5, outside="clamp")
    for call, words in [
        (lambda: schema.shape, "'id' is an identifier"),
        (lambda: schema.select("agee"), "There are 'id', 'age', 'sex'. Did you mean 'age'?"),
        (lambda: schema.select([]), "no attributes given"),
        (lambda: schema.select(["age", "age"]), "twice"),
        (lambda: schema.select([3]), "no attribute 3"),
        (lambda: schema.grouped("id", "id", 5), "that is a key"),
        (lambda: schema.grouped("id", "n", 0), "max_count must be at least 1, given 0"),
        (lambda: schema.grouped("id", "", 1), "1 to 1000 characters"),
    ]:
        with pytest.raises(SchemaError) as caught:
            call()
        assert words in str(caught.value)


def test_nothing_can_be_changed():
    levels = ["F", "M"]
    attribute = Categorical(levels)
    attributes = {"sex": attribute}
    schema = Schema(attributes)
    levels.append("X")
    attributes["age"] = Integer(0, 1)
    assert schema.shape == (2,)
    with pytest.raises(TypeError):
        schema.attributes["age"] = Integer(0, 1)
    for change in (lambda: setattr(schema, "_rows_per_unit", 9), lambda: delattr(schema, "_attributes")):
        with pytest.raises(AttributeError):
            change()
    with pytest.raises(AttributeError):
        attribute.levels = ()


def test_repr_is_short():
    schema = Schema({"zip": Categorical([f"{i:05}" for i in range(20_000)]), "ok": Boolean(nulls="level")}, 2)
    assert len(repr(schema)) < 300
    assert repr(schema).endswith("ok: Boolean(nulls=level); rows_per_unit=2)")


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Integer(5, 3), "min is 5 and max is 3"),
        (lambda: Integer(True, 3), "min must be a whole number, given True"),
        (lambda: Integer(0, 2.5), "max must be a whole number, given 2.5"),
        (lambda: Integer("0", 2), "min must be a whole number, given '0'"),
        (lambda: Integer(0, 9, step=0), "step must be at least 1, given 0"),
        (lambda: Integer(0, 2**53 + 1), "between −2^53 and 2^53"),
        (lambda: Integer(-(2**53), 2**53), "max − min must be below 2^53"),
        (lambda: Integer(0, 9, outside="cap"), "outside must be one of 'drop', 'clamp', 'other'"),
        (lambda: Integer(0, 9, nulls="keep"), "nulls must be one of 'drop', 'level', given 'keep'"),
        (lambda: Categorical([]), "levels is empty"),
        (lambda: Categorical(["a", "b", "a"]), "given twice: 'a'"),
        (lambda: Categorical("FM"), "levels must be a list"),
        (lambda: Categorical(None), "levels must be a list"),
        (lambda: Categorical(["a", 1]), "all texts, all whole numbers or all booleans"),
        (lambda: Categorical([1, True]), "all texts, all whole numbers or all booleans"),
        (lambda: Categorical([0.5]), "a level must be a text, a whole number or a boolean, given 0.5"),
        (lambda: Categorical(["\ud800"]), "half a surrogate pair"),
        (lambda: Categorical(["a"], outside="clamp"), "no order to clamp to"),
        (lambda: Categorical(["(other)"], outside="other"), "Rename the level"),
        (lambda: Boolean(outside="clamp"), "no order to clamp to"),
        (lambda: Numeric(0, 1), "bins missing"),
        (lambda: Numeric(bins=3), "min and max missing"),
        (lambda: Numeric(1, 1, bins=3), "min must be below max"),
        (lambda: Numeric(0, math.nan, bins=3), "max must be finite, given nan"),
        (lambda: Numeric(-math.inf, 0, bins=3), "min must be finite, given -inf"),
        (lambda: Numeric(0, 1, bins=0), "bins must be at least 1, given 0"),
        (lambda: Numeric(0, 1, bins=1.5), "bins must be a whole number"),
        (lambda: Numeric(0, 2**54, bins=2), "between −2^53 and 2^53"),
        (lambda: Numeric(0, True, bins=2), "max must be a number, given True"),
        (lambda: Numeric(1, 1 + 1e-15, bins=100), "too narrow"),
        (lambda: Numeric(edges=[0, 2, 1]), "edges must increase, given 2.0 before 1.0"),
        (lambda: Numeric(edges=[0]), "at least two"),
        (lambda: Numeric(edges="01"), "edges must be a list"),
        (lambda: Numeric(edges=[0, math.inf]), "an edge must be finite"),
        (lambda: Numeric(5, edges=[0, 1]), "give either edges or min"),
        (lambda: Schema({}), "at least one attribute"),
        (lambda: Schema([]), "must map names"),
        (lambda: Schema({"": Boolean()}), "1 to 1000 characters"),
        (lambda: Schema({3: Boolean()}), "given 3"),
        (lambda: Schema({"a": int}), "must be a Categorical"),
        (lambda: Schema({"a": Boolean(), "A": Boolean()}), "differ only in case"),
        (lambda: Schema({"a": Boolean()}, 0), "rows_per_unit must be at least 1, given 0"),
        (lambda: Schema({"a": Boolean()}, True), "rows_per_unit must be a whole number"),
        (lambda: Schema({"a": Boolean()}, multiline=1), "multiline must be true or false, given 1"),
        (lambda: Schema.from_dict(3), "must be a mapping"),
        (lambda: Schema.from_toml(3), "a path or a TOML text"),
        (lambda: Schema.from_toml("nowhere.toml"), "'nowhere.toml' does not exist"),
        (lambda: Schema.from_toml("."), "is a directory"),
        (lambda: Schema.from_toml("x = \n"), "not valid TOML"),
        (lambda: Schema.from_toml("\n"), "at least one attribute"),
        (lambda: Schema.from_toml("rowz = 1\n"), "unknown key 'rowz'. The keys are 'rows_per_unit', 'rows', 'unit'"),
        (lambda: Schema.from_toml("attributes = 1\n"), "must be tables"),
        (lambda: Schema.from_toml("[attributes]\nage = 1\n"), "attribute 'age' must be a table"),
        (lambda: Schema.from_toml('[attributes.a]\ntype = "intger"\n'), "Did you mean 'integer'?"),
        (lambda: Schema.from_toml("[attributes.a]\ntype = 3\n"), "attribute 'a' has the unknown type 3"),
        (lambda: Schema.from_toml("[attributes.a]\nmin = 3\n"), "attribute 'a' has no type"),
        (lambda: Schema.from_toml('[attributes.a]\ntype = "integer"\nmn = 3\n'), "Did you mean 'min'?"),
        (lambda: Schema.from_toml('[attributes.a]\ntype = "integer"\nmin = 3\n'), "attribute 'a' has no max"),
        (lambda: Schema.from_toml('[attributes.a]\ntype = "categorical"\n'), "attribute 'a' has no levels"),
        (lambda: Schema.from_toml('[attributes.a]\ntype = "integer"\nmin = 3\nmax = 2\n'), "attribute 'a': min is 3"),
        (lambda: Schema.from_toml('[attributes.a]\ntype = "identifier"\nmin = 3\n'), "unknown key 'min'"),
    ],
)
def test_what_is_refused(build, words):
    with pytest.raises(SchemaError) as caught:
        build()
    assert words in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_file_that_is_no_text(tmp_path):
    (tmp_path / "s.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SchemaError, match="not UTF-8"):
        Schema.from_toml(tmp_path / "s.toml")


def test_the_example_of_the_documentation(tmp_path):
    (tmp_path / "s.toml").write_text(
        """\
rows_per_unit = 1
[attributes.age]
type = "integer"
min = 0
max = 119
[attributes.salary]
type = "numeric"
min = 0
max = 750000
bins = 5000
outside = "clamp"
[attributes.sex]
type = "categorical"
levels = ["F", "M"]
nulls = "level"
"""
    )
    assert Schema.from_toml(tmp_path / "s.toml").shape == (120, 5000, 3)
    assert Schema.from_toml(str(tmp_path / "s.toml")).shape == (120, 5000, 3)


def test_a_draft_shows_columns_and_no_values(tmp_path):
    (tmp_path / "t.csv").write_text('age,"full, name"\n41,CANARY\n')
    text = draft_schema(tmp_path / "t.csv")
    assert "[attributes.age]" in text
    assert '[attributes."full, name"]' in text
    assert "CANARY" not in text
    assert "41" not in text
    with pytest.raises(SchemaError, match="attribute 'age' has no type"):
        Schema.from_toml(text)


@pytest.mark.parametrize(
    "line",
    ["CANARY,34,F", "2020-01-31,CANARY", "CANARY,a@b.ch", "CANARY,CANARY", "CANARY,true", '"CANARY", "$1,200.50"'],
)
def test_a_first_line_that_looks_like_data_is_asked_about(tmp_path, line):
    (tmp_path / "t.csv").write_text(f"{line}\n")
    with pytest.raises(SchemaError, match="looks like a row of data.*--header") as caught:
        draft_schema(tmp_path / "t.csv")
    assert "CANARY" not in str(caught.value)


def test_a_header_of_numbers_is_believed_when_a_person_says_so(tmp_path):
    (tmp_path / "t.csv").write_text("country,2019,2020\n")
    assert "[attributes.2019]" in draft_schema(tmp_path / "t.csv", header=True)


def test_a_draft_of_typed_columns_needs_its_bounds():
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(
        {"n": [1], "x": [0.5], "s": ["CANARY"], "b": [True], "d": pyarrow.array([0], pyarrow.date32())}
    )
    text = draft_schema(table)
    assert "CANARY" not in text
    for kind in ("integer", "numeric", "categorical", "boolean", "identifier"):
        assert f'type = "{kind}"' in text
    with pytest.raises(SchemaError, match=r"attribute 'n' has no min and no max.*uncomment"):
        Schema.from_toml(text)
    filled = (
        text.replace("# min", "min").replace("# max", "max").replace("# bins", "bins").replace("# levels", "levels")
    )
    assert Schema.from_toml(filled).names == ("n", "x", "s", "b", "d")


# ---- the same words in Python and in files ---------------------------------------------------------------------------

READ_NUMBERS = {"column", "missing", "currency", "thousands", "decimal", "case", "first", "lookup"}
BINS = {"min", "max", "bins", "edges", "nulls", "outside"}
TIMES = {"min", "max", "by", "every", "zone", "format", "nulls", "outside", "column", "missing"}
KEYS = {
    "categorical": {"levels", "levels_file", "groups", "nulls", "outside", "trim"}
    | (READ_NUMBERS - {"currency", "thousands", "decimal"}),
    "boolean": {"nulls", "outside", "column", "missing", "lookup"},
    "integer": {"min", "max", "step", "nulls", "outside"} | READ_NUMBERS,
    "numeric": BINS | READ_NUMBERS,
    "date": TIMES,
    "datetime": TIMES,
    "duration": BINS | {"unit", "column", "missing"},
    "point": {"box", "grid", "longitude", "latitude", "nulls", "outside"},
    "longitude": BINS | {"column", "decimal", "missing"},
    "latitude": BINS | {"column", "decimal", "missing"},
    "identifier": {"column", "trim", "case", "missing"},
}
NEEDED = {
    "categorical": {"levels": ["a", "b"]},
    "integer": {"min": 0, "max": 9},
    "point": {"box": [0, 0, 9, 9], "grid": [3, 3]},
    **{kind: {"min": 0, "max": 9, "bins": 3} for kind in ("numeric", "duration", "longitude", "latitude")},
    **{kind: {"min": "2024-01-01", "max": "2024-12-31"} for kind in ("date", "datetime")},
}
VALUES = {
    **{"levels": ["a", "c"], "groups": {"g": ["a"]}, "nulls": "level", "outside": "other", "trim": True, "bins": 4},
    **{"case": "ignore", "first": 1, "step": 2, "edges": [0, 1, 9], "unit": "hours", "by": "year", "every": 2},
    **{
        "zone": "Europe/Berlin",
        "column": "x",
        "missing": ["NA", -9],
        "currency": ["$"],
        "thousands": "'",
        "decimal": ",",
    },
    **{
        "lookup": {"file": "z.csv", "key": "k", "value": "v"},
        "format": ["%d.%m.%Y"],
        "grid": [4, 4],
        "box": [1, 1, 9, 9],
    },
    **{"longitude": "lng", "latitude": "lat", "min": 1, "max": 8},
}
"""For every key a value that is not the one of :data:`NEEDED`."""


def changed(kind: str, key: str, file: str) -> dict[str, object]:
    own = {**NEEDED.get(kind, {}), key: file if key == "levels_file" else VALUES.get(key)}
    if kind == "point" and key in ("nulls", "outside"):
        own[key] = {"nulls": "drop", "outside": "clamp"}[key]
    if kind in ("date", "datetime") and key in ("min", "max"):
        own[key] = {"min": "2024-02-01", "max": "2024-11-30"}[key]
    left_out = {"levels_file": {"levels"}, "edges": {"min", "max", "bins"}}.get(key, set())
    return {name: value for name, value in own.items() if name not in left_out}


@pytest.mark.parametrize("kind", list(KEYS))
def test_python_and_files_take_the_same_words(kind, tmp_path):
    """Every key of every type, in both; a key or a type that is forgotten on either side is a failure."""
    (tmp_path / "l.txt").write_text("a\nb\nd\n")
    made, every = _TYPES[kind], set().union(*KEYS.values())
    assert set(KEYS) == set(_TYPES)
    assert getattr(ad, made.__name__) is made
    assert set(inspect.signature(made).parameters) - {"reading", "spellings"} == KEYS[kind]
    assert set(VALUES) | {"levels_file"} == every
    plain = Schema({"x y": made(**NEEDED.get(kind, {}))})
    for key in every:
        own = changed(kind, key, str(tmp_path / "l.txt"))
        content = {"attributes": {"x y": {"type": kind, **own}}}
        if key not in KEYS[kind]:
            with pytest.raises(SchemaError, match=f"unknown key '{key}'"):
                Schema.from_dict(content)
            with pytest.raises(TypeError, match=key):
                made(**own)
            continue
        schema = Schema({"x y": made(**own)})
        assert schema == Schema.from_dict(content) == Schema.from_toml(schema.to_toml())
        assert (schema == plain) == (kind == "point" and key == "nulls"), key  # a point takes the default alone


def test_a_reading_can_still_be_given_in_place_of_its_keys():
    old = Numeric(0, 9, bins=3, reading=Reading(column="Pay", currency="$"))
    assert old == Numeric(0, 9, bins=3, column="Pay", currency="$")
    assert old.reading == Numeric(0, 9, bins=3, column="Pay", currency="$").reading
    assert replace(old, nulls="level").column == "Pay"
    for wrong, words in (
        ({"column": "x", "reading": Reading(currency="$")}, "a reading is given together with 'column'"),
        ({"reading": "x"}, "reading must be a Reading"),
        ({"reading": Reading(trim=True)}, "numeric takes no trim"),
    ):
        with pytest.raises(SchemaError, match=words):
            Numeric(0, 9, bins=3, **wrong)


# ---- patterns, shared types, defaults and levels in files ------------------------------------------------------------

SURVEY = """
unit = "person"
[defaults]
nulls = "level"
[types.likert]
type = "integer"
min = 1
max = 5
[attributes."q*"]
type = "likert"
[attributes.age]
type = "integer"
min = 18
max = 99
"""
ZIPS = """
[attributes.zip]
type = "categorical"
levels_file = "zips.txt"
[attributes.region]
type = "categorical"
column = "zip"
lookup = {file = "zips.csv", key = "zip", value = "region"}
levels_file = {file = "zips.csv", column = "region"}
"""


def test_sixty_columns_in_few_lines(tmp_path):
    assert len(SURVEY.split("\n")) - 2 <= 15
    names = [f"q{number}" for number in range(1, 61)]
    (tmp_path / "t.csv").write_text("age,person," + ",".join(names) + "\n34,p," + ",".join("3" * 60) + "\n")
    (tmp_path / "s.toml").write_text(SURVEY)
    with ad.Session(tmp_path / "t.csv", schema=tmp_path / "s.toml", epsilon=1) as session:
        assert session.schema.names == (*names, "age")
        assert session.schema.attributes["q60"] == Integer(1, 5, nulls="level")
        assert len(session.release(ad.Histogram("q60"), "0.5", algorithm="identity").to_frame()) == 6
        assert (
            session._kernel.terms.schema == ad.Kernel(tmp_path / "t.csv", schema=session.schema, epsilon=1).terms.schema
        )  # the ledger's term is the schema with the columns


def test_five_thousand_levels_in_few_lines(tmp_path):
    assert len(ZIPS.split("\n")) - 2 <= 15
    zips = [f"{number:05}" for number in range(5000)]
    (tmp_path / "zips.txt").write_text("\ufeff" + " \r\n".join([*zips, "", zips[7]]))
    (tmp_path / "zips.csv").write_text(
        "zip;region\n" + "".join(f"{code};{'ab'[place % 2]}\n" for place, code in enumerate(zips))
    )
    (tmp_path / "s.toml").write_text(ZIPS)
    schema = Schema.from_toml(tmp_path / "s.toml")
    assert schema.attributes["zip"].levels == tuple(zips)
    assert schema.attributes["region"].levels == ("a", "b")
    assert schema == Schema.from_toml(schema.to_toml()) == pickle.loads(pickle.dumps(schema))
    assert schema.attributes["zip"] == Categorical(levels_file=tmp_path / "zips.txt") == Categorical(zips)
    (tmp_path / "t.csv").write_text("zip\n00007\n00008\n77777\n")
    table = open_table(tmp_path / "t.csv", schema)
    assert table.select(["zip"]).vectorize().nonzero()[0].tolist() == [7, 8]
    assert table.select(["region"]).vectorize().tolist() == [1, 1]
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table({"z": [3, None, 1]}), tmp_path / "z.parquet")
    assert Categorical(levels_file={"file": tmp_path / "z.parquet", "column": "z"}).levels == ("3", "1")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("none.txt", "the level file 'none.txt' does not exist"),
        ("empty.txt", "has no levels"),
        ("two.csv", r"lines of several fields.*column = "),
        ({"file": "two.csv", "column": "c"}, "there is no column 'c'. There are 'a', 'b'"),
        ({"file": "two.csv", "colum": "a"}, "levels_file is a file, or a file and a column"),
        ({"file": "two.csv", "column": 3}, "the column of a levels_file must be a text"),
        ("latin.txt", "is not UTF-8"),
        (3, "levels_file is a file"),
    ],
)
def test_a_level_file_that_is_none_is_refused(tmp_path, given, words):
    (tmp_path / "empty.txt").write_text("\n \n")
    (tmp_path / "two.csv").write_text("a,b\n1,2\n")
    (tmp_path / "latin.txt").write_bytes("Größe".encode("latin-1"))
    with pytest.raises(SchemaError, match=words):
        Schema.from_dict({"attributes": {"a": {"type": "categorical", "levels_file": given}}}, str(tmp_path))
    with pytest.raises(SchemaError, match="levels and a levels_file are given"):
        Categorical(["a"], levels_file=tmp_path / "two.csv")


LIKERT = Integer(1, 5)


@pytest.mark.parametrize(
    ("attributes", "columns", "names"),
    [
        ({"q*": LIKERT}, ["q2", "q1", "x"], ["q2", "q1"]),
        ({"age": LIKERT, "q*": LIKERT, "x": LIKERT}, ["x", "q1", "q", "age", "qq"], ["age", "q1", "q", "qq", "x"]),
        ({"q*": LIKERT, "q2": Boolean()}, ["q1", "q2"], ["q1", "q2"]),
        ({"q*": LIKERT, "second": Integer(1, 5, column="q2")}, ["q1", "q2"], ["q1", "second"]),
        ({"q*_a": LIKERT, "q*_b": LIKERT}, ["q1_b", "q1_a"], ["q1_a", "q1_b"]),
        ({"*": LIKERT}, ["who", "a", "given"], ["a"]),
        ({"q*": LIKERT, "r*": LIKERT}, ["q*", "r*", "q1"], ["q*", "r*"]),
        ({"q*": LIKERT}, ["q1", "q*x"], ["q1", "q*x"]),
        ({"q*": Integer(1, 5, column="a")}, ["q1", "a"], ["q*"]),
        ({"a?[b]": LIKERT}, ["axb"], ["a?[b]"]),
    ],
)
def test_patterns_stand_for_columns_in_the_order_of_the_table(attributes, columns, names):
    schema = Schema(attributes, unit="who").for_columns(columns, "given")
    assert list(schema.names) == names
    assert schema.for_columns(columns, "given") == schema


@pytest.mark.parametrize(
    ("attributes", "columns", "words"),
    [
        ({"q*": LIKERT, "a": LIKERT}, ["a", "b"], r"the pattern 'q\*' matches no column.*It has 'a', 'b'"),
        ({"q*": LIKERT, "q1": LIKERT}, ["q1"], r"matches no column of the table, apart from those with an entry"),
        ({"q*": LIKERT, "*1": LIKERT}, ["q1", "q2"], r"'q1' matches the patterns 'q\*', '\*1'"),
        ({"*": LIKERT}, ["a", "A"], "differ only in case"),
    ],
)
def test_patterns_that_say_nothing_or_too_much_are_refused(attributes, columns, words):
    with pytest.raises(SchemaError, match=words):
        Schema(attributes).for_columns(columns)
    with pytest.raises(SchemaError, match=words):
        ad.Kernel(pyarrow.table({column: [1] for column in columns}), schema=Schema(attributes), epsilon=1)


def test_a_pattern_makes_no_names_of_a_row(tmp_path):
    """Nor does the message about one that matches nothing."""
    for line, words in (("q,34", "looks like a row of data"), ("CANARY,CANARIES", "matches no column")):
        (tmp_path / "t.csv").write_text(f"{line}\n")
        with pytest.raises(SchemaError, match=words) as caught:
            open_table(tmp_path / "t.csv", Schema({"q*": LIKERT}))
        assert "CANAR" not in str(caught.value)


def test_a_pattern_is_no_point_and_no_attribute():
    with pytest.raises(SchemaError, match="a pattern can only match single columns"):
        Schema({"p*": ad.Point(box=(0, 0, 1, 1), grid=2)})
    with pytest.raises(SchemaError, match=r"For the columns that match 'q\*', a table must be opened"):
        Schema({"q*": LIKERT}).select("q1")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '[types.likert]\ntype = "integer"\nmn = 1\n',
            r"\[types.likert\] has the unknown key 'mn'.*Did you mean 'min'",
        ),
        ('[types.likert]\ntype = "likert"\n', r"\[types.likert\] has the unknown type 'likert'"),
        ("[types.likert]\nmin = 1\n", r"\[types.likert\] has no type"),
        ('[types.integer]\ntype = "numeric"\n', r"\[types.integer\] has the name of an existing type"),
        ("[types]\nlikert = 3\n", r"\[types.likert\] must be a table"),
        ("[defaults]\nmin = 1\n", r"\[defaults\] has the unknown key 'min'"),
        ("defaults = 3\n", "defaults must be tables"),
        ('[defaults]\noutside = "clamp"\n', r"attribute 'sex': outside must be one of.*set in \[defaults\]"),
        ('[types.level]\ntype = "integer"\n[attributes.a]\ntype = "level"\n', "attribute 'a' has no min and no max"),
        (
            '[types.level]\ntype = "boolean"\n[attributes.a]\ntype = "levl"\n',
            "unknown type 'levl'.*Did you mean 'level'",
        ),
    ],
)
def test_what_is_wrong_with_shared_types_and_defaults_names_its_place(text, words):
    with pytest.raises(SchemaError, match=words):
        Schema.from_toml(text + '[attributes.sex]\ntype = "categorical"\nlevels = ["F"]\n')


def test_an_attribute_says_otherwise_than_its_type_and_the_defaults():
    schema = Schema.from_toml(
        """
        [defaults]
        nulls = "level"
        decimal = ","
        [types.score]
        type = "integer"
        min = 1
        max = 5
        outside = "clamp"
        [attributes.a]
        type = "score"
        max = 7
        [attributes.b]
        type = "score"
        nulls = "drop"
        [attributes.who]
        type = "identifier"
        """
    )
    a = Integer(1, 7, outside="clamp", nulls="level", decimal=",")
    assert dict(schema.attributes) == {"a": a, "b": replace(a, max=5, nulls="drop"), "who": Identifier()}


def test_a_draft_groups_columns_that_are_alike():
    columns = {f"q{number}": [1] for number in range(1, 61)} | {f"r{number}": ["a"] for number in range(3)}
    others = {"r_x": [1], "s1": [1], "s2": [1], "t1": [1], "t2": [1.5], "t3": [1], "1": [1], "2": [1], "3": [1]}
    text = draft_schema(pyarrow.table({**columns, **others}))
    assert '[attributes."q*"]   # q1 … q60: int64\ntype = "integer"\n' in text
    shown = re.findall(r"^\[attributes\.(.+?)\]", text, re.MULTILINE)
    assert shown == ['"q*"', "r0", "r1", "r2", *others]  # another column matches r*, and digits alone match all
    lines = [line for line in text.splitlines() if line.startswith("#") and "fill in" not in line.split("#")[-1]]
    assert len(set(lines)) == len(lines)
    filled = text.replace("# min", "min").replace("# max", "max").replace("# levels", "levels")
    names = list(columns) + list(others)
    assert list(Schema.from_toml(filled).for_columns(names).names) == names


@pytest.mark.parametrize(
    ("where", "instead"),
    [
        ("(age > 3) & (sex == 'F')", "age >= 18 and sex = 'F'"),
        ("age > 3 && sex = 'F'", "age >= 18 and sex = 'F'"),
        ("age > 3 | sex = 'F'", "age >= 18 or sex = 'F'"),
        ("age > 3 || sex = 'F'", "age >= 18 or sex = 'F'"),
        ("~(age > 3)", "not sex = 'F'"),
    ],
)
def test_operators_of_pandas_say_what_to_write(where, instead):
    schema = ad.Schema({"age": ad.Integer(0, 99), "sex": ad.Categorical(["F", "a & b | c"])})
    with pytest.raises(BadInput, match="the filter contains") as refused:
        parse_predicate(where, schema)
    assert instead in str(refused.value)
    assert parse_predicate(instead, schema)
    assert parse_predicate("sex = 'a & b | c'", schema)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Median", "ad.Quantiles"),
        ("Max", "a quantile"),
        ("Correlation", "ad.Marginals(way=2)"),
        ("read_csv", "ad.Session("),
        ("Histgram", "Did you mean ad.Histogram?"),
        ("Nonsense", "dir(ad)"),
    ],
)
def test_names_that_people_try_say_what_to_use(name, words):
    with pytest.raises(AttributeError, match=f"adyton has no {name}") as refused:
        getattr(ad, name)
    assert words in str(refused.value)


def test_what_is_named_instead_is_there():
    """Every task that a sentence names exists, and no name that is taught to be absent does."""
    for names, way in ad._INSTEAD.items():
        assert all(hasattr(ad, named) for named in re.findall(r"\bad\.([A-Z]\w*)", way)), way
        assert not {name.lower() for name in ad.__all__} & set(names)
