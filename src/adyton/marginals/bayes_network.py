"""A Bayesian network of noisy tables: every attribute by what is known of it given the attributes before it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.marginals.gradual_updates import Codes, deal
from adyton.messages import listing
from adyton.queries.measurement import Group, MeasuredTable
from adyton.remembered import cached_property
from adyton.solving.projections import project_to_simplex
from adyton.solving.residuals import in_order

MOST_STEP = 1 << 16
"""The largest product of tables while attributes are summed out; what needs larger ones is counted in rows."""
ROWS = 1 << 19
"""So many rows are drawn from the network then."""
_SEED = 20140623


@dataclass(frozen=True, eq=False)
class Factor:
    """The distribution of some attributes given others."""

    given: Group
    new: Group
    chances: Reals
    """An axis for each attribute of *given*, then of *new*; sums to 1 over the latter."""

    @property
    def names(self) -> Group:
        """The attributes along the axes."""
        return (*self.given, *self.new)


@dataclass(frozen=True, eq=False)
class BayesNetwork:
    """The joint distribution Π P(new | given) over all attributes, never built as a whole.

    >>> tables = [MeasuredTable(("a", "b"), [[3, 1], [0, 4]], 1.0), MeasuredTable(("b", "c"), [[3, 0], [1, 4]], 1.0)]
    >>> network = BayesNetwork.of({"a": 2, "b": 2, "c": 2}, tables, 8.0)
    >>> network.table("a", "c").round(6).tolist()
    [[0.4, 0.1], [0.1, 0.4]]
    """

    sides: Mapping[str, int]
    factors: tuple[Factor, ...]

    @classmethod
    def of(cls, sides: Mapping[str, int], measured: Iterable[MeasuredTable], total: float) -> BayesNetwork:
        """From noisy tables, in the order in which the network grew: of each the attributes that are new, given the
        others. Every table becomes the nearest one without negative counts that adds up to the *total*."""
        known: set[str] = set()
        factors = []
        for one in measured:
            new = tuple(name for name in one.group if name not in known)
            if new:
                given = tuple(name for name in one.group if name in known)
                factors.append(_factor(one, given, new, total))
                known.update(new)
        lacking = [name for name in sides if name not in known]
        if lacking:
            raise BadInput(f"no measured table has {listing(lacking)}. A network has every attribute.")
        return cls(dict(sides), tuple(factors))

    def table(self, *group: str) -> Reals:
        """The chances of every cell of a group, its axes in the order given: products of conditional tables, with all
        other attributes summed out."""
        in_order(group, self.sides)
        found = _summed_out(self._relevant(group), group)
        return self._counted(group) if found is None else found

    def _relevant(self, group: Sequence[str]) -> list[tuple[Group, Reals]]:
        """What the group depends on: the factors of its attributes, of those that these are given, and so on."""
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
        return np.bincount(cells, minlength=math.prod(shape)).reshape(shape) / ROWS

    @cached_property
    def _rows(self) -> Codes:
        """Rows from the network, a line for each attribute: always the same ones."""
        names, state = list(self.sides), np.array([_SEED], dtype=np.uint64)
        codes = np.zeros((len(names), ROWS), dtype=np.int32)
        deck, drawn = np.empty(ROWS, dtype=np.int32), np.empty(ROWS, dtype=np.int32)
        for factor in self.factors:
            before, after = ([self.sides[name] for name in side] for side in (factor.given, factor.new))
            given = np.zeros(ROWS, dtype=np.int64)
            for name, side in zip(factor.given, before, strict=True):
                given = given * side + codes[names.index(name)]
            chances = np.ascontiguousarray(factor.chances.reshape(math.prod(before), math.prod(after)))
            room = np.empty(len(chances) + 1, dtype=np.int64)
            deal(given.astype(np.int32), chances, room, deck, drawn, state)
            for name, cells in zip(factor.new, np.unravel_index(drawn, after), strict=True):
                codes[names.index(name)] = cells
        return codes


def _factor(measured: MeasuredTable, given: Group, new: Group, total: float) -> Factor:
    """P(new | given). Where nothing is left of the rows that are given, the new attributes are as among all rows."""
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
    """The product of factors over a group, all others summed out, the cheapest first; None if that takes too much.

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
        joined = [one for one in left if name in one[0]]
        kept = tuple(sorted(around(name) - {name}))
        left = [one for one in left if name not in one[0]]
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
