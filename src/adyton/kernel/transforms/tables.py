"""Transformations of tables into tables, as in PINQ (McSherry, SIGMOD 2009) and εKTELO."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.operators import Outcome, Transform, check_parts
from adyton.kernel.shapes import TableShape
from adyton.queries import Partition
from adyton.schema import Schema
from adyton.schema.cell_groups import check_coarser
from adyton.schema.predicates import parse_predicate


@dataclass(frozen=True)
class Select(Transform):
    """Keep some attributes.

    Claim.  Stability 1.
    Proof.  Every row stays one row, which is a function of that row alone: one row more in the input is one row more in
    the result.  ∎
    """

    takes = TableShape
    attributes: tuple[str, ...]

    def plan(self, source: TableShape) -> Outcome:
        """The same rows over a smaller schema."""
        shape = replace(source, schema=source.schema.select(self.attributes))
        step = f"select({', '.join(self.attributes)})"
        return Outcome(step, (shape,), lambda table: [table.select(self.attributes)])


@dataclass(frozen=True)
class Coarsen(Transform):
    """Read some attributes of numbers in coarser cells, which are made of whole cells of the declared ones.

    Claim.  Stability 1.
    Proof.  No row is added or taken away: which cell a row is in is a function of that row's own values, with coarser
    cells as with fine ones. The cells come from the request, which is public.  ∎
    """

    takes = TableShape
    schema: Schema

    def plan(self, source: TableShape) -> Outcome:
        """The same rows over a coarser schema."""
        check_coarser(source.schema, self.schema)
        changed = [name for name, own in self.schema.attributes.items() if own != source.schema.attributes[name]]
        shape = replace(source, schema=self.schema)
        return Outcome(f"coarsen({', '.join(changed)})", (shape,), lambda table: [table.coarsened(self.schema)])


@dataclass(frozen=True)
class Where(Transform):
    """Keep the rows that satisfy a predicate.

    Claim.  Stability 1.
    Proof.  Whether a row stays is a total function of that row's own values, in a closed language without casts and
    divisions (see :mod:`adyton.schema.predicates`): one row more in the input is one row more in the result, or
    none.  ∎
    """

    takes = TableShape
    predicate: str

    def plan(self, source: TableShape) -> Outcome:
        """The same schema."""
        predicate = parse_predicate(self.predicate, source.schema)
        return Outcome(f"where({predicate})", (source,), lambda table: [table.where(predicate)])


@dataclass(frozen=True)
class GroupBy(Transform):
    """One row per non-empty group of equal keys, with the size of the group, clamped to 1 … max_count.

    Claim.  Stability 2; and where the one key is the unit, one row for each unit, so that measurements cost their ε
    once however many rows a unit has, unless there was a split before: then the stability is 1.
    Proof.  One row more in the input changes one group: its old row goes and its new row comes. The group of a unit
    holds the rows of that unit and no others, so that it comes and goes with the unit: neighbours differ by one row of
    groups. After a split a unit can have a group in each part where it has rows: in all no more groups than rows.  ∎
    """

    takes = TableShape
    keys: tuple[str, ...]
    count: str
    max_count: int

    def plan(self, source: TableShape) -> Outcome:
        """The keys and the count."""
        step = f"group_by({', '.join(self.keys)}; {self.count} ≤ {self.max_count})"
        if source.by_unit and self.keys == (source.schema.unit,):
            units = TableShape(source.schema.per_unit(self.count, self.max_count), steady=source.steady)
            return Outcome(
                step,
                (units,),
                lambda table: [table.by_unit(self.count, self.max_count, cut=True)],
                per_unit=not source.divided,
            )
        shape = TableShape(source.schema.grouped(self.keys, self.count, self.max_count), steady=source.steady)
        return Outcome(
            step, (shape,), lambda table: [table.group_by(self.keys, self.count, self.max_count)], stability=2
        )


@dataclass(frozen=True)
class UnitSizes(Transform):
    """One row for each unit that has rows here, with the number of its rows, clamped to 1 … *most*.

    The rows are counted before they are cut to ``rows_per_unit``, so that this tells what the limit cuts off.

    Claim.  Measurements cost their ε once, however many rows a unit has.
    Proof.  The row of a unit is a function of that unit's rows, and there is at most one: neighbours, which differ by
    one unit with all of its rows, differ by at most one row here. That holds without any limit on the rows. After a
    split it would not be enough, because a unit can have rows in every part: there it is refused.  ∎
    """

    takes = TableShape
    count: str
    most: int

    def plan(self, source: TableShape) -> Outcome:
        """The number of rows, and nothing that names a unit."""
        schema = source.schema.per_unit(self.count, self.most).select(self.count)
        if not source.by_unit or source.divided:
            raise BadInput("units are counted before rows are split or grouped. Start from the root of the kernel.")
        step = f"units({self.count} ≤ {self.most})"
        return Outcome(
            step,
            (TableShape(schema, steady=source.steady),),
            lambda table: [table.by_unit(self.count, self.most).select(self.count)],
            per_unit=True,
        )


@dataclass(frozen=True, eq=False)
class SplitTable(Transform):
    """Disjoint tables, one per cell of an attribute or group of cells. A row goes to one or none: stability 1.

    Claim.  Measurements of all parts cost as much as those of the part that costs most, if the source is steady; else
    as much as all of them together.
    Proof.  In one state of the rows a row is in one part at most, so that parallel composition holds for all that is
    counted in that state. The kernel charges what was counted in another state besides (see
    :meth:`~adyton.kernel.budget.Budget.mix`), and what is counted in states that nobody can tell apart one after the
    other: a row that moves from part to part in between can be in each of them.  ∎
    """

    takes = TableShape
    attribute: str
    groups: Partition | None = None

    def plan(self, source: TableShape) -> Outcome:
        """One table of the same schema per group."""
        cells = source.schema.select((self.attribute,)).cells
        partition = Partition(np.arange(cells)) if self.groups is None else self.groups
        if partition.cells != cells:
            raise BadInput(f"{self.attribute!r} has {cells} cells, given a partition of {partition.cells}.")
        check_parts(partition.groups)
        labels = source.schema.attributes[self.attribute].labels if self.groups is None else ()
        return Outcome(
            f"split({self.attribute})",
            (replace(source, divided=True),) * partition.groups,
            lambda table: table.split(self.attribute, partition),
            disjoint=True,
            parts=tuple(f"split({self.attribute} = {label})" for label in labels),
        )
