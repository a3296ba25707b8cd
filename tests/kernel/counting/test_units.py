"""The limit on rows per unit: at the root, by the unit's own rows, whatever the table is stored in."""

import os
from decimal import Decimal
from fractions import Fraction as F

import ibis
import numpy as np
import pandas
import pyarrow
import pytest

import adyton as ad
from adyton.errors import BadInput, SchemaError
from adyton.kernel.counting import open_table
from adyton.kernel.counting.public_rows import row_codes
from adyton.workloads import Identity

SHARP = 300
ATTRIBUTES = {"age": ad.Integer(0, 9), "sex": ad.Categorical(["F", "M"])}


def schema(limit=3, **keys):
    return ad.Schema(ATTRIBUTES, limit, unit="person", **keys)


@pytest.fixture(scope="module")
def visits():
    random = np.random.default_rng(4)
    person = np.repeat(["heavy", "b", "c", "d", None], [60, 9, 3, 1, 7])
    found = pandas.DataFrame(
        {
            "person": person,
            "age": random.integers(0, 10, person.size),
            "sex": np.array(["F", "M"])[random.integers(0, 2, person.size)],
        }
    )
    return found.sample(frac=1, random_state=1)


def counts(data, declared, rows=lambda root: root):
    kernel = ad.Kernel(data, schema=declared, epsilon=1000)
    vector = rows(kernel.root).select("age", "sex").vectorize()
    return vector.measure(Identity(vector.shape), F(SHARP, declared.rows_per_unit)).answers


def test_every_kind_of_table_keeps_the_same_rows_in_any_order(visits, tmp_path):
    visits.to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "parts").mkdir()
    for part in range(2):
        visits.iloc[part::2].to_parquet(tmp_path / "parts" / f"{part}.parquet")
    stored = ibis.duckdb.connect()
    stored.con.register("frame", visits)
    stored.con.execute("create table visits as select * from frame")
    first = counts(visits, schema())
    assert first.sum() == 3 + 3 + 3 + 1  # those without a person are left out
    for data in (visits.iloc[::-1], stored.table("visits"), tmp_path / "visits.csv", tmp_path / "parts"):
        assert (counts(data, schema()) == first).all()


def test_what_is_kept_of_a_person_depends_on_nobody_else(visits):
    alone = visits[visits["person"] == "heavy"]
    without = visits[visits["person"] != "heavy"]
    both = counts(visits, schema())
    assert (counts(alone, schema()) + counts(without, schema()) == both).all()


UNITS = {
    "integers": pyarrow.array([10, 11, 12, 13]),
    "integers far apart": pyarrow.array([-5, 10**15, 7, 3 * 10**17]),
    "the lowest integers": pyarrow.array([-(2**63), -(2**63) + 1, -(2**63) + 2, -(2**63) + 3]),
    "unsigned": pyarrow.array([2**63, 2**63 + 7, 2**64 - 1, 1], pyarrow.uint64()),
    "decimals": pyarrow.array([Decimal(number) / 4 for number in (-1, 2, 3, 4)], pyarrow.decimal128(12, 4)),
    "texts": pyarrow.array(["p0", "p1 ", "P0", "10"]),
    "bytes": pyarrow.array([b"0", b"1", b"\xff", b"10"]),
    "codes": pyarrow.array(["a", "b", "c", "d"]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", UNITS)
def test_the_rows_of_a_unit_that_are_kept_are_those_it_would_keep_alone(kind):
    """Whichever units have the least or the greatest name, and however many there are."""
    random = np.random.default_rng(len(kind))
    owner = random.permutation(np.repeat(np.arange(4), [9, 30, 8, 12]))
    names = UNITS[kind].take(pyarrow.array(owner))
    table = pyarrow.table({"person": names, "age": random.integers(0, 10, owner.size), "sex": ["F"] * owner.size})
    for limit in (1, 2, 4):
        alone = [open_table(table.filter(pyarrow.array(owner == unit)), schema(limit)).vectorize() for unit in range(4)]
        assert [int(rows.sum()) for rows in alone] == [limit] * 4
        assert (open_table(table, schema(limit)).vectorize() == sum(alone)).all()


def test_one_odd_row_of_somebody_else_changes_nothing(visits):
    """It makes columns of numbers columns of texts: a person's rows are still the same ones."""
    numbered = visits.dropna().assign(person=visits["person"].map({"heavy": "7", "b": "8", "c": "9", "d": "10"}))
    odd = pandas.DataFrame({"person": ["x"], "age": ["three"], "sex": ["F"]})
    typed = pandas.concat([numbered, odd])
    assert typed.dtypes["age"] != numbered.dtypes["age"]
    assert (counts(typed, schema()) == counts(numbered, schema())).all()


def test_a_file_that_was_written_again_is_cut_by_its_new_units(tmp_path):
    """With as many rows as before, so that remembered units would fit."""
    data = tmp_path / "visits.csv"
    opened = []
    for people, kept in ((range(8), 8), ([1] * 8, 2), ([1, 2] * 4, 4)):
        data.write_text("person,age,sex\n" + "".join(f"p{person},3,F\n" for person in people))
        os.utime(data, ns=(len(opened) * 10**9,) * 2)  # the clock of files has steps of some milliseconds
        opened.append(open_table(data, schema(2)))
        assert [table.count() for table in opened] == [kept] * len(opened)


def test_rows_without_a_unit_are_one_unit_if_the_schema_says_so(visits):
    assert counts(visits, schema(no_unit="one")).sum() == 10 + 3
    blank = visits.assign(person=visits["person"].fillna("   "))
    assert counts(blank, schema(no_unit="one")).sum() == 10 + 3
    assert counts(blank, schema()).sum() == 10


def test_the_limit_comes_before_filters_and_splits(visits):
    whole = counts(visits, schema())
    assert (
        counts(visits, schema(), lambda root: root.where("age >= 5"))
        == np.where(np.repeat(np.arange(10) >= 5, 2), whole, 0)
    ).all()
    kernel = ad.Kernel(visits, schema=schema(), epsilon=1000)
    parts = [part.count(100).value for part in kernel.root.split("age")]
    assert parts == whole.reshape(10, 2).sum(axis=1).tolist()


def test_people_cost_their_epsilon_once(visits):
    kernel = ad.Kernel(visits, schema=schema(), epsilon=1000)
    assert kernel.root.stability == 3
    people = kernel.root.group_by("person", count="visits", max_count=5)
    assert (people.stability, people.count(50).value, kernel.spent) == (1, 4, 50)
    sizes = kernel.root.units("visits", most=10).vectorize()
    found = sizes.measure(Identity(sizes.shape), 50).answers
    assert found.tolist() == [1, 0, 1, 0, 0, 0, 0, 0, 1, 1]  # before the limit, and ten stands for more
    assert kernel.spent == 100
    ages = kernel.root.group_by("age", count="visits", max_count=5)
    assert (ages.stability, ages.schema.names) == (6, ("age", "visits"))  # of units there may be no more than one
    part = kernel.root.split("sex")[0]
    assert part.group_by("person", count="visits", max_count=5).stability == 3
    with pytest.raises(BadInput, match="before rows are split"):
        part.units(most=10)
    assert people.group_by("visits", count="n", max_count=2).stability == 2


def test_many_tables_are_counted_in_passing_after_the_limit(visits):
    """So many that a compiled loop counts them as they pass by."""
    wide = {f"a{number}": ad.Integer(0, 199) for number in range(12)}
    random = np.random.default_rng(0)
    frame = pandas.DataFrame({name: random.integers(0, 200, len(visits)) for name in wide})
    frame["person"] = visits["person"].to_numpy()
    kernel = ad.Kernel(frame, schema=ad.Schema(wide, 3, unit="person"), epsilon=1000)
    table = kernel._kept[kernel.root.node].data
    groups = [(f"a{one}", f"a{one + 1}") for one in range(11)]
    assert [int(counted.sum()) for counted in table.tables(groups)] == [10] * 11


def test_new_rows_need_no_unit(visits):
    rows = visits.drop(columns="person")
    assert sum(len(codes) for codes in row_codes(rows, schema())) == len(rows)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"unit": "persom"}, "Did you mean 'person'"),
        ({"unit": ""}, "the name of the column"),
        ({"unit": "person", "no_unit": "each"}, "one of 'drop', 'one'"),
        ({"no_unit": "one"}, "needs a unit"),
        ({"unit": "Age"}, "differ only in case"),
    ],
)
def test_a_unit_that_cannot_be_is_refused(visits, keys, words):
    with pytest.raises(SchemaError, match=words):
        ad.Kernel(visits, schema=ad.Schema(ATTRIBUTES, 3, **keys), epsilon=1)


def test_lists_are_no_units(visits):
    with pytest.raises(SchemaError, match="cannot tell units apart"):
        ad.Kernel(visits.assign(person=[[1]] * len(visits)).pipe(_arrow), schema=schema(), epsilon=1)


def _arrow(frame):
    import pyarrow

    return pyarrow.Table.from_pandas(frame)


@pytest.mark.full
def test_the_longest_texts_are_no_trouble(visits):
    """Neither as a unit, nor as a value."""
    long = "x" * 300_000
    odd = pandas.DataFrame({"person": [long] * 9, "age": 1, "sex": [f"{long}{place}" for place in range(9)]})
    assert counts(pandas.concat([visits, odd]), schema()).sum() == counts(visits, schema()).sum()
