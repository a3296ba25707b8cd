"""Weighted least squares behind two callables, with some cells held at zero: what non-negative solvers iterate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from adyton.arrays import Flags, Reals
from adyton.errors import BadInput

Operator = Callable[[Reals], Reals]

ROUNDING = 1e-8
"""A residual below this part of the answer may come from rounding: no gradient is judged against less."""

MOST_STEPS = 2000
"""Conjugate gradients stop here at the latest."""


@dataclass(frozen=True)
class Fit:
    """½ Σ_q precision_q · (q·x − answer_q)²; one trial a row."""

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
        """Check the numbers and put the trials into rows."""
        values, weights = np.asarray(answers, dtype=np.float64), np.asarray(precisions, dtype=np.float64)
        if values.ndim == 0 or not np.isfinite(values).all():
            raise BadInput("answers must be finite numbers, one per query along the last axis.")
        if not ((weights >= 0) & np.isfinite(weights)).all():
            raise BadInput(
                "precisions (1/variance) must be finite and at least 0: measure a known answer as very precise."
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
        """What the cells leave of the answers."""
        return self.answers - self.forward(x)

    def gradient(self, residual: Reals) -> Reals:
        """−Aᵀ(precision · residual)."""
        return -self.adjoint(self.precisions * residual)

    def curvature(self, move: Reals) -> Reals:
        """Σ_q precision_q · (q·move)²."""
        change = self.forward(move)
        return dot(self.precisions * change, change)

    def scale(self, residual: Reals) -> Reals:
        """The length that the gradient would have if nothing in it cancelled: |A|ᵀ(precision · |residual|)."""
        parts = self.absolute_adjoint(self.precisions * np.abs(residual))
        whole = self.absolute_adjoint(self.precisions * np.abs(self.answers))
        return length(parts) + ROUNDING * length(whole)

    def optimality(self, x: Reals) -> Reals:
        """The projected gradient at x ≥ 0, as a part of :meth:`scale`; one number per trial."""
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
