"""The contract of engines: the same rows have the same counts on each of them, and those of plain Python."""

import numpy as np
import pytest
from hard_rows import COLUMNS, LENGTH, LEVELS, ROWS
from plain_oracle import cell_of

import adyton as ad
from adyton.kernel.tables.predicate_parser import parse_predicate
from adyton.queries import Partition
from adyton.schema import Reading, RowTree, Schema
from adyton.schema.misfits import misfits_of

POLICIES = [
    {"nulls": nulls, "outside": outside} for nulls in ("drop", "level") for outside in ("drop", "clamp", "other")
]
NOT_CLAMPED = [policy for policy in POLICIES if policy["outside"] != "clamp"]
MANY = [f"level {number}" for number in range(40)]
EDGES = [0.0, 0.1, 0.3, 1.0, 2.5, 10.0]


def of(column):
    return {"reading": Reading(column=column)}


def variants():
    """Every column as every kind of attribute that can read it, under every policy."""
    numbers = [name for name in ("short", "whole", "long", "single", "double", "decimal", "number")]
    for name in numbers:
        for policy in POLICIES:
            yield name, ad.Integer(0, 10, step=3, **of(name), **policy)
            yield name, ad.Numeric(0, 10, bins=7, **of(name), **policy)
        yield name, ad.Numeric(edges=EDGES, outside="clamp", nulls="level", **of(name))
        yield name, ad.Numeric(edges=[*np.linspace(-5, 12, 70)], outside="other", **of(name))
        yield name, ad.Categorical([1, -3, 5], outside="other", nulls="level", **of(name))
    for policy in NOT_CLAMPED:
        yield "text", ad.Categorical(LEVELS[:4], **of("text"), **policy)
        yield "text", ad.Categorical([*LEVELS, *MANY], **of("text"), **policy)
        for name in ("flag", "truth", "whole", "double"):
            yield name, ad.Boolean(**of(name), **policy)
    for name in ("day", "moment", "instant", "iso"):
        kinds = [ad.Date, ad.Datetime]
        for kind in kinds:
            zone = {"zone": "Europe/Berlin"} if kind is ad.Datetime else {}
            for policy in POLICIES:
                yield name, kind("2024-01-01", "2024-12-31", by="month", column=name, **zone, **policy)
            more = {"nulls": "level", "outside": "other", "column": name, **zone}
            yield name, kind("2023-12-31", "2024-12-31", by="day", **more)
            yield name, kind("1995-01-01", "2025-12-31", by="month", **more)
            yield name, kind(by="weekday", **more | {"outside": "drop"})
            yield name, kind(by="month of year", **more | {"outside": "drop"})
        yield name, ad.Datetime(by="hour of day", zone="America/New_York", nulls="level", column=name)


VARIANTS = list(variants())


@pytest.mark.parametrize("part", range(4))
def test_cells_are_those_of_plain_python(opened, part):
    chosen = VARIANTS[part::4]
    schema = Schema({f"v{place}": attribute for place, (_, attribute) in enumerate(chosen)})
    tables = opened(schema).tables([[name] for name in schema.names])
    wrong = []
    for (column, attribute), counts in zip(chosen, tables, strict=True):
        expected = np.zeros(attribute.size, dtype=np.int64)
        for value in ROWS[column]:
            cell = cell_of(attribute, value, column)
            if cell is not None:
                expected[cell] += 1
        if not np.array_equal(counts, expected):
            wrong.append((column, attribute, counts.tolist()[:40], expected.tolist()[:40]))
    assert not wrong, "\n".join(map(str, wrong))


def test_every_row_is_there(opened):
    schema = Schema({"flag": ad.Boolean()})
    assert opened(schema).count() == LENGTH
    assert set(COLUMNS) == set(ROWS)
