"""Transformations: private → private operators, each with its stability.

First those from tables to tables, as in PINQ (McSherry, SIGMOD 2009) and εKTELO; then those that count rows or add up
their values; then those on vectors. The last are all linear, so that inference can map measurements back to the
original domain. ``TRANSFORMS`` at the end lists what the kernel knows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.counting.table import LARGEST_DOMAIN, check_domain
from adyton.kernel.counts import CountedTables, PrivateVector
from adyton.kernel.operators import Outcome, Transform, check_parts, check_queries
from adyton.kernel.shapes import TableShape, TablesShape, VectorShape
from adyton.messages import listing, shorten
from adyton.queries import Cells, Partition, Queries, Reduction
from adyton.queries.base import Size
from adyton.schema import Integer, Numeric, RowTree, Schema
from adyton.schema.cell_groups import check_coarser
from adyton.schema.misfits import misfits_of
from adyton.schema.numbers import FixedPoint
from adyton.schema.predicates import parse_predicate
from adyton.whole import IntegerArray, narrow

MOST_TABLE_CELLS = 1 << 25
"""The most cells that the tables of one source can have in all, so that one measurement fits into two gigabytes."""
MOST_TABLES = 1 << 16
MOST_DEGREES = 2
_SHOWN = 3


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
    """Read some numbers or times in coarser cells, each of which is a union of cells of the source.

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

    Claim.  Stability 2. If the unit is the only key, each unit becomes one row, so that measurements cost their ε once
    however many rows it had; after a split, the stability is 1 instead.
    Proof.  One row more in the input changes one group: its old row is replaced by a new one. The group of a unit
    holds the rows of that unit and no others, so that it comes and goes with the unit: neighbours differ by the row of
    one group. After a split a unit can have a group in each part where it has rows: no more groups than rows.  ∎
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

    The rows are counted before they are cut to ``rows_per_unit``, so that this shows what the limit cuts off.

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
    """Disjoint tables, one per cell or group of cells of an attribute. A row goes to one or none: stability 1.

    Claim.  Measurements of all parts cost as much as those of the part that costs most, if the source is steady; else
    as much as all of them together.
    Proof.  In one state of the table a row is in at most one part, so that parallel composition holds for all that is
    counted in that state. What was counted in other states is charged in addition (see
    :meth:`~adyton.kernel.budget.Budget.rows_changed`). If states cannot be told apart, all parts are charged in full: a
    row that moves between parts can be counted in each.  ∎
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

    *attributes* are those whose cells are counted elsewhere, *tested* are others that a predicate looks at. The
    order of the reasons and what each means come from the schema and these names alone.

    Claim.  Stability 1 in L1.
    Proof.  The number of a row's cell (0 if it fits, else that of the first reason that holds) is a function of that
    row's own values: every reason is, and is defined for all values; the first that holds is unique. So every
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


@dataclass(frozen=True)
class CountTables(Transform):
    """Count the rows of every cell, for several groups of attributes, in as few passes as possible.

    Claim.  One row more changes at most one cell of each table, by 1: in each of them the stability is 1 in L1. The
    tables share rows, so that measurements of several add up.
    Proof.  Each is what :class:`~adyton.kernel.transforms.Vectorize` counts after
    :class:`~adyton.kernel.transforms.Select`. That one pass counts all of them changes when they are counted,
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

        return Outcome(f"tables({_shown(self.groups)})", (shape,), derive)


@dataclass(frozen=True, eq=False)
class MergeCells(Transform):
    """Some of many tables, in each of which cells along an axis are merged into groups by a public map, or left as they
    are (None). Any cells can be in a group, not only neighbours. No rows are read again.

    Claim.  One row more changes at most one cell of each table, by 1: in each of them the stability is 1 in L1. The
    tables share rows, so that measurements of several add up.
    Proof.  By the lemma on rows and tables one row more changes at most one cell of each table of the source, by 1. A
    map is a function from the cells of an axis to groups, so that a cell of a table counts in exactly one merged
    cell, the sum of all cells whose groups meet there: that sum changes by 1, and no other. The maps come from the
    request, which is public; no table is named twice. Hence the lemma holds for the result, too.  ∎
    """

    takes = TablesShape
    groups: tuple[tuple[str, ...], ...]
    maps: tuple[tuple[Partition | None, ...], ...]

    def plan(self, source: TablesShape) -> Outcome:
        """One source that holds all of the tables, in this order."""
        places = [source.place(group) for group in self.groups]
        source.check_places(places)
        given, needed = ([len(table) for table in tables] for tables in (self.maps, self.groups))
        if given != needed:
            words = "one for each attribute; None leaves cells as they are"
            raise BadInput(f"these tables need {shorten(needed)} maps, {words}, given {shorten(given)}.")
        merged = []
        for group, place, axes in zip(self.groups, places, self.maps, strict=True):
            for name, size, groups in zip(group, source.shapes[place], axes, strict=True):
                _check_map(f"the map of {name!r} in the table of {listing(group)}", size, groups)
            sides = zip(source.sides[place], axes, strict=True)
            merged.append(tuple(side if groups is None else groups.groups for side, groups in sides))
        schema = source.schema.select(tuple(dict.fromkeys(name for group in self.groups for name in group)))
        cells = sum(source.sizes(places))
        pending = source.pending.then(Size(4 * cells, 64 * cells))
        shape = TablesShape(schema, self.groups, tuple(merged) if any(map(any, merged)) else (), pending)
        step = f"merge({_shown(self.groups)})"
        return Outcome(step, (shape,), lambda tables: [tables.merged(places, self.maps, shape.shapes)])


@dataclass(frozen=True)
class SingleTables(Transform):
    """Each of many tables as a vector of its own. They share rows: measurements of several add up.

    Claim.  Each vector has stability 1 in L1.
    Proof.  It is one of the tables, of which one row more changes at most one cell, by 1.  ∎
    """

    takes = TablesShape

    def plan(self, source: TablesShape) -> Outcome:
        """A vector for each group, with an axis for each of its attributes; without a schema if cells were merged."""
        shapes = tuple(
            VectorShape(shape, None if any(sides) else source.schema.select(group), pending=source.pending)
            for group, shape, sides in zip(source.groups, source.shapes, source.sides, strict=True)
        )
        parts = tuple(f"table({', '.join(group)})" for group in source.groups)
        return Outcome(parts[0], shapes, lambda tables: tables.vectors(), parts=parts)


@dataclass(frozen=True)
class CountLeaves(Transform):
    """Count the rows of every leaf of a public tree, by their cells in some attributes.

    Claim.  Stability 1 in L1.
    Proof.  A row lies in at most one leaf, which depends on its own values alone (see
    :class:`adyton.kernel.reading.cells.Leaf`), and has at most one cell in each attribute. So it is counted
    in one cell of leaves × cells if it has all of them, else in none: one row more adds 1 to one cell, or
    nothing.  ∎
    """

    takes = TableShape
    tree: RowTree
    attributes: tuple[str, ...]

    def plan(self, source: TableShape) -> Outcome:
        """A vector with an axis for the leaves and one for each attribute."""
        self.tree.check_schema(source.schema)
        sizes = source.schema.select(self.attributes).shape if self.attributes else ()
        shape = (len(self.tree.leaves), *sizes)
        if math.prod(shape) > LARGEST_DOMAIN:
            raise BadInput(
                f"{shape[0]:,} leaves with {math.prod(sizes):,} cells each make more than {LARGEST_DOMAIN:,} cells. "
                "Grow a smaller tree, or ask for fewer attributes."
            )
        step = f"leaves({', '.join(self.attributes)})"
        vector = VectorShape(shape, leaves=self.tree)
        return Outcome(
            step, (vector,), lambda table: [PrivateVector(lambda: table.in_leaves(self.tree, self.attributes))]
        )


@dataclass(frozen=True)
class SumValues(Transform):
    """Add up the values of an attribute in every group, in whole steps of its public grid.

    Groups are the cells of the attributes in *by*; without *by*, one group.

    Claim.  Stability max(|low|, |high|) in L1, the grid's bounds in steps.
    Proof.  A row is in one group at most, and its value is a whole number of steps from low to high, which depends on
    the row alone (see :func:`adyton.kernel.reading.cells.steps`). One row more changes one sum by at most that.  ∎
    """

    takes = TableShape
    attribute: str
    by: tuple[str, ...] = ()

    def plan(self, source: TableShape) -> Outcome:
        """A vector with an axis for each attribute of the groups."""
        grid, shape = _checked(source.schema, self.attribute, self.by)

        def sums(table: Any) -> IntegerArray:
            rows, steps = table.power_sums(self.attribute, self.by, 1)
            return narrow(rows.astype(object) * grid.low + steps)

        reach = max(1, abs(grid.low), abs(grid.low + grid.span))  # a row has 0 to *span* steps
        return _outcome(f"sums({_by(self.attribute, self.by)})", shape or (1,), sums, reach)


@dataclass(frozen=True)
class ShareRows(Transform):
    """Share out every row among degree + 1 points from one bound to the other, by where its value lies.

    With M steps between the bounds and a value k steps above the lower one, point j of 0 … d gets the whole number
    C(d, j)·k^j·(M − k)^(d−j): the Bernstein polynomials. For d = 1 these are the distances from the two bounds. Summed
    over rows they give the number of rows (all points together are M^d·n), the sum of values (Σ_j j·point j is
    d·M^(d−1)·Σ k) and, for d = 2, that of their squares (the last point is Σ k²): one measurement serves count, mean
    and variance, and costs what any one would by itself.

    Claim.  Stability M^d in L1.
    Proof.  A row is in one group at most, and k depends on the row alone (see
    :func:`adyton.kernel.reading.cells.steps`), a whole number of 0 … M. All shares are at least 0, and they add up
    to (k + M − k)^d = M^d by the binomial theorem: one row more changes the vector by exactly that in L1, or by
    nothing. The sums of shares are linear in Σ 1, Σ k and Σ k², from which they are computed in whole numbers.  ∎
    """

    takes = TableShape
    attribute: str
    by: tuple[str, ...] = ()
    degree: int = 1

    def plan(self, source: TableShape) -> Outcome:
        """A vector with an axis for each attribute of the groups, and one for the points."""
        grid, shape = _checked(source.schema, self.attribute, self.by)
        if not 1 <= self.degree <= MOST_DEGREES:
            raise BadInput(f"the degree must be 1 or 2, given {shorten(self.degree)}.")

        def shares(table: Any) -> IntegerArray:
            sums = [powers.astype(object) for powers in table.power_sums(self.attribute, self.by, self.degree)]
            points = [_share(grid.span, self.degree, point, sums) for point in range(self.degree + 1)]
            return narrow(np.stack(points, axis=-1))

        step = f"shares of degree {self.degree}({_by(self.attribute, self.by)})"
        return _outcome(step, (*shape, self.degree + 1), shares, grid.span**self.degree)


@dataclass(frozen=True, eq=False)
class Reduce(Transform):
    """Sum the cells of each group.

    Claim.  Stability 1 in L1.
    Proof.  A cell counts in one group at most, so that Σ_g |Σ_{i in g} (x_i − x′_i)| ≤ Σ_i |x_i − x′_i|.  ∎
    """

    takes = VectorShape
    partition: Partition

    def plan(self, source: VectorShape) -> Outcome:
        """One cell per group."""
        source.check_cells("a partition", self.partition.cells)
        sums = source.derive(Reduction(self.partition, source.shape))
        return Outcome(f"reduce({self.partition.groups} groups)", (sums,), lambda x: [x.reduce(self.partition)])


@dataclass(frozen=True, eq=False)
class SplitVector(Transform):
    """Disjoint vectors, one per group.

    Claim.  Stability 1 in L1 into all parts together.
    Proof.  A cell goes to one part or to none: the L1 distances of the parts add up to at most that of the vectors, and
    one row changes one cell.  ∎
    """

    takes = VectorShape
    partition: Partition

    def plan(self, source: VectorShape) -> Outcome:
        """One vector per group; every group needs a cell."""
        source.check_cells("a partition", self.partition.cells)
        check_parts(self.partition.groups)
        sizes = self.partition.sizes
        if not sizes.all():
            empty = int(np.flatnonzero(sizes == 0)[0])
            raise BadInput(f"group {empty} of the partition has no cells. Number the groups without gaps.")
        shapes = tuple(source.derive(Cells(source.shape, part)) for part in self.partition.parts())
        step = f"split({self.partition.groups} groups)"
        return Outcome(step, shapes, lambda x: x.split(self.partition), disjoint=True)


@dataclass(frozen=True, eq=False)
class LinearMap(Transform):
    """Replace the vector x by M·x.

    Claim.  Stability max_i ‖column i of M‖₁ in L1.
    Proof.  ‖M·x − M·x′‖₁ ≤ Σ_i |x_i − x′_i| · ‖column i of M‖₁ ≤ max_i ‖column i of M‖₁ · ‖x − x′‖₁. The norm is
    computed by the kernel, in whole numbers, from the coefficients that are applied; it is never declared.  ∎
    """

    takes = VectorShape
    queries: Queries

    def plan(self, source: VectorShape) -> Outcome:
        """One cell per query."""
        source.check_cells("queries", self.queries.cells)
        check_queries(self.queries)
        return Outcome(
            f"map({self.queries})",
            (source.derive(self.queries),),
            lambda x: [x.map(self.queries)],
            stability=self.queries.sensitivity(),
        )


def check_groups(schema: Schema, groups: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """The attributes of all groups; an error if a group is invalid, or the tables too many or too large."""
    if not groups:
        raise BadInput("tables are counted for groups of attributes, given none. Name at least one.")
    if len(groups) > MOST_TABLES:
        raise BadInput(f"{len(groups):,} groups of attributes; the limit is {MOST_TABLES:,}. Ask for fewer at a time.")
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
            f"{len(groups):,} tables have {cells:,} cells in all; the limit is {MOST_TABLE_CELLS:,}. Ask for fewer of "
            "them at a time, for smaller groups, or declare fewer levels or bins; a single large table can be counted "
            "by select(…).vectorize()."
        )
    return names


def _check_map(what: str, cells: int, groups: Partition | None) -> None:
    """Raise an error unless each of these cells is in a group, and no group is empty: its sum would be another's."""
    if groups is None:
        return
    if groups.cells != cells:
        raise BadInput(f"{what} has {groups.cells:,} cells, but there are {cells:,}. Name the group of each cell.")
    if int(groups.labels.min()) < 0 or not groups.sizes.all():
        raise BadInput(f"{what} leaves out a cell or a group. Number the groups 0, 1, 2 … without gaps.")


def _shown(groups: Sequence[tuple[str, ...]]) -> str:
    """The first groups of attributes, and how many more there are."""
    more = f" and {len(groups) - _SHOWN} more" if len(groups) > _SHOWN else ""
    return ", ".join(" × ".join(group) for group in groups[:_SHOWN]) + more


def _share(span: int, degree: int, point: int, sums: Sequence[IntegerArray]) -> IntegerArray:
    """Σ C(d, j)·k^j·(M − k)^(d−j), multiplied out."""
    times = math.comb(degree, point)
    terms = [
        times
        * math.comb(degree - point, power)
        * (-1) ** power
        * span ** (degree - point - power)
        * sums[point + power]
        for power in range(degree - point + 1)
    ]
    return np.asarray(sum(terms[1:], start=terms[0]))


def _outcome(step: str, shape: tuple[int, ...], compute: Callable[[Any], IntegerArray], stability: int) -> Outcome:
    return Outcome(
        step, (VectorShape(shape),), lambda table: [PrivateVector(lambda: compute(table))], stability=stability
    )


def _checked(schema: Schema, attribute: str, by: tuple[str, ...]) -> tuple[FixedPoint, tuple[int, ...]]:
    """The grid, and how many groups there are along each attribute."""
    schema.check_names((attribute, *by))
    declared = schema.attributes[attribute]
    if not isinstance(declared, Integer | Numeric):
        raise BadInput(f"{attribute} is {declared.kind} and has no numbers to add up. Name an integer or numeric one.")
    shape = schema.select(by).shape if by else ()
    if math.prod(shape) > LARGEST_DOMAIN:
        raise BadInput(f"there are more than {LARGEST_DOMAIN:,} groups. Group by fewer attributes.")
    return FixedPoint.of(declared), shape


def _by(attribute: str, by: tuple[str, ...]) -> str:
    return f"{attribute}{' by ' + ', '.join(by) if by else ''}"


TRANSFORMS: tuple[type[Transform], ...] = (
    Select,
    Coarsen,
    Where,
    GroupBy,
    UnitSizes,
    SplitTable,
    Vectorize,
    CountMisfits,
    CountTables,
    MergeCells,
    SingleTables,
    CountLeaves,
    SumValues,
    ShareRows,
    Reduce,
    SplitVector,
    LinearMap,
)
