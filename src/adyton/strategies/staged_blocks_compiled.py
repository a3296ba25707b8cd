"""The choice of the next blocks, compiled. See :mod:`.staged_blocks` for the model; l counts levels from the cells."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Places, Reals
from adyton.compiling import compiled


@compiled
def expected_error(
    rows: float, level: int, added: Reals, known: float, outer: float, model: Reals, costs: Reals
) -> float:
    """The expected squared error that a block of 2^level cells leaves, if ``added[l]`` is the precision with which the
    blocks of 2^l cells inside it are measured.

    *known* is the precision of the block's sum so far, *outer* what an error of that sum costs elsewhere. ``model``
    holds the crowding, and from there on pairs of τ² and weight; ``costs[l]`` is what a squared error of the difference
    between two blocks of 2^l cells costs.
    """
    precision, whole = 0.0, known
    half = model[0] / 2
    held, blocks = rows * half ** (level - 1), half ** (1 - level)
    error = 0.0
    for below in range(level):
        precision = (precision + added[below]) / 2  # of a difference: half as much as of either sum
        mean = 0.0
        for place in range(1, model.size, 2):
            signal = model[place] * held * held + held
            mean += model[place + 1] * signal / (1 + signal * precision)
        error += blocks * costs[below] * mean
        held /= half
        blocks *= half
    for below in range(level + 1):
        whole += added[below] * 2.0 ** (below - level)
    return error + outer / whole


@compiled
def choose(
    blocks: Places,
    levels: Places,
    outers: Reals,
    estimates: Reals,
    variances: Reals,
    stage: Places,
    shares: Reals,
    model: Reals,
    costs: Reals,
) -> tuple[npt.NDArray[np.bool_], Places]:
    """For each open block: whether it is finished, and into blocks of which level it is cut now.

    ``stage`` are the finest levels of this and the later stages, ``shares`` the precisions that an answer has with: all
    that is left; this stage's share; all that is left after it; the next stage's share; all that is left after that.
    """
    finished, cuts = np.ones(blocks.size, np.bool_), np.empty(blocks.size, np.int64)
    added = np.zeros(costs.size + 1)
    for i in range(blocks.size):
        level, rows = levels[i], max(0.0, estimates[blocks[i]])
        known, outer = 1 / variances[blocks[i]], outers[i]
        least = np.inf
        for cut in range(level + 1):
            added[:] = 0
            added[cut] = shares[0]
            error = expected_error(rows, level, added, known, outer, model, costs)
            if error < least:
                least, cuts[i] = error, cut
        if stage.size == 1:
            continue
        going_on = np.inf
        finest = min(stage[0], level)
        for first in range(finest, level + 1):
            for last in range(first + 1):
                added[:] = 0
                added[first] += shares[1]
                added[last] += shares[2]
                going_on = min(going_on, expected_error(rows, level, added, known, outer, model, costs))
                if stage.size > 2 and last <= stage[1]:
                    added[:] = 0
                    added[first] += shares[1]
                    added[min(stage[1], first)] += shares[3]
                    added[last] += shares[4]
                    going_on = min(going_on, expected_error(rows, level, added, known, outer, model, costs))
        if going_on >= least:
            continue
        finished[i] = False
        least = np.inf
        for cut in range(finest, level + 1):
            added[:] = 0
            added[cut] = shares[1]
            error = expected_error(rows, level, added, known, outer, model, costs)
            if error < least:
                least, cuts[i] = error, cut
    return finished, cuts
