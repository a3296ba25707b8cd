"""Neighbours on every source: whatever is counted, one unit more changes the counts by no more than what is charged.

Small tables of hostile values are drawn, with a schema that reads them somehow; all tables that differ by one unit (or
by one row, without units) are counted in every way there is. What is charged is what the kernel's transformations say.
"""

import random
import time
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np
import pyarrow
import pytest
import small_tables as small

import adyton as ad
from adyton.kernel.counting import open_table, rows
from adyton.kernel.counting import table as local_table
from adyton.kernel.engines import databases
from adyton.kernel.engines.postgres import Postgres
from adyton.kernel.engines.server import ServerRows
from adyton.kernel.reading import arrow, values
from adyton.kernel.reading.texts import number_in
from adyton.kernel.sealed import quietly
from adyton.kernel.shapes import TableShape
from adyton.kernel.transforms import (
    CountMisfits,
    CountTables,
    GroupBy,
    MergeCells,
    Select,
    ShareRows,
    SingleTables,
    SplitTable,
    SumValues,
    UnitSizes,
    Vectorize,
    Where,
)
from adyton.queries import Partition
from adyton.schema import Integer, Numeric


def questions(schema, draw):
    """Chains of transformations; what the last one gives is counted."""
    first, second, third = schema.names
    groups = ((first,), (second,), (third,), (first, second), (second, third))
    parts = Partition(np.arange(schema.attributes[third].size) % 3)
    asked = {
        "tables": (CountTables(groups), SingleTables()),
        "merged tables": (CountTables(groups), merged(schema, groups), SingleTables()),
        "misfits": (CountMisfits((first, second), (third,)),),
        "part by part": (Where(predicate(schema, draw)), SplitTable(third, parts), Select((first,)), Vectorize()),
        "groups": (GroupBy((second,), "rows", 2), Vectorize()),
    }
    for name, attribute in schema.attributes.items():
        if isinstance(attribute, Integer | Numeric):
            asked[f"sums of {name}"] = (SumValues(name, (first,) if name != first else ()),)
            asked[f"shares of {name}"] = (Where(predicate(schema, draw)), ShareRows(name, (), 2))
    if schema.unit is not None:
        asked["units"] = (UnitSizes("rows", 3), Vectorize())
        asked["units that are left"] = (Where(predicate(schema, draw)), GroupBy((schema.unit,), "rows", 2))
        asked["units that are left"] += (Select(("rows",)), Vectorize())
    return asked


def merged(schema, groups):
    """Cells of each attribute in random groups, or as they are."""
    draw = random.Random(str(schema))

    def drawn(name):
        cells = [draw.randrange(3) for _ in range(schema.attributes[name].size)]
        return draw.choice([None, Partition([sorted(set(cells)).index(cell) for cell in cells])])

    return MergeCells(groups, tuple(tuple(drawn(name) for name in group) for group in groups))


def predicate(schema, draw):
    """Of one attribute, or of two."""
    parts = []
    for name in draw.sample(schema.names, draw.choice([1, 2])):
        attribute = schema.attributes[name]
        literal = {"categorical": "'1'", "boolean": "true", "date": "'2024-03-01'", "datetime": "'2024-03-01 10:30'"}
        own = literal.get(attribute.kind, draw.choice(["0", "1", "5.5"]))
        if attribute.kind == "categorical" and not isinstance(attribute.levels[0], str):
            own = "1"
        if getattr(attribute, "is_part", False):
            own = "'March'" if attribute.by == "month of year" else "1"
        ordered = ["<", ">="] if attribute.kind not in ("categorical", "boolean") else []
        sign = draw.choice(["=", "!=", *ordered, "is null"])
        parts.append(f"{name} is null" if sign == "is null" else f"{name} {sign} {own}")
    text = draw.choice([" and ", " or "]).join(parts)
    return draw.choice([text, f"not ({text})"])


def planned(chain, schema):
    """What the kernel makes of a chain: the plan of each step for each part, what is charged for one unit, and whether
    no row is in two of the vectors."""
    shapes, charge, disjoint, steps = (
        [TableShape(schema, by_unit=schema.unit is not None)],
        schema.rows_per_unit,
        False,
        [],
    )
    for step in chain:
        plans = [step.plan(shape) for shape in shapes]
        charge = plans[0].stability * (1 if plans[0].per_unit else charge)
        disjoint = disjoint or plans[0].disjoint
        steps.append(plans)
        shapes = [shape for plan in plans for shape in plan.shapes]
    return steps, charge, disjoint


def counted(table, plan):
    """The vectors that a chain counts; those that share no row as one."""
    steps, _, disjoint = plan
    held = [table]
    for plans in steps:
        held = [one for own, outcome in zip(held, plans, strict=True) for one in outcome.derive(own)]
    vectors = [own.values() for own in held]
    return [np.concatenate(vectors)] if disjoint else vectors


def distance(one, other):
    """In Python's whole numbers: shares go beyond 64 bits."""
    places = np.flatnonzero(one != other)
    return sum(abs(int(a) - int(b)) for a, b in zip(one[places].tolist(), other[places].tolist(), strict=True))


class Tried:
    """How many pairs were tried, and the largest part of the charge that two tables differed by."""

    def __init__(self):
        self.pairs, self.tables, self.largest, self.wrong = 0, 0, Fraction(0), []

    def add(self, source, drawn, draw, ask):
        asked = questions(drawn.schema, draw)
        chosen = ["tables", *draw.sample(sorted(asked.keys() - {"tables"}), min(ask, len(asked)) - 1)]
        plans = {question: planned(asked[question], drawn.schema) for question in chosen}
        with source.tables(drawn.kinds, drawn.rows, drawn.parts()) as tables:
            found = []
            for data in tables:
                table = open_table(data, drawn.schema)
                found.append({question: counted(table, plan) for question, plan in plans.items()})
        self.tables += len(found)
        for (one, other), (question, plan) in product(drawn.pairs(), plans.items()):
            for before, after in zip(found[one][question], found[other][question], strict=True):
                ratio = Fraction(distance(before, after), plan[1])
                self.largest = max(self.largest, ratio)
                if ratio > 1:
                    self.wrong.append((question, float(ratio), drawn))
        self.pairs += len(drawn.pairs())


def tried(source, pairs, seed, units=4, ask=4):
    """So many pairs on a source, until one is wrong."""
    found, draw, start = Tried(), random.Random(seed), time.process_time()
    while found.pairs < pairs and not found.wrong:
        found.add(source, small.Draw.of(draw, source, known(source), draw.randint(2, units)), draw, ask)
    found.seconds = time.process_time() - start
    return found


@lru_cache
def known(source):
    return small.Kinds(source)


SOURCES = {
    "arrow": small.Arrow,
    "pandas": small.Pandas,
    "polars": small.Polars,
    "parquet": small.Parquet,
    "csv": small.Csv,
    "lines": small.Lines,
    "sqlite": small.Sqlite,
    "duckdb": small.DuckDb,
    "postgres": small.Postgres,
    "spark": small.Spark,
    "connect": small.Spark,
}
SHORT = {"arrow": 60, "pandas": 60, "polars": 60, "parquet": 40, "csv": 40, "lines": 20, "sqlite": 40, "duckdb": 8}
SHORT |= {"postgres": 12}
LONG = {"arrow": 25_000, "pandas": 20_000, "polars": 20_000, "parquet": 15_000, "csv": 12_000, "lines": 6000}
LONG |= {"sqlite": 8000, "duckdb": 1500, "postgres": 3000, "spark": 600, "connect": 150}
"""Pairs: more than a hundred thousand in all."""


@pytest.fixture
def at(request, tmp_path, monkeypatch):
    """Opens a source. What goes wrong while rows are counted is said aloud."""
    monkeypatch.setattr(local_table, "interruptible", lambda call, stop: call())

    def source(name):
        if name == "postgres":
            return small.Postgres(tmp_path, *request.getfixturevalue("postgres"))
        if name == "spark":
            return small.Spark(tmp_path, request.getfixturevalue("spark")[0])
        if name == "connect":
            return small.Spark(tmp_path, request.getfixturevalue("remote"), connect=True)
        return SOURCES[name](tmp_path)

    return source


@pytest.mark.parametrize("name", SHORT)
def test_neighbours_differ_by_what_is_charged(at, name):
    found = tried(at(name), SHORT[name], 1, units=3)
    assert not found.wrong, found.wrong[0]
    assert found.largest > 0


@pytest.mark.full
@pytest.mark.parametrize("name", LONG)
def test_many_neighbours_differ_by_what_is_charged(at, name, record_property):
    """The figures of the run are the property *figures* of its report."""
    found = tried(at(name), LONG[name], 2, units=6, ask=2 if name in ("spark", "connect") else 4)
    figures = f"{name}: {found.pairs} pairs of {found.tables} tables in {found.seconds:.0f} s, largest {found.largest}"
    record_property("figures", figures)
    assert not found.wrong, found.wrong[0]
    assert found.largest == 1  # what is charged is not too much either


def test_there_are_a_hundred_thousand_pairs():
    assert sum(LONG.values()) >= 10**5


# ---- readings that are wrong ----------------------------------------------------------------------------------------


def filled_from_the_row_before(monkeypatch):
    """A row without a value gets that of the row before it."""
    honest = values.ValueReader.read

    def read(self, array, **own):
        found = honest(self, array, **own)
        data, state = (np.where(found.missing, np.roll(one, 1), one) for one in (found.data, found.state))
        return values.Values(data, state, found.keys)

    monkeypatch.setattr(values.ValueReader, "read", read)


def types_inferred_anew(monkeypatch):
    """Names that are all numbers are compared as numbers."""
    honest = rows._trimmed

    def trimmed(names):
        found = honest(names)
        numbers = [number_in(name.decode("utf-8", "replace")) for name in found.to_pylist() if name]
        if any(number is None for number in numbers):
            return found
        texts = iter([str(number).encode() for number in numbers])
        return pyarrow.array([next(texts) if name else name for name in found.to_pylist()], found.type)

    monkeypatch.setattr(rows, "_trimmed", trimmed)


def cut_after_the_filter(monkeypatch):
    """Of each unit so many rows are kept that pass a filter, and in each part of a split anew."""

    def batches(self, terms, rules, *, whole=False):
        seen = Counter()
        for every, units in self.uncut()._owned([*terms, *(term for rule in rules for term in rule.terms)]):
            batch, owners = every, units
            for rule in rules:
                true = rule.holds(batch.of)
                batch, owners = batch.kept(true), owners[true]
            kept = []
            for unit in owners.tolist():
                seen[unit] += 1
                kept.append(seen[unit] <= self.limit)
            yield batch.kept(np.array(kept, dtype=bool))

    monkeypatch.setattr(rows.UnitRows, "batches", batches)


def names_by_their_first_letter(monkeypatch):
    """Names that begin alike are one."""
    honest = databases._name
    monkeypatch.setattr(databases, "_name", lambda value: (honest(value) or b"")[:1] or None)


def texts_by_luck(monkeypatch):
    """Bytes of UUIDs are texts where all of them happen to be."""

    def taken(column, honest=arrow.as_texts):
        found = quietly(lambda: column.cast(pyarrow.large_string()))
        valid = found is not None and quietly(lambda: found.validate(full=True) is None)
        return found if valid else honest(column)

    monkeypatch.setattr(arrow, "as_texts", taken)


def without_capitals(monkeypatch):
    """Names that differ by a capital are one."""
    honest = rows._trimmed

    def trimmed(names):
        found = honest(names)
        return pyarrow.array([name and name.lower() for name in found.to_pylist()], found.type)

    monkeypatch.setattr(rows, "_trimmed", trimmed)


def one_row_too_many(monkeypatch):
    """The limit off by one."""
    honest = rows.UnitRows.__init__
    monkeypatch.setattr(
        rows.UnitRows, "__init__", lambda self, stored, limit, **own: honest(self, stored, limit + 1, **own)
    )


def without_capitals_in_the_server(monkeypatch):
    """The same, by the server."""
    honest = Postgres.unit

    def unit(self, column):
        own = honest(self, column)
        return replace(own, sql=f'(lower({own.sql}) collate "C")')

    monkeypatch.setattr(Postgres, "unit", unit)


def cut_by_the_filter_in_the_server(monkeypatch):
    """Rows are told apart by what a filter looks at before they are cut."""
    honest = ServerRows._rows

    def every(self):
        return honest(self).replace("partition by u order by", "partition by u, a2 order by")

    monkeypatch.setattr(ServerRows, "_rows", every)


TEXTS = ["7", "07", "b", "B"]
MUTANTS = [
    (filled_from_the_row_before, "arrow", ["long"] * 3 + ["text"], TEXTS),
    (types_inferred_anew, "csv", ["text"] * 4, TEXTS[:3]),
    (cut_after_the_filter, "arrow", ["long"] * 3 + ["text"], TEXTS),
    (names_by_their_first_letter, "sqlite", ["any"] * 4, ["71", 72, "b"]),
    (texts_by_luck, "arrow", ["long"] * 3 + ["uuid"], [bytes(16), b"0123456789abcdef", b"\xff" * 16]),
    (without_capitals, "parquet", ["long"] * 3 + ["text"], TEXTS),
    (one_row_too_many, "polars", ["long"] * 3 + ["text"], TEXTS),
    (without_capitals_in_the_server, "postgres", ["long"] * 3 + ["text"], TEXTS[2:]),
    (cut_by_the_filter_in_the_server, "postgres", ["long"] * 3 + ["text"], TEXTS[2:]),
]


def plain_rows(kinds, names, *, written):
    """Four rows of each unit, of which one is kept; in one a value is missing. No two units have the same rows."""
    numbers = [(1, 5, 1), (5, None, 5), (9, 9, 8), (2, 1, 6)]
    rows = [
        (*(None if one is None else str((one + unit) % 11) if written else (one + unit) % 11 for one in row), name)
        for row in numbers
        for unit, name in enumerate(names)
    ]
    read = {f"v{place}": ad.Integer(0, 10, reading=ad.Reading(column=f"c{place}")) for place in range(3)}
    units = [list(range(place, len(rows), len(names))) for place in range(len(names))]
    return small.Draw(kinds, rows, units, ad.Schema(read, 1, unit=small.UNIT))


@pytest.mark.parametrize(("mutant", "name", "kinds", "names"), MUTANTS)
def test_a_wrong_reading_is_caught(monkeypatch, at, mutant, name, kinds, names):
    source, drawn, found = at(name), plain_rows(kinds, names, written=name in ("csv", "postgres")), [Tried(), Tried()]
    if name == "csv":
        drawn = replace(drawn, rows=[tuple(one or "" for one in row) for row in drawn.rows])
    found[0].add(source, drawn, random.Random(1), 99)
    mutant(monkeypatch)
    found[1].add(source, drawn, random.Random(1), 99)
    assert not found[0].wrong
    assert found[1].wrong
