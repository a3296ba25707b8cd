"""Posterior means of the cells under a prior that is fitted to the noisy counts themselves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Reals
from adyton.compiling import compiled
from adyton.denoising.intensities import Intensities, cautious, intensities, read, settled

STEPS = 40
"""EM steps."""
CELLS = 3.0
"""Cells' worth of belief in the base mixture."""
OPEN, FEW = 0.7, 16.0
"""The part of the base mixture that is spread over the clear levels: at most OPEN, and FEW over the number of cells.
Most cells of a large domain are empty; of a few cells nothing of the kind is known."""
SMOOTHINGS, SHARP = 3, 64.0
"""How often the fitted mixture is smoothed over the clear levels, and SHARP over the number of cells how much of it at
most: EM ends in a few sharp levels, which only many cells support."""
HASTE = 1.8
"""The power of each multiplicative step: 1 is plain EM, and below 2 it still converges, in fewer steps."""


def empirical_bayes(noisy: npt.ArrayLike, epsilon: float, *, settle: bool = False) -> Reals:
    """Shrink a noisy histogram towards what its own counts say about counts in general.

    Measured was every cell, with discrete Laplace noise of rate *epsilon*. The true counts are thought to be Poisson
    with intensities from an unknown distribution, which is fitted to the noisy counts by EM, for every trial by itself;
    the result is the posterior mean of every count (Robbins, "An empirical Bayes approach to statistics", 1956; Laird,
    "Nonparametric maximum likelihood estimation of a mixing distribution", 1978). It is never negative, costs no
    privacy and does not depend on the order of the cells.

    *settle* keeps measured counts where they are better guesses than posterior means, if every cell is judged by
    itself, and on few cells most of them always (see :func:`.intensities.settled`).

    >>> empirical_bayes([0, 1, -1, 0, 2, 0, 57, -1], 1.0).round().tolist()
    [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 57.0, 0.0]
    """
    table = intensities(epsilon)
    values, trials = read(noisy)
    for trial in trials:
        bins, likelihood, moment = table.seen(trial)
        prior = fit_prior(bins, likelihood[0], table)
        tables = (moment, *table.sides(trial)) if settle else (moment,)
        found = [((one[0] @ prior) / (likelihood[0] @ prior))[bins] for one in tables]
        shrunk = settled(trial, found[0], found[1], found[2], epsilon) if settle else found[0]
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
    seen, prior, clear = np.flatnonzero(cells), base.copy(), table.kind == 2
    rows = likelihood[seen]
    _mix(cells[seen], rows, rows.T.copy(), CELLS * base, STEPS, prior, np.empty(seen.size), np.empty(base.size))
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


@compiled
def _mix(
    cells: Reals, rows: Reals, columns: Reals, belief: Reals, steps: int, prior: Reals, odds: Reals, gain: Reals
) -> None:
    """Move *prior* towards what explains so many *cells* a bin, with *belief* in cells' worth a level.

    EM multiplies the weight of level k by g_k = Σ_b cells_b·P(b | k)/P(b) over the number of cells. *rows* are the
    likelihoods by bin, *columns* the same by level.
    """
    bins, levels = rows.shape
    number = 0.0
    for b in range(bins):
        number += cells[b]
    for _ in range(steps):
        for b in range(bins):
            odds[b] = 0
        for k in range(levels):
            gain[k] = 0
            weight = prior[k]
            for b in range(bins):
                odds[b] += weight * columns[k, b]
        for b in range(bins):
            share = cells[b] / odds[b]
            for k in range(levels):
                gain[k] += share * rows[b, k]
        total = 0.0
        for k in range(levels):
            prior[k] = number * prior[k] * (gain[k] / number) ** HASTE + belief[k]
            total += prior[k]
        for k in range(levels):
            prior[k] /= total
