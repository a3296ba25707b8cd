"""Non-negative least squares on queries that are never written out.

Block principal pivoting: guess which cells are free, solve least squares on them by conjugate gradients, fix negative
cells at zero, free the cells at zero that the gradient pulls up, and repeat until nothing changes (Kim and Park, "Fast
nonnegative matrix factorization: an active-set-like method and comparisons", SIAM J. Sci. Comput. 2011). A handful of
rounds suffices for counting queries; on hierarchies, where the inverse of AᵀA is an M-matrix, no cell ever has to be
freed again. If pivoting cycles, projected Newton steps continue from the best point found (Bertsekas, "Projected Newton
methods for optimization problems with simple constraints", SIAM J. Control Optim. 1982): each of them lowers the
misfit.

**Projections.** The nearest point with a given total, with a given total and no negative cell, or with a bounded sum of
absolute values. With Gaussian noise of equal variance, the nearest point of a set that contains the truth is the most
likely one. All functions accept trials along leading axes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from adyton.arrays import Flags, Reals
from adyton.errors import BadInput

PATIENCE = 12
"""After this many rounds of pivoting without a new minimum of misplaced cells, projected Newton steps take over."""


_COARSE, _FINE = 1e-3, 1e-5


_HALVINGS = 0.5 ** np.arange(16)


def nonnegative_least_squares(
    forward: Operator,
    adjoint: Operator,
    answers: npt.ArrayLike,
    precisions: npt.ArrayLike = 1.0,
    *,
    start: npt.ArrayLike | None = None,
    absolute_adjoint: Operator | None = None,
    tolerance: float = 1e-6,
    rounds: int = 200,
) -> Reals:
    """The cells x ≥ 0 with the least Σ_q precision_q · (q·x − answer_q)².

    ``forward`` maps cells to the answers A·x, ``adjoint`` maps rows back to Aᵀ·y; both act on the last axis of float
    arrays with one leading axis of trials. A precision is 1/variance. Stops when :func:`optimality` is at most
    ``tolerance``, and warns if that is not reached in ``rounds`` rounds. With fewer queries than cells the solution is
    one of many.

    >>> queries = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> nonnegative_least_squares(lambda x: x @ queries.T, lambda y: y @ queries, [3, 5, -2])
    array([4., 0.])
    """
    if not 0 < tolerance < 1:
        raise BadInput(f"tolerance must lie between 0 and 1, given {tolerance}. 1e-6 is the usual choice.")
    leading = np.shape(answers)[:-1]
    fit = Fit.of(forward, adjoint, answers, precisions, absolute_adjoint)
    upwards = fit.adjoint(fit.precisions * fit.answers)
    x = np.zeros_like(upwards)
    if start is not None:
        x += np.maximum(np.broadcast_to(np.asarray(start, dtype=np.float64), (*leading, x.shape[-1])), 0).reshape(
            x.shape
        )
    x, reached = _pivot(fit, x, tolerance, rounds)
    for trial in np.flatnonzero(reached > tolerance):
        chosen = np.arange(reached.size) == trial
        x[trial], reached[trial] = _descend(fit.only(chosen), x[chosen], tolerance, rounds)
    if (reached > tolerance).any():
        warnings.warn(
            f"non-negative least squares stopped at optimality {reached.max():.1e}; the tolerance is {tolerance:.1e}. "
            "The estimate is usable; allow more rounds to come closer.",
            RuntimeWarning,
            stacklevel=2,
        )
    return x.reshape(*leading, -1)


def optimality(
    forward: Operator,
    adjoint: Operator,
    answers: npt.ArrayLike,
    precisions: npt.ArrayLike,
    estimate: npt.ArrayLike,
    *,
    absolute_adjoint: Operator | None = None,
) -> Reals:
    """How far an estimate is from the non-negative optimum, from 0 (at the optimum) to 1; one number per trial.

    It is ‖projected gradient‖ / ‖|A|ᵀ(precision · |residual|)‖: the gradient Aᵀ(precision · residual) must vanish where
    x > 0 and not be negative where x = 0 (the Karush–Kuhn–Tucker conditions), and is compared with the size it would
    have if residuals did not cancel. So it does not depend on the units of the counts or of the precisions, and it is
    stricter than a comparison with the gradient at x = 0 when the counts are large relative to the noise. Residuals
    below 10⁻⁸ of the answers count as rounding. ``absolute_adjoint`` maps rows by |A|ᵀ; it is needed only for queries
    with negative coefficients, to be exact. An estimate with a negative cell has an optimality of infinity.
    """
    x = np.asarray(estimate, dtype=np.float64)
    fit = Fit.of(forward, adjoint, answers, precisions, absolute_adjoint)
    distance = fit.optimality(x.reshape(-1, x.shape[-1])).reshape(x.shape[:-1])
    return np.where((x < 0).any(axis=-1), np.inf, distance)


def _pivot(fit: Fit, start: Reals, tolerance: float, rounds: int) -> tuple[Reals, Reals]:
    """Block principal pivoting on all trials at once; the best x ≥ 0 of each trial and its optimality."""
    best, reached = start.copy(), fit.optimality(start)
    trials = np.flatnonzero(reached > tolerance)
    part, x = fit.only(trials), start[trials]
    free = (x > 0) | (part.gradient(part.residual(x)) < 0)
    precision, patience = np.full(trials.size, _COARSE), np.full(trials.size, PATIENCE)
    fewest = np.full(trials.size, x.shape[-1] + 1)
    for _ in range(rounds):
        if not trials.size:
            break
        x, residual = part.minimise(x, free, precision)
        feasible = np.maximum(x, 0.0)
        distance = part.optimality(feasible)
        better = distance < reached[trials]
        best[trials[better]], reached[trials[better]] = feasible[better], distance[better]
        wrong = np.where(free, x < 0, part.gradient(residual) < 0)
        misplaced = wrong.sum(axis=-1)
        patience = np.where(misplaced < fewest, PATIENCE, patience - 1)
        fewest = np.minimum(fewest, misplaced)
        fine = np.where(misplaced <= 1 + x.shape[-1] / 1000, 0.3 * tolerance, _FINE)
        precision = np.where(misplaced <= 1 + x.shape[-1] / 100, np.minimum(precision, fine), precision)
        free ^= wrong
        going = (distance > tolerance) & (patience > 0)
        trials, part = trials[going], part.only(going)
        x, free, fewest = x[going], free[going], fewest[going]
        precision, patience = precision[going], patience[going]
    return best, reached


def _descend(fit: Fit, x: Reals, tolerance: float, rounds: int) -> tuple[Reals, float]:
    """Projected Newton steps on one trial; each takes the best point on some paths max(0, x + step · direction)."""
    distance = float(fit.optimality(x)[0])
    best, reached = x, distance
    for _ in range(rounds):
        if reached <= tolerance:
            break
        gradient = fit.gradient(fit.residual(x))
        down = np.where((x > 0) | (gradient < 0), -gradient, 0.0)
        pace = dot(down, down) / max(float(fit.curvature(down)[0]), np.finfo(np.float64).tiny)
        near = min(float(length(x - np.maximum(x + pace * down, 0.0))[0]), 1e-3 * float(x.max()))
        free = (x > near) | (gradient < 0)  # the rest is at zero or close to it, and the gradient pushes it down
        newton = fit.minimise(x, free, np.array([max(0.3 * tolerance, 0.01 * distance)]))[0] - x
        ahead = np.concatenate([x + _HALVINGS[:, None] * step for step in (newton, pace * down)])
        moves = np.maximum(ahead, 0.0) - x
        gains = dot(gradient, moves) + fit.curvature(moves) / 2  # the change of the misfit, without cancellation
        if gains.min() >= 0:
            break
        x = x + moves[[gains.argmin()]]
        distance = float(fit.optimality(x)[0])
        if distance < reached:
            best, reached = x, distance
    return best[0], reached


Operator = Callable[[Reals], Reals]


ROUNDING = 1e-8
"""A residual below this fraction of the answer may come from rounding: gradients are not compared with less."""


MOST_STEPS = 2000
"""The most steps of conjugate gradients."""


@dataclass(frozen=True)
class Fit:
    """½ Σ_q precision_q · (q·x − answer_q)²; one trial per row."""

    forward: Operator
    adjoint: Operator
    absolute_adjoint: Operator
    answers: Reals
    precisions: Reals

    @classmethod
    def of(
        cls,
        forward: Operator,
        adjoint: Operator,
        answers: npt.ArrayLike,
        precisions: npt.ArrayLike,
        absolute_adjoint: Operator | None,
    ) -> Fit:
        """Check the numbers and arrange the trials in rows."""
        values, weights = np.asarray(answers, dtype=np.float64), np.asarray(precisions, dtype=np.float64)
        if values.ndim == 0 or not np.isfinite(values).all():
            raise BadInput("answers must be finite numbers, one per query along the last axis.")
        if not ((weights >= 0) & np.isfinite(weights)).all():
            raise BadInput(
                "precisions (1/variance) must be finite and at least 0: give a known answer a very large precision."
            )
        try:
            rows = np.broadcast_to(weights, values.shape).reshape(-1, values.shape[-1])
        except ValueError:
            raise BadInput(
                f"given {values.shape} answers and {weights.shape} precisions: give one precision per query, or one."
            ) from None
        return cls(
            forward,
            adjoint,
            adjoint if absolute_adjoint is None else absolute_adjoint,
            values.reshape(-1, values.shape[-1]),
            rows,
        )

    def only(self, trials: Flags | npt.NDArray[np.int64]) -> Fit:
        """Some of the trials."""
        return replace(self, answers=self.answers[trials], precisions=self.precisions[trials])

    def residual(self, x: Reals) -> Reals:
        """The answers minus those of the cells."""
        return self.answers - self.forward(x)

    def gradient(self, residual: Reals) -> Reals:
        """−Aᵀ(precision · residual)."""
        return -self.adjoint(self.precisions * residual)

    def curvature(self, move: Reals) -> Reals:
        """Σ_q precision_q · (q·move)²."""
        change = self.forward(move)
        return dot(self.precisions * change, change)

    def scale(self, residual: Reals) -> Reals:
        """The length that the gradient would have without cancellation: |A|ᵀ(precision · |residual|)."""
        parts = self.absolute_adjoint(self.precisions * np.abs(residual))
        whole = self.absolute_adjoint(self.precisions * np.abs(self.answers))
        return length(parts) + ROUNDING * length(whole)

    def optimality(self, x: Reals) -> Reals:
        """The projected gradient at x ≥ 0, relative to :meth:`scale`; one number per trial."""
        residual = self.residual(x)
        gradient = self.gradient(residual)
        projected = np.where(x > 0, gradient, np.minimum(gradient, 0))
        scale = self.scale(residual)
        ratio: Reals = length(projected) / np.where(scale > 0, scale, 1)
        return ratio

    def minimise(self, x: Reals, free: Flags, precision: Reals) -> tuple[Reals, Reals]:
        """Least squares over the free cells by conjugate gradients, starting from x; returns cells and residual.

        Stops when the gradient on the free cells falls below *precision* (one number per trial) of the scale.
        """
        x = np.where(free, x, 0.0)
        residual = self.residual(x)
        descent = np.where(free, -self.gradient(residual), 0.0)
        direction, slope = descent, dot(descent, descent)
        target = precision * self.scale(residual)
        live = length(descent) > target
        for _ in range(MOST_STEPS):
            if not live.any():
                break
            change = self.forward(direction)
            curvature = dot(self.precisions * change, change)
            live &= curvature > 0
            step = np.where(live, slope / np.where(live, curvature, 1), 0)[:, None]
            x = x + step * direction
            residual = residual - step * change
            descent = np.where(free, -self.gradient(residual), 0.0)
            before, slope = slope, dot(descent, descent)
            direction = descent + (slope / np.where(before > 0, before, 1))[:, None] * direction
            reached = live & (length(descent) <= target)
            if reached.any():  # the residual has shrunk, and the scale with it
                target = np.where(reached, precision * self.scale(residual), target)
                live &= length(descent) > target
        return x, residual


def dot(first: Reals, second: Reals) -> Reals:
    """Inner products along the last axis."""
    products: Reals = np.einsum("...i,...i->...", first, second)
    return products


def length(values: Reals) -> Reals:
    """Euclidean lengths along the last axis."""
    return np.sqrt(dot(values, values))


def project_to_total(estimates: npt.ArrayLike, total: npt.ArrayLike) -> Reals:
    """Distribute what is missing from a known total evenly among all cells.

    >>> project_to_total([4, 5], total=12)
    array([5.5, 6.5])
    """
    y = _estimates(estimates)
    goal = np.asarray(total, dtype=np.float64)[..., None]
    moved: Reals = y + (goal - y.sum(axis=-1, keepdims=True)) / y.shape[-1]
    return moved


def project_to_simplex(estimates: npt.ArrayLike, total: npt.ArrayLike) -> Reals:
    """The nearest x ≥ 0 with Σ x_i = total; all zeros for a total of at most 0.

    x_i = max(0, y_i − price), with the price at which the sum is the total (Held, Wolfe and Crowder, "Validation of
    subgradient optimization", 1974). Sorted by descending y_i, the cells above zero come first. O(n log n).

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
    """The nearest point with Σ |x_i| ≤ radius: unchanged inside the ball, otherwise all |x_i| shrink by one amount.

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
