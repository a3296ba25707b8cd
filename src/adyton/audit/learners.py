"""Do whole fitted models give away more than ε? A statistical attack on everything that a learner returns.

The noise is simulated, which is fast: exact noise is audited mechanism by mechanism, and what is looked for here is a
way around the noise, such as a depth that depends on the rows or trees that are not charged.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from adyton.arrays import Array, Integers
from adyton.audit.findings import Finding
from adyton.audit.mechanisms import FALSE_ALARM
from adyton.audit.pairs import Counts, Pair, vector_pairs
from adyton.audit.statistical import certify
from adyton.kernel.kernel import Kernel
from adyton.learning.learner import Learner
from adyton.learning.model import Model
from adyton.schema import Boolean, Schema

EPSILON = Fraction(1)
_SCHEMA = Schema({"a": Boolean(), "b": Boolean(), "label": Boolean()})
_EVERY_ROW = np.array(list(itertools.product((0, 1), repeat=2)), dtype=np.int64)


def audit_learner(learner: Learner, *, pairs: int, draws: int, advance: Callable[[], None] = lambda: None) -> Finding:
    """Fit a model *draws* times on each side of some pairs of tables, and look at all that it says."""
    worst = 0.0
    seeds = itertools.count()
    for pair in neighbours(pairs):

        def told(side: Counts, trials: int) -> Array:
            rows = rows_of(side)
            return np.stack([outputs(_fitted(learner, rows, next(seeds))) for _ in range(trials)])

        certificate = certify(told, pair.left, pair.right, draws=draws, alpha=FALSE_ALARM / pairs)
        advance()
        worst = max(worst, certificate.lower_bound / float(EPSILON))
        if worst > 1:
            detail = f"loses at least {certificate.lower_bound:.4g} at ε = 1 on “{pair.name}”: {certificate.event}."
            return Finding("learners", learner.name, False, detail, {"certified/ε": worst})
    figures = {"certified/ε": round(worst, 4), "pairs": pairs, "draws": draws}
    return Finding("learners", learner.name, True, f"never above ε; {worst:.3f} of ε certified.", figures)


def neighbours(count: int) -> list[Pair]:
    """Pairs of tables over two attributes and a label, one row apart."""
    return vector_pairs(_SCHEMA.shape, count=max(30, count))[: 3 * count : 3]


def rows_of(counts: Counts) -> Integers:
    """The rows of a table, as numbers of cells; large counts are cut, which only removes rows from both sides."""
    cells = np.repeat(np.arange(counts.size), np.clip(counts.reshape(-1), 0, 200))
    return np.stack(np.unravel_index(cells, _SCHEMA.shape), axis=1)


def outputs(model: Model) -> Array:
    """All that a model says about rows, how large it is, and what it keeps of counts."""
    kept = _numbers(model.learnt())
    said = model.probabilities(_EVERY_ROW)[:, 0].round(6)
    return np.array([*said, len(kept), round(sum(kept), 6)])


def _numbers(plain: object) -> list[float]:
    """All numbers in plain values."""
    if isinstance(plain, dict):
        return [number for one in plain.values() for number in _numbers(one)]
    if isinstance(plain, list):
        return [number for one in plain for number in _numbers(one)]
    return [float(plain)] if isinstance(plain, int | float) else []


def _fitted(learner: Learner, rows: Integers, seed: int) -> Model:
    kernel = Kernel.simulated_table(rows, _SCHEMA, epsilon=EPSILON, seed=seed)
    return learner.fit(kernel.root, "label", EPSILON)
