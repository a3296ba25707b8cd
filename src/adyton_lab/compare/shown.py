"""Histograms as they are drawn: no finer than a picture can show, and with no more digits."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton_lab.corpus.histograms import regrid

LINE_POINTS, PLANE_POINTS = 512, 64
"""The most points along the axis of a line, and along each axis of a plane."""
_DIGITS = {1: 4, 2: 3}
_FINEST = 1e-5
"""Differences below this part of the highest point cannot be seen."""


def shown(counts: npt.ArrayLike) -> Reals:
    """Counts on a coarser grid, where there are more cells than points: neighbours are added up.

    >>> shown(np.ones(1024)).shape, shown(np.ones(1000)).shape, shown(np.ones((100, 8))).shape
    ((512,), (500,), (50, 8))
    """
    values = np.asarray(counts, dtype=np.float64)
    most = LINE_POINTS if values.ndim == 1 else PLANE_POINTS
    return regrid(values, tuple(_points(side, most) for side in values.shape))


def rounded(values: Reals, original: Reals) -> list[int | float]:
    """The values in a row, with as many digits as can be seen beside the original.

    >>> rounded(np.array([1234.56789, -0.00001, 2.0]), np.array([2000.0, 0.0, 0.0]))
    [1235, 0, 2]
    """
    finest = max(float(np.abs(original).max(initial=0.0)) * _FINEST, 1e-9)
    places = max(0, -math.floor(math.log10(finest)))
    digits = _DIGITS[original.ndim]
    return [_plain(float(f"{value:.{digits}g}")) for value in np.round(values.reshape(-1), places).tolist()]


def _points(side: int, most: int) -> int:
    together = -(-side // most)
    return -(-side // together)


def _plain(value: float) -> int | float:
    return int(value) if value.is_integer() else value
