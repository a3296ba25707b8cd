"""The contract of engines: the same rows have the same counts on each of them, and those of plain Python."""

import numpy as np
import pytest
from hard_rows import LENGTH, LEVELS, ROWS
from plain_oracle import cell_of

import adyton as ad
from adyton.kernel.counting import open_table
from adyton.queries import Partition
from adyton.schema import Reading, RowTree, Schema
from adyton.schema.misfits import misfits_of
from adyton.schema.predicates import parse_predicate

POLICIES = [
    {"nulls": nulls, "outside": outside} for nulls in ("drop", "level") for outside in ("drop", "clamp", "other")
]
NOT_CLAMPED = [policy for policy in POLICIES if policy["outside"] != "clamp"]
MANY = [f"level {number}" for number in range(40)]
EDGES = [0.0, 0.1, 0.3, 1.0, 2.5, 10.0]


def of(column):
    return {"reading": Reading(column=column)}


def variants():
    """Every column as every kind of attribute that can read it; every policy for each way to read."""
    least = [{"nulls": "level", "outside": "other"}]
    for name in ("short", "whole", "long", "single", "double", "decimal", "number"):
        for policy in POLICIES if name in ("long", "number") else least:
            yield name, ad.Integer(0, 10, step=3, **of(name), **policy)
        for policy in POLICIES if name in ("short", "double") else least:
            yield name, ad.Numeric(0, 10, bins=7, **of(name), **policy)
        yield name, ad.Numeric(edges=EDGES, outside="clamp", nulls="level", **of(name))
        yield name, ad.Categorical([1, -3, 5], outside="other", nulls="level", **of(name))
    yield "double", ad.Numeric(edges=[*np.linspace(-5, 12, 70)], outside="other", **of("double"))
    for policy in NOT_CLAMPED:
        yield "text", ad.Categorical([*LEVELS, *MANY], **of("text"), **policy)
        yield "truth", ad.Boolean(**of("truth"), **policy)
    yield "text", ad.Categorical(LEVELS[:4], **of("text"), **least[0])
    for name in ("flag", "whole", "double"):
        yield name, ad.Boolean(**of(name), **least[0])
    yield from times()


def times():
    """Every kind of period and part, on the clock of a zone with time changes."""
    berlin, other = {"zone": "Europe/Berlin"}, {"nulls": "level", "outside": "other"}
    for policy in POLICIES:
        yield "instant", ad.Datetime("2024-01-01", "2024-12-31", by="month", column="instant", **berlin, **policy)
    for name in ("day", "moment", "instant", "iso"):
        yield name, ad.Datetime("2023-12-31", "2024-12-31", by="day", column=name, **berlin, **other)
        yield name, ad.Date("1995-01-01", "2025-12-31", by="month", column=name, **other)
        yield name, ad.Date(by="month of year", nulls="level", column=name)
    for name in ("moment", "iso"):
        yield name, ad.Date(by="weekday", nulls="level", column=name)
    for name in ("instant", "iso"):
        yield name, ad.Datetime(by="hour of day", zone="America/New_York", nulls="level", column=name)


def rarer():
    """The other kinds of attributes, under every policy."""
    for policy in POLICIES:
        yield "double", ad.Duration(0, 10, bins=4, column="double", **policy)
        yield "long", ad.Duration(0, 11, bins=5, unit="minutes", column="long", **policy)
        yield "double", ad.Longitude(-5, 5, bins=4, column="double", **policy)
        yield "number", ad.Latitude(-5, 9, bins=4, column="number", **policy)
        yield "decimal", ad.Numeric(edges=EDGES, **of("decimal"), **policy)
        for name in ("day", "moment", "iso"):
            yield name, ad.Date("2023-11-01", "2024-12-31", by="week", column=name, **policy)
        yield "moment", ad.Datetime("2024-03-01", "2024-12-31", by="hour", every=6, column="moment", **policy)
    for policy in NOT_CLAMPED:
        yield "double", ad.Categorical([1, -3, 5], **of("double"), **policy)
        yield "number", ad.Categorical([1, -3, 8], **of("number"), **policy)
        yield "flag", ad.Boolean(**of("flag"), **policy)
        yield "whole", ad.Boolean(**of("whole"), **policy)
    for nulls in ("drop", "level"):
        yield "instant", ad.Date(by="weekday", zone="Europe/Berlin", nulls=nulls, column="instant")


VARIANTS = list(variants())
FULL = pytest.mark.full
"""Spark takes its time for queries of many columns: most of them are asked in the long run alone."""
LOCAL = ("csv", "pandas", "polars", "arrow", "stored", "sqlite", "excel")
CASES = [(engine, 0) for engine in ("duckdb", "postgres")] + [(engine, part) for engine in LOCAL for part in range(4)]
CASES += [pytest.param(engine, part, marks=FULL) for engine in ("duckdb", "postgres") for part in (1, 2, 3)]
CASES += [pytest.param(engine, part, marks=FULL) for engine in ("spark", "connect") for part in range(4)]


@pytest.mark.parametrize(("engine", "part"), CASES, indirect=["engine"])
def test_cells_are_those_of_plain_python(opened, engine, part):
    check_cells(opened, VARIANTS[part::4], engine)


@pytest.mark.full
@pytest.mark.parametrize("engine", ["duckdb", *LOCAL, "postgres", "spark", "connect"], indirect=True)
def test_rarer_cells_are_those_of_plain_python(opened, engine):
    texts = engine in ("csv", "sqlite", "excel")  # no text says that a duration is infinite
    chosen = [one for one in rarer() if not (texts and isinstance(one[1], ad.Duration) and one[0] == "double")]
    check_cells(opened, chosen[::2], engine)
    check_cells(opened, chosen[1::2], engine)


def check_cells(opened, chosen, engine=""):
    schema = Schema({f"v{place}": attribute for place, (_, attribute) in enumerate(chosen)})
    tables = opened(schema).tables([[name] for name in schema.names])
    wrong = []
    for (column, attribute), counts in zip(chosen, tables, strict=True):
        expected = np.zeros(attribute.size, dtype=np.int64)
        for value in ROWS[column]:
            empty = engine in ("csv", "excel") and value == ""  # a cell without a text is one without a value
            cell = attribute.null_cell if empty else cell_of(attribute, value, column)
            if cell is not None:
                expected[cell] += 1
        if not np.array_equal(counts, expected):
            wrong.append((column, attribute, counts.tolist()[:40], expected.tolist()[:40]))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("engine", ["duckdb", *LOCAL, "postgres"], indirect=True)
def test_every_row_is_there(opened):
    assert opened(Schema({"flag": ad.Boolean()})).count() == LENGTH


ATTRIBUTES = {
    "long": ad.Integer(0, 10, nulls="level", outside="clamp"),
    "double": ad.Numeric(0, 10, bins=5, outside="clamp"),
    "number": ad.Numeric(-5, 100, bins=3, outside="other", nulls="level"),
    "text": ad.Categorical([*LEVELS, *MANY], outside="other", nulls="level", groups={"marks": ["it's", "%s"]}),
    "flag": ad.Boolean(nulls="level"),
    "truth": ad.Boolean(outside="other", nulls="level"),
    "instant": ad.Datetime("2024-01-01", "2024-12-31", by="month", zone="Europe/Berlin", outside="clamp"),
}
SCHEMA = Schema(ATTRIBUTES)
UNITS = Schema(ATTRIBUTES, unit="person", rows_per_unit=3)
PREDICATES = (
    "long between 0 and 10 and not text in ('a', 'it''s')",
    "double < 2.5 or number >= 8 or truth = true",
    "double is null or text is null",
    "instant > '2024-03-31 02:59' and flag != true or number = 102.5",
    "instant < '1901-01-01 00:30' or text = 'marks'",
)
TREE = RowTree.stump(SCHEMA).grow({0: "flag"}, SCHEMA).grow({1: "double", 2: "text"}, SCHEMA)


def where(table, predicate):
    return table.where(parse_predicate(predicate, SCHEMA))


def split(table):
    return table.select(["long", "double"]).split("long", Partition(np.array([0] * 3 + [1] * 8 + [0])))


QUESTIONS = {
    **{text: lambda table, _, text=text: where(table, text).count() for text in PREDICATES},
    "pair": lambda table, _: table.select(["text", "instant"]).vectorize(),
    "marginals": lambda table, _: table.tables([["text", "flag"], ["long", "truth", "instant"], ["double"]]),
    "split": lambda table, _: [part.select("double").vectorize() for part in split(table)],
    "groups": lambda table, _: table.group_by(["text", "flag"], "visits", 20).select(["flag", "visits"]).vectorize(),
    "sums": lambda table, _: table.power_sums("double", ["flag"], 2),
    "large sums": lambda table, _: table.power_sums("number", [], 1),
    "misfits": lambda table, _: table.misfits(misfits_of(SCHEMA, SCHEMA.names)),
    "leaves": lambda table, _: table.in_leaves(TREE, ("truth",)),
    "splits": lambda table, _: table.split_tables(TREE, ["long", "number"], "flag"),
    "units": lambda _, units: units.select(["long", "flag", "text"]).vectorize(),
    "by unit": lambda _, units: units.by_unit("rows", 20).select("rows").vectorize(),
    "cut": lambda _, units: where(units, "long >= 0").by_unit("rows", 5, cut=True).select("rows").vectorize(),
}
"""Whatever counts rows: asked of the table, or of the table cut to some rows a person."""


def answers(table, units):
    return {name: plain(ask(table, units)) for name, ask in QUESTIONS.items()}


def plain(answer):
    return [plain(one) for one in answer] if isinstance(answer, list) else np.asarray(answer).tolist()


@pytest.fixture(scope="module")
def expected(parquet):
    return answers(open_table(parquet, SCHEMA), open_table(parquet, UNITS))


ENGINES = ["postgres", *(pytest.param(engine, marks=FULL) for engine in ("spark", "connect"))]


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
def test_everything_that_counts_counts_alike(opened, expected):
    found = answers(opened(SCHEMA), opened(UNITS))
    assert {name for name in found if found[name] != expected[name]} <= {"units", "cut"}
    assert np.sum(found["units"]) == np.sum(expected["units"])  # as many rows of everybody, and perhaps others


def test_spark_in_short(spark, remote, parquet):
    """Some ways to read, and one of them through Connect. The first query takes most of the time."""

    def opened(schema, session=spark[0]):
        return open_table(session.read.parquet(str(parquet)), schema)

    first = {column: (column, attribute) for column, attribute in reversed(VARIANTS)}
    check_cells(opened, [first[column] for column in ("long", "double", "text", "instant")])
    assert opened(SCHEMA, remote).select("text").vectorize().sum() == LENGTH


def test_predicates_and_sums_are_those_of_plain_python(expected):
    rows = [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]
    kept = [row for row in rows if row["long"] is not None and 0 <= row["long"] <= 10]
    kept = [row for row in kept if row["text"] is not None and row["text"].strip(" ") not in ("a", "it's")]
    assert expected[PREDICATES[0]] == len(kept)
    numbers = [
        row["double"] for row in rows if row["flag"] and row["double"] is not None and row["double"] == row["double"]
    ]
    counts, sums, _ = expected["sums"]
    assert counts[1] == len(numbers)
    steps = 10 / (sum(max(0.0, min(10.0, number)) for number in numbers) / sums[1])
    assert steps == pytest.approx(round(steps), rel=1e-6)  # the grid has so many steps
    assert sum(expected["by unit"]) == len({person.strip() for person in ROWS["person"] if person and person.strip()})
