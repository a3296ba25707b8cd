"""Do whole plans give away more than ε? A statistical attack on the estimates that they return.

The noise is simulated, which is fast: exact noise is audited mechanism by mechanism, and what is looked for here is a
way around the noise.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from adyton.arrays import Array
from adyton.audit.findings import Finding
from adyton.audit.mechanisms import FALSE_ALARM
from adyton.audit.pairs import Counts, Pair, vector_pairs
from adyton.audit.statistical import certify
from adyton.plans.base import Plan
from adyton.plans.simulation import simulate
from adyton.queries import RandomRanges

EPSILON = Fraction(1)


def audit_plan(plan: Plan, *, pairs: int, draws: int, advance: Callable[[], None] = lambda: None) -> Finding:
    """Run a plan *draws* times on each side of some pairs."""
    worst = 0.0
    seeds = itertools.count()
    for pair in neighbours(plan, pairs):

        def estimates(side: Counts, trials: int) -> Array:
            workload = RandomRanges(side.shape, 6, seed=0)
            runs = simulate(plan, side, workload, EPSILON, seed=next(seeds), trials=trials).reshape(trials, -1)
            return np.column_stack([runs, runs.sum(axis=1).round(6)])

        certificate = certify(estimates, pair.left, pair.right, draws=draws, alpha=FALSE_ALARM / pairs)
        advance()
        worst = max(worst, certificate.lower_bound / float(EPSILON))
        if worst > 1:
            detail = f"loses at least {certificate.lower_bound:.4g} at ε = 1 on “{pair.name}”: {certificate.event}."
            return Finding("plans", plan.name, False, detail, {"certified/ε": worst})
    figures = {"certified/ε": round(worst, 4), "pairs": pairs, "draws": draws}
    return Finding("plans", plan.name, True, f"never above ε; {worst:.3f} of ε certified.", figures)


def neighbours(plan: Plan, count: int) -> list[Pair]:
    """Pairs over a small domain that the plan serves: those that have caught most, first."""
    domain = (4,) if plan.serves.serves(1) else (2, 2)
    return vector_pairs(domain, count=max(30, count))[: 3 * count : 3]
