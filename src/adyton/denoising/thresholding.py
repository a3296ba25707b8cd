"""Cut small estimates off, and make estimates non-negative without changing their total."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.errors import BadInput


def threshold(estimates: npt.ArrayLike, least: npt.ArrayLike) -> Reals:
    """Set estimates of at most ``least`` to zero.

    With a public bound above the noise most empty cells come out as exactly 0: AHP takes η·ln(n)/ε for its first
    look at the cells (Zhang et al., "Towards accurate histogram publication under differential privacy", SDM 2014).

    >>> threshold([4, 0.5, -3], least=1)
    array([4., 0., 0.])
    """
    y, bound = _numbers(estimates, "estimates"), _numbers(least, "least")
    return np.where(y > bound, y, 0.0)


def noise_threshold(cells: int, epsilon: float, eta: float = 0.35) -> float:
    """AHP's bound η·ln(n)/ε for n cells measured with Laplace noise of scale 1/ε.

    >>> round(noise_threshold(4096, epsilon=0.5), 2)
    5.82
    """
    if cells < 1 or not epsilon > 0 or not eta >= 0:
        raise BadInput(f"given {cells} cells, ε = {epsilon}, η = {eta}: cells and ε must be above 0, η at least 0.")
    return float(eta * np.log(cells) / epsilon)


def clip_and_rescale(estimates: npt.ArrayLike, total: npt.ArrayLike | None = None) -> Reals:
    """Negative estimates become zero, the others shrink in proportion until the total is as before, or as given.

    Proportions among the large cells stay, so it suits data with few large cells. A total of at most 0 gives zeros;
    where no estimate is above zero, the total is spread evenly. To subtract the same amount from all cells instead, see
    ``project_to_simplex``.

    >>> clip_and_rescale([6, 2, -2])
    array([4.5, 1.5, 0. ])
    """
    y = _numbers(estimates, "estimates")
    goal = _total(y, total)
    kept = np.maximum(y, 0.0)
    kept = np.where((kept > 0).any(axis=-1, keepdims=True), kept, 1.0)
    largest = kept.max(axis=-1, keepdims=True)
    relative = kept / largest  # first, so that no sum overflows or underflows
    scaled: Reals = relative * (goal / relative.sum(axis=-1, keepdims=True))
    return scaled


def cut_to_total(estimates: npt.ArrayLike, total: npt.ArrayLike | None = None) -> Reals:
    """Negative estimates become zero, then the smallest others too, until the total is as before, or as given.

    The large cells stay as they are; the one at the edge takes what is left. Called Norm-Cut by Wang et al., "Locally
    differentially private frequency estimation with consistency", NDSS 2020. Where all positive estimates together do
    not reach the total, they are kept.

    >>> cut_to_total([6, 2, 1, -2, -1])
    array([6., 0., 0., 0., 0.])
    """
    y = _numbers(estimates, "estimates")
    goal = _total(y, total)
    kept = np.broadcast_to(np.maximum(y, 0.0), np.broadcast_shapes(y.shape, goal.shape))
    order = np.argsort(-kept, axis=-1, kind="stable")
    high = np.take_along_axis(kept, order, axis=-1)
    above = np.concatenate([np.zeros_like(high[..., :1]), np.cumsum(high, axis=-1)[..., :-1]], axis=-1)
    cut = np.clip(goal - above, 0.0, high)
    result = np.empty_like(high)
    np.put_along_axis(result, order, cut, axis=-1)
    return result


def _numbers(values: npt.ArrayLike, name: str) -> Reals:
    """Finite numbers."""
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise BadInput(f"{name} must be finite numbers.")
    return array


def _total(estimates: Reals, total: npt.ArrayLike | None) -> Reals:
    """The total to keep, at least 0, with a last axis of one."""
    if estimates.ndim == 0 or not estimates.shape[-1]:
        raise BadInput("estimates must have at least one cell along the last axis.")
    goal = estimates.sum(axis=-1) if total is None else _numbers(total, "total")
    return np.maximum(goal, 0.0)[..., None]
