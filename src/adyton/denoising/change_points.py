"""Posterior means of the cells under a hidden Markov chain of intensities with change points.

The rates of the chain are learnt by EM, in forward and backward passes over blocks of cells; then each cell's posterior
mean is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Places, Reals
from adyton.compiling import compiled
from adyton.denoising.intensities import (
    SCATTERED,
    SPIKES,
    Intensities,
    blended,
    denoised,
    distribution,
    first_shares,
    read,
    relearnt,
)
from adyton.errors import BadInput

STEPS = 18
"""EM steps."""
_LARGE, _AT_ONCE = 1 << 20, 2
"""With more than _LARGE cells, the chains of several ways are fitted concurrently, at most _AT_ONCE at a time."""


def change_points(
    noisy: npt.ArrayLike,
    epsilon: float,
    orders: npt.ArrayLike | None = None,
    *,
    edge: bool = True,
    settle: bool = False,
) -> Reals:
    """Smooth a noisy histogram along its order, keeping its jumps and its spikes.

    Every cell was measured, with discrete Laplace noise of rate *epsilon*. Neighbouring cells are assumed to share an
    intensity λ, which from one cell to the next stays, drifts by one step of the grid, or starts afresh; the cells of a
    level are even, scattered or spikes. The rates of all these are fitted to the noisy counts by EM, separately for
    each trial, and the result is the posterior mean of every count (Baum et al., "A maximization technique occurring in
    the statistical analysis of probabilistic functions of Markov chains", 1970). It is never negative, costs no
    privacy, and takes time linear in the cells. When the cells have no order, the chain learns to start afresh at every
    cell, and little is lost compared with empirical Bayes.

    *orders* are ways through the cells, one permutation per row, for domains with more than one axis. Each way has a
    chain of its own, which predicts every cell from the others; the estimate is the posterior mean under the equal
    mixture of those predictions. In two dimensions, three ways do well: rows and columns, each in alternating
    direction, and a Hilbert curve.

    *edge* is an assumption: the first cells differ from each other more than later ones do. Many attributes begin at
    zero, where most rows are, and change evenly in the logarithm of the place: an amount, a duration, a number of
    visits. The chain may then begin on any clear level, and cell i has an additional chance to start afresh, in
    proportion to 1/i. This holds for the beginning of every way; use ``edge=False`` where the first cells are like any
    others.

    With *settle*, for errors that are judged cell by cell, measured counts are kept where they are better guesses than
    posterior means, and on few cells the estimate stays close to them (see :func:`.intensities.settled`).

    >>> change_points([0, 1, -1, 0, 2, 0, 57, -1], 1.0).round().tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 57.0, 0.0]
    """
    ways = _read_orders(orders, read(noisy)[0].shape[-1])

    def mixture(table: Intensities, bins: Integers, likelihood: Reals, tables: Sequence[Reals]) -> Reals:
        blend, weights = np.zeros((len(tables), bins.size)), np.zeros(bins.size)

        def fit(way: Integers) -> tuple[Reals, Reals]:
            return fitted(bins[way], likelihood, tables, table, STEPS, edge, len(ways))

        with ThreadPoolExecutor(_AT_ONCE) as threads:
            several = threads.map(fit, ways) if bins.size > _LARGE and len(ways) > 1 else map(fit, ways)
            for way, (means, weight) in zip(ways, several, strict=True):
                blend[:, way] += weight * means
                weights[way] += weight
        return blend / weights

    return denoised(noisy, epsilon, mixture, settle=settle)


def _read_orders(orders: npt.ArrayLike | None, cells: int) -> Integers:
    if orders is None:
        return np.arange(cells)[None]
    ways = np.atleast_2d(np.asarray(orders))
    if ways.dtype.kind not in "iu" or ways.shape[1:] != (cells,) or not (np.sort(ways) == np.arange(cells)).all():
        raise BadInput(
            f"orders must be permutations of the {cells} cells, one per row, given an array of shape {ways.shape} and "
            f"type {ways.dtype}. Give every cell's place once in every row."
        )
    return ways.astype(np.int64)


CHANGE = 0.001
"""The initial rates of drift and of fresh starts. Large initial rates overfit."""
ARRIVALS = 50.0
"""The weight of the base distribution of fresh levels, in cells."""
RATES, EDGE_RATES = 0.5, 0.1
"""The fresh starts, and drifts, of one additional cell: without an edge, and with one, which has its own restarts."""
OPENING = 0.5
"""At an edge: the chance that the chain begins on a clear level."""
RESTARTS = 0.5
"""At an edge: cell i, counted from 1, starts afresh with chance RESTARTS/i, independently of the other cells."""
BLOCK = 1 << 14
"""Cells whose forward vectors are kept at once; longer chains keep one vector per block and compute the rest again."""
_Block: TypeAlias = tuple[Integers, Reals, Reals, Reals, Reals, Reals, Reals, Reals]
"""The arguments of all loops for a block: bins, restarts, evidence, chances, rates; buffers for rows, sizes, spare."""
LEARNT = 1 << 20
"""The number of cells, over all ways, from which rates are learnt: longer chains learn from evenly spread blocks."""


@dataclass(frozen=True, eq=False)
class _Law:
    """The parameters of a chain: the shapes of levels, the distribution of fresh levels, the rates of both moves."""

    shares: Reals
    spikes: Reals
    arrivals: Reals
    change: float
    drifting: float

    @classmethod
    def first(cls, parts: int, base: Reals) -> _Law:
        """The initial parameters."""
        return cls(first_shares(parts, SCATTERED, SPIKES), base, base, CHANGE, CHANGE)


def fitted(
    bins: Integers,
    likelihood: Reals,
    tables: Sequence[Reals],
    table: Intensities,
    steps: int,
    edge: bool = False,
    ways: int = 1,
) -> tuple[Reals, Reals]:
    """Fit the chain by EM; returns posterior means, and how well each cell was predicted by the others.

    *tables* are the quantities whose means are computed, each multiplied by the likelihood: the result has a row for
    each table. *ways* is the total number of ways through the cells.

    A million cells determine the rates well enough: longer chains learn them from evenly spread blocks, the first and
    the last included. Between two blocks the chain starts afresh; nothing is learnt from those starts.
    """
    opening, restarts = _edge(table, bins.size) if edge else (None, np.zeros(bins.size))
    blocks = max(1, LEARNT // ways // BLOCK)
    seen, fresh = (bins, restarts) if bins.size * ways <= LEARNT else _sampled(bins, restarts, blocks)
    law, belief = _Law.first(likelihood.shape[0], table.base), EDGE_RATES if edge else RATES
    learning = _Passes(seen, fresh, opening, likelihood, table)
    for _ in range(steps):
        law = learning.relearnt(law, belief)
    concluding = learning if seen is bins else _Passes(bins, restarts, opening, likelihood, table)
    return concluding.concluded(law, tables)


def _sampled(bins: Integers, restarts: Reals, blocks: int) -> tuple[Integers, Reals]:
    """Blocks of the cells, evenly spread; the chain always starts afresh at the first cell of every later block."""
    starts = np.linspace(0, bins.size - BLOCK, blocks).astype(np.int64)
    places: Places = (starts[:, None] + np.arange(BLOCK)).reshape(-1)
    fresh = restarts[places]
    fresh[BLOCK::BLOCK] = 1
    return bins[places], fresh


class _Passes:
    """Forward and backward passes over a chain, block by block, with a buffer for the forward vectors of one block."""

    def __init__(
        self, bins: Integers, restarts: Reals, opening: Reals | None, likelihood: Reals, table: Intensities
    ) -> None:
        self._bins, self._restarts, self._opening = bins, restarts, opening
        self._likelihood, self._table = likelihood, table
        levels, longest = table.base.size, min(bins.size, BLOCK)
        self._rows, self._sizes = np.zeros((longest + 1, levels + 1)), np.ones(longest + 1)
        self._spare = np.zeros(levels + 1)

    def relearnt(self, law: _Law, belief: float) -> _Law:
        """One EM step. A fresh start is usual, at the fitted rate, or due to *restarts*, at a fixed rate: the rate is
        learnt from the usual ones only."""
        base, restarts, cells = self._table.base, self._restarts, self._bins.size
        evidence = self._evidence(law)
        ahead, occupied, landed = np.ones(base.size), np.zeros_like(evidence), np.zeros(base.size)
        jumps, same = np.empty(cells), 0.0
        for place, here in self._backwards(law, evidence):
            same += backward(*here, ahead, occupied, landed, jumps[place])
        change, drifting = law.change, law.drifting
        usual = (1 - restarts) * change / (restarts + (1 - restarts) * change)  # P(usual | fresh start)
        changes = float(usual @ jumps)
        moved = cells - (float(jumps.sum()) - changes)  # cells that moved as usual
        drifts = max(0.0, moved - changes - (1 - change - drifting) * same)
        arrivals = distribution(law.arrivals * landed, base, ARRIVALS)
        change, drifting = (changes + belief) / (moved + 1), (drifts + belief) / (moved + 1)
        occupied[-1] = 0  # cells above the limit say nothing about shares
        shapes = relearnt(self._likelihood, self._table.kind, base, law.shares, law.spikes, evidence, occupied)
        return _Law(*shapes, arrivals, change, drifting)

    def concluded(self, law: _Law, tables: Sequence[Reals]) -> tuple[Reals, Reals]:
        """Posterior means, one row for each of the tables, and how well each cell was predicted by the others."""
        evidence, levels, cells = self._evidence(law), self._table.base.size, self._bins.size
        means = [blended(table, self._table.kind, law.shares, law.spikes) / evidence for table in tables]
        aheads = [np.ones(levels) for _ in tables]
        rows, weight = np.empty((len(tables), cells)), np.empty(cells)
        for place, here in self._backwards(law, evidence):
            for ahead, mean, row in zip(aheads, means, rows, strict=True):
                conclude(*here, ahead, mean, row[place], weight[place])
        return rows, weight

    def _evidence(self, law: _Law) -> Reals:
        return blended(self._likelihood, self._table.kind, law.shares, law.spikes)

    def _backwards(self, law: _Law, evidence: Reals) -> Iterator[tuple[slice, _Block]]:
        """The blocks from the last to the first, with the loops' arguments; the block's forward vectors are filled."""
        rows, sizes, starts = self._rows, self._sizes, range(0, self._bins.size, BLOCK)
        stay = np.full(self._table.base.size, 1 - law.change - law.drifting)
        stay[[0, -1]] += law.drifting / 2  # a drift off the grid stays
        rates = np.array([law.drifting / 2, law.change])
        moves = (evidence, np.stack([stay, law.arrivals]), rates, rows, sizes, self._spare)
        places = [slice(start, start + BLOCK) for start in starts]
        blocks: list[_Block] = [(self._bins[place], self._restarts[place], *moves) for place in places]
        first = law.arrivals if self._opening is None else self._opening  # before the first cell: a fresh start
        marks = [(np.append(first, 0.0), 1.0)]  # the vector and its sum before each block
        for block in blocks:
            rows[0], sizes[0] = marks[-1]
            forward(*block)
            length = block[0].size
            marks.append((rows[length].copy(), float(sizes[length])))
        yield places[-1], blocks[-1]
        for place, block, mark in zip(places[-2::-1], blocks[-2::-1], marks[-3::-1], strict=True):
            rows[0], sizes[0] = mark
            forward(*block)
            yield place, block


def _edge(table: Intensities, cells: int) -> tuple[Reals, Reals]:
    """The distribution of the level before the first cell, and the fixed chance that each cell starts afresh.

    Before the first cell: OPENING evenly over the clear levels, the rest in proportion to the base.
    """
    clear = table.kind == 2
    quiet = np.where(clear, 0, table.base)
    opening = OPENING * clear / clear.sum() + (1 - OPENING) * quiet / quiet.sum()
    restarts = RESTARTS / np.arange(1, cells + 1)
    restarts[:1] = 0  # the first cell has the opening instead
    return opening, restarts


@compiled
def forward(
    bins: Integers,
    restarts: Reals,
    evidence: Reals,
    chances: Reals,
    rates: Reals,
    rows: Reals,
    sizes: Reals,
    spare: Reals,
) -> None:
    """Filter one block of cells: ``rows[i + 1]`` becomes the filtered vector of cell i, of sum ``sizes[i + 1]``.

    The vector before the block is in ``rows[0]`` and ``sizes[0]``. Every row ends with a zero, and so does *spare*, a
    buffer of the loops. Cell i starts afresh with chance ``restarts[i]``; otherwise it makes a usual move: it stays,
    drifts to either side, or starts afresh. *chances* are, for each level, the chances to stay there and to arrive
    there by a fresh start; *rates* are those of a drift and of a fresh start.
    """
    stay, arrivals, drift, change = chances[0], chances[1], rates[0], rates[1]
    levels, current = stay.size, spare
    for k in range(levels):
        current[k] = rows[0, k]
    for i in range(bins.size):
        row, new, usual, size = evidence[bins[i]], rows[i + 1], 1 - restarts[i], 0.0
        scale, fresh = usual / sizes[i], restarts[i] + usual * change
        left, middle = 0.0, current[0] * scale
        for k in range(levels):
            right = current[k + 1] * scale
            value = (stay[k] * middle + drift * (left + right) + fresh * arrivals[k]) * row[k]
            current[k] = new[k] = value
            size += value
            left, middle = middle, right
        sizes[i + 1] = size


@compiled
def backward(
    bins: Integers,
    restarts: Reals,
    evidence: Reals,
    chances: Reals,
    rates: Reals,
    rows: Reals,
    sizes: Reals,
    spare: Reals,
    ahead: Reals,
    occupied: Reals,
    landed: Reals,
    starts: Reals,
) -> float:
    """The backward pass over one block; returns Σ P(usual move)·P(level before)·P(future | same level).

    *ahead* is P(later cells | level), scaled so that filtered·ahead is the posterior; it ends as that of the cell
    before the block. ``starts[i]`` becomes the posterior chance that cell i started afresh. Adds to *occupied*, the
    expected number of cells by bin and level, and to *landed*, the weights of arrival.
    """
    stay, arrivals, drift, change = chances[0], chances[1], rates[0], rates[1]
    levels, weighed = stay.size, spare
    same = 0.0
    for i in range(bins.size - 1, -1, -1):
        here, before, row, share = rows[i + 1], rows[i], evidence[bins[i]], occupied[bins[i]]
        scale, usual, jump, kept = 1 / sizes[i + 1], 1 - restarts[i], 0.0, 0.0
        fresh = restarts[i] + usual * change
        for k in range(levels):
            ahead[k] *= scale
            share[k] += here[k] * ahead[k]
        for k in range(levels):
            weight = row[k] * ahead[k]
            weighed[k] = weight
            jump += arrivals[k] * weight
        jump *= fresh
        left, middle = 0.0, weighed[0]
        for k in range(levels):
            right = weighed[k + 1]
            ahead[k] = usual * (stay[k] * middle + drift * (left + right)) + jump
            kept += before[k] * middle
            left, middle = middle, right
        for k in range(levels):
            landed[k] += fresh * weighed[k]
        starts[i] = jump
        same += usual * kept / sizes[i]
    return same


@compiled
def conclude(
    bins: Integers,
    restarts: Reals,
    evidence: Reals,
    chances: Reals,
    rates: Reals,
    rows: Reals,
    sizes: Reals,
    spare: Reals,
    ahead: Reals,
    mean: Reals,
    estimate: Reals,
    weight: Reals,
) -> None:
    """The last backward pass over one block: posterior means, and how well each cell was predicted by the others.

    P(y_i | all other cells) = 1/Σ_k P(k | all cells)/P(y_i | k).
    """
    stay, arrivals, drift, change = chances[0], chances[1], rates[0], rates[1]
    levels, weighed = stay.size, spare
    for i in range(bins.size - 1, -1, -1):
        here, row, means, scale = rows[i + 1], evidence[bins[i]], mean[bins[i]], 1 / sizes[i + 1]
        usual, value, surprise, jump = 1 - restarts[i], 0.0, 0.0, 0.0
        for k in range(levels):
            future = ahead[k] * scale
            value += here[k] * future * means[k]
            surprise += here[k] * future / row[k]
            weighed[k] = row[k] * future
            jump += arrivals[k] * weighed[k]
        jump *= restarts[i] + usual * change
        estimate[i], weight[i] = value, 1 / surprise
        left = 0.0
        for k in range(levels):
            ahead[k] = usual * (stay[k] * weighed[k] + drift * (left + weighed[k + 1])) + jump
            left = weighed[k]
