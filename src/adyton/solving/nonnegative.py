"""Non-negative least squares on queries that are never written out.

Block principal pivoting: guess which cells are free, solve least squares on them by conjugate gradients, hold the cells
that came out negative at zero, free those at zero that the gradient pulls up, and repeat until nothing moves (Kim and
Park, "Fast nonnegative matrix factorization: an active-set-like method and comparisons", SIAM J. Sci. Comput. 2011). A
handful of rounds does for counting queries; on hierarchies, where the inverse of AᵀA is an M-matrix, no cell ever has
to be freed again. When pivoting cycles, projected Newton steps take over from the best point seen (Bertsekas,
"Projected Newton methods for optimization problems with simple constraints", SIAM J. Control Optim. 1982): each of
them lowers the misfit.
"""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.solving.nonnegative_fit import Fit, Operator, dot, length

PATIENCE = 12
"""Rounds of pivoting without fewer misplaced cells than ever before, until projected Newton steps take over."""

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
    arrays with one leading axis of trials. A precision is 1/variance. Stops when
    :func:`optimality` is at most ``tolerance``, and warns if that takes more than ``rounds`` rounds. With fewer queries
    than cells the solution is one of many.

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
            f"non-negative least squares stopped at optimality {reached.max():.1e} of {tolerance:.1e} asked for. "
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
    """How far an estimate is from the non-negative optimum, between 0 (there) and 1; one number per trial.

    It is ‖projected gradient‖ / ‖|A|ᵀ(precision · |residual|)‖: the gradient Aᵀ(precision · residual) must vanish where
    x > 0 and not be negative where x = 0 (the Karush–Kuhn–Tucker conditions), and is compared with the size it would
    have if no residual cancelled another. So it does not depend on the units of the counts or of the precisions, and it
    is stricter than to compare with the gradient at x = 0 when the counts are large against the noise. Residuals below
    10⁻⁸ of the answers count as rounding. ``absolute_adjoint`` maps rows by |A|ᵀ; it is needed only for queries with
    negative coefficients, to be exact. A negative cell is not allowed: its optimality is infinite.
    """
    x = np.asarray(estimate, dtype=np.float64)
    fit = Fit.of(forward, adjoint, answers, precisions, absolute_adjoint)
    found = fit.optimality(x.reshape(-1, x.shape[-1])).reshape(x.shape[:-1])
    return np.where((x < 0).any(axis=-1), np.inf, found)


def _pivot(fit: Fit, start: Reals, tolerance: float, rounds: int) -> tuple[Reals, Reals]:
    """Block principal pivoting on all trials side by side; the best x ≥ 0 of each and its optimality."""
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
        found = part.optimality(feasible)
        better = found < reached[trials]
        best[trials[better]], reached[trials[better]] = feasible[better], found[better]
        wrong = np.where(free, x < 0, part.gradient(residual) < 0)
        misplaced = wrong.sum(axis=-1)
        patience = np.where(misplaced < fewest, PATIENCE, patience - 1)
        fewest = np.minimum(fewest, misplaced)
        fine = np.where(misplaced <= 1 + x.shape[-1] / 1000, 0.3 * tolerance, _FINE)
        precision = np.where(misplaced <= 1 + x.shape[-1] / 100, np.minimum(precision, fine), precision)
        free ^= wrong
        going = (found > tolerance) & (patience > 0)
        trials, part = trials[going], part.only(going)
        x, free, fewest = x[going], free[going], fewest[going]
        precision, patience = precision[going], patience[going]
    return best, reached


def _descend(fit: Fit, x: Reals, tolerance: float, rounds: int) -> tuple[Reals, float]:
    """Projected Newton steps on one trial; each takes the best of some paths max(0, x + step · direction)."""
    found = float(fit.optimality(x)[0])
    best, reached = x, found
    for _ in range(rounds):
        if reached <= tolerance:
            break
        gradient = fit.gradient(fit.residual(x))
        down = np.where((x > 0) | (gradient < 0), -gradient, 0.0)
        pace = dot(down, down) / max(float(fit.curvature(down)[0]), np.finfo(np.float64).tiny)
        near = min(float(length(x - np.maximum(x + pace * down, 0.0))[0]), 1e-3 * float(x.max()))
        free = (x > near) | (gradient < 0)  # the rest is at zero or close to it, and the gradient pushes it down
        newton = fit.minimise(x, free, np.array([max(0.3 * tolerance, 0.01 * found)]))[0] - x
        ahead = np.concatenate([x + _HALVINGS[:, None] * step for step in (newton, pace * down)])
        moves = np.maximum(ahead, 0.0) - x
        gains = dot(gradient, moves) + fit.curvature(moves) / 2  # the change of the misfit, without cancellation
        if gains.min() >= 0:
            break
        x = x + moves[[gains.argmin()]]
        found = float(fit.optimality(x)[0])
        if found < reached:
            best, reached = x, found
    return best[0], reached
