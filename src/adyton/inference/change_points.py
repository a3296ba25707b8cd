"""Posterior means of the cells under a hidden Markov chain of intensities with change points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.inference.intensities import Integers, Intensities, Reals, intensities, read

STEPS = 18
"""EM steps."""
CHANGE = 0.001
"""The rates of drift and of fresh starts before anything was seen. A large start overfits."""
ARRIVALS = 50.0
"""Cells' worth of belief in the base distribution of fresh levels."""
BLOCK = 1 << 14
"""Cells whose forward vectors are kept at once; longer chains keep one vector a block and go forward again."""


def change_points(noisy: npt.ArrayLike, epsilon: float, orders: npt.ArrayLike | None = None) -> Reals:
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

    >>> change_points([0, 1, -1, 0, 2, 0, 57, -1], 1.0).round().tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 57.0, 0.0]
    """
    table = intensities(epsilon)
    values, trials = read(noisy)
    ways = _read_orders(orders, values.shape[-1])
    for trial in trials:
        bins, likelihood, moment = table.seen(trial)
        blend, weights = np.zeros_like(trial), np.zeros_like(trial)
        for way in ways:
            estimate, weight = _fitted(bins[way], likelihood, moment, table, STEPS)
            blend[way] += weight * estimate
            weights[way] += weight
        trial[:] = np.where(trial > table.limit, trial, blend / weights)
    return trials.reshape(values.shape)


def _fitted(bins: Integers, likelihood: Reals, moment: Reals, table: Intensities, steps: int) -> tuple[Reals, Reals]:
    """Fit the chain by EM; then the posterior means of the cells, and how well the other cells predicted each."""
    from adyton.inference import change_points_compiled as chain
    from adyton.inference.intensities_compiled import SCATTERED, SPIKES, blended, distribution, first_shares, relearnt

    cells, base = bins.size, table.base
    starts = range(0, cells, BLOCK)
    rows, sizes = np.zeros((min(cells, BLOCK) + 1, base.size + 1)), np.ones(min(cells, BLOCK) + 1)
    estimate, weight = np.empty(cells), np.empty(cells)
    shares, spikes, arrivals = first_shares(likelihood.shape[0], SCATTERED, SPIKES), base, base
    change = drifting = CHANGE
    for step in range(steps + 1):
        evidence = blended(likelihood, table.kind, shares, spikes)
        stay, fresh = np.full(base.size, 1 - change - drifting), change * arrivals
        stay[[0, -1]] += drifting / 2  # a drift off the grid stays
        moves = (evidence, stay, drifting / 2, fresh, rows, sizes)
        marks = [(np.append(arrivals, 0.0), 1.0)]  # what comes before a block; before the first one, a fresh start
        for start in starts:
            rows[0], sizes[0] = marks[-1]
            block = bins[start : start + BLOCK]
            chain.forward(block, *moves)
            marks.append((rows[block.size].copy(), sizes[block.size]))
        means = blended(moment, table.kind, shares, spikes) / evidence if step == steps else evidence
        ahead, occupied, landed = np.ones(base.size), np.zeros_like(evidence), np.zeros(base.size)
        jumps = same = 0.0
        for start, mark in zip(reversed(starts), marks[-2::-1], strict=True):
            place = slice(start, start + BLOCK)
            if start != starts[-1]:
                rows[0], sizes[0] = mark
                chain.forward(bins[place], *moves)
            if step == steps:
                chain.conclude(bins[place], means, *moves, ahead, estimate[place], weight[place])
            else:
                more_jumps, more_same = chain.backward(bins[place], *moves, ahead, occupied, landed)
                jumps, same = jumps + more_jumps, same + more_same
        if step < steps:
            drifts = max(0.0, cells - jumps - (1 - change - drifting) * same)
            arrivals = distribution(fresh * landed, base, ARRIVALS)
            change, drifting = (jumps + 0.5) / (cells + 1), (drifts + 0.5) / (cells + 1)
            occupied[-1] = 0  # cells above the limit say nothing about shares
            shares, spikes = relearnt(likelihood, table.kind, base, shares, spikes, evidence, occupied)
    return estimate, weight


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
