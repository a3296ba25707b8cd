"""Nearest points: with a given total, with a given total and no negative cell, with a bounded sum of absolute values.

With Gaussian noise of one variance the nearest point of a set that holds the truth is the most likely one. All
functions take trials along leading axes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.errors import BadInput


def project_to_total(estimates: npt.ArrayLike, total: npt.ArrayLike) -> Reals:
    """Share out among all cells, evenly, what is missing from a known total.

    >>> project_to_total([4, 5], total=12)
    array([5.5, 6.5])
    """
    y = _estimates(estimates)
    goal = np.asarray(total, dtype=np.float64)[..., None]
    moved: Reals = y + (goal - y.sum(axis=-1, keepdims=True)) / y.shape[-1]
    return moved


def project_to_simplex(estimates: npt.ArrayLike, total: npt.ArrayLike) -> Reals:
    """The nearest x ≥ 0 with Σ x_i = total; all zeros for a total of at most 0.

    x_i = max(0, y_i − price), where the price makes the sum right (Held, Wolfe and Crowder, "Validation of subgradient
    optimization", 1974). Sorted by y_i, the cells above zero come first. O(n log n).

    >>> project_to_simplex([4, 3, -2], total=5)
    array([3., 2., 0.])
    """
    y, goal = _estimates(estimates), np.maximum(np.asarray(total, dtype=np.float64), 0.0)[..., None]
    y = np.broadcast_to(y, np.broadcast_shapes(y.shape, goal.shape))
    order = np.argsort(-y, axis=-1, kind="stable")
    high, places = np.take_along_axis(y, order, axis=-1), np.arange(y.shape[-1])
    prices = (np.cumsum(high, axis=-1) - goal) / (places + 1)  # if only the first k + 1 stay above zero
    stay = np.maximum(1, (high > prices).sum(axis=-1, keepdims=True))
    chosen = np.empty(y.shape, dtype=np.bool_)
    np.put_along_axis(chosen, order, places < stay, axis=-1)
    # summed once more, without the rounding of long cumulative sums
    price = (np.where(chosen, y, 0).sum(axis=-1, keepdims=True) - goal) / stay
    return np.where(chosen & (goal > 0), np.maximum(y - price, 0.0), 0.0)


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
