"""How counts are shown: as they are, without negative ones, or as whole numbers. All of it is free."""

from __future__ import annotations

import numpy as np

from adyton.inference.projections import project_to_simplex
from adyton.queries.base import Reals


def shown(estimate: Reals, *, integer: bool, nonnegative: bool) -> Reals:
    """The estimate, made non-negative with the same total, and rounded with the same (rounded) total.

    >>> shown(np.array([2.4, -1.0, 0.6]), integer=True, nonnegative=True).tolist()
    [2.0, 0.0, 0.0]
    """
    cells = estimate.reshape(-1)
    if nonnegative:
        cells = project_to_simplex(cells, np.maximum(0.0, cells.sum(axis=-1)))
    if integer:
        cells = _rounded(cells)
    return cells.reshape(estimate.shape)


def _rounded(cells: Reals) -> Reals:
    """Whole numbers that add up to the nearest whole number of the sum: the largest remainders are rounded up."""
    floors = np.floor(cells)
    missing = int(np.rint(cells.sum()) - floors.sum())
    if missing > 0:
        floors[np.argsort(floors - cells, kind="stable")[:missing]] += 1
    return floors
