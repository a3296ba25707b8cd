"""The schema: what is declared, what is refused and with which words."""

from __future__ import annotations

import copy
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.checking.declared import draft_schema
from adyton.errors import SchemaError
from adyton.schema import Boolean, Categorical, Identifier, Integer, Numeric, Schema
from adyton.schema.attributes import NULL_LABEL, OTHER_LABEL

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
def test_files_and_dicts_read_back_the_same_schema(found, rows):
    if len({name.casefold() for name in found}) < len(found):
        return
    unit = {"unit": "person", "no_unit": "one"} if rows % 3 == 0 else {}
    schema = Schema(found, rows, multiline=rows % 2 == 0, **unit)
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
    found = {"sex": attribute}
    schema = Schema(found)
    levels.append("X")
    found["age"] = Integer(0, 1)
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
        (lambda: Schema.from_toml("rowz = 1\n"), "unknown key 'rowz'. Allowed are 'rows_per_unit', 'rows', 'unit'"),
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
