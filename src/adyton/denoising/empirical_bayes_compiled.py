"""The mixture of intensities behind a set of noisy counts, by EM, compiled."""

from __future__ import annotations

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.compiling import compiled

HASTE = 1.8
"""The power of each multiplicative step: 1 is plain EM, and below 2 it still converges, in fewer steps."""


@compiled
def mixture(cells: Reals, likelihood: Reals, start: Reals, belief: Reals, steps: int) -> Reals:
    """The distribution of intensities that explains so many *cells* a bin, with *belief* in cells' worth a level.

    EM multiplies the weight of level k by g_k = Σ_b cells_b·P(b | k)/P(b) over the number of cells.
    """
    occurring = np.nonzero(cells)[0]
    rows, counts, number = likelihood[occurring], cells[occurring], cells.sum()
    columns, levels, bins = rows.T.copy(), start.size, occurring.size
    prior, odds, gain = start.copy(), np.empty(bins), np.empty(levels)
    for _ in range(steps):
        odds[:] = 0
        for k in range(levels):
            column, weight = columns[k], prior[k]
            for b in range(bins):
                odds[b] += weight * column[b]
        gain[:] = 0
        for b in range(bins):
            row, share = rows[b], counts[b] / odds[b]
            for k in range(levels):
                gain[k] += share * row[k]
        for k in range(levels):
            prior[k] = number * prior[k] * (gain[k] / number) ** HASTE + belief[k]
        total = 0.0
        for k in range(levels):
            total += prior[k]
        for k in range(levels):
            prior[k] /= total
    return prior


@compiled
def means_by_group(
    bins: Integers,
    order: Integers,
    starts: Integers,
    likelihood: Reals,
    moment: Reals,
    pooled: Reals,
    belief: float,
    steps: int,
) -> Reals:
    """Posterior means of the cells, each group with a mixture of its own, drawn towards the pooled one.

    Group g has the cells ``order[starts[g] : starts[g + 1]]``. The last bin, above the limit, is not counted.
    """
    result = np.empty(bins.size)
    cells, means = np.zeros(likelihood.shape[0]), np.empty(likelihood.shape[0])
    for group in range(starts.size - 1):
        members = order[starts[group] : starts[group + 1]]
        for i in members:
            cells[bins[i]] += 1
            means[bins[i]] = -1
        cells[-1] = 0
        prior = mixture(cells, likelihood, pooled, belief * pooled, steps) if cells.any() else pooled
        for i in members:
            b = bins[i]
            cells[b] = 0
            if means[b] < 0:
                means[b] = np.sum(prior * moment[b]) / np.sum(prior * likelihood[b])
            result[i] = means[b]
    return result
