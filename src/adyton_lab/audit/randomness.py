"""Is the noise what it says it is? Distributions against their exact probabilities, selections by enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from adyton.arrays import Array
from adyton.noise.probabilities import counts_fit, laplace_fit
from adyton.noise.selection import permute_and_flip
from adyton.noise.source import NoiseSource
from adyton_lab.audit.enumeration import Run, largest_loss
from adyton_lab.audit.findings import Finding
from adyton_lab.audit.mechanisms import EPSILONS, REACH
from adyton_lab.audit.pairs import vector_pairs

FALSE_ALARM = 1e-7
"""Of each single test here; an audit makes fewer than ten."""
SCALES = (Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(100), Fraction(10**6))


def audit_laplace(noise: NoiseSource, draws: int) -> Finding:
    """χ² of discrete Laplace draws against the exact probabilities, at five scales."""
    values = {}
    for scale in SCALES:
        values[str(scale)] = laplace_fit(noise.discrete_laplace(draws, scale), scale)
    worst = min(values, key=lambda scale: values[scale])
    passed = values[worst] >= FALSE_ALARM
    detail = f"smallest p-value {values[worst]:.3g}, at scale {worst}."
    return Finding("noise", "discrete Laplace against its exact probabilities", passed, detail, {"p": values})


def audit_uniform(noise: NoiseSource, draws: int) -> Finding:
    """χ² of uniform integers, for bounds where taking a remainder would be visibly uneven."""
    values = {}
    for bound in (3, 1000, 3 * 2**61, 3 * 2**62):
        sample = noise.uniform_integers(draws, bound)
        parts = min(bound, 24)
        classes = np.array([int(value) * parts // bound for value in sample.tolist()])
        starts = [-(-part * bound // parts) for part in range(parts + 1)]  # class c holds starts[c] … starts[c + 1] - 1
        sizes = np.array([(end - start) / bound for start, end in itertools.pairwise(starts)])
        values[str(bound)] = counts_fit(np.bincount(classes, minlength=parts), sizes)
    worst = min(values, key=lambda bound: values[bound])
    passed = values[worst] >= FALSE_ALARM
    detail = f"smallest p-value {values[worst]:.3g}, for the bound {worst}."
    return Finding("noise", "uniform integers", passed, detail, {"p": values})


def audit_streams(noise: NoiseSource) -> Finding:
    """Two calls never share randomness: at this scale, one equal pair among 64 has a chance below 2⁻³⁵."""
    first, second = (noise.discrete_laplace(8, 2**40).tolist() for _ in range(2))
    shared = set(first) & set(second) - {0}
    detail = "two calls gave different draws." if not shared else "two calls gave the same draws: a shared stream."
    return Finding("noise", "independent streams", not shared, detail)


def audit_selection() -> Finding:
    """Permute-and-flip on small vectors, every branch of its own code enumerated: loss at most ε, and close to it."""
    worst = 0.0
    for epsilon in EPSILONS:
        for scores in (_cells, _opposed):

            def run_on(cells: Array, epsilon: Fraction = epsilon, scores: Scores = scores) -> Run:
                return lambda source: permute_and_flip(source, scores(cells), epsilon / 2)  # Δ = 1

            pairs = [pair for size in (1, 2, 3, 4) for pair in vector_pairs(size, count=30) if pair.left.max() < 200]
            loss, pair = largest_loss(run_on, pairs)
            worst = max(worst, loss / float(epsilon))
            if loss > float(epsilon) * (1 + 1e-12):
                detail = f"loses {loss:.6g} at ε = {float(epsilon):g} on “{pair.name if pair else ''}”."
                return Finding("noise", _SELECTION, False, detail, {"loss/ε": loss / float(epsilon)})
    return Finding("noise", _SELECTION, worst >= REACH, f"largest loss {worst:.6g} of ε.", {"loss/ε": worst})


_SELECTION = "permute-and-flip, enumerated"
Scores = Callable[[Array], list[int]]


def _cells(cells: Array) -> list[int]:
    """Scores that one more row can only raise."""
    return [int(cell) for cell in cells]


def _opposed(cells: Array) -> list[int]:
    """Scores that one more row raises and lowers at once: the worst case, which needs the factor 2."""
    return [int(cells.sum()) * (-1) ** place for place in range(cells.size + 1)]
