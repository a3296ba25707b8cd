"""Counts, means and variances from noisy numbers of rows at a few points between the bounds.

What is measured are rows at points: for :class:`~adyton.kernel.transforms.sums.ShareRows` the ends (and the middle)
between which every row was shared out, for a histogram its cells. The number of rows, Σ u and Σ u² (u is 0 at the lower
bound, 1 at the upper one) are sums of them with public weights, and all have noise of the same scale.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from adyton.arrays import Flags, Reals
from adyton.remembered import cached_property
from adyton.statistics.figures import Figures
from adyton.statistics.laplace_sums import radius, tail

_HALVINGS = 50


@dataclass(frozen=True, eq=False)
class NoisyMoments:
    """Noisy rows at points, groups × points."""

    rows: Reals
    places: Reals
    """Where each point lies, from 0 to 1."""
    squares: Reals
    """What a row at each point adds to Σ u²."""
    scale: float
    """Of the Laplace noise in each number."""
    lower: float
    width: float
    rounding: float

    @cached_property
    def total(self) -> Reals:
        """The rows of each group."""
        return np.asarray(self.rows.sum(axis=1))

    @cached_property
    def mean_place(self) -> Reals:
        """Where the mean lies, from 0 to 1; that of all groups together where noise has swallowed a group."""
        summed = self.rows @ self.places
        everything = float(self.total.sum())
        pooled = min(max(float(summed.sum()) / everything, 0.0), 1.0) if everything > 0 else 0.5
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.total > 0, np.clip(summed / self.total, 0.0, 1.0), pooled)

    @cached_property
    def _known_rows(self) -> Reals:
        """At least as many as noise alone would show: a divisor for errors."""
        return np.asarray(np.maximum(self.total, self.scale * np.sqrt(2 * self.places.size)))

    def count(self, confidence: float) -> Figures:
        """The rows that have a number, with exact bounds."""
        scales = np.full(self.places.size, self.scale)
        far = float(radius(scales, confidence))
        error = np.full(self.total.shape, self.scale * np.sqrt(2 * self.places.size))
        return Figures("count", self.total, np.maximum(self.total - far, 0), self.total + far, error, "exact")

    def mean(self, confidence: float) -> Figures:
        """The mean, with bounds by Fieller's way, which are exact however few rows there are.

        Σ_j (p_j − u)·rows_j is 0 but for the noise, whose law is known, just if u is where the mean lies: the bounds
        hold all u for which what was measured is not too far from 0.
        """
        low, high = self._mean_bounds(1 - confidence)
        spread = np.sqrt(((self.places - self.mean_place[:, None]) ** 2).sum(axis=1))
        error = np.minimum(self.width * np.sqrt(2) * self.scale * spread / self._known_rows, self.width)
        return Figures(
            "mean",
            self.lower + self.width * self.mean_place,
            np.maximum(self.lower + self.width * low - self.rounding, self.lower),
            np.minimum(self.lower + self.width * high + self.rounding, self.lower + self.width),
            error,
            "exact",
        )

    def _mean_bounds(self, beyond: float) -> tuple[Reals, Reals]:
        """The least and the largest place that is not refused at the level *beyond*."""

        def refused(place: Reals) -> Reals:
            """Below 0 on one side of the bounds and above it on the other; 0 within."""
            weights = self.places - place[:, None]
            off = (self.rows * weights).sum(axis=1)
            return np.where(tail(self.scale * np.abs(weights), np.abs(off)) < beyond, np.sign(off), 0.0)

        zero, one = np.zeros(self.total.shape), np.ones(self.total.shape)
        low = _edge(lambda place: refused(place) > 0, zero, one)
        high = 1 - _edge(lambda place: refused(1 - place) < 0, zero, one)
        swallowed = (self.total <= 0) | (low > high)
        return np.where(swallowed, 0.0, low), np.where(swallowed, 1.0, high)

    def variance(self, confidence: float) -> Figures:
        """The variance, with bounds from how it moves with the noise: good where the rows are many against it."""
        place = self.mean_place
        with np.errstate(divide="ignore", invalid="ignore"):
            raw = np.where(self.total > 0, (self.rows @ self.squares) / self.total, 0.0) - place**2
        most = place * (1 - place)  # of all distributions with this mean
        found = np.clip(raw, 0.0, most)
        weights = self.squares - 2 * place[:, None] * self.places + (place**2 - found)[:, None]
        scales = self.scale * np.abs(weights) / self._known_rows[:, None]
        far = radius(scales, confidence)
        error = np.minimum(np.sqrt(2 * (scales**2).sum(axis=1)), 0.25)
        swallowed = self.total <= 0
        low, high = np.clip(raw - far, 0, 0.25), np.clip(raw + far, 0, 0.25)
        bounds = np.where(swallowed, 0.0, low), np.where(swallowed, 0.25, high)
        square = self.width**2
        return Figures(
            "variance", square * found, square * bounds[0], square * bounds[1], square * error, "approximate"
        )

    def deviation(self, confidence: float) -> Figures:
        """The root of the variance."""
        found = self.variance(confidence)
        root = np.sqrt(found.estimate)
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.where(root > 0, found.error / (2 * root), np.sqrt(found.error))
        error = np.minimum(error, self.width / 2)
        return Figures("deviation", root, np.sqrt(found.lower), np.sqrt(found.upper), error, "approximate")


def _edge(refused: Callable[[Reals], Flags], low: Reals, high: Reals) -> Reals:
    """Where, from *low* on, places are no longer refused; *high* if all are."""
    bad = refused(low)
    start, end = low.copy(), high.copy()
    for _ in range(_HALVINGS):
        middle = (start + end) / 2
        outside = refused(middle)
        start, end = np.where(outside, middle, start), np.where(outside, end, middle)
    return np.where(bad, end, low)
