"""Pythia: the plan that chooses among the others, what runs once one was chosen, and the selectors of the package."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from importlib.resources import as_file, files
from typing import Annotated, Any

import numpy.typing as npt

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.exact import Rational
from adyton.kernel.sources import VectorSource
from adyton.messages import shorten
from adyton.plans.algorithm import MOST_PLAIN_CELLS, Share
from adyton.plans.base import Estimate, ExpectedError, Outcome, Plan, Tasks, check_cells
from adyton.plans.registry import plan_named
from adyton.queries import Queries
from adyton.selection.closed_form import ClosedForm
from adyton.selection.selector import Choice, Selector
from adyton.solving.noise_moments import Moments


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


@dataclass(frozen=True, kw_only=True)
class Chosen(Plan):
    """An algorithm inside a choice. Merging, a public total and non-negativity are the chooser's; the rest is its own.

    It is not listed among the algorithms: it says what :class:`adyton.Pythia` does with one of them.
    """

    name = "chosen"
    serves = Tasks()

    plan: Plan
    finished: bool = False
    """Whether the selector changes the estimate afterwards."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "simulates_many", self.plan.simulates_many)

    @classmethod
    def named(cls, algorithm: str, *, finished: bool = False, **options: Any) -> Chosen:
        """The algorithm of this name; the options are those of the choice."""
        return cls(plan=plan_named(algorithm), finished=finished, **options)

    @property
    def linear(self) -> bool:
        """A selector that has the last word projects."""
        return super().linear and not self.finished

    @property
    def inner(self) -> Plan:
        """The algorithm, which knows a public total."""
        return replace(self.plan, total=self.total)

    def check(self, workload: Queries) -> None:
        """Refuse what the algorithm does not serve."""
        super().check(workload)
        self.inner.check(self.merging(workload).workload)

    def check_size(self, workload: Queries, epsilon: Fraction) -> None:
        """Refuse what is too much for the algorithm."""
        self.inner.check_size(self.inner.merging(workload).workload, epsilon)

    def predicts_soon(self, workload: Queries) -> bool:
        """As the algorithm does."""
        return self.plan.predicts_soon(workload)

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """As it would run by itself."""
        cells = self.inner.carry_out(x, workload, epsilon).estimate
        return cells.reshape(*cells.shape[: cells.ndim - len(workload.domain)], -1)

    def expected_error(self, workload: Queries, epsilon: Rational, x: npt.ArrayLike | None = None) -> ExpectedError:
        """That of the algorithm on the merged cells."""
        merging = self.merging(workload)
        seen = None if x is None else merging.counts(x).reshape(merging.workload.domain)
        found = self.inner.expected_error(merging.workload, epsilon, seen)
        return found if self.linear or found.kind == "noise only" else replace(found, kind="upper mark")

    def one_law(self, workload: Queries, epsilon: Fraction, queries: Queries) -> bool:
        """Where it is so for the algorithm, and nothing follows."""
        merging = self.merging(workload)
        asked = merging.on_groups(queries) if self.linear else None
        return asked is not None and self.inner.one_law(merging.workload, epsilon, asked)

    def moments(self, workload: Queries, epsilon: Fraction, queries: Queries) -> Moments | None:
        """Those of the algorithm, if nothing follows."""
        merging = self.merging(workload)
        asked = merging.on_groups(queries) if self.linear else None
        return None if asked is None else self.inner.moments(merging.workload, epsilon, asked)

    def variances(self, workload: Queries, epsilon: Fraction, queries: Queries) -> Reals:
        """Those of the algorithm, on the merged cells."""
        merging = self.merging(workload)
        asked = merging.on_groups(queries)
        assert asked is not None
        return self.inner.variances(merging.workload, epsilon, asked)

    def determines(self, workload: Queries, epsilon: Fraction, queries: Queries) -> bool:
        """Where the algorithm does, on the merged cells."""
        merging = self.merging(workload)
        asked = merging.on_groups(queries)
        return asked is not None and self.inner.determines(merging.workload, epsilon, asked)


_FILES = {1: "one_dimension.json", 2: "two_dimensions.json"}


@lru_cache(maxsize=4)
def shipped_selector(ndim: int) -> Selector:
    """The selector for domains of *ndim* dimensions: trained for one and two, by closed forms beyond.

    >>> shipped_selector(1).training.dimensions
    1
    """
    if ndim not in _FILES:
        return ClosedForm.of(ndim)
    with as_file(files("adyton.selection") / "trained" / _FILES[ndim]) as path:
        return Selector.load(path)
