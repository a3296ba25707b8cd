"""Does a sample follow the law it should? Chi-square for tests, audits and benchmarks. Nothing private comes here."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Reals
from adyton.exact import Rational, positive
from adyton.noise.probabilities import discrete_laplace_probabilities

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
