"""Nearest points: with a given total, with a given total and no negative cell, with a bounded sum of absolute values.

Nearest is meant in the metric of the noise, Σ (x_i − y_i)² / variance_i: with Gaussian noise of these variances the
nearest point of a set that holds the truth is the most likely one. All functions take trials along leading axes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.errors import BadInput


def project_to_total(
    estimates: npt.ArrayLike,
    total: npt.ArrayLike,
    variances: npt.ArrayLike = 1.0,
    total_variance: npt.ArrayLike = 0.0,
) -> Reals:
    """Combine independent estimates with a total that is known, or was measured on its own with ``total_variance``.

    The generalised least squares: what is missing from the total is shared out in proportion to the variances.

    >>> project_to_total([4, 5], total=12)
    array([5.5, 6.5])
    >>> project_to_total([4, 5], total=12, variances=[1, 2], total_variance=3)
    array([4.5, 6. ])
    """
    y, v = _estimates(estimates), _variances(variances)
    goal, spread = (
        np.asarray(total, dtype=np.float64)[..., None],
        np.asarray(total_variance, dtype=np.float64)[..., None],
    )
    if not (spread >= 0).all():
        raise BadInput("total_variance must be at least 0; 0 stands for a total that is known.")
    shares = np.broadcast_to(v, np.broadcast_shapes(v.shape, y.shape))
    weight = shares.sum(axis=-1, keepdims=True) + spread
    moved: Reals = y + shares * ((goal - y.sum(axis=-1, keepdims=True)) / np.where(weight > 0, weight, 1))
    return moved


def project_to_simplex(estimates: npt.ArrayLike, total: npt.ArrayLike, variances: npt.ArrayLike = 1.0) -> Reals:
    """The nearest x ≥ 0 with Σ x_i = total; all zeros for a total of at most 0.

    x_i = max(0, y_i − variance_i · price), where the price makes the sum right (Held, Wolfe and Crowder, "Validation of
    subgradient optimization", 1974). Sorted by y_i / variance_i, the cells above zero come first. O(n log n).

    >>> project_to_simplex([4, 3, -2], total=5)
    array([3., 2., 0.])
    """
    y, v = np.broadcast_arrays(_estimates(estimates), _variances(variances))
    if not (v > 0).all():
        raise BadInput("variances must be above 0 to project to a simplex. Leave cells that are known exactly out.")
    goal = np.maximum(np.asarray(total, dtype=np.float64), 0.0)[..., None]
    y, v = (np.broadcast_to(part, np.broadcast_shapes(y.shape, goal.shape)) for part in (y, v))
    order = np.argsort(-y / v, axis=-1, kind="stable")
    high, spread = np.take_along_axis(y, order, axis=-1), np.take_along_axis(v, order, axis=-1)
    prices = (np.cumsum(high, axis=-1) - goal) / np.cumsum(spread, axis=-1)  # if only the first k + 1 stay above zero
    stay = np.maximum(1, (high > spread * prices).sum(axis=-1, keepdims=True))
    chosen = np.empty(y.shape, dtype=np.bool_)
    np.put_along_axis(chosen, order, np.arange(y.shape[-1]) < stay, axis=-1)
    # summed once more, without the rounding of long cumulative sums
    price = (np.where(chosen, y, 0).sum(axis=-1, keepdims=True) - goal) / np.where(chosen, v, 0).sum(-1, keepdims=True)
    return np.where(chosen & (goal > 0), np.maximum(y - v * price, 0.0), 0.0)


def project_to_ball(estimates: npt.ArrayLike, radius: npt.ArrayLike) -> Reals:
    """The nearest point with Σ |x_i| ≤ radius: unchanged inside the ball, else shrunk towards zero by one amount.

    Duchi et al., "Efficient projections onto the ℓ1-ball for learning in high dimensions", ICML 2008.

    >>> project_to_ball([3, -2, 0.5], radius=3)
    array([ 2., -1.,  0.])
    """
    y, bound = _estimates(estimates), np.asarray(radius, dtype=np.float64)
    if not (bound >= 0).all():
        raise BadInput("radius must be at least 0.")
    magnitudes = np.abs(y)
    outside = magnitudes.sum(axis=-1, keepdims=True) > bound[..., None]
    return np.where(outside, np.copysign(project_to_simplex(magnitudes, bound), y), y)


def _estimates(values: npt.ArrayLike) -> Reals:
    """Finite numbers along at least one axis."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] == 0 or not np.isfinite(array).all():
        raise BadInput("estimates must be finite numbers, one per cell along the last axis, and at least one.")
    return array


def _variances(values: npt.ArrayLike) -> Reals:
    """Numbers of at least 0; a single one serves all cells."""
    array = np.asarray(values, dtype=np.float64)
    if not ((array >= 0) & np.isfinite(array)).all():
        raise BadInput("variances must be finite and at least 0.")
    return array if array.ndim else array[None]
