"""A statistic of every group: what is told, its bounds, and its error; and how far a sum of noises goes.

Noise in the kernel is discrete, on a grid that is fine against its scale; it is taken for continuous here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from adyton.arrays import Reals
from adyton.result.intervals import Kind


@dataclass(frozen=True, eq=False)
class Figures:
    """One statistic for each group. *error* is the standard error to expect; *kind* says whether the rate of the bounds
    is a promise."""

    name: str
    estimate: Reals
    lower: Reals
    upper: Reals
    error: Reals
    kind: Kind

    @classmethod
    def missing(cls, name: str, groups: int) -> Figures:
        """Nothing is known: it was not measured."""
        nothing = np.full(groups, np.nan)
        return cls(name, nothing, nothing, nothing, nothing, "approximate")

    @property
    def typical_error(self) -> float:
        """The standard error in the median group: an empty group, of which nothing is known, does not decide it."""
        return float(np.nanquantile(self.error, 0.5, method="lower")) if self.known else math.nan

    @property
    def known(self) -> bool:
        """Whether it was measured."""
        return bool(np.isfinite(self.estimate).any())


_FEW = 8
"""So many noises are added up exactly; the sum of more is close to normal."""
_GAP = 1e-3
"""Scales nearer to each other than this part are moved apart: the closed form divides by differences."""


def tail(scales: Reals, far: Reals) -> Reals:
    """P(|Σ η_j| > far) for η_j ~ Laplace(scale_j), the scales along the last axis.

    With partial fractions of Π 1/(1 + b_j²s²): Σ_i e^(−t/b_i) · Π_{j≠i} b_i²/(b_i² − b_j²).

    >>> tail(np.array([1.0]), np.array(2.0)).round(4).item(), tail(np.array([1.0, 1.0]), np.array(2.0)).round(2).item()
    (0.1353, 0.27)
    """
    if scales.shape[-1] > _FEW:
        spread = np.sqrt(2 * (scales**2).sum(axis=-1))
        return np.asarray(np.vectorize(math.erfc)(far / np.maximum(spread, 1e-300) / math.sqrt(2)))
    apart = _apart(scales)
    squares = apart**2
    total = np.zeros(np.broadcast_shapes(scales.shape[:-1], np.shape(far)))
    for place in range(scales.shape[-1]):
        own = squares[..., place : place + 1]
        others = np.delete(squares, place, axis=-1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            weight = np.where(own > 0, own / np.where(own == others, 1.0, own - others), 0.0).prod(axis=-1)
            term = weight * np.exp(-far / apart[..., place])
        total += np.where(apart[..., place] > 0, term, 0.0)
    return np.clip(total, 0.0, 1.0)


def radius(scales: Reals, confidence: float) -> Reals:
    """The t with P(|Σ η_j| ≤ t) = confidence, by halving."""
    low = np.zeros(scales.shape[:-1])
    high = (scales.sum(axis=-1) + 1e-300) * (math.log(1 / (1 - confidence)) + 1)
    for _ in range(60):
        middle = (low + high) / 2
        beyond = tail(scales, middle) > 1 - confidence
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return np.asarray(high)


def _apart(scales: Reals) -> Reals:
    """The scales from the largest to the least, none of them close to the one before."""
    ordered = -np.sort(-np.abs(scales), axis=-1)
    for place in range(1, ordered.shape[-1]):
        ordered[..., place] = np.minimum(ordered[..., place], ordered[..., place - 1] * (1 - _GAP))
    return np.where(ordered < ordered[..., :1] * 1e-9, 0.0, ordered)
