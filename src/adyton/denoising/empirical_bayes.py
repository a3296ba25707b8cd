"""Posterior means of the cells under a prior that is fitted to the noisy counts themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Reals
from adyton.compiling import compiled
from adyton.denoising.intensities import (
    Intensities,
    blended,
    denoised,
    distribution,
    first_shares,
    relearnt,
)
from adyton.errors import BadInput
from adyton.whole import as_shape

STEPS = 40
"""EM steps."""
CELLS = 3.0
"""The weight of the base mixture, in cells."""
OPEN, FEW = 0.7, 16.0
"""The part of the base mixture that is spread over the clear levels: FEW divided by the number of cells, at most OPEN.
Most cells of a large domain are empty; in a small domain they need not be."""
SMOOTHINGS, SHARP = 3, 64.0
"""How often the fitted mixture is smoothed over the clear levels; the smoothed part is SHARP divided by the number of
cells, at most 1. EM ends in a few sharp levels, which only many cells support."""
HASTE = 1.8
"""The power of each multiplicative step: 1 is plain EM; below 2 it still converges, in fewer steps."""


def empirical_bayes(noisy: npt.ArrayLike, epsilon: float, *, settle: bool = False) -> Reals:
    """Shrink a noisy histogram towards the distribution of its own counts.

    Every cell was measured, with discrete Laplace noise of rate *epsilon*. The true counts are assumed to be Poisson
    with intensities from an unknown distribution, which is fitted to the noisy counts by EM, separately for each trial;
    the result is the posterior mean of every count (Robbins, "An empirical Bayes approach to statistics", 1956; Laird,
    "Nonparametric maximum likelihood estimation of a mixing distribution", 1978). It is never negative, costs no
    privacy and does not depend on the order of the cells.

    With *settle*, for errors that are judged cell by cell, measured counts are kept where they are better guesses than
    posterior means, and on few cells the estimate stays close to them (see :func:`.intensities.settled`).

    >>> empirical_bayes([0, 1, -1, 0, 2, 0, 57, -1], 1.0).round().tolist()
    [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 57.0, 0.0]
    """
    return denoised(noisy, epsilon, _under_prior, settle=settle)


def _under_prior(table: Intensities, bins: Integers, likelihood: Reals, tables: Sequence[Reals]) -> list[Reals]:
    prior = fit_prior(bins, likelihood[0], table)
    return [((expected[0] @ prior) / (likelihood[0] @ prior))[bins] for expected in tables]


def fit_prior(bins: Integers, likelihood: Reals, table: Intensities) -> Reals:
    """The distribution of intensities fitted to the cells; the last bin, for counts above the limit, is left out."""
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
    """The prior before it is fitted: half of the open part is even in λ, half in log λ."""
    clear = (table.kind == 2).astype(np.float64)
    even, open_part = clear * np.gradient(table.rates), min(OPEN, FEW / cells)
    return np.asarray((1 - open_part) * table.base + open_part * (even / even.sum() + clear / clear.sum()) / 2)


@compiled
def _mix(
    cells: Reals, rows: Reals, columns: Reals, belief: Reals, steps: int, prior: Reals, odds: Reals, gain: Reals
) -> None:
    """Fit *prior* to the numbers of *cells* in each bin; *belief* counts as additional cells of each level.

    EM multiplies the weight of level k by g_k = Σ_b cells_b·P(b | k)/P(b), divided by the number of cells. *rows* are
    the likelihoods by bin, *columns* the same by level.
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


SIDES = {1: (5, 17, 65), 2: (3, 7)}
"""Sides of the windows around a cell, by the number of axes."""
MORE_AXES = (3, 5)
"""Sides of the windows for three axes and more."""
WINDOW_STEPS = 6
"""EM steps."""
SCATTERED, SPIKES = 0.05, 0.002
"""The initial shares of scattered cells and of spikes; larger than in a chain, because there are fewer steps."""
ARRIVALS = 50.0
"""The weight of the base distribution of a window's levels, in cells."""
SLAB = 1 << 12
"""The smallest number of cells that are processed together."""
NEGLIGIBLE = -40.0
"""Levels whose log odds relative to the likeliest level are below this are treated as impossible."""


def with_neighbours(noisy: npt.ArrayLike, epsilon: float, domain: tuple[int, ...]) -> Reals:
    """Smooth a noisy histogram with any number of axes by the neighbours of each cell.

    Every cell was measured, with discrete Laplace noise of rate *epsilon*; the last axis has the cells of *domain* in
    row-major order. The other cells in a window around a cell are assumed to share its level, and so give the odds of
    its levels. Windows of several sizes and the prior of all cells (as in ``empirical_bayes``) are predictors whose
    mixture is the prior of the cell. The weights of the predictors, and how even, scattered or spiky the cells of a
    level are, are fitted to the noisy counts by EM, separately for each trial. The result is the posterior mean of
    every count. It is never negative and costs no privacy.

    EM maximises a composite likelihood (Lindsay, "Composite likelihood methods", 1988): that of each cell given the
    others in its windows.

    >>> with_neighbours([0, 1, 0, 0, 30, 28, -1, 33, 31], 1.0, (3, 3)).round().tolist()
    [0.0, 0.0, 0.0, 0.0, 30.0, 28.0, 0.0, 33.0, 31.0]
    """
    shape, given = as_shape(domain), np.shape(noisy)
    if given[-1:] != (math.prod(shape),):
        raise BadInput(
            f"noisy must have the {math.prod(shape)} cells of the domain {shape} in its last axis, given an array of "
            f"shape {given}."
        )
    return denoised(noisy, epsilon, partial(_smoothed, shape))


def _smoothed(
    shape: tuple[int, ...], table: Intensities, bins: Integers, likelihood: Reals, tables: Sequence[Reals]
) -> list[Reals]:
    (moment,) = tables
    pooled = fit_prior(bins, likelihood[0], table)
    plain, plain_moment = likelihood[0] @ pooled, moment[0] @ pooled
    sides = SIDES.get(len(shape), MORE_AXES)
    arrivals = np.tile((pooled + table.base) / 2, (len(sides), 1))
    trust = np.full(len(sides) + 1, 1 / (len(sides) + 1))
    shares, spikes, estimate = first_shares(likelihood.shape[0], SCATTERED, SPIKES), pooled, np.empty(bins.size)
    for _ in range(WINDOW_STEPS):
        evidence = blended(likelihood, table.kind, shares, spikes)
        means = blended(moment, table.kind, shares, spikes)
        occupied, landed, believed = np.zeros_like(evidence), np.zeros_like(arrivals), np.zeros_like(trust)
        for place, around in _slabs(bins, np.log(evidence), shape, sides):
            estimate[place] = _judged(
                bins[place], around, evidence, means, arrivals, plain, plain_moment, trust, occupied, landed, believed
            )
        shares, spikes = relearnt(likelihood, table.kind, table.base, shares, spikes, evidence, occupied)
        believed += 1 + np.pad(landed.sum(axis=1), (0, 1))
        trust = believed / believed.sum()
        arrivals = np.stack([distribution(counts, table.base, ARRIVALS) for counts in landed])
    return [estimate]


def _slabs(
    bins: Integers, logs: Reals, shape: tuple[int, ...], sides: tuple[int, ...]
) -> Iterator[tuple[slice, Reals]]:
    """Slabs of rows of the domain, each with Σ log P(y | level) over the windows around its cells.

    A cell itself is left out of its windows. Slabs keep the memory small; windows reach across the edges of slabs.
    """
    inner, halo, levels = math.prod(shape[1:]), max(sides) // 2, logs.shape[1]
    height = max(2 * halo, -(-SLAB // inner))
    for start in range(0, shape[0], height):
        stop = min(start + height, shape[0])
        top, bottom = max(start - halo, 0), min(stop + halo, shape[0])
        own = logs[bins[top * inner : bottom * inner]]
        kept = slice((start - top) * inner, (stop - top) * inner)
        around = np.empty((len(sides), (stop - start) * inner, levels))
        for window, side in enumerate(sides):
            sums = own
            for axis, length in enumerate((bottom - top, *shape[1:])):
                after = math.prod(shape[axis + 1 :]) * levels
                sums = _running(sums.reshape(-1, length, after), side // 2)
            around[window] = sums.reshape(-1, levels)[kept] - own[kept]
        yield slice(start * inner, stop * inner), around


@compiled
def _running(values: Reals, radius: int) -> Reals:
    """Sums over the places j − radius … j + radius of the middle axis, as far as they exist."""
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
def _judged(
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
    """Posterior means of a slab of cells. Adds to the sums that EM needs: *occupied*, *landed* and *believed*.

    ``around[w, i, k]`` is the log-likelihood of level k for the other cells in window w around cell i. Window w
    predicts cell i's level with odds arrivals[w, k]·exp(around[w, i, k]); the last predictor is the prior of all cells,
    whose likelihoods and moments by bin are *plain* and *plain_moment*. The predictors are mixed with weights *trust*.
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
