"""Whether to take a plan along the longest axis: what it is expected to err by, in parts of what has a closed form.

Such a plan measures little where there are few rows, and so its error depends on the data. Known beforehand is that of
its fixed counterpart: in every stripe the levels of a tree, and weights, that are best for the workload. On public
tables the plan erred by :data:`PART` of that, as a geometric mean (``adyton bench stripes`` measures it again); with a
choice by that number, each table left out in turn, errors were 1.01 times the least on average.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from adyton.plans.registry import plan_type
from adyton.plans.striped import MOST_STRIPES
from adyton.queries import Identity, Queries, Total
from adyton.queries.stripes import stripe_parts, stripe_workload
from adyton.strategies.optimal_levels import level_energy_of, optimal_levels, squared_error

ALONG_CELLS, ALONG = "change-points-striped", "staged-hierarchy-striped"
"""Where single cells are asked about, and where sums are."""
SHORTEST = 64
"""The longest axes of the public tables had 74 to 5,000 cells; nothing is known about shorter ones."""
PART = 0.36


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


def striped_error(workload: Queries, epsilon: Fraction) -> float:
    """What the plan for sums is expected to err by."""
    return PART * fixed_error(workload, epsilon)
