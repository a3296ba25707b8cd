"""Made-up distributions of many kinds, that ship with the code."""

from __future__ import annotations

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.messages import shorten

_CELLS, _SIDE = 4096, 256


def made_up(ndim: int) -> dict[str, Reals]:
    """Shapes by name: sparse, spiky, stepped, smooth, heavy-tailed; 4096 cells on a line, 256 × 256 on a plane."""
    if ndim not in {1, 2}:
        raise BadInput(f"made-up distributions have 1 axis or 2, asked for {shorten(ndim)}.")
    random = np.random.default_rng(0)
    if ndim == 1:
        cells = np.arange(_CELLS)
        return {
            "decay": 1.0 / (cells + 1),
            "spikes": np.where(random.random(_CELLS) < 0.01, random.pareto(1, _CELLS), 0.0) + 1e-9,
            "steps": np.repeat(random.gamma(0.5, 1, 32), _CELLS // 32) + 1e-9,
            "smooth": np.exp(-(((cells - 1500) / 400) ** 2)) + 0.5 * np.exp(-(((cells - 3000) / 150) ** 2)),
            "round numbers": np.where(cells % 64 == 0, 20.0, np.where(cells % 8 == 0, 3.0, 0.2)),
            "few groups": np.where((cells > 2000) & (cells < 2200), 1.0, 1e-6),
            "noise": random.gamma(0.2, 1, _CELLS),
        }
    row, column = np.indices((_SIDE, _SIDE))

    def hill(middle: tuple[int, int], width: int) -> Reals:
        return np.asarray(np.exp(-((row - middle[0]) ** 2 + (column - middle[1]) ** 2) / (2 * width**2)))

    return {
        "hills": hill((60, 80), 20) + hill((180, 40), 8) + 2 * hill((130, 200), 30),
        "corner": 1.0 / ((row + 1.0) * (column + 1.0)),
        "dust": np.where(random.random((_SIDE, _SIDE)) < 0.02, random.pareto(1, (_SIDE, _SIDE)), 0.0) + 1e-9,
        "roads": np.where((row % 37 == 0) | (column % 53 == 0), 1.0, 0.01),
        "diagonal": np.exp(-np.abs(row - column) / 6.0),
    }
