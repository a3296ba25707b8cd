"""The selector that needs no training: of the algorithms whose error has a closed form, the one with the least."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from adyton import __version__
from adyton.errors import BadInput
from adyton.exact import Rational
from adyton.kernel.sources import VectorSource
from adyton.plans.registry import algorithms, plan_named, plan_type
from adyton.plans.striped import MOST_STRIPES
from adyton.queries import Identity, Queries, Total
from adyton.queries.stripes import stripe_workload
from adyton.selection.choice import Choice
from adyton.selection.selector import Selector, Training
from adyton.selection.ties import FEW_CELLS
from adyton.selection.workload_kinds import reach

_ALONG_CELLS, _ALONG = "change-points-striped", "staged-hierarchy-striped"
_PLAIN, _DENOISED = "identity", "denoised-cells"
"""Where every query asks about a single cell and plain noise is best, the noise can be taken out again in part. Of few
cells that is not worth the exact errors."""
_LONG, _LARGE = 1 << 10, 1 << 17
"""On domains of so many cells, with an axis of so many, plans along that axis are taken: most stripes have few rows,
and what adapts to that errs less than what is fixed beforehand, by factors of 3 to 10 on the Census table.
The bounds were set by hand with that one table in view."""


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
        striped = _striped(workload) if ordered else None
        if striped is not None:
            return Choice(striped, epsilon, (), {striped: math.inf})  # it depends on the data
        usable, notes = self.available(workload, ordered=ordered)
        errors = _errors(workload, epsilon, tuple(usable))
        name = min(errors, key=lambda one: (errors[one], one))
        least = max(errors[name], 1e-300)
        regrets = {one: error / least for one, error in errors.items()}
        if reach(workload) == 0 and errors.get(_PLAIN, 2 * least) < (1 + 1e-9) * least:
            name = _DENOISED if _DENOISED in usable and workload.cells > FEW_CELLS else _PLAIN
            regrets.setdefault(name, math.inf)  # it depends on the data
        return Choice(name, epsilon, (), regrets, notes, errors=errors)

    def candidates(self, workload: Queries, *, ordered: bool = True) -> list[str]:
        """Without those that take too long to compute, which are passed over."""
        striped = _striped(workload) if ordered else None
        if striped is not None:
            return [striped]
        names = super().candidates(workload, ordered=ordered)
        return [name for name in names if plan_named(name).predicts_soon(workload)]

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
            "The algorithm whose error on the workload, computed beforehand, is least; on large domains with one long "
            "axis a plan along that axis. The choice costs nothing."
        )


@lru_cache(maxsize=16)
def _striped(workload: Queries) -> str | None:
    """The plan along the longest axis that suits a large domain; None where the domain is small, no axis is long, there
    are too many stripes, or all that is asked of a stripe is its total."""
    side = max(workload.domain)
    if workload.cells < _LARGE or side < _LONG or workload.cells > plan_type(_ALONG).most_cells:
        return None
    line = stripe_workload(workload, workload.domain.index(side))
    if isinstance(line, Total) or workload.cells // side > MOST_STRIPES:
        return None
    return _ALONG_CELLS if isinstance(line, Identity) else _ALONG


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
