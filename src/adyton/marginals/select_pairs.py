"""The programs that measure pairs: all pairs at once, or those that the measured single attributes predict badly; and
the program behind ``auto``, which decides whether to measure some or all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
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
    ENOUGH,
    Decision,
    Evidence,
    LookShares,
    Stage,
    decide,
    evidence,
    label_stages,
    look_shares,
    occupied,
    pair_shares,
    single_shares,
    stages,
)
from adyton.marginals.estimating import estimated
from adyton.marginals.pair_model import Pair, PairModel
from adyton.marginals.program import (
    DEPENDENCE,
    DISTANCE,
    IN_GROUPS,
    MOST_CELLS,
    ROWS,
    Outcome,
    TableSet,
    TablesProgram,
    measured,
    measured_groups,
    merged_tables,
    note,
)
from adyton.marginals.resolution import FEW, CellGroups, bearable, merged
from adyton.marginals.ways import Seen
from adyton.messages import no_such
from adyton.plans.algorithm import Whole
from adyton.queries.measurement import Group, MeasuredTable
from adyton.solving.residuals import part_variances

LARGEST_GUESS = 2.0**50
"""The largest number of rows that is guessed for a cell."""
_PAIRS_EACH = 4
"""The largest number of pairs per attribute that are chosen where the request names no number."""


@dataclass(frozen=True, kw_only=True)
class SelectPairs(TablesProgram):
    """Single attributes, then those pairs that are guessed badly, chosen privately: first a forest, then any.

    After McKenna et al., "Winning the NIST contest" (MST), 2021, and "AIM", VLDB 2022, with pure ε: pairs are chosen by
    permute-and-flip, by the distance of the guess from the truth, less the error that noise would add.
    """

    name = "select-pairs"
    pairs: Whole | None = None
    """The number of pairs to choose; by default as many as the number of rows supports."""
    label: str | None = None
    """An attribute to be predicted from the rows: after a forest, its worst guessed pairs come first; and some pairs
    are measured even where that adds a little more error than it removes."""

    def check(self, wanted: TableSet, epsilon: Fraction) -> None:
        """Check the choice of the largest possible number of pairs."""
        super().check(wanted, epsilon)
        if self.label is not None and self.label not in wanted.sides:
            raise BadInput(no_such("attribute", self.label, wanted.sides))
        if wanted.pairs:
            groups, most = tuple(wanted.pairs), self.pairs or _PAIRS_EACH * len(wanted.sides)
            empty = {place: np.zeros([wanted.sides[name] for name in pair]) for place, pair in enumerate(groups)}
            choice = PairChoice.of(empty, 1, min(most, len(groups)))
            check_request(choice, TablesShape(wanted.schema, groups), epsilon / (1 << 10))

    def run(self, source: TableSource, wanted: TableSet, epsilon: Fraction) -> Outcome:
        """The first look; then the single attributes again, and pairs."""
        if not wanted.pairs:
            return AllPairs().run(source, wanted, epsilon)
        look = FirstLook.at(source, wanted, epsilon)
        decision = look.decide(every=False, some=self.label is not None, pairs=self.pairs)
        rows, beta = look.bought
        bought = rows, replace(beta, name=beta.name.replace(DEPENDENCE, DISTANCE))
        return Outcome(self.name, selected(look, wanted, decision, epsilon, self.label), decision.why, bought)


@dataclass(frozen=True, kw_only=True)
class ChosenWay(TablesProgram):
    """Single attributes, then all pairs or some: whichever is expected to be closer to the truth after a cheap look.

    The look is one noisy number, β: the distance of independence from the truth, averaged over all pairs. Where
    attributes have many cells, it is that of groups of cells, and pairs are measured in as many groups as rows and
    budget can bear; see :mod:`adyton.marginals.resolution`.
    """

    name = "auto"
    label: str | None = None
    """An attribute to be predicted from the rows; see :attr:`SelectPairs.label`."""

    def check(self, wanted: TableSet, epsilon: Fraction) -> None:
        """Check the requirements of both programs."""
        SelectPairs(label=self.label).check(wanted, epsilon)

    def run(self, source: TableSource, wanted: TableSet, epsilon: Fraction) -> Outcome:
        """The look, the decision, and the measurements decided on."""
        if not wanted.pairs:
            return AllPairs().run(source, wanted, epsilon)
        look = FirstLook.at(source, wanted, epsilon)
        decision = look.decide(some=self.label is not None)
        if decision.every_pair and not decision.in_groups:
            every = (*look.singles, *measured(look.tables, look.shares, decision.rest * epsilon))
            return Outcome(AllPairs.name, every, decision.why, look.bought)
        some = selected(look, wanted, decision, epsilon, self.label)
        return Outcome(AllPairs.name if decision.every_pair else SelectPairs.name, some, decision.why, look.bought)


def selected(
    look: FirstLook, wanted: TableSet, decision: Decision, epsilon: Fraction, label: str | None = None
) -> tuple[MeasuredTable, ...]:
    """The tables of the look, the single attributes once more, and pairs in stages: chosen, then measured. Where
    attributes have many cells, each pair is guessed, compared and measured in groups of them."""
    tables, own = look.tables, [pair for pair in wanted.pairs if label in pair]
    plan = stages(decision, wanted.longest_forest, len(wanted.pairs))
    if label is not None and not decision.every_pair:
        plan = label_stages(decision, wanted.longest_forest, len(own), len(wanted.pairs))
    noisy = [*look.singles, *measured(tables, single_shares(wanted.sides), plan.top_up * epsilon)]
    groups = None
    left = dict.fromkeys(wanted.pairs)
    for stage in plan.stages:
        model, scale = guessed(wanted, noisy), stage.scale(epsilon)
        if groups is None:
            groups = CellGroups(model.singles, wanted.ordered)
        cells = bearable(model.total, float(scale))
        candidates = ([pair for pair in own if pair in left] if stage.label else []) or list(left)
        maps = {pair: groups.maps(pair, cells) for pair in candidates}
        guesses = {pair: np.minimum(merged(model.pair(pair)[0], maps[pair]), LARGEST_GUESS) for pair in candidates}
        merging = merged_tables(tables, maps)
        chosen = candidates
        if stage.choosing:
            chosen = _chosen(merging, guesses, stage, scale, epsilon)
        shares = pair_shares([guesses[pair] for pair in chosen], float(scale))
        noisy += measured_groups(merging, maps, dict(zip(chosen, shares, strict=True)), stage.measuring * epsilon)
        left = {pair: None for pair in left if pair not in chosen}
    return tuple(noisy)


def _chosen(
    tables: TablesSource, guesses: dict[Pair, Reals], stage: Stage, scale: Fraction, epsilon: Fraction
) -> list[Pair]:
    by_place = {tables.place(*pair): table for pair, table in guesses.items()}
    choice = PairChoice.of(by_place, scale, min(stage.pairs, len(guesses)), forest=stage.forest)
    pairs = dict(zip(by_place, guesses, strict=True))
    return [pairs[place] for place in tables.choose_pairs(choice, stage.choosing * epsilon)]


@dataclass(frozen=True, eq=False)
class FirstLook:
    """The measurements that inform the decision, and their cost. ``.spent.rest`` of the budget is left."""

    tables: TablesSource
    singles: tuple[MeasuredTable, ...]
    """The single attributes."""
    spent: LookShares
    evidence: Evidence
    """What the look has seen of single cells."""
    shares: Mapping[Group, Fraction]
    """The shares with which all pairs would be measured cell by cell."""
    bought: tuple[Bought, Bought]
    """The number of rows, and β."""
    seen: Seen | None = None
    """What the look has seen in groups of cells, where attributes have so many that they are merged."""

    def decide(self, *, every: bool = True, some: bool = False, pairs: int | None = None) -> Decision:
        """The decision that follows from the look; see :func:`adyton.marginals.deciding.decide`."""
        if self.seen is None:
            return decide(self.evidence, self.spent.rest, every=every, some=some, pairs=pairs)
        fine = self.evidence.expected("all pairs") if self.evidence.signal >= ENOUGH else None
        return self.seen.decide(self.spent.rest, every=every, some=some, pairs=pairs, cell_by_cell=fine)

    @classmethod
    def at(cls, source: TableSource, wanted: TableSet, epsilon: Fraction) -> FirstLook:
        """The number of rows, the single attributes and β of a table."""
        tables = source.tables(wanted.counted)  # plans how they are counted before the first debit
        rows = source.count(COUNT * epsilon)
        counted = note(Bought.of(ROWS, "the number of rows", rows, COUNT * epsilon))
        spent = look_shares(wanted.sides, float(rows.value), float(epsilon))
        singles = measured(tables, single_shares(wanted.sides), spent.first * epsilon)
        model, price = guessed(wanted, singles), spent.distance * epsilon
        groups = CellGroups(model.singles, wanted.ordered)
        maps = {pair: groups.at(pair, FEW) for pair in wanted.pairs}
        few = merged_tables(tables, maps)
        guesses = {few.place(*pair): merged(model.predicted(pair), maps[pair]) for pair in wanted.pairs}
        beta = few.mean_distance(
            MeanDistance.of({place: np.minimum(guess, LARGEST_GUESS) for place, guess in guesses.items()}), price
        )
        name, words = DEPENDENCE, "how far independence is from a pair, in rows"
        if groups.needed:
            name, words = name + IN_GROUPS, f"how far independence is from a pair in {FEW} groups a side, in rows"
        bought = (counted, note(Bought.of(name, words, beta, price)))
        rest, known = float(spent.rest * epsilon), [(table.group, table.variance) for table in singles]
        shares = wanted.shares(occupied(model, wanted.shares(), wanted.pairs, rest))
        distance = (beta.value, beta.deviation)
        cells = evidence(model, known, distance, float(epsilon), rest, shares, wanted.pairs)
        if not groups.needed:
            return cls(tables, tuple(singles), spent, cells, shares, bought)
        # rows that may be noise bear nothing
        surely = max(1.0, model.total / 4, model.total - math.sqrt(part_variances(wanted.sides, known).variance()))
        tables_of = {name: table * (surely / max(model.total, 1.0)) for name, table in model.singles.items()}
        variances = {table.group[0]: table.variance for table in singles}
        seen = Seen(CellGroups(tables_of, wanted.ordered), tuple(wanted.pairs), surely, variances, distance, rest)
        return cls(tables, tuple(singles), spent, replace(cells, weights=seen.weights), shares, bought, seen)


def guessed(wanted: TableSet, noisy: Iterable[MeasuredTable]) -> PairModel:
    """The model of all pairs after some measurements."""
    return estimated(wanted.sides, noisy, ordered=wanted.ordered, passes=1).model


@dataclass(frozen=True, kw_only=True)
class AllPairs(TablesProgram):
    """Every pair of attributes, in shares of a budget that make the sum of errors least.

    Least squares on the parts of tables makes them consistent (Xiao et al., "An optimal and scalable matrix mechanism
    for noisy marginals under convex loss functions", NeurIPS 2023); the least-squares estimates are unbiased.
    """

    name = "all-pairs"

    def run(self, source: TableSource, wanted: TableSet, epsilon: Fraction) -> Outcome:
        """One measurement of all tables."""
        shares = wanted.shares()
        tables = source.tables(tuple(shares))
        return Outcome(self.name, tuple(measured(tables, shares, epsilon)), f"all {len(wanted.pairs):,} pairs")


@dataclass(frozen=True, kw_only=True)
class AllTables(TablesProgram):
    """Every table asked for, in shares of a budget that make the sum of errors least.

    Like all-pairs, for tables of one, two, three or more attributes: each table is unbiased and has an exact standard
    error (Xiao et al., "An optimal and scalable matrix mechanism for noisy marginals under convex loss functions",
    NeurIPS 2023).
    """

    name = "all-tables"

    def check(self, wanted: TableSet, epsilon: Fraction) -> None:
        """Check the measurement of all tables."""
        if wanted.cells > MOST_CELLS:
            raise BadInput(
                f"these {len(wanted.groups):,} tables have {wanted.cells:,} cells; the limit is {MOST_CELLS:,} in all. "
                "Use all-pairs, where tables of more attributes follow from pairs, name only the tables that matter "
                "(sets), or declare fewer cells for attributes of numbers (cells)."
            )
        groups = tuple(wanted.direct_shares())
        check_request(MeasureTables.weighted(range(len(groups))), TablesShape(wanted.schema, groups), epsilon / 1024)

    def run(self, source: TableSource, wanted: TableSet, epsilon: Fraction) -> Outcome:
        """One measurement of all tables."""
        shares = wanted.direct_shares()
        tables = source.tables(tuple(shares))
        return Outcome(self.name, tuple(measured(tables, shares, epsilon)), f"all {len(wanted.groups):,} tables")
