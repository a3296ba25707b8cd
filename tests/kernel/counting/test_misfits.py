"""Rows that do not fit: each is counted once, under the first reason of a public order, on every kind of table."""

import numpy as np
import pandas as pd
import pyarrow
import pytest

import adyton as ad
from adyton.errors import BadInput, SchemaError
from adyton.kernel.counting import open_table
from adyton.queries import Identity
from adyton.schema.misfits import misfits_of

POLICIES = {"nulls": "level", "outside": "other"}
STRICT = ad.Schema(
    {
        "cost": ad.Numeric(0, 100, bins=4),
        "age": ad.Integer(0, 119),
        "sex": ad.Categorical(["F", "M"]),
        "ward": ad.Categorical([1, 2]),
        "smoker": ad.Boolean(),
        "name": ad.Identifier(),
    }
)
LENIENT = ad.Schema(
    {
        "cost": ad.Numeric(0, 100, bins=4, **POLICIES),
        "age": ad.Integer(0, 119, outside="clamp"),
        "sex": ad.Categorical(["F", "M"], **POLICIES),
        "ward": ad.Categorical([1, 2], **POLICIES),
        "smoker": ad.Boolean(**POLICIES),
    }
)
LINES = {
    "12.5,30,F,1,yes,a": (None, None),
    " 7 , 30 ,F , 2 ,no,": (None, None),
    "$12,30,F,1,yes,b": (("cost", "unreadable", "left out"), ("cost", "unreadable", "counted as missing")),
    "10/24/1979,x,X,9,maybe,c": (("cost", "unreadable", "left out"), ("age", "unreadable", "left out")),
    ",30,F,1,yes,d": (("cost", "missing", "left out"), None),
    "   ,30,F,one,yes,e": (("ward", "unreadable", "left out"), ("ward", "unreadable", "counted as missing")),
    "nan,30,,1,yes,f": (("cost", "missing", "left out"), None),
    "5,,X,1,yes,g": (("age", "missing", "left out"), ("age", "missing", "left out")),
    "-1,300,F,1,yes,h": (("cost", "out of bounds", "left out"), ("age", "out of bounds", "clamped")),
    "5,30,f,1,yes,i": (("sex", "no level", "left out"), ("sex", "no level", "counted as other")),
    "5,30,F,3,7,j": (("ward", "no level", "left out"), ("ward", "no level", "counted as other")),
    "5,30,F,2,perhaps,k": (("smoker", "no level", "left out"), ("smoker", "no level", "counted as other")),
    "inf,30,F,2,no,l": (("cost", "out of bounds", "left out"), ("cost", "out of bounds", "counted as other")),
}


def expected(schema, names, reasons):
    places = [(one.attribute, one.reason, one.fate) for one in misfits_of(schema, names)]
    counts = np.zeros(len(places) + 1, dtype=int)
    for reason in reasons:
        counts[0 if reason is None else places.index(reason) + 1] += 1
    return counts


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("misfits") / "rows.csv"
    path.write_text("\n".join(["cost,age,sex,ward,smoker,name", *LINES, ""]), encoding="utf-8")
    return path


@pytest.mark.parametrize("which", [0, 1])
def test_every_row_is_counted_under_its_gravest_reason(file, which):
    schema = (STRICT, LENIENT)[which]
    names = [name for name in schema.names if name != "name"]
    counts = open_table(file, schema).misfits(misfits_of(schema, names))
    np.testing.assert_array_equal(counts, expected(schema, names, [pair[which] for pair in LINES.values()]))


def test_typed_columns_have_misfits_but_no_unreadable_ones():
    schema = ad.Schema({"age": ad.Integer(0, 119), "sex": ad.Categorical(["F", "M"])})
    table = pyarrow.table({"age": [30, None, 999, 40], "sex": ["F", "M", "M", " x "]})
    private = open_table(table, schema)
    assert not private.from_text
    counts = dict(zip(misfits_of(schema, schema.names), private.misfits(misfits_of(schema, schema.names))[1:],
                      strict=True))  # fmt: skip
    assert {(one.attribute, one.reason): count for one, count in counts.items() if count} == {
        ("age", "missing"): 1, ("age", "out of bounds"): 1, ("sex", "no level"): 1,
    }  # fmt: skip


def test_through_the_door(file):
    kernel = ad.Kernel(file, schema=STRICT, epsilon=1000)
    root = kernel.root
    assert root.from_text
    assert root.select("age").from_text
    vector = root.misfits(["age"], ["sex"])
    assert vector.shape == (len(misfits_of(STRICT, ["age"], ["sex"])) + 1,)
    assert vector.lineage[-1] == "misfits(age, sex)"
    assert (vector.stability, kernel.spent) == (1, 0)
    assert vector.measure(Identity(vector.shape), 100).answers.sum() == len(LINES)  # noise: e^-100
    assert kernel.spent == 100
    part = root.split("sex")[0].misfits(["cost"]).measure(Identity(4), 100)  # the text is there behind a split, too
    assert part.answers.tolist() == [4, 1, 2, 2]
    grouped = root.group_by("age", count="rows", max_count=3).misfits(["age"])
    assert grouped.stability == 2
    assert grouped.measure(Identity(4), 100).answers.tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize(("names", "words"), [
    (([],), "no attributes given"), ((["agee"],), "Did you mean 'age'"), ((["age"], ["age"]), "given twice"),
    ((["name"],), "every value fits 'name'"),
])  # fmt: skip
def test_bad_names(file, names, words):
    kernel = ad.Kernel(file, schema=STRICT, epsilon=1)
    with pytest.raises((BadInput, SchemaError), match=words):
        kernel.root.misfits(*names)


@pytest.mark.parametrize("kind", ["csv", "pandas", "arrow"])
def test_spaces_around_a_level_do_not_matter(tmp_path, kind):
    """For cells, predicates and group-by keys alike; unless a declared level has spaces around it itself."""
    rows = ["F", "F ", " F", "M  ", "m", "\tM", " ", "F M"]
    frame = pd.DataFrame({"sex": rows}, dtype="string")
    (tmp_path / "t.csv").write_text("sex\n" + "".join(f'"{row}"\n' for row in rows))
    table = {"csv": tmp_path / "t.csv", "pandas": frame, "arrow": pyarrow.Table.from_pandas(frame)}[kind]
    for levels, counts in ((["F", "M", "F M"], [3, 1, 1]), (["F", "F ", " F"], [1, 1, 1]), ([" F", "M"], [1, 0])):
        schema = ad.Schema({"sex": ad.Categorical(levels)})
        assert open_table(table, schema).vectorize().tolist() == counts
        root = ad.Kernel(table, schema=schema, epsilon=1000).root
        asked = " or ".join(f"sex = '{level}'" for level in levels)
        assert root.where(asked).count(100).value == sum(counts)  # noise: e^-100
        grouped = root.where("sex is not null").group_by("sex", count="n", max_count=5).select("sex").vectorize()
        assert grouped.measure(Identity(len(levels)), 100).answers.tolist() == [int(count > 0) for count in counts]
