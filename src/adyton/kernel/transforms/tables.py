"""Transformations of tables, as in PINQ (McSherry, SIGMOD 2009) and εKTELO."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.limits import check_parts
from adyton.kernel.shapes import TableShape, VectorShape
from adyton.kernel.tables.predicate_parser import parse_predicate
from adyton.kernel.tables.private_table import check_domain
from adyton.kernel.transforms.base import Outcome, Transform
from adyton.kernel.vectors import PrivateVector
from adyton.messages import listing
from adyton.queries import Partition
from adyton.schema import Schema
from adyton.schema.cell_groups import check_coarser
from adyton.schema.misfits import misfits_of


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
        changed = [name for name, one in self.schema.attributes.items() if one != source.schema.attributes[name]]
        shape = replace(source, schema=self.schema)
        return Outcome(f"coarsen({', '.join(changed)})", (shape,), lambda table: [table.coarsened(self.schema)])


@dataclass(frozen=True)
class Where(Transform):
    """Keep the rows that satisfy a predicate.

    Claim.  Stability 1.
    Proof.  Whether a row stays is a total function of that row's own values, in a closed language without casts and
    divisions (see :mod:`adyton.kernel.tables.predicates`): one row more in the input is one row more in the result, or
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


@dataclass(frozen=True)
class Vectorize(Transform):
    """Count the rows of every cell of the domain.

    Claim.  Stability 1 in L1.
    Proof.  The cell of a row is a function of that row's own values and the schema; a row without a cell is not
    counted. One row more adds 1 to one cell, or nothing.  ∎
    """

    takes = TableShape

    def plan(self, source: TableShape) -> Outcome:
        """A vector with one axis per attribute, counted inside the engine when first needed."""
        check_domain(source.schema)
        vector = VectorShape(source.schema.shape, source.schema)
        return Outcome("vectorize", (vector,), lambda table: [PrivateVector(table.vectorize)])


@dataclass(frozen=True)
class CountMisfits(Transform):
    """Count the rows that fit the schema, and those that do not, by the first reason in a public order.

    *attributes* are those whose cells are counted elsewhere, *tested* those that a predicate looks at besides. The
    order of the reasons and what each means come from the schema and these names alone.

    Claim.  Stability 1 in L1.
    Proof.  The number of a row's cell (0 if it fits, else that of the first reason that holds) is a function of that
    row's own values: every reason is, none of them can fail on any value, and the first that holds is unique. So every
    row is in exactly one cell, and one row more adds 1 to one cell.  ∎
    """

    takes = TableShape
    attributes: tuple[str, ...]
    tested: tuple[str, ...] = ()

    def plan(self, source: TableShape) -> Outcome:
        """A vector: the rows that fit, then one cell for each reason."""
        names = source.schema.check_names((*self.attributes, *self.tested))
        misfits = misfits_of(source.schema, self.attributes, self.tested)
        if not misfits:
            raise BadInput(f"every value fits {listing(names)}. Name attributes that have cells.")
        vector = VectorShape((len(misfits) + 1,))
        step = f"misfits({', '.join(names)})"
        return Outcome(step, (vector,), lambda table: [PrivateVector(partial(table.misfits, misfits))])
