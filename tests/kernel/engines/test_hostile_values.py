"""No value decides whether a release succeeds, what it costs, or where another row is counted: on every source.

Every type of column is read as every kind of attribute that it can be declared as, and as a unit, with ordinary rows
and with hostile ones beside them: the ends of the type, what is no number and no time, texts of every length.
"""

import hostile_values as hostile
import pytest
from small_tables import CLAMP, DROP, LEVEL, attributes, fits

import adyton as ad
from adyton.errors import SchemaError
from adyton.kernel.counting import open_table
from adyton.kernel.counting.opening import reader_for
from adyton.kernel.reading.readers import unit_column
from adyton.schema import Reading, Schema
from adyton.schema.misfits import misfits_of

SOURCES = ["csv", "parquet", "pandas", "polars", "arrow", "duckdb", "sqlite", "excel", "postgres", "spark"]


@pytest.fixture(scope="session")
def build(request, tmp_path_factory):
    """Makes a table of ordinary rows and some hostile ones on a source."""
    folder = tmp_path_factory.mktemp("hostile")

    def make(source, rows):
        if source == "postgres":
            return hostile.in_postgres(*request.getfixturevalue("postgres"), rows)
        if source == "spark":
            return hostile.in_spark(request.getfixturevalue("spark")[0], folder, rows)
        if source in ("csv", "parquet", "duckdb", "sqlite", "excel"):
            return getattr(hostile, f"in_{source}")(folder, rows)
        return getattr(hostile, f"in_{source}")(rows)

    return make


def schemas(data, policy):
    """For each column that is not refused, a schema with every kind of attribute that can read it."""
    reader = reader_for(data)
    for column in reader.columns:
        kinds = {kind: one for kind, one in attributes(column.name, policy) if fits(column, one)}
        if kinds and column.name not in ("label", "place"):
            yield column.name, Schema(kinds)


def unit_columns(data):
    """The columns that can be units."""
    reader = reader_for(data)
    for column in reader.columns:
        try:
            unit_column(reader, Schema({"label": ad.Boolean()}, unit=column.name), None)
        except SchemaError:
            continue
        if column.name not in ("label", "place"):
            yield column.name


def some_of_each(parts, each, turn=0):
    """One schema for all columns: every column is read as so many of its kinds of attributes, others at every turn."""
    chosen = {}
    for place, (column, schema) in enumerate(parts):
        kinds = schema.names
        for kind in {kinds[((place + turn) * each + number) % len(kinds)] for number in range(each)}:
            chosen[f"{kind} of {column}"] = schema.attributes[kind]
    return Schema(chosen)


def counts(data, schema):
    """Of every attribute."""
    return dict(zip(schema.names, open_table(data, schema).tables([(name,) for name in schema.names]), strict=True))


def moved(before, after, more):
    """The attributes in which rows that are there before and after are counted elsewhere, or too many rows more."""
    differences = {name: counted - before[name] for name, counted in after.items()}
    return {name for name, one in differences.items() if one.min() < 0 or one.sum() > more}


NUMBERS = ("integer", "far", "numeric", "billion", "widest", "narrow", "hourly")
ALL = range(hostile.HOSTILE)
ROWS = hostile.ORDINARY + hostile.HOSTILE
FEW = {"postgres": 1, "spark": 1}
"""Where every query takes its time."""


@pytest.mark.parametrize("source", SOURCES)
def test_all_hostile_rows_at_once(build, source):
    """Every row is counted once in every attribute that has a cell for it: nothing fails, and nothing is lost."""
    odd = build(source, ALL)
    parts = [
        part for part in schemas(odd, LEVEL) if source != "spark" or part[0] in ("double", "text", "instant", "span")
    ]
    schema = some_of_each(parts, FEW.get(source, 2))
    whole = schema.select([name for name in schema.names if not name.startswith("clock")])
    assert {name: counted.sum() for name, counted in counts(odd, whole).items()} == dict.fromkeys(whole.names, ROWS)


@pytest.mark.parametrize("source", [*SOURCES[:-1], pytest.param("spark", marks=pytest.mark.full)])
def test_a_release_succeeds_and_costs_the_same(build, source):
    numbers = ad.Numeric(0, 1e9, bins=10, reading=Reading(column="double"))
    schema = Schema({"x": numbers, "label": ad.Categorical(["a", "b"])})
    spent = []
    for rows in ([], ALL):
        with ad.Session(build(source, rows), schema=schema, epsilon=1) as session:
            for task in (ad.Mean("x", by="label"), ad.Variance("x")):
                session.release(task, epsilon="0.25")
            spent.append(session.spent)
    assert spent[0] == spent[1]


@pytest.mark.full
@pytest.mark.parametrize("policy", [LEVEL, CLAMP, DROP], ids=["level", "clamp", "drop"])
@pytest.mark.parametrize("source", SOURCES)
def test_hostile_rows_move_no_other_row(build, source, policy):
    """Every type as every kind: all at once first, then each by itself beside the same ordinary rows."""
    plain, odd = build(source, []), build(source, ALL)
    parts, before = list(schemas(plain, policy)), {}
    assert [name for name, _ in parts] == [name for name, _ in schemas(odd, policy)]
    for column, schema in parts:
        found = counts(plain, schema)
        assert moved(found, counts(odd, schema), hostile.HOSTILE) == set(), column
        before |= {f"{kind} of {column}": counted for kind, counted in found.items()}
    for row in ALL if policy is LEVEL and source not in FEW else ():
        assert moved(before, counts(build(source, [row]), some_of_each(parts, 2, row)), 1) == set(), row


@pytest.mark.full
@pytest.mark.parametrize("policy", [LEVEL, CLAMP, DROP], ids=["level", "clamp", "drop"])
@pytest.mark.parametrize("source", SOURCES)
def test_sums_misfits_and_groups(build, source, policy):
    """Whatever is asked of hostile rows, there is an answer."""
    odd = build(source, ALL)
    for column, schema in schemas(odd, policy):
        table = open_table(odd, schema)
        for name in sorted(set(NUMBERS) & set(schema.names)):
            assert 0 <= table.power_sums(name, (), 2)[0] <= ROWS, (column, name)
        assert table.misfits(misfits_of(schema, schema.names)).sum() == ROWS, column
        assert table.group_by(schema.names, "n", 3).count() <= ROWS, column


@pytest.mark.full
@pytest.mark.parametrize("source", SOURCES)
def test_hostile_units(build, source):
    """A row of somebody with a hostile name moves no row of anybody else, and no type that can be a unit fails."""
    plain, attribute = build(source, []), {"label": ad.Categorical(["a", "b"])}
    tables = [
        build(source, rows) for rows in ([[row] for row in range(0, hostile.HOSTILE, 3)] if source not in FEW else [])
    ]
    odd = build(source, ALL)
    for unit in unit_columns(plain):
        schema = Schema(attribute, 2, unit=unit)
        before = counts(plain, schema)
        for table in tables:
            assert abs(counts(table, schema)["label"] - before["label"]).sum() <= schema.rows_per_unit, unit
        nobody = source in ("sqlite", "excel") and unit in ("double", "date", "moment", "length")
        assert (0 if nobody else 1) <= open_table(odd, schema).by_unit("n", 3).count() <= ROWS, unit
