"""Many tables of counts at once: the transformation that a release of marginals starts with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from adyton.errors import BadInput
from adyton.kernel.counted_tables import CountedTables
from adyton.kernel.shapes import TableShape, TablesShape, VectorShape
from adyton.kernel.transforms.base import Outcome, Transform
from adyton.messages import listing
from adyton.schema import Schema

MOST_TABLE_CELLS = 1 << 25
"""How many cells the tables of one source can have in all: what is measured on them at once fits into two gigabytes."""
MOST_TABLES = 1 << 16
_SHOWN = 3


@dataclass(frozen=True)
class CountTables(Transform):
    """Count the rows of every cell, for several groups of attributes, in as few passes as can be.

    Claim.  One row more changes at most one cell of each table, by 1: in each of them the stability is 1 in L1. The
    tables share rows, so that measurements of several add up.
    Proof.  Each is what :class:`~adyton.kernel.transforms.tables.Vectorize` counts after
    :class:`~adyton.kernel.transforms.tables.Select`. That one pass counts all of them changes when they are counted,
    not what is counted.  ∎
    """

    takes = TableShape
    groups: tuple[tuple[str, ...], ...]

    def plan(self, source: TableShape) -> Outcome:
        """One source that holds all of the tables."""
        names = check_groups(source.schema, self.groups)
        shape = TablesShape(source.schema.select(names), self.groups)
        shapes = shape.shapes

        def derive(table: Any) -> list[CountedTables]:
            return [CountedTables(table.planned_tables(self.groups), self.groups, shapes)]

        return Outcome(f"tables({_described(self.groups)})", (shape,), derive)


@dataclass(frozen=True)
class SingleTables(Transform):
    """Each of many tables as a vector of its own. They share rows: measurements of several add up.

    Claim.  Each vector has stability 1 in L1.
    Proof.  It is one of the tables, of which one row more changes at most one cell, by 1.  ∎
    """

    takes = TablesShape

    def plan(self, source: TablesShape) -> Outcome:
        """A vector for each group, with an axis for each of its attributes."""
        schemas = [source.schema.select(group) for group in source.groups]
        shapes = tuple(VectorShape(schema.shape, schema) for schema in schemas)
        parts = tuple(f"table({', '.join(group)})" for group in source.groups)
        return Outcome(parts[0], shapes, lambda tables: tables.vectors(), parts=parts)


def check_groups(schema: Schema, groups: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """The attributes of all groups; an error if a group is none, or if their tables cannot be held."""
    if not groups:
        raise BadInput("tables are counted for groups of attributes, given none. Name at least one.")
    if len(groups) > MOST_TABLES:
        raise BadInput(f"{len(groups):,} groups of attributes, allowed are {MOST_TABLES:,}. Ask for fewer at a time.")
    names = schema.check_names(tuple(dict.fromkeys(name for group in groups for name in group)))
    sizes = dict(zip(names, schema.select(names).shape, strict=True))
    for group in groups:
        schema.check_names(group)
    if len(set(groups)) < len(groups):
        twice = next(group for number, group in enumerate(groups) if group in groups[:number])
        raise BadInput(f"the table of {listing(twice)} is named twice. Name each group once.")
    cells = sum(math.prod(sizes[name] for name in group) for group in groups)
    if cells > MOST_TABLE_CELLS:
        raise BadInput(
            f"{len(groups):,} tables have {cells:,} cells in all, allowed are {MOST_TABLE_CELLS:,}. Ask for fewer of "
            "them at a time, for smaller groups, or declare fewer levels or bins; a single large table can be counted "
            "by select(…).vectorize()."
        )
    return names


def _described(groups: tuple[tuple[str, ...], ...]) -> str:
    """The first few groups, and how many more there are."""
    shown = ", ".join(" × ".join(group) for group in groups[:_SHOWN])
    return shown + (f" and {len(groups) - _SHOWN} more" if len(groups) > _SHOWN else "")
