"""Do whole programs for many tables give away more than ε? A statistical attack on all that they measure.

As for plans, the noise is simulated: what is looked for is a way around it, such as a decision by a true count.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from adyton.arrays import Array, Reals
from adyton.audit.findings import Finding
from adyton.audit.mechanisms import FALSE_ALARM
from adyton.audit.pairs import Counts, vector_pairs
from adyton.audit.plans import EPSILON
from adyton.audit.statistical import certify
from adyton.kernel.kernel import Kernel
from adyton.marginals.program import Outcome
from adyton.marginals.registry import program_named
from adyton.marginals.wanted import Wanted
from adyton.schema import Integer, Schema

SCHEMA = Schema({name: Integer(0, 1) for name in "abc"})
_GROUPS = [group for size in (1, 2, 3) for group in itertools.combinations("abc", size)]
_NEVER = -1e9
"""In the place of a count that was not measured."""


def audit_program(name: str, *, pairs: int, draws: int, advance: Callable[[], None] = lambda: None) -> Finding:
    """Run a program *draws* times on each side of some pairs."""
    wanted = Wanted.of(SCHEMA, list(itertools.combinations(SCHEMA.names, 2)))
    worst, seeds = 0.0, itertools.count()

    def transcripts(side: Counts, trials: int) -> Array:
        cells = np.argwhere(side > 0)
        codes = np.repeat(cells, side[side > 0], axis=0)
        kernels = (Kernel.simulated_table(codes, SCHEMA, epsilon=EPSILON, seed=next(seeds)) for _ in range(trials))
        return np.stack([_flat(program_named(name).measure(one.root, wanted, EPSILON)) for one in kernels])

    for pair in vector_pairs(SCHEMA.shape, count=max(30, pairs))[: 3 * pairs : 3]:
        certificate = certify(transcripts, pair.left, pair.right, draws=draws, alpha=FALSE_ALARM / pairs)
        advance()
        worst = max(worst, certificate.lower_bound / float(EPSILON))
        if worst > 1:
            detail = f"loses at least {certificate.lower_bound:.4g} at ε = 1 on “{pair.name}”: {certificate.event}."
            return Finding("plans", name, False, detail, {"certified/ε": worst})
    figures = {"certified/ε": round(worst, 4), "pairs": pairs, "draws": draws}
    return Finding("plans", name, True, f"never above ε; {worst:.3f} of ε certified.", figures)


def _flat(outcome: Outcome) -> Reals:
    """All that came out, always in the same places: what was bought, and the sum of what was measured of each group."""
    bought = {one.name: one.value for one in outcome.bought}
    columns = [bought.get(name, _NEVER) for name in ("rows", "dependence")]
    for group in _GROUPS:
        found = [np.asarray(one.counts, dtype=np.float64) for one in outcome.measured if one.group == group]
        columns += np.sum(found, axis=0).reshape(-1).tolist() if found else [_NEVER] * 2 ** len(group)
    return np.array(columns)
