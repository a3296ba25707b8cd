"""The number of rows, bought with a small part of the budget where it is not public."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from adyton.exact import Rational, share
from adyton.kernel.sources import VectorSource
from adyton.plans.base import Plan
from adyton.queries import Measurement, Total


class Rows(NamedTuple):
    """How many rows there are, as far as is known, and what is left of the budget."""

    number: float
    """At least 1."""
    left: Fraction
    measured: tuple[Measurement, ...]
    """The measurement of the total, to be used again in least squares; none if the total is public."""


def noisy_total(x: VectorSource, epsilon: Fraction, part: Rational, plan: Plan) -> Rows:
    """The public number of rows, or the noisy one that was bought before, or else one for this part of *epsilon*."""
    bought = share(part, "total_share")
    if plan.total is not None:
        return Rows(max(1.0, float(plan.total)), epsilon, ())
    if plan.rows is not None:
        here = plan.rows.queries.domain == x.shape  # not if cells were merged: then only the number is of use
        return Rows(max(1.0, float(plan.rows.value)), epsilon, (plan.rows,) if here else ())
    total = x.measure(Total(x.shape), bought * epsilon)
    return Rows(max(1.0, float(total.value)), (1 - bought) * epsilon, (total,))
