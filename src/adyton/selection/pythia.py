"""Pythia: the plan that chooses among the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.exact import Rational
from adyton.kernel.sources import VectorSource
from adyton.messages import shorten
from adyton.plans.algorithm import MOST_PLAIN_CELLS, Share
from adyton.plans.base import Estimate, Outcome, Plan, Tasks, check_cells
from adyton.plans.registry import plan_named
from adyton.queries import Queries
from adyton.selection.choice import Choice
from adyton.selection.chosen import Chosen
from adyton.selection.selector import Selector
from adyton.selection.shipped import shipped_selector


def _a_selector(given: object, name: str) -> Selector:
    if not isinstance(given, Selector):
        raise BadInput(f"{name} must be a Selector, such as Selector.load(path), given {shorten(given)}.")
    return given


@dataclass(frozen=True, kw_only=True)
class Pythia(Plan):
    """Looks at a few noisy features of the data, chooses the algorithm that promises the least error for this workload,
    budget and domain, and runs it with what is left of the budget.

    All it knows about the data is what it bought: ε₁ for the features that it looked at, ε − ε₁ for the algorithm, so
    that every run costs exactly ε.

    Kotsogiannis, Machanavajjhala, Hay and Miklau, "Pythia: data dependent differentially private algorithm selection",
    SIGMOD 2017.
    """

    name = "pythia"
    serves = Tasks(data_dependent=True)
    most_cells = MOST_PLAIN_CELLS
    simulates_many = False
    chooses = True

    selector: Annotated[Selector, _a_selector] | None = field(default=None, kw_only=False)
    """The selector that chooses; None for the one that comes with the package."""
    share: Share | None = None
    """The part ρ of the budget that features may cost; None for what the selector was trained with."""
    ordered: bool = True
    """Whether the cells have an order along one axis at least. If not, no algorithm is chosen that counts on one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rows is not None:
            raise BadInput("pythia buys the number of rows itself, if it pays. Leave rows out, or give a public total.")

    def check(self, workload: Queries) -> None:
        """Refuse a selector that does not fit."""
        super().check(workload)
        seen = self.merging(workload).workload
        self.selector_for(seen).check(seen)

    def check_size(self, workload: Queries, epsilon: Fraction) -> None:
        """Whatever is looked at, and whatever is chosen then, must be possible with what is left."""
        check_cells(self, workload)
        self.selector_for(workload).admit(workload, epsilon)

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Choose, then run the choice."""
        return self._run(x, workload, self._choose(x, workload, epsilon))

    def choose(self, x: VectorSource, workload: Queries, epsilon: Rational) -> Choice:
        """Choose an algorithm, spending on features what the choice says; the rest is for the algorithm."""
        amount, merging = self.admitted(x, workload, epsilon), self.merging(workload)
        return self._choose(merging.source(x), merging.workload, amount)

    def follow(self, x: VectorSource, workload: Queries, choice: Choice) -> Estimate:
        """Run what was chosen with what is left of the budget."""
        merging = self.merging(workload)
        return self.finish(self._run(merging.source(x), merging.workload, choice), workload)

    def carry_out(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Outcome:
        """With the choice that was made."""
        merging = self.merging(workload)
        choice = self._choose(merging.source(x), merging.workload, epsilon)
        return Outcome(choice.algorithm, self.follow(x, workload, choice), choice)

    def candidates(self, workload: Queries) -> dict[str, Plan]:
        """What could be chosen, as it would be run."""
        seen = self.merging(workload).workload
        names = self.selector_for(seen).candidates(seen, ordered=self.ordered)
        return {
            name: Chosen.named(name, nonnegative=self.nonnegative, reduce=self.reduce, total=self.total)
            for name in names
        }

    def choice_share(self, workload: Queries) -> Fraction:
        """What features may cost."""
        return self.selector_for(self.merging(workload).workload).share

    def _choose(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Choice:
        selector = self.selector_for(workload)
        if self.ordered:
            return selector.choose(x, workload, epsilon, self.total)
        return selector.choose(x, workload, epsilon, self.total, ordered=False)

    def _run(self, x: VectorSource, workload: Queries, choice: Choice) -> Reals:
        plan = plan_named(choice.algorithm, total=self.total, rows=choice.total)
        cells = plan.carry_out(x, workload, choice.left).estimate.reshape(-1)
        return self.selector_for(workload).finish(cells, choice, workload)

    def selector_for(self, workload: Queries) -> Selector:
        """The one that chooses for a workload on merged cells."""
        chosen = self.selector or shipped_selector(len(workload.domain))
        return chosen if self.share is None else chosen.with_share(self.share)
