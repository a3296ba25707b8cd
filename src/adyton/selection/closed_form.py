"""The selector for more dimensions: of the algorithms whose error has a closed form, the one with the least; or a plan
along the longest axis, whose error is known in parts of one that has a closed form.

A plan along the longest axis measures little where there are few rows, and so its error depends on the data. Known
beforehand are

- the error of its fixed counterpart: in every stripe the levels of a tree, and weights, that are best for the workload;
- what it would err by if in every stripe one half of the cells had 1/ε rows too many, and the other too few. Estimates
  that cannot be negative err to one side where there are no rows, and that adds up over the stripes of a query.

On public tables the plan's error was near the root of the sum of squares of :data:`OWN` times the one and
:data:`SHARED` times the other (``adyton bench stripes`` measures them again). Who chooses by that, each table left out
in turn, errs by 1.03 times the least on average.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from adyton import __version__
from adyton.errors import BadInput
from adyton.exact import Rational
from adyton.kernel.sources import VectorSource
from adyton.plans.algorithm import MOST_STRIPES
from adyton.plans.registry import algorithms, plan_named, plan_type
from adyton.queries import Identity, Queries, Total
from adyton.queries.axes import stripe_parts, stripe_workload
from adyton.selection.selector import Choice, Selector, Training
from adyton.selection.workload_kinds import FEW_CELLS, reach
from adyton.strategies.optimal_levels import level_energy_of, optimal_levels, squared_error

_PLAIN, _DENOISED = "identity", "denoised-cells"
"""Where every query asks about a single cell and plain noise is best, the noise can be taken out again in part. Of few
cells that is not worth the exact errors."""


@dataclass(frozen=True, eq=False)
class ClosedForm(Selector):
    """Chooses from public facts alone and spends nothing: for more dimensions than selectors are trained for."""

    kind = "closed-form"

    training: Training
    share: Fraction = Fraction(0)

    @classmethod
    def of(cls, dimensions: int) -> ClosedForm:
        """For domains of so many dimensions."""
        plans = map(plan_type, algorithms(dimensions))
        about = Training(
            dimensions=dimensions,
            algorithms=tuple(one.name for one in plans if not one.serves.data_dependent and one.effort != "dense"),
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
        """The least expected error."""
        self.check(workload, epsilon)
        striped = striped_plan(workload) if ordered else None
        if striped == ALONG_CELLS:
            return Choice(striped, epsilon, (), {striped: math.inf})  # it depends on the data
        usable, notes = self.available(workload, ordered=ordered)
        errors = _errors(workload, epsilon, tuple(usable))
        name = min(errors, key=lambda one: (errors[one], one))
        if striped is not None and (expected := striped_error(workload, epsilon)) < errors[name]:
            errors = {striped: expected, **errors}
            name = striped
        least = max(errors[name], 1e-300)
        regrets = {one: error / least for one, error in errors.items()}
        if reach(workload) == 0 and errors.get(_PLAIN, 2 * least) < (1 + 1e-9) * least:
            name = _DENOISED if _DENOISED in usable and workload.cells > FEW_CELLS else _PLAIN
            regrets.setdefault(name, math.inf)  # it depends on the data
        return Choice(name, epsilon, (), regrets, notes, errors=errors)

    def candidates(self, workload: Queries, *, ordered: bool = True) -> list[str]:
        """Without those that take too long to compute, which are passed over."""
        striped = striped_plan(workload) if ordered else None
        if striped == ALONG_CELLS:
            return [striped]
        names = super().candidates(workload, ordered=ordered)
        soon = [name for name in names if plan_named(name).predicts_soon(workload)]
        return soon if striped is None else [striped, *soon]

    def learnt(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    @classmethod
    def from_learnt(cls, training: Training, share: Rational, learnt: Any) -> ClosedForm:
        """For the algorithms that the training names."""
        return cls(training)

    def in_words(self) -> str:
        """The rule."""
        return (
            "The algorithm whose error on the workload, computed beforehand, is least; or a plan along the longest "
            "axis, if what it erred by on public tables, in parts of a tree's error there, is less. The choice costs "
            "nothing."
        )


@lru_cache(maxsize=16)
def _errors(workload: Queries, epsilon: Fraction, names: tuple[str, ...]) -> dict[str, float]:
    """The exact errors, of those algorithms that have one."""
    found = {}
    for name in names:
        plan = plan_named(name)
        if not plan.predicts_soon(workload):
            continue
        expected = plan.expected_error(workload, epsilon)
        if expected.kind in ("exact", "estimate"):
            found[name] = expected.total
    if not found:
        raise BadInput("no algorithm of the library has an error in closed form on this workload. Name an algorithm.")
    return found


ALONG_CELLS, ALONG = "change-points-striped", "staged-hierarchy-striped"
"""Where single cells are asked about, and where sums are."""
SHORTEST = 64
"""The longest axes of the public tables had 74 to 4,096 cells; nothing is known about shorter ones."""
OWN, SHARED = 0.27, 0.95


@lru_cache(maxsize=16)
def striped_plan(workload: Queries) -> str | None:
    """The plan along the longest axis that suits the workload; None where no axis is long, there are too many stripes,
    all that is asked of a stripe is its total, or what is asked is not known.

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
    """The error of the best levels of a tree in every stripe along the longest axis, by continuous noise."""
    side = max(workload.domain)
    parts = stripe_parts(workload, workload.domain.index(side)) or []
    energy = np.sum([number * np.array(level_energy_of(queries)) for number, queries in parts], axis=0)
    return math.sqrt(squared_error(optimal_levels(side, energy), energy)) / float(epsilon)


@lru_cache(maxsize=16)
def shared_error(workload: Queries, epsilon: Fraction) -> float:
    """The error of 1/ε rows too many in one half of every stripe, and too few in the other; √12 times, so that it is
    1/ε rows on average over all prefixes of a stripe."""
    side = max(workload.domain)
    halves = np.where(np.arange(side) < side // 2, 1.0, -1.0) / side
    axis = workload.domain.index(side)
    sides = [side if place == axis else 1 for place in range(len(workload.domain))]
    shift = np.broadcast_to(halves.reshape(sides), workload.domain)
    return math.sqrt(12) * float(np.linalg.norm(workload @ shift)) / float(epsilon)


def striped_error(workload: Queries, epsilon: Fraction) -> float:
    """What the plan for sums is expected to err by."""
    return math.hypot(OWN * fixed_error(workload, epsilon), SHARED * shared_error(workload, epsilon))
