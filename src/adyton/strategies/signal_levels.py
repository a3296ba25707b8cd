"""Levels and weights that suit the amount of data: with few rows, coarse blocks are worth more than small ones.

What an answer on small blocks is worth depends on the data: a Haar coefficient θ that is known with variance σ² leaves
an error of θ²σ²/(θ² + σ²) to the best linear estimate, so precision is wasted where θ is small. The table below was
found by minimising the mean logarithm of Σ_l t_l·θ²σ_l²/(θ² + σ_l²) over the Haar coefficients of real histograms with
4096 cells, for prefix sums; other domains and workloads use it as factors on the weights that are best without it.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.strategies.level_weights import LevelWeights
from adyton.strategies.optimal_levels import optimal_levels, prefix_energy
from adyton.whole import halvings

_SIGNALS = (25.0, 100.0, 400.0, 1600.0, 6400.0, 25600.0, 102400.0)
"""ε·rows."""
_DEPTHS = (2.0, 5.0, 8.0, 12.0)
"""How often the domain was halved to get a block."""
_WEIGHTS = (
    (0.769, 0.231, 0.0, 0.0),
    (0.625, 0.281, 0.094, 0.0),
    (0.528, 0.300, 0.115, 0.057),
    (0.476, 0.314, 0.142, 0.067),
    (0.431, 0.304, 0.180, 0.085),
    (0.378, 0.276, 0.209, 0.137),
    (0.249, 0.218, 0.222, 0.311),  # the optimal levels
)
_LEAST = 0.02
"""Levels of less weight than this are left out."""


def signal_levels(cells: int, signal: float, level_energy: npt.ArrayLike | None = None) -> LevelWeights:
    """Block sizes and weights for ε·rows = *signal*; for plenty of data the optimal levels.

    ``level_energy`` describes the workload (see :mod:`.optimal_levels`), all prefix sums if None.

    >>> few = signal_levels(4096, 100.0)
    >>> few.block_sizes, [round(weight, 3) for weight in few.weights]
    ((16, 128, 1024), [0.094, 0.281, 0.625])
    """
    if not math.isfinite(signal):
        raise BadInput(f"signal must be a finite number, ε times the number of rows, given {signal}.")
    best = optimal_levels(cells, prefix_energy(cells) if level_energy is None else level_energy)
    height = halvings(cells)
    factors = [_factor(height + 1 - size.bit_length(), signal) for size in best.block_sizes]
    weights = np.array(best.weights) * factors
    weights /= weights.sum()
    kept = weights >= min(_LEAST, weights.max())
    sizes = np.array(best.block_sizes)[kept]
    return LevelWeights(tuple(sizes.tolist()), tuple((weights[kept] / weights[kept].sum()).tolist()))


def _factor(depth: int, signal: float) -> float:
    """The table's weight against the optimal one, between its rows and columns by interpolation.

    Deeper than the table, a block counts like one of its deepest with as many rows.
    """
    rows = max(1.0, signal) * 2.0 ** min(0.0, _DEPTHS[-1] - depth)
    place = min(max(math.log(rows), math.log(_SIGNALS[0])), math.log(_SIGNALS[-1]))
    logarithms = np.log(_SIGNALS)
    table = np.array(_WEIGHTS) / np.array(_WEIGHTS[-1])
    row = [np.interp(place, logarithms, column) for column in table.T]
    return max(1e-6, float(np.interp(depth, _DEPTHS, row)))
