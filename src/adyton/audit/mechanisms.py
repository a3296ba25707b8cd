"""Do the outputs of each mechanism give away more than ε? A statistical attack on every audit case."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.audit.findings import Finding
from adyton.audit.pairs import Pair, vector_pairs
from adyton.audit.statistical import Array, Certificate, certify
from adyton.kernel.mechanisms import AuditCase
from adyton.noise import ExactNoise
from adyton.noise.source import NoiseSource

EPSILONS = (Fraction(1, 10), Fraction(1), Fraction(3))
REACH = 0.95
"""A mechanism that is as leaky as its claim allows must be certified at this share of ε, or the audit is too weak."""
FALSE_ALARM = 1e-6
"""The chance that an audit case of a mechanism that keeps its claim is found guilty."""


def audit_mechanism(
    case: AuditCase,
    *,
    pairs: int,
    draws: int,
    strong_draws: int,
    noise: NoiseSource | None = None,
    advance: Callable[[], None] = lambda: None,
) -> Finding:
    """Attack one audit case on *pairs* neighbouring pairs at every ε; the leakiest pair at ε ≥ 1 once more, harder."""
    neighbours = vector_pairs(case.domain, count=pairs)
    alpha = FALSE_ALARM / ((pairs + 1) * len(EPSILONS))
    source = noise or ExactNoise()
    worst, reached = 0.0, 0.0
    for epsilon in EPSILONS:
        found = []
        for pair in neighbours:
            found.append((_attack(case, pair, epsilon, draws=draws, alpha=alpha, noise=source), pair))
            advance()
        leakiest = max(found, key=lambda entry: entry[0].lower_bound)[1]
        found.append((_attack(case, leakiest, epsilon, draws=strong_draws, alpha=alpha, noise=source), leakiest))
        advance()
        certificate, pair = max(found, key=lambda entry: entry[0].lower_bound)
        ratio = certificate.lower_bound / float(epsilon)
        worst = max(worst, ratio)
        if epsilon >= 1:
            reached = max(reached, ratio)
        if ratio > 1:
            detail = (
                f"loses at least {certificate.lower_bound:.4g} at ε = {float(epsilon):g} on “{pair.name}”: "
                f"{certificate.event}."
            )
            return Finding("mechanisms", case.name, False, detail, {"certified/ε": ratio})
    figures = {"certified/ε": round(reached, 4), "largest/ε": round(worst, 4), "pairs": pairs, "draws": strong_draws}
    if case.reaches_epsilon and reached < REACH:
        return Finding("mechanisms", case.name, False, f"the audit reached only {reached:.3f} of ε: no power.", figures)
    return Finding("mechanisms", case.name, True, f"never above ε; {reached:.3f} of ε certified.", figures)


def _attack(
    case: AuditCase, pair: Pair, epsilon: Fraction, *, draws: int, alpha: float, noise: NoiseSource
) -> Certificate:
    prepared = {id(side): case.prepare(side) for side in (pair.left, pair.right)}

    def sample(side: Array, trials: int) -> Array:
        return case.mechanism.draw(prepared[id(side)], epsilon, noise, trials)

    def statistic(outputs: Array, left: Any, right: Any) -> Array:
        flat = outputs.reshape(len(outputs), -1)
        if case.statistic is None:
            return flat
        return np.column_stack([flat, case.statistic(flat, left, right, epsilon)])

    return certify(sample, pair.left, pair.right, draws=draws, alpha=alpha, statistic=statistic)
