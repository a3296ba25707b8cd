"""Posterior means of the cells under a hidden Markov chain of intensities with change points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Reals
from adyton.denoising import hidden_chain as chain
from adyton.denoising.intensities import Intensities, intensities, read
from adyton.denoising.level_shapes import SCATTERED, SPIKES, blended, distribution, first_shares, relearnt
from adyton.denoising.settling import cautious, settled
from adyton.errors import BadInput

STEPS = 18
"""EM steps."""
CHANGE = 0.001
"""The rates of drift and of fresh starts before anything was seen. A large start overfits."""
ARRIVALS = 50.0
"""Cells' worth of belief in the base distribution of fresh levels."""
RATES, EDGE_RATES = 0.5, 0.1
"""Fresh starts, and drifts, in one cell's worth of belief: without an edge, and with one, where some are given."""
OPENING = 0.5
"""At an edge: the chance that the chain begins on a clear level."""
RESTARTS = 0.5
"""At an edge: cell i, counted from 1, starts afresh with chance RESTARTS/i whatever the others do."""
BLOCK = 1 << 14
"""Cells whose forward vectors are kept at once; longer chains keep one vector a block and go forward again."""


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
        for way in ways:
            found, weight = _fitted(bins[way], likelihood, tables, table, STEPS, edge)
            blend[:, way] += weight * found
            weights[way] += weight
        blend /= weights
        estimate = settled(trial, blend[0], blend[1], blend[2], epsilon) if settle else blend[0]
        trial[:] = np.where(trial > table.limit, trial, estimate)
    result = trials.reshape(values.shape)
    return cautious(values, result, epsilon) if settle else result


def _fitted(
    bins: Integers, likelihood: Reals, tables: Sequence[Reals], table: Intensities, steps: int, edge: bool = False
) -> tuple[Reals, Reals]:
    """Fit the chain by EM; then posterior means of the cells, and how well the other cells predicted each.

    *tables* are what means are taken of, each times the likelihood: the result has a row for each.

    A fresh start is usual, at the rate that is fitted, or due to the edge, at a fixed rate: of those seen, only the
    usual ones teach the rate.
    """
    cells, base = bins.size, table.base
    starts = range(0, cells, BLOCK)
    rows, sizes = np.zeros((min(cells, BLOCK) + 1, base.size + 1)), np.ones(min(cells, BLOCK) + 1)
    spare = np.zeros(base.size + 1)
    opening, restarts = _edge(table, cells) if edge else (None, np.zeros(cells))
    belief = EDGE_RATES if edge else RATES
    found, weight, jumps = np.empty((len(tables), cells)), np.empty(cells), np.empty(cells)
    shares, spikes, arrivals = first_shares(likelihood.shape[0], SCATTERED, SPIKES), base, base
    change = drifting = CHANGE
    for step in range(steps + 1):
        evidence = blended(likelihood, table.kind, shares, spikes)
        stay = np.full(base.size, 1 - change - drifting)
        stay[[0, -1]] += drifting / 2  # a drift off the grid stays
        moves = (evidence, np.stack([stay, arrivals]), np.array([drifting / 2, change]), rows, sizes, spare)
        first = arrivals if opening is None else opening  # before the first cell: a fresh start
        marks = [(np.append(first, 0.0), 1.0)]  # what comes before a block
        for start in starts:
            block = bins[start : start + BLOCK]
            rows[0], sizes[0] = marks[-1]
            chain.forward(block, restarts[start : start + BLOCK], *moves)
            marks.append((rows[block.size].copy(), sizes[block.size]))
        last = tables if step == steps else ()
        means = [blended(one, table.kind, shares, spikes) / evidence for one in last]
        aheads = [np.ones(base.size) for _ in last or (None,)]
        occupied, landed = np.zeros_like(evidence), np.zeros(base.size)
        same = 0.0
        for start, mark in zip(reversed(starts), marks[-2::-1], strict=True):
            place = slice(start, start + BLOCK)
            here = bins[place], restarts[place], *moves
            if start != starts[-1]:
                rows[0], sizes[0] = mark
                chain.forward(*here)
            for ahead, mean, row in zip(aheads, means, found, strict=False):
                chain.conclude(*here, ahead, mean, row[place], weight[place])
            if step < steps:
                same += chain.backward(*here, aheads[0], occupied, landed, jumps[place])
        if step < steps:
            usual = (1 - restarts) * change / (restarts + (1 - restarts) * change)  # P(usual | fresh start)
            changes = float(usual @ jumps)
            moved = cells - (float(jumps.sum()) - changes)  # cells that moved as usual
            drifts = max(0.0, moved - changes - (1 - change - drifting) * same)
            arrivals = distribution(arrivals * landed, base, ARRIVALS)
            change, drifting = (changes + belief) / (moved + 1), (drifts + belief) / (moved + 1)
            occupied[-1] = 0  # cells above the limit say nothing about shares
            shares, spikes = relearnt(likelihood, table.kind, base, shares, spikes, evidence, occupied)
    return found, weight


def _edge(table: Intensities, cells: int) -> tuple[Reals, Reals]:
    """The law of the level before the first cell, and the fixed chance that each cell starts afresh.

    Before the first cell: OPENING evenly over the clear levels, the rest as the base has it.
    """
    clear = table.kind == 2
    quiet = np.where(clear, 0, table.base)
    opening = OPENING * clear / clear.sum() + (1 - OPENING) * quiet / quiet.sum()
    restarts = RESTARTS / np.arange(1, cells + 1)
    restarts[:1] = 0  # the first cell has the opening instead
    return opening, restarts


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
