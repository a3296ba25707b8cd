"""What is public about a private source: its schema, the shape of its vector or tables, or the parameters to choose
from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries import Product, Queries
from adyton.queries.base import NOTHING, Size
from adyton.schema import RowTree, Schema


@dataclass(frozen=True)
class TableShape:
    """What is public about a private table: its schema, and whether it comes from a file of text, such as CSV."""

    schema: Schema
    from_text: bool = False
    by_unit: bool = False
    """Whether each row says to which unit it belongs, and only rows were left out between the root and this table."""
    divided: bool = False
    """Whether there was a split: other rows of a unit may be in other parts."""
    steady: bool = True
    """Whether the parts of a split can be counted as they are at one moment."""


@dataclass(frozen=True)
class VectorShape:
    """What is public about a private vector: the shape of its domain, and the attributes along its axes if any.

    ``mapping`` are the queries whose answers on the first vector are this vector's cells, for one that was derived
    from another: with it, what is measured here can be read as a measurement there.
    """

    shape: tuple[int, ...]
    schema: Schema | None = None
    mapping: Queries | None = None
    pending: Size = NOTHING
    """What it takes to derive this vector from the first one, which is done when it is first measured."""
    leaves: RowTree | None = None
    """The tree whose leaves are the first axis, if they are."""

    def derive(self, queries: Queries) -> VectorShape:
        """The vector of these queries' answers on this one."""
        mapping = queries if self.mapping is None else Product(queries, self.mapping)
        return VectorShape((queries.count,), mapping=mapping, pending=self.pending.then(queries.size()))

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return math.prod(self.shape)

    def check_cells(self, what: str, given: int) -> None:
        """An error unless *what* was made for as many cells as there are."""
        if given != self.cells:
            raise BadInput(f"this vector has {self.cells} cells, given {what} over {given}.")


@dataclass(frozen=True)
class TablesShape:
    """What is public about many private tables of counts: the schema, and which attributes each table is over."""

    schema: Schema
    groups: tuple[tuple[str, ...], ...]

    @cached_property
    def places(self) -> dict[tuple[str, ...], int]:
        """The place of each group."""
        return {group: place for place, group in enumerate(self.groups)}

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each table."""
        sizes = dict(zip(self.schema.names, self.schema.shape, strict=True))
        return tuple(tuple(sizes[name] for name in group) for group in self.groups)

    @property
    def cells(self) -> int:
        """How many cells there are in all tables."""
        return sum(map(math.prod, self.shapes))

    def sizes(self, places: Sequence[int]) -> list[int]:
        """How many cells each of these tables has."""
        shapes = self.shapes
        return [math.prod(shapes[place]) for place in places]

    def check_places(self, places: Sequence[int]) -> None:
        """An error unless these are numbers of tables, none of them twice."""
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
    """What is public about private instances: which parameters there are, and who counts as a neighbour.

    Not how many instances there are, nor anything about their curves.
    """

    points: int
    """How many parameters can be chosen."""
    neighbours: str
    """``add-remove`` or ``replace``."""
    interval: tuple[float, ...] = ()
    """Both ends, where the parameters are a lattice of an interval; nothing for a grid of any other kind."""


SourceShape: TypeAlias = TableShape | VectorShape | TablesShape | InstancesShape


@dataclass(frozen=True)
class Facts:
    """All that is public about a source, and all that a handle on it knows."""

    node: int
    """Its number in its kernel."""
    shape: SourceShape
    lineage: tuple[str, ...]
    """The steps that led to it, as public texts."""
    stability: int
    """How many times its ε a measurement here can cost at most: the product of the stabilities on the way."""
