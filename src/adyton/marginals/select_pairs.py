"""The program that measures single attributes, then the pairs which these guess badly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.kernel.limits import check_request
from adyton.kernel.mechanisms import PairChoice
from adyton.kernel.shapes import TablesShape
from adyton.kernel.sources import TableSource
from adyton.kernel.tables_source import TablesSource
from adyton.marginals.deciding import DISTANCE, FIRST, Decision, Outlook, decide, pair_shares, single_shares, stages
from adyton.marginals.estimating import estimated
from adyton.marginals.forest import Pair
from adyton.marginals.pair_model import PairModel
from adyton.marginals.program import Outcome, Program, measured
from adyton.marginals.wanted import Wanted
from adyton.plans.options import Whole
from adyton.solving.residuals import MeasuredTable

LARGEST_GUESS = 2.0**50
"""No cell is guessed to hold more rows."""
_PAIRS_EACH = 2


@dataclass(frozen=True, kw_only=True)
class SelectPairs(Program):
    """Single attributes, then those pairs that are guessed badly, chosen privately: first a forest, then any.

    After McKenna et al., "Winning the NIST contest" (MST), 2021, and "AIM", VLDB 2022, with pure ε: pairs are chosen by
    permute-and-flip, by how far the guess is from the truth, less what noise would do to it.
    """

    name = "select-pairs"
    pairs: Whole | None = None
    """How many pairs are chosen; by default as many as the number of rows can carry."""

    def check(self, wanted: Wanted, epsilon: Fraction) -> None:
        """The choice of as many pairs as there may be."""
        super().check(wanted, epsilon)
        if wanted.pairs:
            groups, most = tuple(wanted.pairs), self.pairs or _PAIRS_EACH * len(wanted.sides)
            empty = {place: np.zeros([wanted.sides[name] for name in pair]) for place, pair in enumerate(groups)}
            choice = PairChoice.of(empty, 1, min(most, len(groups)))
            check_request(choice, TablesShape(wanted.schema, groups), epsilon / (1 << 10))

    def run(self, source: TableSource, wanted: Wanted, epsilon: Fraction) -> Outcome:
        """The single attributes, for a twentieth; then these again, and pairs."""
        tables = source.tables((*wanted.singles, *wanted.pairs))
        found = measured(tables, single_shares(wanted.sides), FIRST * epsilon)
        decision = self._decided(wanted, guessed(wanted, found).total * float(epsilon))
        return Outcome(self.name, selected(tables, wanted, found, decision, epsilon), decision.why)

    def _decided(self, wanted: Wanted, signal: float) -> Decision:
        """How many pairs: without a look at how much attributes depend on one another, what it would cost is saved."""
        by_cell = signal / max(1, wanted.pair_cells)
        decision = decide(Outlook(len(wanted.sides), by_cell, math.inf, 0.0))
        pairs = min(decision.pairs, len(wanted.pairs))
        if self.pairs is not None and wanted.pairs:
            pairs = min(self.pairs, len(wanted.pairs))
            if not decision.pairs:
                decision = decide(Outlook(len(wanted.sides), math.inf, math.inf, 0.0))
        why = f"{pairs:,} of {len(wanted.pairs):,} pairs, for about {by_cell:.2g} rows times ε in each cell of a pair"
        more = DISTANCE + (0 if pairs else decision.rest)
        rest = decision.rest if pairs else Fraction(0)
        return replace(decision, top_up=decision.top_up + more, pairs=pairs, rest=rest, why=why)


def selected(
    tables: TablesSource, wanted: Wanted, first: Sequence[MeasuredTable], decision: Decision, epsilon: Fraction
) -> tuple[MeasuredTable, ...]:
    """What was measured first, the single attributes once more, and pairs in stages: chosen, then measured."""
    found = [*first, *measured(tables, single_shares(wanted.sides), decision.top_up * epsilon)]
    taken: set[Pair] = set()
    for stage in stages(decision, wanted.longest_forest + 1):
        guesses, scale = _guesses(wanted, guessed(wanted, found), taken), stage.scale(epsilon)
        by_place = {tables.place(*pair): table for pair, table in guesses.items()}
        choice = PairChoice.of(by_place, scale, stage.pairs, forest=stage.forest)
        chosen = [tables.groups[place] for place in tables.choose_pairs(choice, stage.choosing * epsilon)]
        shares = pair_shares([guesses[one, other] for one, other in chosen], float(scale))
        found += measured(tables, dict(zip(chosen, shares, strict=True)), stage.measuring * epsilon)
        taken.update((one, other) for one, other in chosen)
    return tuple(found)


def guessed(wanted: Wanted, found: Sequence[MeasuredTable]) -> PairModel:
    """What is thought of all pairs after some measurements."""
    return estimated(wanted.sides, found, ordered=wanted.ordered, passes=1).model


def _guesses(wanted: Wanted, model: PairModel, taken: set[Pair]) -> dict[Pair, Reals]:
    return {pair: np.minimum(model.pair(pair)[0], LARGEST_GUESS) for pair in wanted.pairs if pair not in taken}
