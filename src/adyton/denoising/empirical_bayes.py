"""Posterior means of the cells under a prior that is fitted to the noisy counts themselves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Reals
from adyton.compiling import compiled
from adyton.denoising.intensities import Intensities, intensities, read
from adyton.denoising.settling import cautious, settled
from adyton.errors import BadInput

STEPS, GROUP_STEPS = 40, 20
"""EM steps for the mixture of all cells, and for that of a group."""
CELLS, GROUP_CELLS = 3.0, 64.0
"""Cells' worth of belief in the base mixture, and in the mixture of all cells for a group."""
OPEN, FEW = 0.7, 16.0
"""The part of the base mixture that is spread over the clear levels: at most OPEN, and FEW over the number of cells.
Most cells of a large domain are empty; of a few cells nothing of the kind is known."""
SMOOTHINGS, SHARP = 3, 64.0
"""How often the fitted mixture is smoothed over the clear levels, and SHARP over the number of cells how much of it at
most: EM ends in a few sharp levels, which only many cells support."""
HASTE = 1.8
"""The power of each multiplicative step: 1 is plain EM, and below 2 it still converges, in fewer steps."""


def empirical_bayes(
    noisy: npt.ArrayLike, epsilon: float, groups: npt.ArrayLike | None = None, *, settle: bool = False
) -> Reals:
    """Shrink a noisy histogram towards what its own counts say about counts in general.

    Measured was every cell, with discrete Laplace noise of rate *epsilon*. The true counts are thought to be Poisson
    with intensities from an unknown distribution, which is fitted to the noisy counts by EM, for every trial by itself;
    the result is the posterior mean of every count (Robbins, "An empirical Bayes approach to statistics", 1956; Laird,
    "Nonparametric maximum likelihood estimation of a mixing distribution", 1978). It is never negative, costs no
    privacy and does not depend on the order of the cells.

    *groups* gives every cell a label: cells of a label have a distribution of their own, drawn towards that of all
    cells. *settle*, without groups, keeps measured counts where they are better guesses than posterior means, if every
    cell is judged by itself, and on few cells most of them always (see :mod:`adyton.denoising.settling`).

    >>> empirical_bayes([0, 1, -1, 0, 2, 0, 57, -1], 1.0).round().tolist()
    [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 57.0, 0.0]
    """
    table = intensities(epsilon)
    values, trials = read(noisy)
    labels = None if groups is None else _read_groups(groups, values.shape[-1])
    for trial in trials:
        bins, likelihood, moment = table.seen(trial)
        prior = fit_prior(bins, likelihood[0], table)
        if labels is None:
            tables = (moment, *table.sides(trial)) if settle else (moment,)
            found = [((one[0] @ prior) / (likelihood[0] @ prior))[bins] for one in tables]
            shrunk = settled(trial, found[0], found[1], found[2], epsilon) if settle else found[0]
        else:
            shrunk = _means_by_group(bins, *labels, likelihood[0], moment[0], prior, GROUP_CELLS, GROUP_STEPS)
        trial[:] = np.where(trial > table.limit, trial, shrunk)
    estimate = trials.reshape(values.shape)
    return cautious(values, estimate, epsilon) if settle else estimate


def fit_prior(bins: Integers, likelihood: Reals, table: Intensities) -> Reals:
    """The distribution of intensities that the cells seem to come from; the last bin, above the limit, is left out."""
    base = _base(table, bins.size)
    cells = np.bincount(bins, minlength=likelihood.shape[0]).astype(np.float64)
    cells[-1] = 0
    if not cells.any():
        return base
    prior, clear = _mixture(cells, likelihood, base, CELLS * base, STEPS), table.kind == 2
    smooth, part = prior[clear], min(1.0, SHARP / bins.size)
    for _ in range(SMOOTHINGS):
        levels = np.pad(smooth, 1, mode="edge")
        smooth = (levels[:-2] + 2 * levels[1:-1] + levels[2:]) / 4
    prior[clear] += part * (smooth - prior[clear])
    return np.asarray(prior / prior.sum())


def _base(table: Intensities, cells: int) -> Reals:
    """What is believed before anything was seen: half of the open part is even in λ, half in log λ."""
    clear = (table.kind == 2).astype(np.float64)
    even, open_part = clear * np.gradient(table.rates), min(OPEN, FEW / cells)
    return np.asarray((1 - open_part) * table.base + open_part * (even / even.sum() + clear / clear.sum()) / 2)


def _read_groups(groups: npt.ArrayLike, cells: int) -> tuple[Integers, Integers]:
    """The cells in the order of their labels, and where each label starts, with the end."""
    labels = np.asarray(groups)
    if labels.dtype.kind not in "iub" or labels.shape != (cells,):
        raise BadInput(
            f"groups must be one whole number for each of the {cells} cells, given an array of shape {labels.shape} "
            f"and type {labels.dtype}."
        )
    order = np.argsort(labels, kind="stable")
    changes = np.flatnonzero(labels[order][1:] != labels[order][:-1]) + 1
    return order, np.concatenate([[0], changes, [cells]])


@compiled
def _mixture(cells: Reals, likelihood: Reals, start: Reals, belief: Reals, steps: int) -> Reals:
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
def _means_by_group(
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
        prior = _mixture(cells, likelihood, pooled, belief * pooled, steps) if cells.any() else pooled
        for i in members:
            b = bins[i]
            cells[b] = 0
            if means[b] < 0:
                means[b] = np.sum(prior * moment[b]) / np.sum(prior * likelihood[b])
            result[i] = means[b]
    return result
