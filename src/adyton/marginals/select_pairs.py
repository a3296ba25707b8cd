"""The programs that measure pairs: everything at once, or the pairs which single attributes guess badly, after a look
at these; and the one behind ``auto``, which decides whether to measure some or all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.choice.decision import Bought
from adyton.errors import BadInput
from adyton.kernel.mechanisms import MeanDistance, MeasureTables, PairChoice
from adyton.kernel.operators import check_request
from adyton.kernel.shapes import TablesShape
from adyton.kernel.sources import TableSource, TablesSource
from adyton.marginals.deciding import (
    COUNT,
    Decision,
    Look,
    Outlook,
    Stage,
    decide,
    label_stages,
    look,
    occupied,
    outlook,
    pair_shares,
    single_shares,
    stages,
)
from adyton.marginals.estimating import estimated
from adyton.marginals.pair_model import Pair, PairModel
from adyton.marginals.program import MOST_CELLS, ROWS, Outcome, TablesProgram, Wanted, measured, note
from adyton.messages import no_such
from adyton.plans.algorithm import Whole
from adyton.queries.measurement import Group, MeasuredTable
from adyton.strategies.table_shares import table_shares

LARGEST_GUESS = 2.0**50
"""No cell is guessed to hold more rows."""
_PAIRS_EACH = 4
"""So many pairs an attribute are chosen at most, if nobody says how many."""


@dataclass(frozen=True, kw_only=True)
class SelectPairs(TablesProgram):
    """Single attributes, then those pairs that are guessed badly, chosen privately: first a forest, then any.

    After McKenna et al., "Winning the NIST contest" (MST), 2021, and "AIM", VLDB 2022, with pure ε: pairs are chosen by
    permute-and-flip, by how far the guess is from the truth, less what noise would do to it.
    """

    name = "select-pairs"
    pairs: Whole | None = None
    """How many pairs are chosen; by default as many as the number of rows can carry."""
    label: str | None = None
    """An attribute that rows are to predict: its pairs are measured first, and then one for each attribute."""

    def check(self, wanted: Wanted, epsilon: Fraction) -> None:
        """The choice of as many pairs as there may be."""
        super().check(wanted, epsilon)
        check_label(self.label, wanted)
        if wanted.pairs:
            groups, most = tuple(wanted.pairs), self.pairs or _PAIRS_EACH * len(wanted.sides)
            empty = {place: np.zeros([wanted.sides[name] for name in pair]) for place, pair in enumerate(groups)}
            choice = PairChoice.of(empty, 1, min(most, len(groups)))
            check_request(choice, TablesShape(wanted.schema, groups), epsilon / (1 << 10))

    def run(self, source: TableSource, wanted: Wanted, epsilon: Fraction) -> Outcome:
        """A look; then the single attributes again, and pairs."""
        if not wanted.pairs:
            return AllPairs().run(source, wanted, epsilon)
        told = looked(source, wanted, epsilon)
        decision = decide(told.seen, told.spent.rest, every=False, pairs=self.pairs)
        return Outcome(self.name, selected(told, wanted, decision, epsilon, self.label), decision.why)


@dataclass(frozen=True, kw_only=True)
class ChosenWay(TablesProgram):
    """Single attributes, then all pairs or some: whichever a cheap look says will be closer to the truth.

    The look is at β, how far independence is from the truth, on average over all pairs: one noisy number.
    """

    name = "auto"
    label: str | None = None
    """An attribute that rows are to predict: where not all pairs are measured, its pairs are measured first."""

    def check(self, wanted: Wanted, epsilon: Fraction) -> None:
        """Both ways can be gone to their end."""
        SelectPairs(label=self.label).check(wanted, epsilon)

    def run(self, source: TableSource, wanted: Wanted, epsilon: Fraction) -> Outcome:
        """The look, the decision, and what was decided."""
        if not wanted.pairs:
            return AllPairs().run(source, wanted, epsilon)
        told = looked(source, wanted, epsilon)
        decision = decide(told.seen, told.spent.rest)
        if decision.every_pair:
            every = (*told.found, *measured(told.tables, told.shares, decision.rest * epsilon))
            return Outcome(AllPairs.name, every, decision.why, told.bought)
        found = selected(told, wanted, decision, epsilon, self.label)
        return Outcome(SelectPairs.name, found, decision.why, told.bought)


def selected(
    told: Looked, wanted: Wanted, decision: Decision, epsilon: Fraction, label: str | None = None
) -> tuple[MeasuredTable, ...]:
    """What the look measured, the single attributes once more, and pairs in stages: chosen, then measured."""
    tables, own = told.tables, [pair for pair in wanted.pairs if label in pair]
    plan = stages(decision, wanted.longest_forest, len(wanted.pairs))
    if label is not None:
        plan = label_stages(decision, len(wanted.sides), len(own), len(wanted.pairs))
    found = [*told.found, *measured(tables, single_shares(wanted.sides), plan.top_up * epsilon)]
    taken: set[Pair] = set()
    for stage in plan.stages:
        guesses, scale = _guesses(wanted, guessed(wanted, found), taken), stage.scale(epsilon)
        chosen = own if stage.label else _chosen(tables, guesses, stage, scale, epsilon)
        shares = pair_shares([guesses[pair] for pair in chosen], float(scale))
        by_group: dict[Group, Fraction] = dict(zip(chosen, shares, strict=True))
        found += measured(tables, by_group, stage.measuring * epsilon)
        taken.update(chosen)
    return tuple(found)


def _chosen(
    tables: TablesSource, guesses: dict[Pair, Reals], stage: Stage, scale: Fraction, epsilon: Fraction
) -> list[Pair]:
    by_place = {tables.place(*pair): table for pair, table in guesses.items()}
    choice = PairChoice.of(by_place, scale, stage.pairs, forest=stage.forest)
    pairs = dict(zip(by_place, guesses, strict=True))
    return [pairs[place] for place in tables.choose_pairs(choice, stage.choosing * epsilon)]


def check_label(label: str | None, wanted: Wanted) -> None:
    """A label is one of the attributes."""
    if label is not None and label not in wanted.sides:
        raise BadInput(no_such("attribute", label, wanted.sides))


def _guesses(wanted: Wanted, model: PairModel, taken: set[Pair]) -> dict[Pair, Reals]:
    return {pair: np.minimum(model.pair(pair)[0], LARGEST_GUESS) for pair in wanted.pairs if pair not in taken}


@dataclass(frozen=True, eq=False)
class Looked:
    """What a look told, and what it cost."""

    tables: TablesSource
    found: tuple[MeasuredTable, ...]
    """The single attributes."""
    seen: Outlook
    spent: Look
    shares: Mapping[Group, Fraction]
    """How all pairs would be measured."""
    bought: tuple[Bought, ...]


def looked(source: TableSource, wanted: Wanted, epsilon: Fraction) -> Looked:
    """Look at a table. What is not spent yet is ``.spent.rest`` of *epsilon*."""
    tables = source.tables(wanted.counted)  # how they are counted is planned before anything is paid for
    rows = source.count(COUNT * epsilon)
    counted = note(Bought.of(ROWS, "the number of rows", rows, COUNT * epsilon))
    spent = look(wanted.sides, float(rows.value), float(epsilon))
    found = measured(tables, single_shares(wanted.sides), spent.first * epsilon)
    model = guessed(wanted, found)
    guesses = {tables.place(*pair): np.minimum(model.predicted(pair), LARGEST_GUESS) for pair in wanted.pairs}
    price = spent.distance * epsilon
    beta = tables.mean_distance(MeanDistance.of(guesses), price)
    words = "how far independence is from a pair, in rows"
    bought = (counted, note(Bought.of("dependence", words, beta, price)))
    rest, known = float(spent.rest * epsilon), [(one.group, one.variance) for one in found]
    shares = wanted.shares(occupied(model, wanted.shares(), wanted.pairs, rest))
    seen = outlook(model, known, beta.value, float(epsilon), rest, shares, wanted.pairs)
    return Looked(tables, tuple(found), seen, spent, shares, bought)


def guessed(wanted: Wanted, found: Iterable[MeasuredTable]) -> PairModel:
    """What is thought of all pairs after some measurements."""
    return estimated(wanted.sides, found, ordered=wanted.ordered, passes=1).model


@dataclass(frozen=True, kw_only=True)
class AllPairs(TablesProgram):
    """Every pair of attributes, in shares of a budget that make the sum of errors least.

    Least squares on the parts of tables makes them consistent (Xiao et al., "An optimal and scalable matrix mechanism
    for noisy marginals under convex loss functions", NeurIPS 2023); the least squares are free of bias.
    """

    name = "all-pairs"

    def run(self, source: TableSource, wanted: Wanted, epsilon: Fraction) -> Outcome:
        """One measurement of everything."""
        shares = wanted.shares()
        tables = source.tables(tuple(shares))
        return Outcome(self.name, tuple(measured(tables, shares, epsilon)), f"all {len(wanted.pairs):,} pairs")


@dataclass(frozen=True, kw_only=True)
class AllTables(TablesProgram):
    """Every table asked for, in shares of a budget that make the sum of errors least.

    As all-pairs, for tables of one, two, three or more attributes: each of them is free of bias, and has an exact
    standard error (Xiao et al., "An optimal and scalable matrix mechanism for noisy marginals under convex loss
    functions", NeurIPS 2023).
    """

    name = "all-tables"

    def check(self, wanted: Wanted, epsilon: Fraction) -> None:
        """Measuring all of them."""
        if wanted.cells > MOST_CELLS:
            raise BadInput(
                f"these {len(wanted.groups):,} tables have {wanted.cells:,} cells; the limit is {MOST_CELLS:,} in all. "
                "Name all-pairs, whose tables of more attributes follow from pairs, the tables that matter (sets), or "
                "fewer cells for attributes of numbers (cells)."
            )
        groups = tuple(direct_shares(wanted))
        check_request(MeasureTables.weighted(range(len(groups))), TablesShape(wanted.schema, groups), epsilon / 1024)

    def run(self, source: TableSource, wanted: Wanted, epsilon: Fraction) -> Outcome:
        """One measurement of everything."""
        shares = direct_shares(wanted)
        tables = source.tables(tuple(shares))
        return Outcome(self.name, tuple(measured(tables, shares, epsilon)), f"all {len(wanted.groups):,} tables")


def direct_shares(wanted: Wanted) -> Mapping[Group, Fraction]:
    """The shares of a budget for measuring the tables themselves."""
    weights: dict[Group, float] = {}
    for group, weight in zip(wanted.groups, wanted.weights, strict=True):
        weights[group] = weights.get(group, 0.0) + weight
    return table_shares(wanted.sides, list(weights), weights=list(weights.values()), energies=wanted.energies)
