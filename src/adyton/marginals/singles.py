"""The tables of single attributes, from noisy ones."""

from __future__ import annotations

import math

import numpy as np

from adyton.arrays import Reals
from adyton.denoising.change_points import change_points
from adyton.denoising.empirical_bayes import empirical_bayes

FEW_CELLS = 3
"""A table of at most so many cells shows nothing about cells in general."""
_LEAST = 1e-6


def denoised_single(noisy: Reals, variance: float, *, ordered: bool = False) -> Reals:
    """The likely counts of one attribute: above 0, and not yet scaled to any total.

    *variance* is that of each noisy count; where the attribute is *ordered*, neighbouring cells are alike.

    >>> denoised_single(np.array([50.0, -3.0, 20.0]), 8.0).tolist()
    [50.0, 0.4, 20.0]
    """
    scale = math.sqrt(variance / 2)
    if noisy.size <= FEW_CELLS:
        return np.asarray(np.maximum(noisy, 0.2 * scale))
    shrunk = change_points(noisy, 1 / scale) if ordered else empirical_bayes(noisy, 1 / scale)
    return np.maximum(_LEAST, shrunk)
