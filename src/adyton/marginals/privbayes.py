"""The programs that choose a Bayesian network privately and measure its tables: PrivBayes, and PrivBayes-LS.

A network of noisy tables describes every attribute by its distribution given the attributes before it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Annotated

import numpy as np

from adyton.arrays import Reals
from adyton.choice.decision import Bought
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.kernel.mechanisms.measure_tables import MeasureTables
from adyton.kernel.mechanisms.published.parent_choice import ParentChoice
from adyton.kernel.operators import check_request
from adyton.kernel.shapes import TablesShape
from adyton.kernel.sources import TableSource
from adyton.marginals.estimating import Estimates
from adyton.marginals.pair_model import PairModel
from adyton.marginals.program import MOST_CELLS, ROWS, Outcome, TableSet, TablesProgram, measured, note
from adyton.marginals.refining import Codes, deal
from adyton.messages import listing
from adyton.plans.algorithm import Positive, Share, Within, whole_number
from adyton.queries.measurement import Group, MeasuredTable
from adyton.solving.nonnegative import project_to_simplex
from adyton.solving.residuals import Residuals, in_order, residuals
from adyton.strategies.table_shares import mean_absolute
from adyton.whole import SAFE

COUNTING = Fraction(1, 20)
"""The share of the budget for the number of rows, unless it is public."""
MOST_CANDIDATES, MOST_GROUPS = 1 << 13, 1 << 16
"""The largest number of candidate tables; sizes with more groups than the second number are left out."""


@dataclass(frozen=True, kw_only=True)
class PrivBayes(TablesProgram):
    """A Bayesian network, chosen privately: each attribute with the few that it depends on most; then their tables.

    Zhang et al., "PrivBayes: private data release via Bayesian networks", SIGMOD 2014. The score of a choice is how
    many rows would have to move to make an attribute independent of its parents. All tables are products of the noisy
    conditional tables. The number of rows is measured with a twentieth of the budget, unless it is public and given.
    """

    name = "privbayes"
    parents: Annotated[int, Within(whole_number, 1, 4)] = 2
    """The largest number of parents of an attribute."""
    choosing: Share = Fraction(3, 10)
    """The share for choosing the network, of the budget left after the number of rows; the tables get the rest."""
    useful: Positive = Fraction(4)
    """θ: a table is a candidate if its cells hold at least this many rows on average, in units of their noise."""
    rows: Annotated[int, Within(whole_number, 0, SAFE)] | None = None
    """The number of rows, where it is public."""

    def check(self, wanted: TableSet, epsilon: Fraction) -> None:
        """Check the choice and the measurement of the largest possible number of tables."""
        TableSet.of(wanted.schema, list(itertools.combinations(wanted.sides, 2)) or wanted.groups).check()
        groups = self.candidates(wanted.sides, math.inf)
        shape, least = TablesShape(wanted.schema, groups), epsilon / (1 << 10)
        check_request(MeasureTables.weighted(range(len(groups))), shape, least)
        if len(groups) > 1:
            check_request(self._choice(groups), shape, least)

    def run(self, source: TableSource, wanted: TableSet, epsilon: Fraction) -> Outcome:
        """The number of rows, the network, its tables."""
        bought: tuple[Bought, ...] = ()
        rows, left, attributes = self.rows, epsilon, len(wanted.sides)
        if rows is None and attributes > 1:
            count = source.count(COUNTING * epsilon)
            bought = (note(Bought.of(ROWS, "the number of rows", count, COUNTING * epsilon)),)
            rows, left = max(0, round(bought[0].value)), left - COUNTING * epsilon
        groups = self.candidates(wanted.sides, (rows or 0) * float((1 - self.choosing) * left) / attributes)
        tables, chosen = source.tables(groups), list(groups)
        if len(groups) > attributes:
            network = tables.choose_parents(self._choice(groups), self.choosing * left)
            chosen = [in_order((child, *parents), wanted.sides) for child, parents in network.items()]
            first = groups[0]
            chosen = chosen if any(first[0] in group for group in chosen) else [first, *chosen]
            left -= self.choosing * left
        noisy_tables = measured(tables, dict.fromkeys(chosen, Fraction(1, len(chosen))), left)
        widest = max(map(len, chosen))
        why = f"a network of {len(chosen):,} tables of up to {widest} attributes, out of {len(groups):,}"
        return Outcome(self.name, tuple(noisy_tables), why, bought)

    def candidates(self, sides: Mapping[str, int], signal: float) -> tuple[Group, ...]:
        """Single attributes, which have no parents, and groups whose cells have at least θ of the *signal* on average
        (the rows times the ε of a table): pairs first, the smallest of each size first, up to the limits."""
        groups: list[Group] = [(name,) for name in sides]
        most, room = signal / float(self.useful), MOST_CELLS - sum(sides.values())
        for size in range(2, min(self.parents + 1, len(sides)) + 1):
            if math.comb(len(sides), size) > MOST_GROUPS:
                break
            for group in sorted(itertools.combinations(sides, size), key=lambda group: _cells(sides, group)):
                own = _cells(sides, group)
                if own > min(most, room) or len(groups) >= MOST_CANDIDATES:
                    break
                groups.append(group)
                room -= own
        return tuple(groups)

    def _choice(self, groups: Sequence[Group]) -> ParentChoice:
        """The choice of parents, starting from the first attribute."""
        return ParentChoice(tuple(range(len(groups))), groups[0][0])

    def estimate(self, wanted: TableSet, measured: Iterable[MeasuredTable]) -> Estimates:
        """Products of the conditional tables; least squares only for unbiased estimates."""
        tables = list(measured)
        squares = residuals(wanted.sides, tables)
        return Estimates(squares, self.model(wanted, tables, squares))

    def model(self, wanted: TableSet, measured: Sequence[MeasuredTable], squares: Residuals) -> PairModel:
        """All pairs, by the network; where it is a tree, unmeasured pairs follow by paths."""
        total = max(1.0, float(squares.table()))
        network = BayesNetwork.of(wanted.sides, measured, total)
        model = _pairs_of(
            wanted.sides,
            [table.group for table in measured],
            lambda *group: np.asarray(total * network.table(*group)),
            lambda *group: _own_variance(wanted.sides, measured, group),
        )
        tree = len(model.pairs) == len(model.forest.pairs)
        return replace(model, fitted=MappingProxyType({})) if tree else model


@dataclass(frozen=True, kw_only=True)
class PrivBayesLs(PrivBayes):
    """The tables of PrivBayes, solved by least squares: what no table determines is assumed to be even.

    Zhang et al., "εKTELO: a framework for defining differentially-private computations", SIGMOD 2018, plan 15. The
    least-squares solution of smallest norm over the whole domain, computed part by part: the domain is never built.
    """

    name = "privbayes-ls"

    def model(self, wanted: TableSet, measured: Sequence[MeasuredTable], squares: Residuals) -> PairModel:
        """All pairs by least squares, each projected to the nearest table without negative counts."""
        total = np.array(max(1.0, float(squares.table())))

        def table(*group: str) -> Reals:
            solved = squares.table(*group, fill=True)
            return project_to_simplex(solved.reshape(-1), total).reshape(solved.shape)

        return _pairs_of(wanted.sides, [noisy.group for noisy in measured], table, squares.variance)


def _pairs_of(
    sides: Mapping[str, int], groups: Iterable[Group], table: Callable[..., Reals], variance: Callable[..., float]
) -> PairModel:
    """The model of single attributes, of the pairs in measured groups, and of all other pairs."""
    inside = dict.fromkeys(pair for group in groups for pair in itertools.combinations(in_order(group, sides), 2))
    errors: dict[Group, float] = {
        group: mean_absolute(variance(*group)) for group in (*((name,) for name in sides), *inside)
    }
    singles = {name: table(name) for name in sides}
    model = PairModel.of(singles, {pair: table(*pair) for pair in inside}, errors)
    every = {pair: model.pairs[pair] if pair in inside else table(*pair) for pair in itertools.combinations(sides, 2)}
    return replace(model, fitted=MappingProxyType(every))


def _own_variance(sides: Mapping[str, int], measured: Sequence[MeasuredTable], group: Group) -> float:
    """The variance of each cell, by the best of the measured tables that have the group."""
    return min(
        table.variance * _cells(sides, table.group) / _cells(sides, group)
        for table in measured
        if set(group).issubset(table.group)
    )


def _cells(sides: Mapping[str, int], group: Group) -> int:
    return math.prod(sides[name] for name in group)


MOST_STEP = 1 << 16
"""The largest product of tables while attributes are summed out; where larger ones are needed, rows are sampled."""
DRAWN = 1 << 19
"""The number of rows that are then sampled from the network and counted."""
_SEED = 20140623


@dataclass(frozen=True, eq=False)
class Factor:
    """The distribution of some attributes given others."""

    given: Group
    new: Group
    chances: Reals
    """An axis for each attribute of *given*, then of *new*; sums to 1 over the axes of *new*."""

    @property
    def names(self) -> Group:
        """The attributes along the axes."""
        return (*self.given, *self.new)


@dataclass(frozen=True, eq=False)
class BayesNetwork:
    """The joint distribution Π P(new | given) over all attributes, which is never built completely.

    >>> tables = [MeasuredTable(("a", "b"), [[3, 1], [0, 4]], 1.0), MeasuredTable(("b", "c"), [[3, 0], [1, 4]], 1.0)]
    >>> network = BayesNetwork.of({"a": 2, "b": 2, "c": 2}, tables, 8.0)
    >>> network.table("a", "c").round(6).tolist()
    [[0.4, 0.1], [0.1, 0.4]]
    """

    sides: Mapping[str, int]
    factors: tuple[Factor, ...]

    @classmethod
    def of(cls, sides: Mapping[str, int], measured: Iterable[MeasuredTable], total: float) -> BayesNetwork:
        """From noisy tables, in the order in which the network grew: each gives the distribution of its new attributes
        given the others. Every table becomes the nearest one without negative counts that adds up to the *total*."""
        known: set[str] = set()
        factors = []
        for table in measured:
            new = tuple(name for name in table.group if name not in known)
            if new:
                given = tuple(name for name in table.group if name in known)
                factors.append(_factor(table, given, new, total))
                known.update(new)
        lacking = [name for name in sides if name not in known]
        if lacking:
            raise BadInput(f"no measured table has {listing(lacking)}. A network has every attribute.")
        return cls(dict(sides), tuple(factors))

    def table(self, *group: str) -> Reals:
        """The probability of every cell of a group, its axes in the order given: products of conditional tables, with
        all other attributes summed out."""
        in_order(group, self.sides)
        chances = _summed_out(self._relevant(group), group)
        return self._counted(group) if chances is None else chances

    def _relevant(self, group: Sequence[str]) -> list[tuple[Group, Reals]]:
        """The factors that the group depends on: those of its attributes, of the attributes given there, and so on."""
        needed, kept = set(group), []
        for factor in reversed(self.factors):
            if needed.intersection(factor.new):
                needed.update(factor.given)
                names = tuple(name for name in factor.names if self.sides[name] > 1 or name in group)
                kept.append((names, factor.chances.reshape([self.sides[name] for name in names])))
        return kept

    def _counted(self, group: Sequence[str]) -> Reals:
        shape = tuple(self.sides[name] for name in group)
        names = list(self.sides)
        cells = np.ravel_multi_index([self._rows[names.index(name)] for name in group], shape)
        return np.bincount(cells, minlength=math.prod(shape)).reshape(shape) / DRAWN

    @cached_property
    def _rows(self) -> Codes:
        """Rows sampled from the network, always the same ones: a line for each attribute."""
        names, state = list(self.sides), np.array([_SEED], dtype=np.uint64)
        codes = np.zeros((len(names), DRAWN), dtype=np.int32)
        deck, drawn = np.empty(DRAWN, dtype=np.int32), np.empty(DRAWN, dtype=np.int32)
        for factor in self.factors:
            before, after = ([self.sides[name] for name in side] for side in (factor.given, factor.new))
            given = np.zeros(DRAWN, dtype=np.int64)
            for name, side in zip(factor.given, before, strict=True):
                given = given * side + codes[names.index(name)]
            chances = np.ascontiguousarray(factor.chances.reshape(math.prod(before), math.prod(after)))
            room = np.empty(len(chances) + 1, dtype=np.int64)
            deal(given.astype(np.int32), chances, room, deck, drawn, state)
            for name, cells in zip(factor.new, np.unravel_index(drawn, after), strict=True):
                codes[names.index(name)] = cells
        return codes


def _factor(measured: MeasuredTable, given: Group, new: Group, total: float) -> Factor:
    """P(new | given). Where no rows are left for given values, the new attributes are distributed as in all rows."""
    counts = np.asarray(measured.counts, dtype=np.float64)
    axes = [measured.group.index(name) for name in (*given, *new)]
    ordered = counts.transpose(axes)
    table = project_to_simplex(ordered.reshape(-1), np.array(max(total, 1.0))).reshape(ordered.shape)
    flat = table.reshape(math.prod(ordered.shape[: len(given)]), -1)
    rows = flat.sum(axis=1, keepdims=True)
    among_all = flat.sum(axis=0) / flat.sum()
    chances = np.where(rows > 0, flat / np.where(rows > 0, rows, 1.0), among_all)
    return Factor(given, new, chances.reshape(ordered.shape))


def _summed_out(factors: list[tuple[Group, Reals]], group: Sequence[str]) -> Reals | None:
    """The product of factors over a group, all others summed out, the cheapest first; None if that is too expensive.

    Variable elimination (Zhang and Poole, "Exploiting causal independence in Bayesian network inference", 1996).
    """
    left = list(factors)
    sides = {name: side for names, table in left for name, side in zip(names, table.shape, strict=True)}

    def around(name: str) -> set[str]:
        return {other for names, _ in left if name in names for other in names}

    waiting = set(sides).difference(group)
    while waiting:
        costs = {name: math.prod(sides[other] for other in around(name)) for name in sorted(waiting)}
        name = min(costs, key=costs.__getitem__)
        if costs[name] > MOST_STEP:
            return None
        joined = [factor for factor in left if name in factor[0]]
        kept = tuple(sorted(around(name) - {name}))
        left = [factor for factor in left if name not in factor[0]]
        left.append((kept, _product(joined, kept)))
        waiting.remove(name)
    return _product(left, group)


def _product(factors: Sequence[tuple[Group, Reals]], kept: Sequence[str]) -> Reals:
    """The product of tables, summed over the attributes that are not kept."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(n for names, _ in factors for n in names))}
    given: list[object] = []
    for names, table in factors:
        given += [table, [numbers[name] for name in names]]
    return np.asarray(np.einsum(*given, [numbers[name] for name in kept]))  # type: ignore[call-overload]
