"""Pythia: the plan that chooses among algorithms, the plan that runs the chosen algorithm, and the selectors it uses.

For one and two dimensions the package has trained selectors. For more dimensions, the choice is the algorithm with the
least error among those with a closed form; or a plan along the longest axis, which measures little where there are few
rows, so that its error depends on the data. Two errors are known beforehand:

- the error of its fixed counterpart: in every stripe, the tree levels and weights that are best for the workload;
- the error if in every stripe one half of the cells had 1/ε rows too many, and the other too few. Estimates that cannot
  be negative err to one side where there are no rows, and that adds up over the stripes of a query.

On public tables the plan's error was near the root of the sum of squares of :data:`OWN` times the first and
:data:`SHARED` times the second (``adyton bench stripes`` measures them again). A choice by this rule, with each table
left out in turn, has 1.03 times the least error on average.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from importlib.resources import as_file, files
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from adyton import __version__
from adyton.arrays import Reals
from adyton.choice.decision import Choice
from adyton.choice.selector import FEW_CELLS, Selector, Training, reach
from adyton.errors import BadInput
from adyton.exact import Rational
from adyton.kernel.sources import VectorSource
from adyton.messages import shorten
from adyton.plans.algorithm import MOST_PLAIN_CELLS, MOST_STRIPES, Share
from adyton.plans.base import Estimate, ExpectedError, Outcome, Plan, Tasks, check_cells
from adyton.plans.registry import algorithms, plan_named, plan_type
from adyton.queries import Identity, Queries, Total
from adyton.queries.axes import stripe_parts, stripe_workload
from adyton.solving.noise_moments import Moments
from adyton.strategies.optimal_levels import level_energy_of, optimal_levels, squared_error


def _a_selector(given: object, name: str) -> Selector:
    if not isinstance(given, Selector):
        raise BadInput(f"{name} must be a Selector, such as Selector.load(path), given {shorten(given)}.")
    return given


@dataclass(frozen=True, kw_only=True)
class Pythia(Plan):
    """Measures a few noisy features of the data, chooses the algorithm that promises the least error for this workload,
    budget and domain, and runs it with what is left of the budget.

    All it knows about the data is what it bought: ε₁ for the features that it read, ε − ε₁ for the algorithm, so
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
    """The part ρ of the budget that features may cost; None for the share that the selector was trained with."""
    ordered: bool = True
    """Whether the cells have an order along at least one axis. If not, no algorithm is chosen that needs an order."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rows is not None:
            raise BadInput("pythia buys the number of rows itself where it pays. Leave it out, or give a public total.")

    def check(self, workload: Queries) -> None:
        """Refuse a selector that does not fit the workload."""
        super().check(workload)
        seen = self.merging(workload).workload
        self.selector_for(seen).check(seen)

    def check_size(self, workload: Queries, epsilon: Fraction) -> None:
        """Refuse a request that could fail after features were bought: every algorithm must be possible with the
        rest."""
        check_cells(self, workload)
        self.selector_for(workload).admit(workload, epsilon)

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Choose, then run the chosen algorithm."""
        return self._run(x, workload, self._choose(x, workload, epsilon)).estimate

    def choose(self, x: VectorSource, workload: Queries, epsilon: Rational) -> Choice:
        """Choose an algorithm. The choice says what features cost; the rest of ε is for the algorithm."""
        amount, merging = self.admitted(x, workload, epsilon), self.merging(workload)
        return self._choose(merging.source(x), merging.workload, amount)

    def follow(self, x: VectorSource, workload: Queries, choice: Choice) -> Estimate:
        """Run the chosen algorithm with the rest of the budget."""
        return self._follow(x, workload, choice).estimate

    def _follow(self, x: VectorSource, workload: Queries, choice: Choice) -> Outcome:
        merging = self.merging(workload)
        ran = self._run(merging.source(x), merging.workload, choice)
        return ran._replace(estimate=self.finish(ran.estimate, workload), choice=choice)

    def carry_out(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Outcome:
        """Choose and run; the outcome includes the choice."""
        merging = self.merging(workload)
        choice = self._choose(merging.source(x), merging.workload, epsilon)
        return self._follow(x, workload, choice)

    def candidates(self, workload: Queries) -> dict[str, Plan]:
        """The algorithms that could be chosen, as they would run."""
        seen = self.merging(workload).workload
        names = self.selector_for(seen).candidates(seen, ordered=self.ordered)
        return {
            name: Chosen.named(name, nonnegative=self.nonnegative, reduce=self.reduce, total=self.total)
            for name in names
        }

    def choice_share(self, workload: Queries) -> Fraction:
        """The share of the budget that features may cost."""
        return self.selector_for(self.merging(workload).workload).share

    def _choose(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Choice:
        selector = self.selector_for(workload)
        return selector.choose(x, workload, epsilon, self.total, ordered=self.ordered)

    def _run(self, x: VectorSource, workload: Queries, choice: Choice) -> Outcome:
        """The outcome of the chosen plan on merged cells, which are flat."""
        plan = plan_named(choice.algorithm, total=self.total, rows=choice.total)
        ran = plan.carry_out(x, workload, choice.left)
        cells = self.selector_for(workload).finish(ran.estimate.reshape(-1), choice, workload)
        return ran._replace(algorithm=choice.algorithm, estimate=cells)

    def selector_for(self, workload: Queries) -> Selector:
        """The selector for a workload on merged cells."""
        chosen = self.selector or shipped_selector(len(workload.domain))
        return chosen if self.share is None else chosen.with_share(self.share)


@dataclass(frozen=True, kw_only=True)
class Chosen(Plan):
    """An algorithm as :class:`adyton.Pythia` runs it: merging, a public total and non-negativity are options of Pythia;
    all other options are the algorithm's. It is not listed among the algorithms.
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
        """False where the algorithm has steps that are not linear, or the selector projects the estimate afterwards."""
        return super().linear and self.plan.linear and not self.finished

    @property
    def inner(self) -> Plan:
        """The algorithm, with the public total."""
        return replace(self.plan, total=self.total)

    def check(self, workload: Queries) -> None:
        """Refuse a workload that the algorithm does not serve."""
        super().check(workload)
        self.inner.check(self.merging(workload).workload)

    def check_size(self, workload: Queries, epsilon: Fraction) -> None:
        """Refuse a workload that is too large for the algorithm."""
        self.inner.check_size(self.inner.merging(workload).workload, epsilon)

    def predicts_soon(self, workload: Queries) -> bool:
        """As the algorithm says."""
        return self.plan.predicts_soon(workload)

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """As the algorithm runs on its own."""
        cells = self.inner.carry_out(x, workload, epsilon).estimate
        return cells.reshape(*cells.shape[: cells.ndim - len(workload.domain)], -1)

    def expected_error(self, workload: Queries, epsilon: Rational, x: npt.ArrayLike | None = None) -> ExpectedError:
        """The expected error of the algorithm on the merged cells."""
        merging = self.merging(workload)
        seen = None if x is None else merging.counts(x).reshape(merging.workload.domain)
        error = self.inner.expected_error(merging.workload, epsilon, seen)
        return error if self.linear or error.kind == "noise only" else replace(error, kind="upper mark")

    def one_law(self, workload: Queries, epsilon: Fraction, queries: Queries) -> bool:
        """As the algorithm says, if its estimate is not changed afterwards."""
        merging = self.merging(workload)
        asked = merging.on_groups(queries) if self.linear else None
        return asked is not None and self.inner.one_law(merging.workload, epsilon, asked)

    def moments(self, workload: Queries, epsilon: Fraction, queries: Queries) -> Moments | None:
        """The moments of the algorithm, if its estimate is not changed afterwards."""
        merging = self.merging(workload)
        asked = merging.on_groups(queries) if self.linear else None
        return None if asked is None else self.inner.moments(merging.workload, epsilon, asked)

    def unbiased(
        self, workload: Queries, epsilon: Fraction, measured: Reals, queries: Queries
    ) -> tuple[Reals, Moments] | None:
        """As the algorithm says, on the merged cells."""
        merging = self.merging(workload)
        asked = merging.on_groups(queries)
        return None if asked is None else self.inner.unbiased(merging.workload, epsilon, measured, asked)

    def variances(self, workload: Queries, epsilon: Fraction, queries: Queries) -> Reals:
        """The variances of the algorithm, on the merged cells."""
        merging = self.merging(workload)
        asked = merging.on_groups(queries)
        assert asked is not None
        return self.inner.variances(merging.workload, epsilon, asked)

    def cell_covariances(self, workload: Queries, epsilon: Fraction, queries: Queries) -> Reals | None:
        """The covariances of the algorithm, if its estimate is not changed afterwards."""
        merging = self.merging(workload)
        asked = merging.on_groups(queries) if self.linear else None
        found = None if asked is None else self.inner.cell_covariances(merging.workload, epsilon, asked)
        return None if found is None else merging.lift(found)

    def determines(self, workload: Queries, epsilon: Fraction, queries: Queries) -> bool:
        """As the algorithm says, on the merged cells."""
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
    with as_file(files("adyton.choice") / "trained" / _FILES[ndim]) as path:
        return Selector.load(path)


_PLAIN, _DENOISED = "identity", "denoised-cells"
"""Where every query asks about a single cell and plain noise is best, part of the noise can be removed afterwards. For
few cells, exact errors are worth more than that."""


@dataclass(frozen=True, eq=False)
class ClosedForm(Selector):
    """Chooses from public information and spends nothing: for more dimensions than selectors are trained for."""

    kind = "closed-form"

    training: Training
    share: Fraction = Fraction(0)

    @classmethod
    def of(cls, dimensions: int) -> ClosedForm:
        """The selector for domains of this many dimensions."""
        plans = map(plan_type, algorithms(dimensions))
        about = Training(
            dimensions=dimensions,
            algorithms=tuple(plan.name for plan in plans if not plan.serves.data_dependent and plan.effort != "dense"),
            workloads=(),
            corpus=(),
            epsilons=(),
            inputs=0,
            trials=0,
            date="",
            adyton=__version__,
        )
        return cls(about)

    def choose(
        self, x: VectorSource, workload: Queries, epsilon: Fraction, total: int | None = None, *, ordered: bool = True
    ) -> Choice:
        """Choose the algorithm with the least expected error."""
        self.check(workload, epsilon)
        striped = striped_plan(workload) if ordered else None
        if striped == ALONG_CELLS:
            return Choice(striped, epsilon, (), {striped: math.inf})  # it depends on the data
        usable, notes = self.available(workload, ordered=ordered)
        errors = _errors(workload, epsilon, tuple(usable))
        name = min(errors, key=lambda plan: (errors[plan], plan))
        if striped is not None and (expected := striped_error(workload, epsilon)) < errors[name]:
            errors = {striped: expected, **errors}
            name = striped
        least = max(errors[name], 1e-300)
        regrets = {plan: error / least for plan, error in errors.items()}
        if reach(workload) == 0 and errors.get(_PLAIN, 2 * least) < (1 + 1e-9) * least:
            name = _DENOISED if _DENOISED in usable and workload.cells > FEW_CELLS else _PLAIN
            regrets.setdefault(name, math.inf)  # it depends on the data
        return Choice(name, epsilon, (), regrets, notes, errors=errors)

    def candidates(self, workload: Queries, *, ordered: bool = True) -> list[str]:
        """The algorithms that could be chosen, without those whose error takes too long to compute."""
        striped = striped_plan(workload) if ordered else None
        if striped == ALONG_CELLS:
            return [striped]
        names = super().candidates(workload, ordered=ordered)
        soon = [name for name in names if plan_named(name).predicts_soon(workload)]
        return soon if striped is None else [striped, *soon]

    def learnt(self) -> dict[str, Any]:
        """Nothing was learnt."""
        return {}

    @classmethod
    def from_learnt(cls, training: Training, share: Rational, learnt: Any) -> ClosedForm:
        """For the algorithms that the training names."""
        return cls(training)

    def in_words(self) -> str:
        """The rule, in words."""
        return (
            "The algorithm whose error on the workload, computed beforehand, is least; or a plan along the longest "
            "axis, if its error, predicted from public tables relative to a tree's, is expected to be smaller. The "
            "choice costs nothing."
        )


@lru_cache(maxsize=16)
def _errors(workload: Queries, epsilon: Fraction, names: tuple[str, ...]) -> dict[str, float]:
    """The exact errors of those algorithms that have one."""
    errors = {}
    for name in names:
        plan = plan_named(name)
        if not plan.predicts_soon(workload):
            continue
        expected = plan.expected_error(workload, epsilon)
        if expected.kind in ("exact", "estimate"):
            errors[name] = expected.total
    if not errors:
        raise BadInput("no algorithm of the library has an error in closed form on this workload. Name an algorithm.")
    return errors


ALONG_CELLS, ALONG = "change-points-striped", "staged-hierarchy-striped"
"""The plan for single cells, and the plan for sums."""
SHORTEST = 64
"""The longest axes of the public tables had 74 to 4,096 cells; nothing is known about shorter axes."""
OWN, SHARED = 0.27, 0.95


@lru_cache(maxsize=16)
def striped_plan(workload: Queries) -> str | None:
    """The plan along the longest axis that suits the workload; None where no axis is long, there are too many stripes,
    only the total of a stripe is asked for, or the queries along a stripe are not known.

    >>> from adyton.queries import Marginals
    >>> striped_plan(Identity((100, 5, 5))), striped_plan(Marginals((100, 5, 5), way=2)), striped_plan(Identity((9, 9)))
    ('change-points-striped', 'staged-hierarchy-striped', None)
    """
    side = max(workload.domain)
    stripes = workload.cells // side
    if side < SHORTEST or not 1 < stripes <= MOST_STRIPES or workload.cells > plan_type(ALONG).most_cells:
        return None
    axis = workload.domain.index(side)
    line = stripe_workload(workload, axis)
    if isinstance(line, Total) or stripe_parts(workload, axis) is None:
        return None
    return ALONG_CELLS if isinstance(line, Identity) else ALONG


@lru_cache(maxsize=16)
def fixed_error(workload: Queries, epsilon: Fraction) -> float:
    """The error of the best levels of a tree in every stripe along the longest axis, with continuous noise."""
    side = max(workload.domain)
    parts = stripe_parts(workload, workload.domain.index(side)) or []
    energy = np.sum([number * np.array(level_energy_of(queries)) for number, queries in parts], axis=0)
    return math.sqrt(squared_error(optimal_levels(side, energy), energy)) / float(epsilon)


@lru_cache(maxsize=16)
def shared_error(workload: Queries, epsilon: Fraction) -> float:
    """The error of 1/ε rows too many in one half of every stripe, and too few in the other; multiplied by √12, so that
    it is 1/ε rows on average over all prefixes of a stripe."""
    side = max(workload.domain)
    halves = np.where(np.arange(side) < side // 2, 1.0, -1.0) / side
    axis = workload.domain.index(side)
    sides = [side if place == axis else 1 for place in range(len(workload.domain))]
    shift = np.broadcast_to(halves.reshape(sides), workload.domain)
    return math.sqrt(12) * float(np.linalg.norm(workload @ shift)) / float(epsilon)


def striped_error(workload: Queries, epsilon: Fraction) -> float:
    """The expected error of the plan for sums."""
    return math.hypot(OWN * fixed_error(workload, epsilon), SHARED * shared_error(workload, epsilon))
