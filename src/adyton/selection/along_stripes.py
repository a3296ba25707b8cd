"""Whether to take a plan along the longest axis: what it is expected to err by, from two errors in closed form.

Such a plan measures little where there are few rows, and so its error depends on the data. Known beforehand are

- the error of its fixed counterpart: in every stripe the levels of a tree, and weights, that are best for the workload;
- what it would err by if in every stripe one half of the cells had 1/ε rows too many, and the other too few. Estimates
  that cannot be negative err to one side where there are no rows, and that adds up over the stripes of a query.

On public tables the plan's error was near the root of the sum of squares of :data:`OWN` times the one and
:data:`SHARED` times the other (``adyton bench stripes`` measures them again). Who chooses by that, each table left out
in turn, errs by 1.03 times the least on average.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from adyton.plans.algorithm import MOST_STRIPES
from adyton.plans.registry import plan_type
from adyton.queries import Identity, Queries, Total
from adyton.queries.stripes import stripe_parts, stripe_workload
from adyton.strategies.optimal_levels import level_energy_of, optimal_levels, squared_error

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
