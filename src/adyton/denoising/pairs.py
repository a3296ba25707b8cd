"""Posterior means of the cells of many measured tables, each shrunk towards the prediction of a model.

A prediction m of a table (independence of its attributes, or a path through other tables) is right in many cells, a
little wrong in others, and far off in some; how often is learnt from the noisy tables themselves. A cell's count is
assumed to be drawn from a mixture of N(m, (τm)²) for several τ, and of laws around 0 for cells that are empty or nearly
empty although the model predicts rows (combinations that do not occur). The weights of the mixture are fitted by EM to
cells of similar signal strength, over all tables; then the weights are adjusted for each table by how often it needs
each component. After Efron and Morris, "Data analysis using Stein's estimator and its generalizations", 1975.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from adyton.arrays import Places, Reals
from adyton.compiling import compiled
from adyton.errors import BadInput

CENTRES = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
"""The components of the mixture are normal laws, cut off at 0. The centre of each, relative to the prediction m."""
SPREADS = np.array([0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 0.02, 0.0, 0.0, 0.0])
"""The standard deviation of each, relative to m."""
WIDTHS = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 5.0])
"""An addition to the standard deviation, in units of the noise b = √(variance/2)."""
BELIEF = np.array([0.30, 0.12, 0.12, 0.14, 0.12, 0.04, 0.01, 0.07, 0.04, 0.02, 0.02])
"""The weights of the components before they are fitted."""
FAINTEST, STRENGTHS = -6, 12
"""Cells are pooled by ⌊½ log₂(m/b)⌋, b = √(variance/2): the lowest class of strength, and the number of classes."""
STEPS = 12
"""EM steps for all tables together, and again for each table."""
CELLS, TABLE_CELLS = 2.0, 6.0
"""The weight of BELIEF, in cells: in each class of strength, and in each table."""
_LEAST = 1e-6
_ROOT_TWO, _ROOT_TWO_PI = math.sqrt(2), math.sqrt(2 * math.pi)


def denoised_tables(
    noisy: Sequence[npt.ArrayLike], predicted: Sequence[npt.ArrayLike], variances: Sequence[npt.ArrayLike]
) -> list[Reals]:
    """The posterior mean of every cell of every table, never below 0.

    *noisy* are the measured tables, *predicted* a model's prediction of each, and *variances* those of the noise of
    a cell, one for each table or for each of its cells. The noise is assumed to be normal, as sums of several noise
    terms nearly are.

    >>> flat = np.full((8, 8), 100.0)
    >>> noise = np.random.default_rng(0).normal(scale=40, size=(8, 8))
    >>> (shrunk,) = denoised_tables([flat + noise], [flat], [1600.0])
    >>> bool(np.abs(shrunk - flat).mean() < 0.3 * np.abs(noise).mean())
    True
    """
    tables = [np.asarray(table, dtype=np.float64) for table in noisy]
    models = [np.asarray(table, dtype=np.float64) for table in predicted]
    shapes = [table.shape for table in tables]
    if shapes != [table.shape for table in models] or len(variances) != len(tables):
        raise BadInput("every noisy table needs a prediction of the same shape and a variance, in the same order.")
    if not tables:
        return []
    sizes = [table.size for table in tables]
    own = [
        np.broadcast_to(np.asarray(each, dtype=np.float64), shape)
        for each, shape in zip(variances, shapes, strict=True)
    ]
    noise = np.concatenate([each.ravel() for each in own])
    if not (noise > 0).all():
        raise BadInput(f"variances must be above 0, given {noise.min()}.")
    counts = np.concatenate([table.ravel() for table in tables])
    means = np.maximum(_LEAST, np.concatenate([table.ravel() for table in models]))
    strength = np.floor(0.5 * np.log2(means / np.sqrt(noise / 2))).astype(np.int64)
    strength = np.clip(strength - FAINTEST, 0, STRENGTHS - 1)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    cells = _posterior_means(counts, means, noise, strength, owner, len(sizes))
    parts = np.split(cells, np.cumsum(sizes)[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def _posterior_means(counts: Reals, means: Reals, noise: Reals, strength: Places, owner: Places, tables: int) -> Reals:
    components = BELIEF.size
    odds, posterior = np.empty((counts.size, components)), np.empty((counts.size, components))
    _likelihoods(counts, means, noise, CENTRES, SPREADS, WIDTHS, odds, posterior)
    pooled = np.tile(BELIEF, (STRENGTHS, 1))
    tilt = np.ones((tables, components))
    fitted, expected = np.empty_like(pooled), np.zeros_like(tilt)
    for _ in range(STEPS):
        fitted[:] = CELLS * BELIEF
        _occupied(odds, pooled, strength, tilt, owner, strength, fitted)
        pooled[:] = fitted / fitted.sum(axis=1, keepdims=True)
    for component in range(components):
        expected[:, component] = np.bincount(owner, pooled[strength, component], minlength=tables)
    occupied = np.empty_like(tilt)
    for _ in range(STEPS):
        occupied[:] = TABLE_CELLS * BELIEF
        _occupied(odds, pooled, strength, tilt, owner, owner, occupied)
        tilt[:] = occupied / (expected + TABLE_CELLS * BELIEF)
    weights = odds * pooled[strength] * tilt[owner]
    return np.asarray((weights * posterior).sum(axis=1) / weights.sum(axis=1))


@compiled
def _log_tail(z: float) -> float:
    """log P(Z < z) for a normal Z."""
    if z > -8:
        return math.log(0.5 * math.erfc(-z / _ROOT_TWO))
    return -0.5 * z * z - math.log(-z * _ROOT_TWO_PI) - 1 / (z * z)


@compiled
def _lift(z: float) -> float:
    """E[Z | Z > −z] for a normal Z: the increase of a normal law's mean, in deviations, when it is cut off at 0."""
    if z > -8:
        return math.exp(-0.5 * z * z) / (_ROOT_TWO_PI * 0.5 * math.erfc(-z / _ROOT_TWO))
    return -z - 1 / z + 2 / (z * z * z)


@compiled
def _likelihoods(
    counts: Reals,
    means: Reals,
    noise: Reals,
    centres: Reals,
    spreads: Reals,
    widths: Reals,
    odds: Reals,
    posterior: Reals,
) -> None:
    """The likelihood of each noisy count under each component, relative to the largest, and the posterior mean.

    Component k is a normal law around centres_k·m with the deviation spreads_k·m + widths_k·b, cut off at 0.
    """
    for cell in range(counts.size):
        best = -1e300
        for k in range(centres.size):
            centre = centres[k] * means[cell]
            spread = spreads[k] * means[cell] + widths[k] * math.sqrt(noise[cell] / 2)
            variance = spread * spread + noise[cell]
            kept = spread * spread / variance
            middle = centre + kept * (counts[cell] - centre)
            value = -0.5 * ((counts[cell] - centre) ** 2 / variance + math.log(variance))
            if spread > 0:
                left = math.sqrt(kept * noise[cell])
                value += _log_tail(middle / left) - _log_tail(centre / spread)
                middle += left * _lift(middle / left)
            posterior[cell, k] = max(0.0, middle)
            odds[cell, k] = value
            best = max(best, value)
        for k in range(centres.size):
            odds[cell, k] = math.exp(odds[cell, k] - best)


@compiled
def _occupied(
    odds: Reals, pooled: Reals, strength: Places, tilt: Reals, owner: Places, classes: Places, occupied: Reals
) -> None:
    """Add to ``occupied[classes]`` the posterior probabilities of the components of every cell."""
    components = odds.shape[1]
    for cell in range(odds.shape[0]):
        total = 0.0
        for k in range(components):
            total += odds[cell, k] * pooled[strength[cell], k] * tilt[owner[cell], k]
        for k in range(components):
            weight = odds[cell, k] * pooled[strength[cell], k] * tilt[owner[cell], k]
            occupied[classes[cell], k] += weight / total


def raked(table: npt.ArrayLike, rows: npt.ArrayLike, columns: npt.ArrayLike, rounds: int = 30) -> Reals:
    """A table scaled to given sums of its rows and columns, in turn until both agree.

    Deming and Stephan, "On a least squares adjustment of a sampled frequency table when the expected marginal totals
    are known", 1940. Where the totals of both differ, that of the rows is used. Empty cells become slightly positive.

    >>> raked([[1.0, 1.0], [1.0, 3.0]], [2, 4], [3, 3]).round(3).tolist()
    [[1.354, 0.646], [1.646, 2.354]]
    """
    cells = np.maximum(np.asarray(table, dtype=np.float64), 1e-9)
    down = np.maximum(np.asarray(rows, dtype=np.float64), 1e-9)
    across = np.maximum(np.asarray(columns, dtype=np.float64), 1e-9)
    total = float(down.sum())
    across = across * (total / across.sum())
    for _ in range(rounds):
        cells *= (down / cells.sum(axis=1))[:, None]
        sums = cells.sum(axis=0)
        if np.abs(sums - across).sum() < 1e-6 * total:
            break
        cells *= across / sums
    return cells
