"""Isotonic regression: the nearest non-decreasing sequence, and cells whose prefix sums are one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.errors import BadInput


def isotonic(values: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Reals:
    """The non-decreasing sequences with the least Σ w_i·(f_i − y_i)², along the last axis; weights above 0, else 1.

    By pooling adjacent violators, in linear time (Ayer et al., "An empirical distribution function for sampling with
    incomplete information", 1955). The set of non-decreasing sequences is convex, so where the truth is one of them,
    the result is never farther from it than *values* (in the norm of the weights), whatever the noise was.

    >>> isotonic([1.0, 3.0, 2.0, 2.0, 5.0]).round(3).tolist()
    [1.0, 2.333, 2.333, 2.333, 5.0]
    >>> isotonic([3.0, 0.0], weights=[2.0, 1.0]).tolist()
    [2.0, 2.0]
    """
    given = _read(values)
    rows = given.reshape(-1, given.shape[-1])
    if weights is None:
        own = np.ones((1, given.shape[-1]))
    else:
        own = np.asarray(weights, dtype=np.float64)
        if own.shape not in (given.shape, given.shape[-1:]) or not (np.isfinite(own) & (own > 0)).all():
            raise BadInput(
                f"weights must be finite, above 0 and of shape {given.shape} or {given.shape[-1:]}, "
                f"given an array of shape {own.shape}."
            )
        own = np.ascontiguousarray(own.reshape(-1, given.shape[-1]))
    if given.size == 0:
        return given.copy()
    from adyton.denoising.isotonic_compiled import pool_adjacent_violators

    return pool_adjacent_violators(np.ascontiguousarray(rows), own).reshape(given.shape)


def monotone_prefix(cells: npt.ArrayLike) -> Reals:
    """The cells of at least 0 whose prefix sums are nearest to those of *cells*, along the last axis.

    This is the projection in the metric of the prefix sums: it brings all of them together closer to the truth,
    whatever the noise was. Setting negative cells to 0 does not: it adds what it lifts them by to every later sum.

    >>> monotone_prefix([2.0, -1.0, 3.0, 0.0])
    array([1.5, 0. , 2.5, 0. ])
    """
    given = _read(cells)
    sums = np.maximum(0.0, isotonic(np.cumsum(given, axis=-1)))
    return np.diff(sums, axis=-1, prepend=0.0)


def _read(values: npt.ArrayLike) -> Reals:
    given = np.asarray(values, dtype=np.float64)
    if given.ndim == 0 or not np.isfinite(given).all():
        raise BadInput(f"values must be finite numbers along at least one axis, given an array of shape {given.shape}.")
    return given
