"""The program behind ``auto``: it looks at single attributes and one number, and decides between the others."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from adyton.kernel.sources import TableSource
from adyton.marginals.all_pairs import AllPairs
from adyton.marginals.deciding import decide
from adyton.marginals.looking import looked
from adyton.marginals.program import Outcome, TablesProgram, measured
from adyton.marginals.select_pairs import SelectPairs, selected
from adyton.marginals.wanted import Wanted


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
