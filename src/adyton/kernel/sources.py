"""Handles: what a plan holds instead of data. They carry public facts and lead to the kernel's door, nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy.typing as npt

from adyton.errors import BadInput
from adyton.exact import Rational
from adyton.kernel.mechanisms import NoisyCount, Selection, SplitChoice, Statistic, VectorLaplace
from adyton.kernel.sealed import Sealed
from adyton.kernel.shapes import Facts, TableShape, VectorShape
from adyton.kernel.transforms import (
    Coarsen,
    CountLeaves,
    CountMisfits,
    CountTables,
    GroupBy,
    LinearMap,
    Reduce,
    Select,
    ShareRows,
    SplitTable,
    SplitVector,
    SumValues,
    Transform,
    UnitSizes,
    Vectorize,
    Where,
)
from adyton.messages import shorten
from adyton.queries import Measurement, NoisyValue, Partition, Queries
from adyton.schema import RowTree, Schema

if TYPE_CHECKING:
    from adyton.kernel.door import Door
    from adyton.kernel.tables_source import TablesSource

Derived = TypeVar("Derived", bound="Source")


class Source(Sealed):
    """A handle on private data inside a kernel."""

    __slots__ = ("__weakref__", "_door", "_facts")

    def __init__(self, door: Door, facts: Facts) -> None:
        self._door = door
        self._facts = facts

    @property
    def kernel(self) -> Door:
        """The kernel that keeps the data, or the way to it."""
        return self._door

    @property
    def node(self) -> int:
        """The number of this source in its kernel."""
        return self._facts.node

    @property
    def lineage(self) -> tuple[str, ...]:
        """The steps that led here, as public texts."""
        return self._facts.lineage

    @property
    def stability(self) -> int:
        """How many times its ε a measurement here can cost at most."""
        return self._facts.stability

    @property
    def facts(self) -> Facts:
        """All that is public about it."""
        return self._facts

    def _derive(self, operator: Transform, kind: type[Derived]) -> tuple[Derived, ...]:
        """The sources that a transformation yields, which must be of this kind."""
        sources = self._door.transform(self, operator)
        assert all(isinstance(source, kind) for source in sources)
        return cast(tuple[Derived, ...], sources)


class TableSource(Source):
    """A handle on a private table."""

    __slots__ = ()

    @property
    def _shape(self) -> TableShape:
        return cast(TableShape, self._facts.shape)

    @property
    def schema(self) -> Schema:
        """What is public about the table."""
        return self._shape.schema

    @property
    def from_text(self) -> bool:
        """Whether the table comes from a file of text, such as CSV."""
        return self._shape.from_text

    @property
    def steady(self) -> bool:
        """Whether the parts of a split cost as much as one of them: only if they are counted at one moment."""
        return self._shape.steady

    def select(self, *attributes: str | Sequence[str]) -> TableSource:
        """Keep these attributes: ``select("age", "sex")`` or ``select(["age", "sex"])``."""
        return self._derive(Select(_names(attributes)), TableSource)[0]

    def coarsen(self, schema: Schema) -> TableSource:
        """Read the same attributes in the coarser cells of another schema; see :mod:`adyton.schema.cell_groups`."""
        return self if Schema.of(schema) == self.schema else self._derive(Coarsen(schema), TableSource)[0]

    def where(self, predicate: str) -> TableSource:
        """Keep the rows that satisfy a predicate, for example ``"age >= 65 and sex = 'F'"``."""
        return self._derive(Where(predicate), TableSource)[0]

    def group_by(self, *keys: str | Sequence[str], count: str = "count", max_count: int) -> TableSource:
        """One row per group of equal keys, with the group's size up to *max_count*. Doubles what measurements cost;
        but where the key is the schema's unit, they cost their ε once."""
        return self._derive(GroupBy(_names(keys), count, max_count), TableSource)[0]

    def units(self, count: str = "rows", *, most: int) -> TableSource:
        """One row per unit with rows here: how many, up to *most*, before the limit cuts any. Costs each ε once."""
        return self._derive(UnitSizes(count, most), TableSource)[0]

    def split(self, attribute: str, groups: Partition | None = None) -> tuple[TableSource, ...]:
        """Disjoint tables, one per cell of an attribute or group of cells. Measuring all costs as much as one, if the
        source is :attr:`steady`; else each is charged."""
        return self._derive(SplitTable(attribute, groups), TableSource)

    def vectorize(self) -> VectorSource:
        """The count of every cell of the schema's domain."""
        return self._derive(Vectorize(), VectorSource)[0]

    def tables(self, groups: Sequence[Sequence[str]]) -> TablesSource:
        """The counts of every cell for several groups of attributes. They share rows: costs add up.

        All are counted together when the first of them is measured, in one pass over the rows where the engine can,
        and kept.
        """
        counted = self._derive(CountTables(tuple(_names(_listed(group)) for group in _listed(groups))), Source)[0]
        return cast("TablesSource", counted)

    def misfits(self, attributes: Sequence[str], tested: Sequence[str] = ()) -> VectorSource:
        """How many rows fit the schema, and how many do not for each reason that
        :func:`adyton.schema.misfits.misfits_of` lists for these attributes."""
        return self._derive(CountMisfits(_listed(attributes), _listed(tested)), VectorSource)[0]

    def leaves(self, tree: RowTree, *attributes: str | Sequence[str]) -> VectorSource:
        """How many rows lie in each leaf of a public tree, by their cells in these attributes."""
        return self._derive(CountLeaves(tree, _names(attributes)), VectorSource)[0]

    def sums(self, attribute: str, by: str | Sequence[str] = ()) -> VectorSource:
        """The sum of an attribute's values in every group, in whole steps of its
        :class:`~adyton.schema.numbers.FixedPoint`. Measurements cost the largest value times as much."""
        return self._derive(SumValues(attribute, _names((by,))), VectorSource)[0]

    def shares(self, attribute: str, by: str | Sequence[str] = (), *, degree: int = 1) -> VectorSource:
        """Every row shared out between the bounds of an attribute, in every group: what counts, means and, with degree
        2, variances follow from. Measurements cost the steps between the bounds, to that power, times as much."""
        return self._derive(ShareRows(attribute, _names((by,)), degree), VectorSource)[0]

    def choose_splits(self, choice: SplitChoice, epsilon: Rational) -> tuple[int, ...]:
        """For each leaf of a tree the number of an attribute to split on, −1 where there is no candidate.

        All of them together spend *epsilon* times the stability of this source: no row is in two leaves.
        """
        chosen: tuple[int, ...] = self._door.measure(self, choice, epsilon)
        return chosen

    def count(self, epsilon: Rational) -> Measurement:
        """How many rows there are, with noise; spends *epsilon* times the stability of this source."""
        answer: Measurement = self._door.measure(self, NoisyCount(), epsilon)
        return answer

    def __repr__(self) -> str:
        return f"<private table: {' → '.join(self.lineage)}; attributes {', '.join(self.schema.attributes)}>"


class VectorSource(Source):
    """A handle on a private vector of counts."""

    __slots__ = ()

    @property
    def _shape(self) -> VectorShape:
        return cast(VectorShape, self._facts.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the domain."""
        return self._shape.shape

    @property
    def cells(self) -> int:
        """How many cells the domain has."""
        return self._shape.cells

    @property
    def schema(self) -> Schema | None:
        """The attributes along the axes, for a vector that comes straight from a table."""
        return self._shape.schema

    def reduce(self, partition: Partition) -> VectorSource:
        """One cell per group: the sum of its cells."""
        return self._derive(Reduce(partition), VectorSource)[0]

    def split(self, partition: Partition) -> tuple[VectorSource, ...]:
        """Disjoint vectors, one per group. Measuring all costs as much as one."""
        return self._derive(SplitVector(partition), VectorSource)

    def map(self, queries: Queries) -> VectorSource:
        """One cell per query: its answer. Measurements then cost the largest L1 norm of a column times as much."""
        return self._derive(LinearMap(queries), VectorSource)[0]

    def measure(
        self, queries: Queries, epsilon: Rational, weights: npt.ArrayLike | Sequence[float] | None = None
    ) -> Measurement:
        """Noisy answers to the queries; with weights, a query of twice the weight gets half the noise scale."""
        answer: Measurement = self._door.measure(self, VectorLaplace.weighted(queries, weights), epsilon)
        return answer

    def select(self, selection: Selection, epsilon: Rational) -> Any:
        """A private choice, for example of a partition; spends *epsilon* times the stability of this source."""
        return self._door.measure(self, selection, epsilon)

    def statistic(self, statistic: Statistic, epsilon: Rational) -> NoisyValue:
        """One number about the vector, with noise; spends *epsilon* times the stability of this source."""
        value: NoisyValue = self._door.measure(self, statistic, epsilon)
        return value

    def __repr__(self) -> str:
        return f"<private vector: {' → '.join(self.lineage)}; shape {self.shape}>"


def _listed(given: object) -> tuple[Any, ...]:
    """What somebody gave as a list."""
    if isinstance(given, Iterable):
        return tuple(given)
    raise BadInput(f"attributes are given by their names, in lists, given {shorten(given)}.")


def _names(given: tuple[Any, ...]) -> tuple[str, ...]:
    """Names given one by one, or as one list."""
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], list | tuple) else given
