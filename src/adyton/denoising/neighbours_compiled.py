"""What the cells around a cell say about its level, compiled."""

from __future__ import annotations

import math

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.compiling import compiled

NEGLIGIBLE = -40.0
"""Levels whose log odds to the likeliest one are below this count as impossible."""


@compiled
def running(values: Reals, radius: int) -> Reals:
    """Sums over the places j − radius … j + radius of the middle axis, as far as there are such places."""
    outer, length, inner = values.shape
    result, total = np.empty_like(values), np.empty(inner)
    for o in range(outer):
        total[:] = 0
        for j in range(min(radius, length)):
            for m in range(inner):
                total[m] += values[o, j, m]
        for j in range(length):
            if j + radius < length:
                for m in range(inner):
                    total[m] += values[o, j + radius, m]
            if j - radius > 0:
                for m in range(inner):
                    total[m] -= values[o, j - radius - 1, m]
            for m in range(inner):
                result[o, j, m] = total[m]
    return result


@compiled
def judged(
    bins: Integers,
    around: Reals,
    evidence: Reals,
    moment: Reals,
    arrivals: Reals,
    plain: Reals,
    plain_moment: Reals,
    trust: Reals,
    occupied: Reals,
    landed: Reals,
    believed: Reals,
) -> Reals:
    """Posterior means of a slab of cells. Adds up what EM wants to know.

    ``around[w, i, k]`` is the log-likelihood of level k for the cells in window w around cell i, itself left out.
    Window w predicts cell i's level with odds arrivals[w, k]·exp(around[w, i, k]); the last judge is the prior of all
    cells, whose likelihoods and moments by bin are *plain*. The judges are mixed by *trust*.
    """
    windows, cells, levels = around.shape
    estimate, last = np.empty(cells), evidence.shape[0] - 1
    prior, fits, start = np.empty((windows, levels)), np.empty(windows), np.log(arrivals)
    for i in range(cells):
        row, means, b = evidence[bins[i]], moment[bins[i]], bins[i]
        total, value = trust[windows] * plain[b], trust[windows] * plain_moment[b]
        for w in range(windows):
            odds, best, size, fit, first = prior[w], -math.inf, 0.0, 0.0, 0.0
            for k in range(levels):
                odds[k] = around[w, i, k] + start[w, k]
                best = max(best, odds[k])
            for k in range(levels):
                odds[k] = math.exp(odds[k] - best) if odds[k] - best > NEGLIGIBLE else 0.0
                size += odds[k]
                fit += odds[k] * row[k]
                first += odds[k] * means[k]
            fits[w] = trust[w] / size
            total += fits[w] * fit
            value += fits[w] * first
        estimate[i] = value / total
        if b < last:
            believed[windows] += trust[windows] * plain[b] / total
            for w in range(windows):
                scale = fits[w] / total
                for k in range(levels):
                    posterior = scale * prior[w, k] * row[k]
                    occupied[b, k] += posterior
                    landed[w, k] += posterior
    return estimate
