"""Do the outputs of each mechanism give away more than ε? A statistical attack on every audit case."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.arrays import Array
from adyton.kernel.mechanisms import AuditCase
from adyton.kernel.operators import claim
from adyton.noise import ExactNoise
from adyton.noise.source import NoiseSource
from adyton_lab.audit.findings import Finding
from adyton_lab.audit.pairs import Pair, vector_pairs
from adyton_lab.audit.statistical import Certificate, certify

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
    reach: float = REACH,
    noise: NoiseSource | None = None,
    advance: Callable[[], None] = lambda: None,
) -> Finding:
    """Attack one audit case on *pairs* neighbouring pairs at every ε; the leakiest pair at ε ≥ 1 once more, harder."""
    attack = _Attacker(case, FALSE_ALARM / attacks(pairs), noise or ExactNoise())
    neighbours = vector_pairs(case.domain, count=pairs)
    worst, reached = 0.0, 0.0
    for epsilon in EPSILONS:
        found = []
        for pair in neighbours:
            found.append((attack(pair, epsilon, draws), pair))
            advance()
        if epsilon >= 1:
            leakiest = max(found, key=lambda entry: entry[0].lower_bound)[1]
            found.append((attack(leakiest, epsilon, strong_draws), leakiest))
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
    figures = {
        "claim": claim(case.mechanism),
        "certified/ε": round(reached, 4),
        "largest/ε": round(worst, 4),
        "pairs": pairs,
        "draws": strong_draws,
    }
    if case.reaches_epsilon and reached < reach:
        return Finding("mechanisms", case.name, False, f"the audit reached only {reached:.3f} of ε: no power.", figures)
    return Finding("mechanisms", case.name, True, f"never above ε; {reached:.3f} of ε certified.", figures)


def attacks(pairs: int) -> int:
    """How many attacks an audit of one case makes."""
    return pairs * len(EPSILONS) + sum(epsilon >= 1 for epsilon in EPSILONS)


class _Attacker:
    """Certificates for one audit case; what the kernel would hold is prepared once for each side of a pair."""

    def __init__(self, case: AuditCase, alpha: float, noise: NoiseSource) -> None:
        self._case, self._alpha, self._noise = case, alpha, noise
        self._prepared: dict[int, Any] = {}

    def __call__(self, pair: Pair, epsilon: Fraction, draws: int) -> Certificate:
        def sample(side: Array, trials: int) -> Array:
            return self._case.mechanism.draw(self._hold(side), epsilon, self._noise, trials)

        def statistic(outputs: Array, left: Any, right: Any) -> Array:
            flat = outputs.reshape(len(outputs), -1)
            if self._case.statistic is None:
                return flat
            return np.column_stack([flat, self._case.statistic(flat, left, right, epsilon)])

        return certify(sample, pair.left, pair.right, draws=draws, alpha=self._alpha, statistic=statistic)

    def _hold(self, side: Array) -> Any:
        if id(side) not in self._prepared:
            self._prepared[id(side)] = self._case.prepare(side)
        return self._prepared[id(side)]
