"""Handles: what a plan holds instead of data. A handle has public facts and a reference to the kernel's door only.

All requests of a plan go through the :class:`Door`: a :class:`~adyton.kernel.kernel.Kernel` in this process, or an
object that sends operators as text to a kernel elsewhere (:mod:`adyton.session.wire`). A plan cannot tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.exact import Rational
from adyton.kernel.ledger.records import Account
from adyton.kernel.mechanisms import NoisyCount, VectorLaplace
from adyton.kernel.operators import Mechanism, Transform
from adyton.kernel.sealed import Sealed
from adyton.kernel.shapes import Facts, InstancesShape, SourceShape, TableShape, TablesShape, VectorShape
from adyton.kernel.transforms import (
    Coarsen,
    CountLeaves,
    CountMisfits,
    CountTables,
    GroupBy,
    LinearMap,
    MergeCells,
    Reduce,
    Select,
    ShareRows,
    SingleTables,
    SplitTable,
    SplitVector,
    SumValues,
    UnitSizes,
    Vectorize,
    Where,
)
from adyton.messages import shorten
from adyton.queries import Measurement, NoisyValue, Partition, Queries
from adyton.queries.measurement import NoisyTables
from adyton.schema import RowTree, Schema
from adyton.whole import whole

if TYPE_CHECKING:
    from adyton.kernel.mechanisms import MeanDistance, MeasureTables, PairChoice, Selection, SplitChoice
    from adyton.kernel.mechanisms.published.parent_choice import ParentChoice
    from adyton.kernel.mechanisms.published.statistic import Statistic

Derived = TypeVar("Derived", bound="Source")
Maps: TypeAlias = Sequence[Sequence[int] | npt.NDArray[Any] | None]
"""For each attribute of a table the number of the group of each cell, or None."""


class Door(Protocol):
    """The requests that a source makes to its kernel."""

    @property
    def budget(self) -> Account:
        """The total, and what all users of the ledger have spent of it."""

    def transform(self, source: Source, operator: Transform) -> tuple[Source, ...]:
        """Derive a source, or one per part for a split. Costs nothing and reads no data."""

    def measure(self, source: Source, operator: Mechanism, epsilon: Rational) -> Any:
        """Run a mechanism with *epsilon* on a source; it is charged before the data are read."""

    def afford(self, source: Source, epsilon: Rational) -> None:
        """Refuse a request for several measurements of *epsilon* in total, if not enough budget is left for all."""


class Source(Sealed):
    """A handle on private data inside a kernel."""

    __slots__ = ("__weakref__", "_door", "_facts")

    def __init__(self, door: Door, facts: Facts) -> None:
        self._door = door
        self._facts = facts

    @property
    def kernel(self) -> Door:
        """The kernel that keeps the data, or a stand-in for one elsewhere."""
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
        """The largest multiple of its ε that a measurement here can cost."""
        return self._facts.stability

    @property
    def facts(self) -> Facts:
        """Everything that is public about this source."""
        return self._facts

    def _derive(self, operator: Transform, kind: type[Derived]) -> tuple[Derived, ...]:
        """The sources that a transformation returns, which must be of this kind."""
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
        """Whether all parts of a split together cost as much as one: only if they are counted at one moment."""
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
        """One row per group of equal keys, with the group's size up to *max_count*. Measurements cost twice as much;
        but if the key is the schema's unit, they cost their ε once."""
        return self._derive(GroupBy(_names(keys), count, max_count), TableSource)[0]

    def units(self, count: str = "rows", *, most: int) -> TableSource:
        """One row per unit with rows here: the number of its rows, up to *most*, before ``rows_per_unit`` cuts any.
        Measurements cost their ε once."""
        return self._derive(UnitSizes(count, most), TableSource)[0]

    def split(self, attribute: str, groups: Partition | None = None) -> tuple[TableSource, ...]:
        """Disjoint tables, one per cell of an attribute or group of cells. Measuring all costs as much as measuring one
        if the source is :attr:`steady`; otherwise each is charged."""
        return self._derive(SplitTable(attribute, groups), TableSource)

    def vectorize(self) -> VectorSource:
        """The count of every cell of the schema's domain."""
        return self._derive(Vectorize(), VectorSource)[0]

    def tables(self, groups: Sequence[Sequence[str]]) -> TablesSource:
        """The counts of every cell for several groups of attributes. The tables share rows: costs add up.

        All are counted together when the first is measured, in one pass over the rows if the engine can, and kept.
        """
        return self._derive(CountTables(tuple(_names(_listed(group)) for group in _listed(groups))), TablesSource)[0]

    def misfits(self, attributes: Sequence[str], tested: Sequence[str] = ()) -> VectorSource:
        """How many rows match the schema, and how many do not, for each reason that
        :func:`adyton.schema.misfits.misfits_of` lists for these attributes."""
        return self._derive(CountMisfits(_listed(attributes), _listed(tested)), VectorSource)[0]

    def leaves(self, tree: RowTree, *attributes: str | Sequence[str]) -> VectorSource:
        """How many rows lie in each leaf of a public tree, by their cells in these attributes."""
        return self._derive(CountLeaves(tree, _names(attributes)), VectorSource)[0]

    def sums(self, attribute: str, by: str | Sequence[str] = ()) -> VectorSource:
        """The sum of an attribute's values in every group, in whole steps of its
        :class:`~adyton.schema.numbers.FixedPoint`. The cost is multiplied by the largest value, in steps."""
        return self._derive(SumValues(attribute, _names((by,))), VectorSource)[0]

    def shares(self, attribute: str, by: str | Sequence[str] = (), *, degree: int = 1) -> VectorSource:
        """Every row divided between the bounds of an attribute, in every group: from this follow counts, means and,
        with degree 2, variances. The cost is multiplied by the number of steps between the bounds, to that power."""
        return self._derive(ShareRows(attribute, _names((by,)), degree), VectorSource)[0]

    def choose_splits(self, choice: SplitChoice, epsilon: Rational) -> tuple[int, ...]:
        """For each leaf of a tree, the number of an attribute to split on; −1 if the leaf has no candidate.

        All choices together spend *epsilon* times the stability of this source: no row is in two leaves.
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
        """Disjoint vectors, one per group. Measuring all costs as much as measuring one."""
        return self._derive(SplitVector(partition), VectorSource)

    def map(self, queries: Queries) -> VectorSource:
        """One cell per query: its answer. The cost of measurements is multiplied by the largest L1 norm of a column."""
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


class TablesSource(Source):
    """A handle on many private tables, each over a group of attributes; a table's *place* is its number, from 0.

    They are counted together, once, when the first is measured.

    >>> import numpy as np, adyton as ad
    >>> from adyton.kernel.mechanisms import MeasureTables
    >>> schema = ad.Schema({"age": ad.Integer(0, 2), "sex": ad.Boolean()})
    >>> kernel = ad.Kernel.simulated_table(np.zeros((50, 2), dtype=int), schema, epsilon=1, seed=1)
    >>> tables = kernel.root.tables([("age",), ("age", "sex")])
    >>> noisy = tables.measure(MeasureTables.weighted((0, 1), (1, 3)), epsilon=1)
    >>> noisy.tables()["age", "sex"].shape, noisy.variances.round(1).tolist(), kernel.remaining
    ((3, 2), [31.8, 3.4], Fraction(0, 1))
    """

    __slots__ = ()

    @property
    def _shape(self) -> TablesShape:
        return cast(TablesShape, self._facts.shape)

    @property
    def schema(self) -> Schema:
        """The attributes of all tables."""
        return self._shape.schema

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The attributes of each table."""
        return self._shape.groups

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each table."""
        return self._shape.shapes

    @property
    def cells(self) -> int:
        """How many cells there are in all tables."""
        return self._shape.cells

    def place(self, *group: str) -> int:
        """The place of the table over these attributes, in this order."""
        return self._shape.place(group)

    def merged(self, tables: Mapping[Sequence[str], Maps] | Iterable[tuple[Sequence[str], Maps]]) -> TablesSource:
        """Some of the tables, with cells merged into groups by public maps, in the order given.

        A table is named by its attributes and has a map for each of them: the number of the group of each cell, 0, 1,
        2 … without gaps; or None, for cells as they are. The rows are not read again.

        >>> import numpy as np, adyton as ad
        >>> schema = ad.Schema({"age": ad.Integer(0, 3), "sex": ad.Boolean()})
        >>> kernel = ad.Kernel.simulated_table(np.zeros((50, 2), dtype=int), schema, epsilon=1, seed=1)
        >>> tables = kernel.root.tables([("age",), ("age", "sex")])
        >>> tables.merged({("age", "sex"): ([0, 1, 1, 0], None)}).shapes
        ((2, 2),)
        """
        words = "tables with merged cells are given as pairs of their attributes and maps"
        listed = tables.items() if isinstance(tables, Mapping) else _listed(tables, words)
        pairs = [_listed(pair, words) for pair in listed]
        if wrong := [pair for pair in pairs if len(pair) != 2]:
            raise BadInput(f"{words}, given {shorten(wrong[0])}.")
        groups = tuple(_names(_listed(group)) for group, _ in pairs)
        maps = tuple(
            tuple(None if cells is None else _map(cells) for cells in _listed(axes, words)) for _, axes in pairs
        )
        return self._derive(MergeCells(groups, maps), TablesSource)[0]

    def vectors(self) -> tuple[VectorSource, ...]:
        """Each table as a separate vector, without a schema if cells were merged. They share rows: costs add up."""
        return self._derive(SingleTables(), VectorSource)

    def measure(self, tables: MeasureTables, epsilon: Rational) -> NoisyTables:
        """Noisy tables, each with its share of *epsilon*; spends it once, times the stability of this source."""
        noisy: NoisyTables = self._door.measure(self, tables, epsilon)
        return noisy

    def choose_pairs(self, choice: PairChoice, epsilon: Rational) -> tuple[int, ...]:
        """The places of tables that a public model guesses badly; spends *epsilon* times the stability."""
        chosen: tuple[int, ...] = self._door.measure(self, choice, epsilon)
        return chosen

    def mean_distance(self, guess: MeanDistance, epsilon: Rational) -> NoisyValue:
        """How far a public model is from tables, on average; spends *epsilon* times the stability."""
        value: NoisyValue = self._door.measure(self, guess, epsilon)
        return value

    def choose_parents(self, choice: ParentChoice, epsilon: Rational) -> dict[str, tuple[str, ...]]:
        """The parents of every attribute but the first, in the order in which they were chosen; spends *epsilon* times
        the stability."""
        chosen: tuple[int, ...] = self._door.measure(self, choice, epsilon)
        return choice.parents(self._shape, chosen)

    def __repr__(self) -> str:
        return f"<{len(self.groups)} private tables: {' → '.join(self.lineage)}>"


class InstancesSource(Source):
    """A handle on private instances of a problem: the sum of the scores of a parameter over all of them."""

    __slots__ = ()

    @property
    def _shape(self) -> InstancesShape:
        return cast(InstancesShape, self._facts.shape)

    @property
    def points(self) -> int:
        """How many parameters there are to choose from."""
        return self._shape.points

    @property
    def neighbours(self) -> str:
        """Who counts as a neighbour: ``add-remove`` or ``replace``."""
        return self._shape.neighbours

    @property
    def interval(self) -> tuple[float, ...]:
        """The interval of parameters; empty for a grid."""
        return self._shape.interval

    def tune(self, epsilon: Rational, default: float | None = None) -> float:
        """A parameter of the interval that is good on the instances; spends *epsilon*.

        With *default*, the current value, half of the prior is on that value.
        """
        from adyton.kernel.instances.tuned_parameter import TunedParameter  # only configuration needs it

        place: int = self._door.measure(self, TunedParameter(None if default is None else float(default)), epsilon)
        return self.parameter(place, default)

    def parameter(self, place: int, default: float | None = None) -> float:
        """The parameter that a place stands for; the place after the last stands for the default."""
        from adyton.kernel.instances.lattice import POINTS, Lattice  # only configuration needs it

        if place == POINTS:
            assert default is not None
            return float(default)
        return Lattice(*self.interval).point(place)

    def choose_point(self, epsilon: Rational) -> int:
        """The number of a point of the grid that is good on the instances; spends *epsilon*."""
        from adyton.kernel.instances.tuned_parameter import ChosenPoint  # only configuration needs it

        chosen: int = self._door.measure(self, ChosenPoint(), epsilon)
        return chosen

    def __repr__(self) -> str:
        where = f"[{self.interval[0]:g}, {self.interval[1]:g}]" if self.interval else f"a grid of {self.points:,}"
        return f"<private instances: {' → '.join(self.lineage)}; parameters in {where}>"


KINDS: dict[type[SourceShape], type[Source]] = {
    TableShape: TableSource,
    VectorShape: VectorSource,
    TablesShape: TablesSource,
    InstancesShape: InstancesSource,
}
"""The handle on each kind of private data, by what is public about them."""


def handle(door: Door, facts: Facts) -> Source:
    """A handle on data of a kernel."""
    return KINDS[type(facts.shape)](door, facts)


def _listed(given: object, words: str = "attributes must be given as lists of names") -> tuple[Any, ...]:
    """A given list, as a tuple."""
    if isinstance(given, Iterable):
        return tuple(given)
    raise BadInput(f"{words}, given {shorten(given)}.")


def _names(given: tuple[Any, ...]) -> tuple[str, ...]:
    """Names given one by one, or as one list."""
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], list | tuple) else given


def _map(cells: object) -> Partition:
    """Groups of cells, from the number of the group of each cell."""
    plain = cells.tolist() if isinstance(cells, np.ndarray) else cells  # Python's numbers are checked faster
    listed = _listed(plain, "a map is a list with the number of the group of each cell, or None")
    numbers = [whole(number, "the number of a group of cells", 0) for number in listed]
    if (groups := set(numbers)) != set(range(len(groups))) or not numbers:
        raise BadInput(f"groups of cells must be numbered 0, 1, 2 … without gaps, given {shorten(sorted(groups))}.")
    return Partition(numbers)
