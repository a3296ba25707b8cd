"""A rehearsal: what a plan would refuse once it runs, refused before anything is paid."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

import numpy as np

from adyton.errors import BudgetExceeded
from adyton.kernel.kernel import Kernel
from adyton.plans.base import Plan, StrategyPlan
from adyton.queries import Queries

_NOTHING = Fraction(1, 10**300)
"""A budget that no measurement can be paid from."""


def rehearse(plan: Plan, workload: Queries, epsilon: Fraction) -> None:
    """Run a plan up to its first measurement, on no data: all that it refuses comes before that.

    A plan that measures one strategy has no options but those that :meth:`Plan.check` knows, and is left alone.
    """
    if isinstance(plan, StrategyPlan):
        return
    merging = plan.merging(workload)
    plan.check_size(merging.workload, epsilon)
    poor = Kernel.simulated(np.zeros(workload.domain, dtype=np.int64), epsilon=_NOTHING, seed=0).root
    with suppress(BudgetExceeded):
        plan.run(merging.source(poor), merging.workload, epsilon)
