"""What is public about a private source: its schema, the shape of its vector or tables, or the parameters to choose
from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.messages import listing, shorten
from adyton.queries import Product, Queries
from adyton.queries.base import NOTHING, Size
from adyton.schema import RowTree, Schema


@dataclass(frozen=True)
class TableShape:
    """What is public about a private table: its schema, and whether it comes from a file of text, such as CSV."""

    schema: Schema
    from_text: bool = False
    by_unit: bool = False
    """Whether each row names its unit, and all steps from the root to this table only left out rows."""
    divided: bool = False
    """Whether there was a split: other rows of a unit may be in other parts."""
    steady: bool = True
    """Whether all parts of a split can be counted from the rows as they are at one moment."""


@dataclass(frozen=True)
class VectorShape:
    """What is public about a private vector: the shape of its domain, and the attributes along its axes, if any.

    For a derived vector, ``mapping`` has the queries whose answers on the first vector are this vector's cells: with
    it, a measurement of this vector can be read as a measurement of the first.
    """

    shape: tuple[int, ...]
    schema: Schema | None = None
    mapping: Queries | None = None
    pending: Size = NOTHING
    """The memory and work to derive this vector from the first, which happens when it is first measured."""
    leaves: RowTree | None = None
    """The tree whose leaves are the first axis, if there is one."""

    def derive(self, queries: Queries) -> VectorShape:
        """The vector of the answers to these queries on this vector."""
        mapping = queries if self.mapping is None else Product(queries, self.mapping)
        return VectorShape((queries.count,), mapping=mapping, pending=self.pending.then(queries.size()))

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return math.prod(self.shape)

    def check_cells(self, what: str, given: int) -> None:
        """Raise an error unless *what* was made for this number of cells."""
        if given != self.cells:
            raise BadInput(f"this vector has {self.cells} cells, given {what} over {given}.")


@dataclass(frozen=True)
class TablesShape:
    """What is public about many private tables of counts: the schema, and which attributes each table is over.

    If cells were merged, ``merged`` has for each table the number of groups of cells along each axis, None for an axis
    with the schema's cells.
    """

    schema: Schema
    groups: tuple[tuple[str, ...], ...]
    merged: tuple[tuple[int | None, ...], ...] = ()
    pending: Size = NOTHING
    """The memory and work to merge cells, which happens when one of these tables is first measured."""

    @cached_property
    def places(self) -> dict[tuple[str, ...], int]:
        """The place of each group, by its attributes."""
        return {group: place for place, group in enumerate(self.groups)}

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each table."""
        cells = dict(zip(self.schema.names, self.schema.shape, strict=True))
        tables = zip(self.groups, self.sides, strict=True)
        return tuple(tuple(side or cells[name] for name, side in zip(*table, strict=True)) for table in tables)

    @cached_property
    def sides(self) -> tuple[tuple[int | None, ...], ...]:
        """``merged``, also if no cells were merged."""
        return self.merged or tuple((None,) * len(group) for group in self.groups)

    @property
    def cells(self) -> int:
        """How many cells there are in all tables."""
        return sum(map(math.prod, self.shapes))

    def sizes(self, places: Sequence[int]) -> list[int]:
        """How many cells each of these tables has."""
        shapes = self.shapes
        return [math.prod(shapes[place]) for place in places]

    def place(self, group: tuple[str, ...]) -> int:
        """The place of the table over these attributes, in this order."""
        place = self.places.get(group)
        if place is None:
            raise BadInput(f"there is no table of {listing(group)}. Name the attributes in the order of the request.")
        return place

    def check_places(self, places: Sequence[int]) -> None:
        """Raise an error unless these are numbers of tables, without repetition."""
        if not places:
            raise BadInput("name the places of some tables, given none.")
        wrong = [place for place in places if not 0 <= place < len(self.groups)]
        if wrong:
            raise BadInput(f"there are {len(self.groups)} tables, numbered from 0, given {shorten(wrong[0])}.")
        if len(set(places)) < len(places):
            twice = next(place for number, place in enumerate(places) if place in places[:number])
            raise BadInput(f"table {twice} is named twice. Name each table once.")


@dataclass(frozen=True)
class InstancesShape:
    """What is public about private instances: the parameters, and who counts as a neighbour.

    The number of instances and their curves are not public.
    """

    points: int
    """The number of parameters to choose from."""
    neighbours: str
    """``add-remove`` or ``replace``."""
    interval: tuple[float, ...] = ()
    """Both ends, if the parameters are a lattice on an interval; empty for any other grid."""


SourceShape: TypeAlias = TableShape | VectorShape | TablesShape | InstancesShape


@dataclass(frozen=True)
class Facts:
    """Everything that is public about a source; a handle knows nothing else about it."""

    node: int
    """Its number in its kernel."""
    shape: SourceShape
    lineage: tuple[str, ...]
    """The steps that led to it, as public texts."""
    stability: int
    """The largest multiple of its ε that a measurement here can cost: the product of the stabilities on the way."""
