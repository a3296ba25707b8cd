"""The tables that a task asks for, and the programs, each a few lines of operators, that measure the tables from which
they follow: pairs of attributes and single attributes.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

from adyton.arrays import Integers
from adyton.choice.decision import Bought
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.exact import Rational
from adyton.kernel.mechanisms import MeasureTables
from adyton.kernel.operators import check_request
from adyton.kernel.recorder import Ended
from adyton.kernel.shapes import TablesShape
from adyton.kernel.sources import TableSource, TablesSource
from adyton.marginals.estimating import Estimates, estimated
from adyton.marginals.pair_model import Forest, Pair
from adyton.marginals.refining import refined
from adyton.marginals.resolution import Maps
from adyton.messages import listing, shorten
from adyton.plans.algorithm import Algorithm
from adyton.plans.registry import ALGORITHMS, Registry
from adyton.queries import Partition
from adyton.queries.measurement import Group, MeasuredTable, NoisyTables
from adyton.schema import Schema
from adyton.schema.cell_groups import coarsened
from adyton.solving.residuals import Residuals, in_order
from adyton.strategies.table_shares import covering, table_shares
from adyton.tasks import Marginals
from adyton.tasks.questions import Along
from adyton.tasks.request import AUTO

MOST_CELLS = 1 << 22
"""The largest number of cells of all tables together: about a minute of work, and a gigabyte."""
MOST_PAIRS = 20_000
_NAMED = 3
_COARSER = (1024, 512, 256, 128, 64, 32, 16)
"""Limits on the cells of long attributes of numbers, tried one after the other."""


@dataclass(frozen=True, eq=False)
class TableSet:
    """Groups of attributes, with weights that say how much the error of each table matters.

    >>> from adyton.schema import Boolean, Integer
    >>> schema = Schema({"age": Integer(0, 99, step=10), "sex": Boolean(), "ill": Boolean()})
    >>> TableSet.of(schema, [("sex", "age", "ill"), ("age", "ill")], [1.0, 2.0]).pairs
    {('age', 'sex'): 1.0, ('age', 'ill'): 3.0, ('sex', 'ill'): 1.0}
    """

    schema: Schema
    """The schema of the attributes that are in a group."""
    groups: tuple[Group, ...]
    weights: tuple[float, ...]
    along: Mapping[str, Along] = field(default_factory=dict)
    """The queries along an attribute, where they are not its single cells."""

    @classmethod
    def of(
        cls,
        schema: Schema,
        groups: Sequence[Sequence[str]],
        weights: Sequence[float] | None = None,
        along: Mapping[str, Along] | None = None,
    ) -> TableSet:
        """For some groups of attributes of a schema; the default weight is 1."""
        wanted = tuple(tuple(group) for group in groups)
        heavy = (1.0,) * len(wanted) if weights is None else tuple(map(float, weights))
        return cls(schema, wanted, heavy, dict(along or {}))

    @classmethod
    def by(cls, task: Marginals, schema: Schema) -> TableSet:
        """The tables of a task, given the schema of its attributes."""
        return cls.of(schema, task.tables(schema), task.importance(schema), task.along(schema))

    @classmethod
    def fitting(cls, task: Marginals, schema: Schema) -> TableSet:
        """The same, with coarser cells for long attributes of numbers where the tables would be too large: the finest
        that fit, out of a fixed list. The result depends only on the task and the schema."""
        exact = cls.by(task, schema)
        sets = itertools.chain([exact], (cls.by(task, coarsened(schema, most)) for most in _COARSER))
        fitting = (own for own in sets if max(own.all_cells, *map(own.size, own.groups)) <= MOST_CELLS)
        return next(fitting, exact)

    def size(self, group: Group) -> int:
        """The number of cells of a table."""
        return math.prod(self.sides[name] for name in group)

    @property
    def all_cells(self) -> int:
        """The number of cells of all pairs and single attributes."""
        return sum(map(self.size, self.pairs)) + sum(self.sides.values())

    @cached_property
    def sides(self) -> dict[str, int]:
        """The number of cells of each attribute."""
        return dict(zip(self.schema.names, self.schema.shape, strict=True))

    @cached_property
    def pairs(self) -> dict[Pair, float]:
        """All pairs that are in a group, in the order of the schema, with the summed weights of their groups."""
        pairs: dict[Pair, float] = {}
        for group, weight in zip(self.groups, self.weights, strict=True):
            for pair in itertools.combinations(in_order(group, self.sides), 2):
                pairs[pair] = pairs.get(pair, 0.0) + weight
        return pairs

    @cached_property
    def group_weights(self) -> dict[Group, float]:
        """The weight of each group, summed where a group is given several times."""
        weights: dict[Group, float] = {}
        for group, weight in zip(self.groups, self.weights, strict=True):
            weights[group] = weights.get(group, 0.0) + weight
        return weights

    @property
    def singles(self) -> tuple[Group, ...]:
        """Every attribute as a group of its own."""
        return tuple((name,) for name in self.sides)

    @property
    def alone(self) -> dict[Group, float]:
        """The attributes that are in no pair, with their weights."""
        paired = {name for pair in self.pairs for name in pair}
        return {single: self.group_weights.get(single, 0.0) for single in self.singles if single[0] not in paired}

    @property
    def ordered(self) -> tuple[str, ...]:
        """The attributes whose neighbouring cells are alike."""
        return tuple(name for name, attribute in self.schema.attributes.items() if attribute.ordered)

    @property
    def longest_forest(self) -> int:
        """The largest number of pairs without a cycle."""
        return len(Forest.heaviest(tuple(self.sides), self.pairs).pairs)

    @property
    def cells(self) -> int:
        """The number of cells of all requested tables."""
        return sum(map(self.size, self.groups))

    @property
    def queries(self) -> int:
        """The number of queries about all requested tables: by default, one for each cell."""
        return sum(self.asked_of(group) for group in self.groups)

    def asked_of(self, group: Group) -> int:
        """The number of queries about a table."""
        return math.prod(self.along[name].count if name in self.along else self.sides[name] for name in group)

    @cached_property
    def energies(self) -> dict[str, tuple[float, float]]:
        """The energies of these queries, which determine their variances; see :class:`adyton.tasks.questions.Along`."""
        return {name: along.energy for name, along in self.along.items()}

    @cached_property
    def cover(self) -> tuple[Group, ...]:
        """The tables to measure for all pairs (pairs, or larger tables with several), and the attributes in no pair."""
        return (*covering(self.sides, list(self.pairs), list(self.pairs.values())), *self.alone)

    @property
    def counted(self) -> tuple[Group, ...]:
        """All tables that may be measured: single attributes, pairs, and those of the cover."""
        return tuple(dict.fromkeys((*self.singles, *self.pairs, *self.cover)))

    def shares(self, parts: Mapping[Pair, float] | None = None) -> Mapping[Group, Fraction]:
        """The shares of a budget for measuring the cover that make the weighted sum of all errors least. They sum to at
        most 1. *parts* are the parts of each pair's cells that are likely to have rows: other cells matter little, as
        they are shrunk to 0."""
        matters: dict[Group, float] = dict([*self.pairs.items(), *self.alone.items()])
        weights = [weight * (parts or {}).get((group[0], group[-1]), 1.0) for group, weight in matters.items()]
        return table_shares(self.sides, list(self.cover), list(matters), weights, self.energies)

    def direct_shares(self) -> Mapping[Group, Fraction]:
        """The shares of a budget for measuring the tables themselves."""
        weights = self.group_weights
        return table_shares(self.sides, list(weights), weights=list(weights.values()), energies=self.energies)

    def summed_variance(self, squares: Residuals, group: Group) -> float:
        """The sum of the variances of all queries about a table, by least squares; infinite if it is not determined."""
        return self.asked_of(group) * squares.mean_variance(group, self.energies)

    def check(self) -> None:
        """Refuse tables that are too large; only public information is used."""
        cells, limit = self.all_cells, f"the limit is {MOST_CELLS:,}"
        if len(self.pairs) > MOST_PAIRS:
            raise BadInput(
                f"{len(self.sides)} attributes have {len(self.pairs):,} pairs; the limit is {MOST_PAIRS:,}. Name fewer "
                "attributes (attrs), or the tables that matter (sets)."
            )
        if cells > MOST_CELLS:
            largest = sorted(self.sides, key=lambda name: -self.sides[name])[:_NAMED]
            sizes = ", ".join(f"{shorten(name)} ({self.sides[name]:,} cells)" for name in largest)
            raise BadInput(
                f"the tables of these {len(self.pairs):,} pairs have {cells:,} cells together; {limit}. The largest "
                f'attributes are {sizes}: declare fewer levels for them, with outside = "other" for the rest, leave '
                "them out (attrs), or name the tables that matter (sets)."
            )
        for group in self.groups:
            if self.size(group) > MOST_CELLS:
                raise BadInput(
                    f"the table of {listing(group)} has {self.size(group):,} cells, {limit}. Ask for fewer attributes "
                    "in it; rows that are sampled from a release have all of them."
                )


ROWS = "rows"
"""The name of a noisy number of rows that informs a decision."""
DEPENDENCE = "dependence"
"""The name of β, the noisy mean distance of pairs from independence, where it informs the choice of a program."""
DISTANCE = "distance"
"""The name of the same number where the request named the program."""
IN_GROUPS = " in groups"
"""These names end so where the distance is that of groups of cells."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was measured, by which program, and why by this program."""

    algorithm: str
    measured: tuple[MeasuredTable, ...]
    why: str
    bought: tuple[Bought, ...] = ()
    """The measurements that informed the decision."""
    ended: BaseException | None = None
    """The exception that ended the program early, if any."""


@dataclass(frozen=True, eq=False)
class Notes:
    """What a running program has measured so far; every measurement is noted immediately."""

    tables: list[MeasuredTable] = field(default_factory=list)
    bought: list[Bought] = field(default_factory=list)


_NOTES: ContextVar[Notes | None] = ContextVar("notes", default=None)


@dataclass(frozen=True, kw_only=True)
class TablesProgram(Algorithm[TableSource, TableSet]):
    """A way to measure many tables: :meth:`run` is a short program of operators."""

    def measure(self, source: TableSource, wanted: TableSet, epsilon: Rational) -> Outcome:
        """Measure the tables from which the requested ones follow, spending exactly *epsilon*."""
        return self.run(source, wanted, self.admitted(source, wanted, epsilon))

    def carry_out(self, source: TableSource, wanted: TableSet, epsilon: Fraction) -> Outcome:
        """Run the program after it was admitted.

        If it ends early, because another request has spent the rest of a shared ledger, the table is no longer readable
        or, in a replay, a person has ended it, the outcome has the measurements made until then.
        """
        notes = Notes()
        before = _NOTES.set(notes)
        try:
            return self.run(source, wanted, epsilon)
        except (Ended, Exception) as end:
            covered = {name for table in notes.tables for name in table.group}
            if not covered.issuperset(wanted.sides):
                raise
            why = f"{len(notes.tables):,} tables, measured before the program ended early"
            cause = end.cause if isinstance(end, Ended) else end
            return Outcome(self.name, tuple(notes.tables), why, tuple(notes.bought), cause)
        finally:
            _NOTES.reset(before)

    def estimate(self, wanted: TableSet, measured: Iterable[MeasuredTable]) -> Estimates:
        """Estimate all tables from the measurements: least squares, the denoised pairs, and all pairs fitted together.
        It costs no privacy."""
        estimates = estimated(wanted.sides, measured, ordered=wanted.ordered)
        return replace(estimates, model=refined(estimates.model))

    def check_asked(self, source: TableSource, wanted: TableSet) -> None:
        """Refuse tables that are too large."""
        wanted.check()

    def check_run(self, source: TableSource, wanted: TableSet, epsilon: Fraction) -> Callable[[], Outcome]:
        """Check every possible measurement; returns the program, ready to run."""
        self.check(wanted, epsilon)
        return partial(self.carry_out, source, wanted, epsilon)

    def check(self, wanted: TableSet, epsilon: Fraction) -> None:
        """Refuse what the program cannot do; by default, check the measurement of every table it might measure."""
        groups = wanted.counted
        every = MeasureTables.weighted(range(len(groups)))
        check_request(every, TablesShape(wanted.schema, groups), epsilon / (1 << 10))
        wanted.shares()

    @abstractmethod
    def run(self, source: TableSource, wanted: TableSet, epsilon: Fraction) -> Outcome:
        """The program itself, after it was admitted: it spends exactly *epsilon*."""


def measured(tables: TablesSource, shares: Mapping[Group, Fraction], epsilon: Fraction) -> NoisyTables:
    """Noisy tables of some groups, each with its share of *epsilon*, for one debit."""
    places = {tables.place(*group): share for group, share in shares.items() if share}
    noisy = tables.measure(MeasureTables(tuple(places), tuple(places.values())), epsilon)
    notes = _NOTES.get()
    if notes is not None:
        notes.tables.extend(noisy)
    return noisy


def merged_tables(tables: TablesSource, maps: Mapping[Pair, Maps]) -> TablesSource:
    """The tables of some pairs with their cells in groups; the same tables, if none has any."""
    if not any(any(axes) for axes in maps.values()):
        return tables
    return tables.merged((pair, [_labels(groups) for groups in axes]) for pair, axes in maps.items())


def _labels(groups: Partition | None) -> Integers | None:
    return None if groups is None else groups.labels


def measured_groups(
    tables: TablesSource, maps: Mapping[Pair, Maps], shares: Mapping[Pair, Fraction], epsilon: Fraction
) -> list[MeasuredTable]:
    """Noisy tables of pairs, of which each has its share of *epsilon*, and cells in these groups."""
    paid = {pair: share for pair, share in shares.items() if share}
    noisy = tables.measure(MeasureTables(tuple(tables.place(*pair) for pair in paid), tuple(paid.values())), epsilon)
    found = [
        replace(table, maps=maps[pair] if any(maps[pair]) else ()) for pair, table in zip(paid, noisy, strict=True)
    ]
    notes = _NOTES.get()
    if notes is not None:
        notes.tables.extend(found)
    return found


def note(look: Bought) -> Bought:
    """Note a measurement that informs a decision."""
    notes = _NOTES.get()
    if notes is not None:
        notes.bought.append(look)
    return look


PROGRAMS = Registry[TablesProgram](
    "program for many tables",
    {
        "all-pairs": "marginals.select_pairs:AllPairs",
        "all-tables": "marginals.select_pairs:AllTables",
        "select-pairs": "marginals.select_pairs:SelectPairs",
        "privbayes": "marginals.privbayes:PrivBayes",
        "privbayes-ls": "marginals.privbayes:PrivBayesLs",
        AUTO: "marginals.select_pairs:ChosenWay",
    },
)
NAMED = tuple(name for name in PROGRAMS if name != AUTO)
"""The programs that a request can name."""


def what_it_does(name: str) -> str:
    """A short description of a program, or of an algorithm of another kind.

    >>> what_it_does("all-pairs")
    'Every pair of attributes, in shares of a budget that make the sum of errors least'
    >>> what_it_does("hb")
    'A tree of counts whose branching suits the size of the domain, made consistent by …'
    """
    return (PROGRAMS if name in PROGRAMS else ALGORITHMS).what_it_does(name)


def program_named(name: str, **options: Any) -> TablesProgram:
    """A program with its options.

    >>> program_named("select-pairs", pairs=12)
    SelectPairs(pairs=12, label=None)
    """
    return PROGRAMS.named(name, **options)
