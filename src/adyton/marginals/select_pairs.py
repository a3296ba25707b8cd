"""The program that measures single attributes, then the pairs which these guess badly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.kernel.limits import check_request
from adyton.kernel.mechanisms import PairChoice
from adyton.kernel.shapes import TablesShape
from adyton.kernel.sources import TableSource
from adyton.marginals.all_pairs import AllPairs
from adyton.marginals.deciding import Decision, decide, pair_shares, single_shares, stages
from adyton.marginals.forest import Pair
from adyton.marginals.looking import LARGEST_GUESS, Looked, guessed, looked
from adyton.marginals.pair_model import PairModel
from adyton.marginals.program import Outcome, Program, measured
from adyton.marginals.wanted import Wanted
from adyton.plans.options import Whole
from adyton.solving.residuals import MeasuredTable

_PAIRS_EACH = 4
"""So many pairs an attribute are chosen at most, if nobody says how many."""


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
        """A look; then the single attributes again, and pairs."""
        if not wanted.pairs:
            return AllPairs().run(source, wanted, epsilon)
        told = looked(source, wanted, epsilon)
        decision = decide(told.seen, told.spent.rest, every=False, pairs=self.pairs)
        return Outcome(self.name, selected(told, wanted, decision, epsilon), decision.why, told.bought)


def selected(told: Looked, wanted: Wanted, decision: Decision, epsilon: Fraction) -> tuple[MeasuredTable, ...]:
    """What the look measured, the single attributes once more, and pairs in stages: chosen, then measured."""
    tables, possible = told.tables, len(wanted.pairs)
    found = [*told.found, *measured(tables, single_shares(wanted.sides), decision.top_up * epsilon)]
    taken: set[Pair] = set()
    for stage in stages(replace(decision, pairs=min(decision.pairs, possible)), wanted.longest_forest + 1):
        guesses, scale = _guesses(wanted, guessed(wanted, found), taken), stage.scale(epsilon)
        by_place = {tables.place(*pair): table for pair, table in guesses.items()}
        choice = PairChoice.of(by_place, scale, stage.pairs, forest=stage.forest)
        chosen = [tables.groups[place] for place in tables.choose_pairs(choice, stage.choosing * epsilon)]
        shares = pair_shares([guesses[one, other] for one, other in chosen], float(scale))
        found += measured(tables, dict(zip(chosen, shares, strict=True)), stage.measuring * epsilon)
        taken.update((one, other) for one, other in chosen)
    return tuple(found)


def _guesses(wanted: Wanted, model: PairModel, taken: set[Pair]) -> dict[Pair, Reals]:
    return {pair: np.minimum(model.pair(pair)[0], LARGEST_GUESS) for pair in wanted.pairs if pair not in taken}
