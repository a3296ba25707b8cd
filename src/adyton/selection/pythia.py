"""Pythia: the plan that chooses among the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.exact import Rational
from adyton.kernel.sources import VectorSource
from adyton.messages import shorten
from adyton.plans.base import Estimate, Plan, Tasks
from adyton.plans.limits import MOST_PLAIN_CELLS, check_cells
from adyton.plans.registry import plan_named, register
from adyton.queries import Queries
from adyton.selection.selector import Choice, Selector
from adyton.selection.shipped import shipped_selector


@register
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

    selector: Selector | None = field(default=None, kw_only=False)
    """The selector that chooses; None for the one that comes with the package."""
    share: Rational | None = None
    """The part ρ of the budget that features may cost; None for what the selector was trained with."""
    ordered: bool = True
    """Whether the cells have an order along one axis at least. If not, no algorithm is chosen that counts on one."""

    def check(self, workload: Queries) -> None:
        """Refuse a selector that does not fit."""
        super().check(workload)
        workload = self.merging(workload).workload
        if self.selector is not None and not isinstance(self.selector, Selector):
            raise BadInput(f"selector must be a Selector, such as Selector.load(path), given {shorten(self.selector)}.")
        if self.rows is not None:
            raise BadInput("pythia buys the number of rows itself, if it pays. Leave rows out, or give a public total.")
        self.selector_for(workload).check(workload)

    def check_size(self, workload: Queries, epsilon: Fraction) -> None:
        """Whatever is looked at, and whatever is chosen then, must be possible with what is left."""
        check_cells(self, workload)
        self.selector_for(workload).admit(workload, epsilon)

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Choose, then run the choice."""
        return self._run(x, workload, self._choose(x, workload, epsilon))

    def choose(self, x: VectorSource, workload: Queries, epsilon: Rational) -> Choice:
        """Choose an algorithm, spending on features what the choice says; the rest is for the algorithm."""
        amount = self.admit(x, workload, epsilon)
        merging = self.merging(workload)
        return self._choose(merging.source(x), merging.workload, amount)

    def follow(self, x: VectorSource, workload: Queries, choice: Choice) -> Estimate:
        """Run what was chosen with what is left of the budget."""
        merging = self.merging(workload)
        cells = merging.lift(self._run(merging.source(x), merging.workload, choice))
        return self._finish(cells).reshape(workload.domain)

    def _choose(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Choice:
        selector = self.selector_for(workload)
        if self.ordered:
            return selector.choose(x, workload, epsilon, self.total)
        return selector.choose(x, workload, epsilon, self.total, ordered=False)

    def _run(self, x: VectorSource, workload: Queries, choice: Choice) -> Reals:
        plan = plan_named(choice.algorithm, total=self.total, rows=choice.total)
        cells = plan.estimate(x, workload, choice.left).reshape(-1)
        return self.selector_for(workload).finish(cells, choice, workload)

    def selector_for(self, workload: Queries) -> Selector:
        """The one that chooses for a workload on merged cells."""
        chosen = self.selector or shipped_selector(len(workload.domain))
        return chosen if self.share is None else chosen.with_share(self.share)
