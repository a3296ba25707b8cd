"""Into blocks of which level an open block is best cut. See :mod:`.staged_blocks`; l counts levels from the cells."""

from __future__ import annotations

from adyton.arrays import Places, Reals
from adyton.compiling import compiled


@compiled
def cheapest(
    rows: Reals,
    level: int,
    ways: Reals,
    known: Reals,
    outer: Reals,
    model: Reals,
    costs: Reals,
    least: Reals,
    best: Places,
) -> None:
    """For each of some blocks of 2^level cells, the least expected error over the *ways* to measure inside it (rows of
    added precisions), and the first way that has it."""
    for block in range(rows.size):
        for way in range(ways.shape[0]):
            error = expected_error(rows[block], level, ways[way], known[block], outer[block], model, costs)
            if way == 0 or error < least[block]:
                least[block], best[block] = error, way


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
