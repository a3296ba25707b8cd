"""Isotonic regression: the nearest non-decreasing sequence, and cells whose prefix sums are one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Places, Reals
from adyton.compiling import compiled
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
    length = given.shape[-1]
    own = np.asarray(1.0 if weights is None else weights, dtype=np.float64)
    if (weights is not None and own.shape not in (given.shape, (length,))) or not (np.isfinite(own) & (own > 0)).all():
        raise BadInput(
            f"weights must be finite, above 0 and of shape {given.shape} or {given.shape[-1:]}, "
            f"given an array of shape {own.shape}."
        )
    result, every = np.empty_like(given), np.ascontiguousarray(np.broadcast_to(own, given.shape))
    means, masses, ends = np.empty(length), np.empty(length), np.empty(length, dtype=np.int64)
    for place in np.ndindex(given.shape[:-1]):
        pools = _pool_adjacent_violators(given[place], every[place], means, masses, ends)
        result[place] = np.repeat(means[:pools], np.diff(ends[:pools], prepend=0))
    return result


@compiled
def _pool_adjacent_violators(values: Reals, weights: Reals, means: Reals, masses: Reals, ends: Places) -> int:
    """Write down the means of the pools and where they end; how many there are.

    The pools so far have rising means. A new value is a pool of its own; as long as the pool before it has a mean that
    is not smaller, the two become one. Each value is pooled once, so the time is linear.
    """
    pools = 0
    for place in range(len(values)):
        mean, mass = values[place], weights[place]
        while pools > 0 and means[pools - 1] >= mean:
            pools -= 1
            mean += (means[pools] - mean) * (masses[pools] / (masses[pools] + mass))
            mass += masses[pools]
        means[pools], masses[pools], ends[pools] = mean, mass, place + 1
        pools += 1
    return pools


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
