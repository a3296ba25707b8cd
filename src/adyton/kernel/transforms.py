"""Transformations: private → private operators, each with its stability.

A transformation is a plain, frozen value. It has a public half, :meth:`Transform.plan`, which checks it against what
is public about the source and says what comes out and how stable it is; and a private half, :meth:`Transform.apply`,
which only the kernel calls. Nothing is read from the data until a measurement has been paid for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.tables.predicates import parse_predicate
from adyton.kernel.tables.private_table import check_domain
from adyton.kernel.vectors import PrivateVector
from adyton.queries import Partition, Queries
from adyton.schema import Schema


@dataclass(frozen=True)
class TableShape:
    """What is public about a private table."""

    schema: Schema


@dataclass(frozen=True)
class VectorShape:
    """What is public about a private vector: the shape of its domain, and the attributes along its axes if any."""

    shape: tuple[int, ...]
    schema: Schema | None = None

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return int(np.prod(self.shape, dtype=object))


SourceShape = TableShape | VectorShape


@dataclass(frozen=True)
class Outcome:
    """What a transformation yields: the public shape of each result, the stability, and whether they are disjoint."""

    shapes: tuple[SourceShape, ...]
    stability: int = 1
    disjoint: bool = False


class Transform(ABC):
    """A private → private operator."""

    takes: ClassVar[type[TableShape] | type[VectorShape]]

    @abstractmethod
    def plan(self, source: Any) -> Outcome:
        """Check against the public shape of the source; say what comes out, and with what stability."""

    @abstractmethod
    def apply(self, source: Any, data: Any) -> list[Any]:
        """The transformed private data, lazily."""

    @abstractmethod
    def __str__(self) -> str:
        """A short public text for the lineage."""


@dataclass(frozen=True)
class Select(Transform):
    """Keep some attributes. One row stays one row: stability 1."""

    takes = TableShape
    attributes: tuple[str, ...]

    def plan(self, source: TableShape) -> Outcome:
        """The same rows over a smaller schema."""
        return Outcome((TableShape(source.schema.select(self.attributes)),))

    def apply(self, source: TableShape, data: Any) -> list[Any]:
        """The projected table."""
        return [data.select(self.attributes)]

    def __str__(self) -> str:
        return f"select({', '.join(self.attributes)})"


@dataclass(frozen=True)
class Where(Transform):
    """Keep the rows that satisfy a predicate. One row becomes one row or none: stability 1."""

    takes = TableShape
    predicate: str

    def plan(self, source: TableShape) -> Outcome:
        """The same schema."""
        parse_predicate(self.predicate, source.schema)
        return Outcome((source,))

    def apply(self, source: TableShape, data: Any) -> list[Any]:
        """The filtered table."""
        return [data.where(parse_predicate(self.predicate, source.schema))]

    def __str__(self) -> str:
        return f"where({self.predicate})"


@dataclass(frozen=True)
class GroupBy(Transform):
    """One row per non-empty group of equal keys, with the size of the group, clamped to 1 … max_count.

    One row more in the input changes one group: its old row goes and its new row comes. Stability 2.
    """

    takes = TableShape
    keys: tuple[str, ...]
    count: str
    max_count: int

    def plan(self, source: TableShape) -> Outcome:
        """The keys and the count."""
        return Outcome((TableShape(source.schema.grouped(self.keys, self.count, self.max_count)),), stability=2)

    def apply(self, source: TableShape, data: Any) -> list[Any]:
        """The table of groups."""
        return [data.group_by(self.keys, self.count, self.max_count)]

    def __str__(self) -> str:
        return f"group_by({', '.join(self.keys)}; {self.count} ≤ {self.max_count})"


@dataclass(frozen=True, eq=False)
class SplitTable(Transform):
    """Disjoint tables, one per group of cells of an attribute. A row goes to one of them or to none: stability 1."""

    takes = TableShape
    attribute: str
    groups: Partition | None = None

    def _partition(self, source: TableShape) -> Partition:
        size = source.schema.select((self.attribute,)).cells
        partition = Partition(np.arange(size)) if self.groups is None else self.groups
        if partition.cells != size:
            raise BadInput(f"{self.attribute!r} has {size} cells, given a partition of {partition.cells}.")
        return partition

    def plan(self, source: TableShape) -> Outcome:
        """One table of the same schema per group."""
        return Outcome((source,) * self._partition(source).groups, disjoint=True)

    def apply(self, source: TableShape, data: Any) -> list[Any]:
        """The tables."""
        partition = self._partition(source)
        return list(data.split(self.attribute, partition.labels.tolist(), partition.groups))

    def __str__(self) -> str:
        return f"split({self.attribute})"


@dataclass(frozen=True)
class Vectorize(Transform):
    """Count the rows of every cell of the domain. One row more adds 1 to one cell: stability 1 in L1."""

    takes = TableShape

    def plan(self, source: TableShape) -> Outcome:
        """A vector with one axis per attribute."""
        vector = VectorShape(source.schema.shape, source.schema)
        check_domain(source.schema)
        return Outcome((vector,))

    def apply(self, source: TableShape, data: Any) -> list[Any]:
        """The vector, counted inside the engine when first needed."""
        return [PrivateVector(data.vectorize)]

    def __str__(self) -> str:
        return "vectorize"


def _check_cells(what: str, given: int, source: VectorShape) -> None:
    if given != source.cells:
        raise BadInput(f"this vector has {source.cells} cells, given {what} over {given}.")


@dataclass(frozen=True, eq=False)
class Reduce(Transform):
    """Sum the cells of each group. A cell counts in one group at most: stability 1."""

    takes = VectorShape
    partition: Partition

    def plan(self, source: VectorShape) -> Outcome:
        """One cell per group."""
        _check_cells("a partition", self.partition.cells, source)
        return Outcome((VectorShape((self.partition.groups,)),))

    def apply(self, source: VectorShape, data: PrivateVector) -> list[Any]:
        """The sums."""
        return [data.reduce(self.partition)]

    def __str__(self) -> str:
        return f"reduce({self.partition.groups} groups)"


@dataclass(frozen=True, eq=False)
class SplitVector(Transform):
    """Disjoint vectors, one per group. A cell goes to one of them or to none: stability 1."""

    takes = VectorShape
    partition: Partition

    def plan(self, source: VectorShape) -> Outcome:
        """One vector per group; every group needs a cell."""
        _check_cells("a partition", self.partition.cells, source)
        sizes = self.partition.sizes
        if not sizes.all():
            raise BadInput(f"group {int(np.flatnonzero(sizes == 0)[0])} of the partition has no cells.")
        return Outcome(tuple(VectorShape((int(size),)) for size in sizes), disjoint=True)

    def apply(self, source: VectorShape, data: PrivateVector) -> list[Any]:
        """The parts."""
        return list(data.split(self.partition))

    def __str__(self) -> str:
        return f"split({self.partition.groups} groups)"


@dataclass(frozen=True, eq=False)
class LinearMap(Transform):
    """Replace the vector x by M·x. ‖M·x − M·x′‖₁ ≤ max_i ‖column i of M‖₁ · ‖x − x′‖₁: that norm is the stability.

    The norm is computed here, exactly, from the coefficients that are applied; nobody declares it.
    """

    takes = VectorShape
    queries: Queries

    def plan(self, source: VectorShape) -> Outcome:
        """One cell per query."""
        _check_cells("queries", self.queries.cells, source)
        return Outcome((VectorShape((self.queries.count,)),), stability=self.queries.sensitivity())

    def apply(self, source: VectorShape, data: PrivateVector) -> list[Any]:
        """The mapped vector."""
        return [data.map(self.queries)]

    def __str__(self) -> str:
        return f"map({type(self.queries).__name__} {self.queries.count}×{self.queries.cells})"


TRANSFORMS: Sequence[type[Transform]] = (
    Select,
    Where,
    GroupBy,
    SplitTable,
    Vectorize,
    Reduce,
    SplitVector,
    LinearMap,
)
