"""Multiplicative weights: fit a histogram of known total to noisy answers, staying as close as possible to the start.

Hardt, Ligett and McSherry, "A simple and practical algorithm for differentially private data release", NIPS 2012. For
answers that some histogram of this total meets, repeated updates approach, among all histograms that meet them, the one
of least relative entropy to the start: what was not asked about stays as it was.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.arrays import Places, Reals
from adyton.compiling import compiled
from adyton.errors import BadInput
from adyton.solving.nonnegative_fit import Fit, Operator, dot
from adyton.whole import whole

_LONGEST = 1e9
"""No step of all queries together is longer than the first one by more than this factor."""
_STEEPEST = 50.0
"""Exponents are cut here: e^50 moves all but 10⁻²¹ of the total, which is more than a double can tell."""
_DRIFT = 1e3
"""The running sum is added up anew when it has changed by this factor."""


def multiplicative_weights(
    rows: Any,
    answers: npt.ArrayLike,
    total: npt.ArrayLike,
    start: npt.ArrayLike | None = None,
    rounds: int = 1,
) -> Reals:
    """Update the histogram once per query and round: x_i ← x_i · exp(q_i·(y − q·x) / 2·total), rescaled to the total.

    ``rows`` is a table of queries, dense or scipy.sparse, one row per query, used in this order; a row with
    coefficients beyond ±1 is first divided by the largest of them, with its answer. The last axis of ``answers`` runs
    over the rows, leading axes over trials; so do those of ``total`` and of ``start`` (uniform by default). An update
    costs as much time as its row has coefficients.

    >>> multiplicative_weights([[1, 1, 0, 0]], [6], total=8, rounds=1000).round(3)
    array([3., 3., 1., 1.])
    """
    from scipy import sparse

    table = sparse.csr_array(rows, dtype=np.float64)
    if table.ndim != 2 or not np.isfinite(table.data).all():
        raise BadInput("rows must be a table of finite coefficients, one row per query.")
    queries, cells = table.shape
    if np.shape(answers)[-1:] != (queries,):
        raise BadInput(f"there are {queries} rows, given answers of shape {np.shape(answers)}: give one per row.")
    largest = abs(table).max(axis=1).toarray().reshape(-1)
    divisor = np.maximum(largest, 1.0)
    coefficients = table.data / np.repeat(divisor, np.diff(table.indptr))
    values, x, totals = _prepare(answers, total, start, cells)
    goals = np.ascontiguousarray(values.reshape(-1, queries) / divisor)
    if queries and cells:
        starts, places = table.indptr.astype(np.int64), table.indices.astype(np.int64)
        replay(starts, places, coefficients, goals, totals, x, whole(rounds, "rounds", 0))
    return x.reshape(*values.shape[:-1], cells)


def multiplicative_weights_at_once(
    forward: Operator,
    adjoint: Operator,
    answers: npt.ArrayLike,
    total: npt.ArrayLike,
    precisions: npt.ArrayLike = 1.0,
    *,
    start: npt.ArrayLike | None = None,
    rounds: int = 100,
) -> Reals:
    """Update the histogram once per round for all queries together: x ← x · exp(step · Aᵀ(precision · residual)).

    This is mirror descent on ½ Σ_q precision_q · (q·x − answer_q)² (Beck and Teboulle, "Mirror descent and nonlinear
    projected subgradient methods", Oper. Res. Lett. 2003). A step is halved until it gains at least half of what the
    gradient promises, and doubled after each success: the misfit never grows. ``forward`` and ``adjoint`` are as in
    ``nonnegative_least_squares``.

    >>> multiplicative_weights_at_once(lambda x: x[..., :1], lambda y: y * np.eye(4)[0], [5], total=8).round(3)
    array([5., 1., 1., 1.])
    """
    one_row = np.zeros((1, *np.shape(answers)[-1:]))
    values, x, totals = _prepare(answers, total, start, adjoint(one_row).shape[-1])
    fit = Fit.of(forward, adjoint, values, precisions, None)
    # for coefficients 0 and 1, no distribution of the total is curved more than this
    curvature = totals * np.abs(adjoint(np.ascontiguousarray(fit.precisions))).max(axis=-1)
    step = 1 / np.where(curvature > 0, curvature, 1.0)
    longest = _LONGEST * step
    residual = fit.residual(x)
    gradient = fit.gradient(residual)
    for _ in range(whole(rounds, "rounds", 0)):
        ahead = _tilted(x, -step[:, None] * gradient, totals)
        move = ahead - x
        promise = dot(gradient, move)
        change = fit.forward(move)
        good = promise + dot(fit.precisions * change, change) / 2 <= promise / 2
        x = np.where(good[:, None], ahead, x)
        residual = np.where(good[:, None], residual - change, residual)
        step = np.where(good, np.minimum(2 * step, longest), step / 2)
        gradient = fit.gradient(residual)
    return x.reshape(*values.shape[:-1], -1)


def _tilted(x: Reals, exponents: Reals, totals: Reals) -> Reals:
    """x · exp(exponents), rescaled to the totals."""
    top = np.where(x > 0, exponents, -np.inf).max(axis=-1, keepdims=True)
    weights = x * np.exp(np.minimum(exponents - np.where(np.isfinite(top), top, 0.0), 0.0))
    mass = weights.sum(axis=-1, keepdims=True)
    tilted: Reals = weights * (totals[:, None] / np.where(mass > 0, mass, 1.0))
    return tilted


def _prepare(
    answers: npt.ArrayLike, total: npt.ArrayLike, start: npt.ArrayLike | None, cells: int
) -> tuple[Reals, Reals, Reals]:
    """Answers with all leading axes, a start of the right total per trial, and the totals."""
    totals, values = np.asarray(total, dtype=np.float64), np.asarray(answers, dtype=np.float64)
    shape = np.ones(cells) if start is None else np.asarray(start, dtype=np.float64)
    if shape.shape[-1:] != (cells,) or not (np.isfinite(shape) & (shape >= 0)).all():
        raise BadInput(f"start must be {cells} finite numbers of at least 0 along the last axis.")
    if not (shape > 0).any(axis=-1).all():
        raise BadInput("start must have a cell above 0 in every trial: weights multiply, zeros stay.")
    if not (np.isfinite(totals) & (totals > 0)).all():
        raise BadInput("total must be finite and above 0. With nothing to distribute every cell is 0.")
    if not np.isfinite(values).all():
        raise BadInput("answers must be finite numbers.")
    leading = np.broadcast_shapes(values.shape[:-1], totals.shape, shape.shape[:-1])
    values = np.broadcast_to(values, (*leading, values.shape[-1]))
    flat_totals = np.broadcast_to(totals, leading).reshape(-1).copy()
    x = np.broadcast_to(shape, (*leading, cells)).reshape(-1, cells)
    x = x / x.max(axis=-1, keepdims=True)
    return values, x * (flat_totals / x.sum(axis=-1))[:, None], flat_totals


@compiled
def replay(
    starts: Places,
    cells: Places,
    coefficients: Reals,
    answers: Reals,
    totals: Reals,
    x: Reals,
    rounds: int,
) -> None:
    """Replay all rows, in order, *rounds* times on each trial (a row of *x*), in place.

    Only the cells of a row are touched: the histogram is x · total / mass, and its mass is kept up to date.
    """
    for trial in range(x.shape[0]):
        histogram, total = x[trial], totals[trial]
        for _ in range(rounds):
            mass = rescale(histogram, total)
            for row in range(starts.size - 1):
                answer = 0.0
                for place in range(starts[row], starts[row + 1]):
                    answer += coefficients[place] * histogram[cells[place]]
                pull = (answers[trial, row] - answer * (total / mass)) / (2 * total)
                last, factor = 0.0, 1.0
                for place in range(starts[row], starts[row + 1]):
                    if coefficients[place] != last:
                        last = coefficients[place]
                        factor = math.exp(min(max(last * pull, -_STEEPEST), _STEEPEST))
                    before = histogram[cells[place]]
                    histogram[cells[place]] = before * factor
                    mass += before * factor - before
                if not total / _DRIFT < mass < total * _DRIFT:
                    mass = rescale(histogram, total)
        rescale(histogram, total)


@compiled
def rescale(histogram: Reals, total: float) -> float:
    """Make the sum the total, and return it. Nothing is done where all has underflowed to zero."""
    mass = histogram.sum()
    if mass > 0:
        histogram *= total / mass
    return total
