"""What a noisy count says about the intensity of its cell: code shared by the estimators of plain histograms.

A cell is assumed to hold x ~ Poisson(λ) rows, and y = x + z was measured, P(z) ∝ e^(−ε|z|). In units of 1/ε the problem
looks nearly the same for every ε, so one grid of intensities serves all of them: zero, then a few steps a factor of 1.5
apart, then steps a factor of 1.2 apart up to about 55/ε. Noisy counts above 50/ε are left as they are: compared with
them, the noise is small.

What the cells of a level look like is learnt from the noisy counts. A cell of level k has its level's own intensity, or
an intensity scattered around it (the spreads of ``Intensities``), or it is a spike, whose intensity comes from one
distribution for all levels. The shares of these three are learnt for each kind of level.

Where errors are judged cell by cell, a noisy count is kept if nothing better is known (``settled``, ``cautious``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Reals
from adyton.compiling import compiled
from adyton.errors import BadInput
from adyton.messages import shorten

LOWEST, HIGHEST = 0.01, 64.0
"""The smallest positive intensity of the grid and an upper bound of the largest, in units of 1/ε."""
COARSE, FINE = 1.5, 1.2
"""The ratio of neighbouring intensities below and above 1/ε."""
LIMIT, DEPTH = 50.0, 30.0
"""Noisy counts above LIMIT/ε are left as they are; those below −DEPTH/ε are treated as −DEPTH/ε."""
RESOLUTION = 0.1
"""The width of the bins of noisy counts, in units of 1/ε (at least one whole number)."""
SPREADS = (0.5, 1.2)
"""Standard deviations of log λ inside a level of uneven cells."""
FLOOR = 1e-200
"""The smallest likelihood, relative to the largest: it prevents division by zero."""
_LINES = 128


@dataclass(frozen=True, eq=False)
class Intensities:
    """The tables for one ε. Rows are bins of the noisy count, columns are the intensities of the grid.

    ``likelihood[c, b, k]`` is proportional to P(y in bin b | level k), where the intensity of a cell of level k is its
    grid point (c = 0) or lognormal around it (c ≥ 1, one for each of SPREADS); ``moment`` is the same times E[x | y,
    k], ``lean`` the same times P(x > y⁺ | y, k) − P(x < y⁺ | y, k), and ``same`` the same times P(x = y⁺ | y, k), where
    y⁺ = max(y, 0). ``kind`` is 0 for empty levels, 1 for faint levels (λ < 1/ε) and 2 for clear levels. ``base`` is the
    prior of the estimators before they are fitted: nearly every cell is empty or faint.
    """

    rates: Reals
    likelihood: Reals
    moment: Reals
    lean: Reals
    same: Reals
    kind: Integers
    base: Reals
    first: float
    width: float
    limit: float

    def seen(self, noisy: Reals) -> tuple[Integers, Reals, Reals]:
        """The bins of the noisy counts, numbered among the bins that occur, and the tables reduced to those bins.

        The last bin is for counts above the limit, which say nothing about intensities: its likelihood is 1 everywhere.
        """
        places, occurs = self._places(noisy)
        numbers = np.cumsum(occurs) - 1
        return numbers[places], self.likelihood.compress(occurs, axis=1), self.moment.compress(occurs, axis=1)

    def sides(self, noisy: Reals) -> tuple[Reals, Reals]:
        """``lean`` and ``same``, reduced to the bins that occur, numbered as in :meth:`seen`."""
        _, occurs = self._places(noisy)
        return self.lean.compress(occurs, axis=1), self.same.compress(occurs, axis=1)

    def _places(self, noisy: Reals) -> tuple[Integers, npt.NDArray[np.bool_]]:
        """The bin of each noisy count, and which bins occur; the last bin always counts as occurring."""
        last = self.likelihood.shape[1] - 1
        places = np.rint((np.clip(noisy, self.first, self.limit) - self.first) / self.width).astype(np.int64)
        places = np.where(noisy > self.limit, last, np.minimum(places, last - 1))
        occurs = np.bincount(places, minlength=last + 1) > 0
        occurs[last] = True
        return places, occurs


def denoised(
    noisy: npt.ArrayLike,
    epsilon: float,
    means: Callable[[Intensities, Integers, Reals, Sequence[Reals]], Reals | list[Reals]],
    *,
    settle: bool = False,
) -> Reals:
    """Noisy counts along the last axis with the noise removed; leading axes are independent trials.

    *means* takes the tables, the bins of a trial's counts, the likelihoods of those bins, and one or three tables
    multiplied by the likelihood; it returns the posterior mean of each of these tables for every cell.
    """
    table = intensities(epsilon)
    values, trials = read(noisy)
    for trial in trials:
        bins, likelihood, moment = table.seen(trial)
        rows = means(table, bins, likelihood, (moment, *table.sides(trial)) if settle else (moment,))
        estimate = settled(trial, rows[0], rows[1], rows[2], epsilon) if settle else rows[0]
        trial[:] = np.where(trial > table.limit, trial, estimate)
    result = trials.reshape(values.shape)
    return cautious(values, result, epsilon) if settle else result


def read(noisy: npt.ArrayLike) -> tuple[Reals, Reals]:
    """The noisy counts as doubles, and a two-dimensional copy of them with one row per trial."""
    values = np.asarray(noisy, dtype=np.float64)
    if values.ndim == 0:
        raise BadInput("noisy must have an axis of cells, given a single number. Give an array of noisy counts.")
    if not np.isfinite(values).all():
        raise BadInput(
            "noisy must be finite, given an array with nan or infinity. Give the counts as they were measured."
        )
    return values, np.array(values.reshape(-1, values.shape[-1]) if values.size else values.reshape(0, 0))


def intensities(epsilon: float) -> Intensities:
    """The tables for one ε; built once, then cached.

    >>> intensities(1.0).rates[[0, 1, -1]].round(2).tolist()
    [0.0, 0.01, 55.21]
    """
    rate = float(epsilon)
    if not (math.isfinite(rate) and rate > 0):
        raise BadInput(f"epsilon must be a positive number, given {shorten(epsilon)}.")
    return _build(rate)


@lru_cache(maxsize=32)
def _build(epsilon: float) -> Intensities:
    faint = LOWEST * COARSE ** np.arange(math.ceil(math.log(1 / LOWEST, COARSE)))
    clear = FINE ** np.arange(math.floor(math.log(HIGHEST, FINE)) + 1)
    grid = np.concatenate([[0.0], faint, clear])  # in units of 1/ε
    width = max(1, round(RESOLUTION / epsilon))
    noisy = width * np.arange(-math.ceil(DEPTH / epsilon / width), math.ceil(LIMIT / epsilon / width) + 1.0)
    columns = np.empty((4, noisy.size, grid.size))
    for level, (rate, gap) in enumerate(zip(grid, np.gradient(grid), strict=True)):
        points = max(1, math.ceil(gap / 1.5)) if rate > 1 else 1  # a wide level is a band of intensities, not a point
        band = rate + gap * ((np.arange(points) + 0.5) / points - 0.5)
        columns[..., level] = _columns(noisy, band / epsilon, epsilon)
    columns /= columns[0].max(axis=1, keepdims=True)
    columns[0] = np.maximum(columns[0], FLOOR)
    columns = np.pad(columns, ((0, 0), (0, 1), (0, 0)))
    columns[0, -1] = 1
    spread = np.stack([np.eye(grid.size), *(_lognormal(grid, deviation) for deviation in SPREADS)])
    likelihood, moment, lean, same = (_spread_out(column, spread) for column in columns)
    return Intensities(
        rates=grid / epsilon,
        likelihood=likelihood,
        moment=moment,
        lean=lean,
        same=same,
        kind=np.where(grid == 0, 0, np.where(grid < 1, 1, 2)).astype(np.int64),
        base=np.where(grid == 0, 0.693, np.where(grid < 1, 0.297 / faint.size, 0.01 / clear.size)),
        first=float(noisy[0]),
        width=float(width),
        limit=LIMIT / epsilon,
    )


def _spread_out(column: Reals, spread: Reals) -> Reals:
    """The column under every spread, some lines at a time: such small products are not divided among threads, which
    would spend more time waiting than working."""
    result = np.empty((len(spread), *column.shape))
    for first in range(0, len(column), _LINES):
        lines = column[first : first + _LINES]
        for place, chances in enumerate(spread):
            result[place, first : first + _LINES] = lines @ chances.T
    return result


def _columns(noisy: Reals, rates: Reals, epsilon: float) -> tuple[Reals, Reals, Reals, Reals]:
    """Σ_x f(x)·p(x)·e^(−ε|y−x|) for every y, with p the mean of Poisson(λ) over the rates, and f(x) = 1, f(x) = x,
    f(x) = sign(x − y⁺), and f(x) = [x = y⁺].

    Up to ε = 1 the first two are distribution functions of tilted Poissons: Σ_{x≤y} Pois(x; λ)·e^(εx) =
    e^(λ(e^ε−1))·P(X ≤ y) with X ~ Poisson(λ·e^ε), and Σ_{x≤y} x·Pois(x; λ)·e^(εx) is the same times λ·e^ε, with y − 1
    in place of y; above y, −ε replaces ε.
    Beyond ε = 1 those exponents overflow, so the few terms that matter are summed directly.
    """
    from scipy.special import gammaln, pdtr, pdtrc, xlogy

    y, rate = noisy[:, None], rates[None, :]
    if epsilon > 1:
        x = np.arange(math.ceil(HIGHEST + 10 * math.sqrt(HIGHEST)) + 10.0)
        chance = np.exp(xlogy(x[:, None], rate) - rate - gammaln(x + 1)[:, None]).mean(axis=1)
        kernel = np.exp(-epsilon * (np.abs(y - x) - np.maximum(-y, 0)))  # relative to the nearest x
        side = np.sign(x - np.maximum(y, 0))
        return kernel @ chance, kernel @ (x * chance), (kernel * side) @ chance, (kernel * (side == 0)) @ chance
    inside, largest = y >= 0, np.maximum(y, 0)
    raised, lowered = rate * math.exp(epsilon), rate * math.exp(-epsilon)
    below = np.where(inside, np.exp(rate * math.expm1(epsilon) - epsilon * largest), 0)
    above = np.exp(rate * math.expm1(-epsilon) + epsilon * y)
    up_to, beyond = pdtr(largest, raised), np.where(inside, pdtrc(largest, lowered), 1)  # P(X ≤ y), P(X > y)
    factorials = gammaln(largest + 1)
    at_raised = np.exp(xlogy(largest, raised) - raised - factorials)  # P(X = y)
    at_lowered = np.where(inside, np.exp(xlogy(largest, lowered) - lowered - factorials), 0)
    under, over = below * up_to, above * beyond
    same = np.exp(xlogy(largest, rate) - rate - factorials + epsilon * np.minimum(y, 0))
    lean = over - np.where(inside, under, 2 * same) + same  # at y < 0 every x is above y, x = 0 included
    mass = under + over
    first = below * raised * np.maximum(up_to - at_raised, 0) + above * lowered * (beyond + at_lowered)
    return mass.mean(axis=1), first.mean(axis=1), lean.mean(axis=1), same.mean(axis=1)


def _lognormal(grid: Reals, deviation: float) -> Reals:
    """Row k: the chances of the grid's intensities around level k, lognormal with mean λ_k; level 0 stays empty."""
    log = np.log(np.maximum(grid, LOWEST / 10))
    weight = np.exp(-0.5 * ((log[None, :] - log[:, None]) / deviation + deviation / 2) ** 2)
    weight *= np.where(grid < 1, math.log(COARSE), math.log(FINE))  # the grid is denser above 1/ε
    weight[:, 0] = weight[0, :] = 0
    weight[0, 0] = 1
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


KINDS = 3
SCATTERED, SPIKES = 0.01, 0.0001
"""The initial shares. Spikes start rare: with a larger share, EM finds spikes in plain noise."""
CELLS, SPIKE_CELLS = 2.0, 10.0
"""The weight of the pooled shares, and of the base distribution of spikes, in cells."""


def distribution(counts: Reals, base: Reals, belief: float) -> Reals:
    """Counts of the levels, smoothed by [1 2 1]/4, plus *belief* times the base distribution, normalised to sum to 1.

    The empty level is not smoothed.
    """
    shares = np.empty_like(counts)
    _smooth(counts, base, belief, shares)
    return shares


@compiled
def _smooth(counts: Reals, base: Reals, belief: float, shares: Reals) -> None:
    total, last = 0.0, len(counts) - 1
    for k in range(len(counts)):
        left, right = counts[k if k < 2 else k - 1], counts[k if k == last else k + 1]
        shares[k] = belief * base[k] + (0.25 * left + 0.5 * counts[k] + 0.25 * right if k > 0 else counts[0])
        total += shares[k]
    for k in range(len(counts)):
        shares[k] /= total


def first_shares(parts: int, scattered: float, spikes: float) -> Reals:
    """The initial shares of EM, for every kind of level: its own intensity, each spread, spikes."""
    own = 1 - scattered * (parts - 1) - spikes
    return np.tile([own, *[scattered] * (parts - 1), spikes], (KINDS, 1))


def blended(tables: Reals, kind: Integers, shares: Reals, spikes: Reals) -> Reals:
    """Likelihoods, or moments, of the cells of a level, by bin and level.

    Σ_c share_c·table_c[b, k] + share of spikes·Σ_j spikes_j·table_0[b, j].
    """
    result = np.empty(tables.shape[1:])
    _blend(tables, kind, shares, spikes, result)
    return result


@compiled
def _blend(tables: Reals, kind: Integers, shares: Reals, spikes: Reals, result: Reals) -> None:
    parts, bins, levels = tables.shape
    for b in range(bins):
        spike = 0.0
        for k in range(levels):
            spike += spikes[k] * tables[0, b, k]
        for k in range(levels):
            value = shares[kind[k], parts] * spike
            for c in range(parts):
                value += shares[kind[k], c] * tables[c, b, k]
            result[b, k] = value


def relearnt(
    tables: Reals, kind: Integers, base: Reals, shares: Reals, spikes: Reals, likelihood: Reals, occupied: Reals
) -> tuple[Reals, Reals]:
    """One EM step for the shares and the spikes, given the expected number of cells by bin and level."""
    counts, heights = np.zeros_like(shares), np.zeros_like(spikes)
    _attribute(tables, kind, shares, spikes, likelihood, occupied, counts, heights)
    _pool(counts, np.empty(counts.shape[1]))
    return counts, distribution(heights, base, SPIKE_CELLS)


@compiled
def _pool(counts: Reals, pooled: Reals) -> None:
    """Turn counts by kind of level and part into shares, shrunk towards the shares of all kinds together."""
    kinds, parts = counts.shape
    total = 0.0
    for c in range(parts):
        pooled[c] = 0.5 if c < parts - 1 else 0.5 * SPIKES / SCATTERED
        for g in range(kinds):
            pooled[c] += counts[g, c]
        total += pooled[c]
    for g in range(kinds):
        size = CELLS
        for c in range(parts):
            size += counts[g, c]
        for c in range(parts):
            counts[g, c] = (counts[g, c] + CELLS * pooled[c] / total) / size


@compiled
def _attribute(
    tables: Reals,
    kind: Integers,
    shares: Reals,
    spikes: Reals,
    likelihood: Reals,
    occupied: Reals,
    counts: Reals,
    heights: Reals,
) -> None:
    """Add up how many cells of each kind of level belong to each part, and how high the spikes among them are."""
    parts, bins, levels = tables.shape
    for b in range(bins):
        spike, weight = 0.0, 0.0
        for k in range(levels):
            spike += spikes[k] * tables[0, b, k]
        for k in range(levels):
            density = occupied[b, k] / likelihood[b, k]
            for c in range(parts):
                counts[kind[k], c] += density * shares[kind[k], c] * tables[c, b, k]
            weight += density * shares[kind[k], parts]
            counts[kind[k], parts] += density * shares[kind[k], parts] * spike
        for k in range(levels):
            heights[k] += weight * spikes[k] * tables[0, b, k]


STEADINESS = 4.0
"""The weight of absolute error relative to squared error, in units of 1/ε."""
ENOUGH_CELLS = 128
"""This number of cells, times ε, is enough to learn the distribution of counts; fewer show mostly chance."""


def settled(noisy: Reals, means: Reals, lean: Reals, same: Reals, epsilon: float) -> Reals:
    """The posterior means, or the measured counts y⁺ = max(y, 0) where those are the better guess.

    Discrete Laplace noise leaves a count unchanged with probability tanh(ε/2), 46% at ε = 1. A posterior mean is almost
    never that whole number: it has the least squared error, but on detailed data a larger absolute error than the
    measured count. So the guess a that minimises E(x − a)² + 2τ·E|x − a|, with τ = STEADINESS/ε, is sought: its slope
    changes sign at a = y⁺ if and only if |E[x] − y⁺ + τ·(P(x > y⁺) − P(x < y⁺))| ≤ τ·P(x = y⁺). There, y⁺ is kept;
    elsewhere the mean is used. *lean* is P(x > y⁺) − P(x < y⁺) and *same* is P(x = y⁺), a posteriori.

    Sums of many settled cells are slightly biased: use this only for queries about single cells.
    """
    steadiness, kept = STEADINESS / epsilon, np.maximum(noisy, 0)
    slope = means - kept + steadiness * lean
    return np.asarray(np.where(np.abs(slope) <= steadiness * same, kept, means))


def cautious(noisy: Reals, denoised: Reals, epsilon: float) -> Reals:
    """A weighted mean of the denoised counts and the measured counts y⁺: with fewer cells, closer to the measured ones.

    What a few cells show of the distribution of counts is mostly chance. On at most 64 cells at ε = 1, denoising gained
    nothing on average over public tables and lost up to 30% on single tables; at smaller ε, fewer cells are enough.

    >>> cautious(np.array([8.0, -1.0]), np.array([4.0, 0.0]), 1 / 64)
    array([4., 0.])
    >>> cautious(np.array([8.0, -1.0]), np.array([4.0, 0.0]), 1 / 32)
    array([6., 0.])
    """
    weight = min(1.0, denoised.shape[-1] / (ENOUGH_CELLS * epsilon))
    return np.asarray(weight * denoised + (1 - weight) * np.maximum(noisy, 0))
