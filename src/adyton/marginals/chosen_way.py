"""The program behind ``auto``: it measures single attributes, looks at one number, and decides between the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from adyton.choice.bought import Bought
from adyton.kernel.mechanisms import MeanDistance
from adyton.kernel.sources import TableSource
from adyton.marginals.all_pairs import AllPairs
from adyton.marginals.deciding import DISTANCE, FIRST, REST, decide, outlook, single_shares
from adyton.marginals.program import Outcome, Program, measured
from adyton.marginals.select_pairs import LARGEST_GUESS, SelectPairs, guessed, selected
from adyton.marginals.wanted import Wanted


@dataclass(frozen=True, kw_only=True)
class ChosenWay(Program):
    """Single attributes, then all pairs or some: whichever a cheap look says will be closer to the truth.

    The look is at β, how far independence is from the truth, on average over all pairs: one noisy number.
    """

    name = "auto"

    def check(self, wanted: Wanted, epsilon: Fraction) -> None:
        """Both ways can be gone to their end."""
        SelectPairs().check(wanted, epsilon)

    def run(self, source: TableSource, wanted: Wanted, epsilon: Fraction) -> Outcome:
        """The single attributes, β, the decision, and what was decided."""
        if not wanted.pairs:
            return AllPairs().run(source, wanted, epsilon)
        tables = source.tables((*wanted.singles, *wanted.pairs))
        found = measured(tables, single_shares(wanted.sides), FIRST * epsilon)
        model = guessed(wanted, found)
        guesses = {tables.place(*pair): np.minimum(model.predicted(pair), LARGEST_GUESS) for pair in wanted.pairs}
        beta = tables.mean_distance(MeanDistance.of(guesses), DISTANCE * epsilon)
        look = Bought(
            "dependence", "how far independence is from a pair, in rows", beta.value, beta.deviation, DISTANCE * epsilon
        )
        known, shares = [(one.group, one.variance) for one in found], wanted.shares()
        seen = outlook(model, known, beta.value, float(epsilon), float(REST * epsilon), shares, wanted.pairs)
        decision = decide(seen)
        if decision.every_pair:
            every = (*found, *measured(tables, shares, REST * epsilon))
            return Outcome(AllPairs.name, every, decision.why, (look,))
        decision = replace(decision, pairs=min(decision.pairs, len(wanted.pairs)))
        return Outcome(SelectPairs.name, selected(tables, wanted, found, decision, epsilon), decision.why, (look,))
