"""Is the noise what it says it is? Distributions against their exact probabilities, selections by enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adyton.arrays import Array, Integers, Reals
from adyton.exact import Rational, positive
from adyton.noise.exact import permute_and_flip
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


def discrete_laplace_probabilities(edges: npt.ArrayLike, scale: Rational) -> Reals:
    """The probabilities of the classes that rising *edges* cut: Z ≤ e₁, e₁ < Z ≤ e₂, …, Z > e_k.

    Within either half they are differences of tails, so the rarest classes keep their precision.

    >>> discrete_laplace_probabilities([-1, 0], 1).round(6).tolist()
    [0.268941, 0.462117, 0.268941]
    """
    points, rate = np.asarray(edges, dtype=np.float64), float(1 / positive(scale, "scale", computed=True))
    # P(Z ≤ z) below zero, P(Z > z) from zero on
    tail = np.exp(-rate * np.where(points < 0, -points, points + 1)) / (1 + np.exp(-rate))
    left = np.diff(np.where(points < 0, tail, 0.5), prepend=0.0, append=0.5)  # each class's part below the median
    right = np.diff(np.where(points < 0, -0.5, -tail), prepend=-0.5, append=0.0)  # and above it
    return np.asarray(left + right)


SMALLEST_EXPECTATION = 20
"""Classes that expect fewer draws are merged: the chi-square law is then close enough far into its tail."""

_LEVELS = np.concatenate((10.0 ** -np.arange(6, 1, -0.5), np.arange(1, 50) / 50, 1 - 10.0 ** -np.arange(2, 6.5, 0.5)))


def laplace_fit(sample: npt.ArrayLike, scale: Rational) -> float:
    """The p-value of a sample against the discrete Laplace distribution, on classes that reach far into both tails."""
    values = np.asarray(sample).ravel()
    spread = float(positive(scale, "scale", computed=True))
    rest = 2 * np.minimum(_LEVELS, 1 - _LEVELS)  # the quantiles of the continuous Laplace: ±scale·ln(rest)
    edges = np.unique(np.rint(np.sign(0.5 - _LEVELS) * spread * np.log(rest)))
    observed = np.bincount(np.searchsorted(edges, values, side="left"), minlength=edges.size + 1)
    return counts_fit(observed, discrete_laplace_probabilities(edges, scale))


def counts_fit(observed: npt.ArrayLike, probabilities: npt.ArrayLike) -> float:
    """The p-value of counts against the probabilities of their classes; neighbouring rare classes are merged."""
    from scipy import stats

    counts = np.asarray(observed, dtype=np.float64)
    expected = np.asarray(probabilities, dtype=np.float64) * counts.sum()
    groups = _merge(expected)
    seen, foreseen = np.bincount(groups, counts), np.bincount(groups, expected)
    if seen.size < 2:
        return 1.0
    return float(stats.chisquare(seen, foreseen * (seen.sum() / foreseen.sum())).pvalue)


def same_law(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """The p-value of two samples being drawn from one distribution, over about 50 classes of the pooled draws."""
    from scipy import stats

    samples = [np.asarray(sample).ravel() for sample in (first, second)]
    edges = np.unique(np.quantile(np.concatenate(samples), _LEVELS, method="lower"))
    table = np.stack([np.bincount(np.searchsorted(edges, own), minlength=edges.size + 1) for own in samples])
    groups = _merge(table.sum(axis=0) * (min(own.size for own in samples) / table.sum()))
    merged = np.stack([np.bincount(groups, row) for row in table])
    return float(stats.chi2_contingency(merged).pvalue) if merged.shape[1] > 1 else 1.0


def _merge(expected: Reals) -> Integers:
    """Group numbers for neighbouring classes, so that each group expects enough."""
    groups = np.zeros(expected.size, dtype=np.int64)
    left = float(expected.sum())
    held, group = 0.0, 0
    for place, value in enumerate(expected):
        groups[place] = group
        held, left = held + value, left - value
        if held >= SMALLEST_EXPECTATION and left >= SMALLEST_EXPECTATION:
            held, group = 0.0, group + 1
    return groups
