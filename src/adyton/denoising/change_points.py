"""Posterior means of the cells under a hidden Markov chain of intensities with change points."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Reals
from adyton.denoising.chain_fit import fitted
from adyton.denoising.intensities import intensities, read
from adyton.denoising.settling import cautious, settled
from adyton.errors import BadInput

STEPS = 18
"""EM steps."""
_LARGE, _AT_ONCE = 1 << 20, 2
"""From so many cells on, the chains of several ways are fitted at the same time."""


def change_points(
    noisy: npt.ArrayLike,
    epsilon: float,
    orders: npt.ArrayLike | None = None,
    *,
    edge: bool = True,
    settle: bool = False,
) -> Reals:
    """Smooth a noisy histogram along its order, keeping its jumps and its spikes.

    Measured was every cell, with discrete Laplace noise of rate *epsilon*. Neighbouring cells are thought to share an
    intensity λ, which from one cell to the next stays, drifts by one step of the grid, or starts afresh; the cells of a
    level are even, scattered or spikes. The rates of all these are fitted to the noisy counts by EM, for every trial by
    itself, and the result is the posterior mean of every count (Baum et al., "A maximization technique occurring in the
    statistical analysis of probabilistic functions of Markov chains", 1970). It is never negative, costs no privacy,
    and takes time linear in the cells. When the cells have no order, the chain learns to start afresh all the time, and
    little is lost beside empirical Bayes.

    *orders* are ways through the cells, one permutation a row, for domains with more than one axis. Each way has a
    chain of its own, and predicts every cell from the others on its way; the estimate is the posterior mean under the
    equal mixture of those predictions. Rows and columns, each walked to and fro, with a Hilbert curve do well in two
    dimensions.

    *edge* is an assumption: the first cells differ from each other more than later ones do. Many attributes begin at
    zero, where the most rows are, and change evenly in the logarithm of the place: an amount, a duration, a number of
    visits. The chain then may begin on any clear level, and cell i has a further chance to start afresh, in proportion
    to 1/i. Every way begins so; where its first cells are like any others, say ``edge=False``.

    *settle* keeps measured counts where they are better guesses than posterior means, if every cell is judged by
    itself, and on few cells most of them always (see :mod:`adyton.denoising.settling`).

    >>> change_points([0, 1, -1, 0, 2, 0, 57, -1], 1.0).round().tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 57.0, 0.0]
    """
    table = intensities(epsilon)
    values, trials = read(noisy)
    ways = _read_orders(orders, values.shape[-1])
    for trial in trials:
        bins, likelihood, moment = table.seen(trial)
        tables = (moment, *table.sides(trial)) if settle else (moment,)
        blend, weights = np.zeros((len(tables), trial.size)), np.zeros_like(trial)

        def fit(way: Integers) -> tuple[Reals, Reals]:
            return fitted(bins[way], likelihood, tables, table, STEPS, edge, len(ways))  # noqa: B023 (used at once)

        with ThreadPoolExecutor(_AT_ONCE) as threads:
            several = threads.map(fit, ways) if trial.size > _LARGE and len(ways) > 1 else map(fit, ways)
            for way, (found, weight) in zip(ways, several, strict=True):
                blend[:, way] += weight * found
                weights[way] += weight
        blend /= weights
        estimate = settled(trial, blend[0], blend[1], blend[2], epsilon) if settle else blend[0]
        trial[:] = np.where(trial > table.limit, trial, estimate)
    result = trials.reshape(values.shape)
    return cautious(values, result, epsilon) if settle else result


def _read_orders(orders: npt.ArrayLike | None, cells: int) -> Integers:
    if orders is None:
        return np.arange(cells)[None]
    ways = np.atleast_2d(np.asarray(orders))
    if ways.dtype.kind not in "iu" or ways.shape[1:] != (cells,) or not (np.sort(ways) == np.arange(cells)).all():
        raise BadInput(
            f"orders must be permutations of the {cells} cells, one a row, given an array of shape {ways.shape} and "
            f"type {ways.dtype}. Give every cell's place once in every row."
        )
    return ways.astype(np.int64)
