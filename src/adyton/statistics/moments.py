"""Counts, means and variances from noisy numbers of rows at a few points between the bounds, and the errors to expect.

What is measured are rows at points: for :class:`~adyton.kernel.transforms.ShareRows` the ends (and the middle)
between which every row was shared out, for a histogram its cells. The number of rows, Σ u and Σ u² (u is 0 at the lower
bound, 1 at the upper one) are sums of them with public weights, and all have noise of the same scale.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from adyton.arrays import Flags, Reals
from adyton.compiling import cached_property
from adyton.statistics.asked import Asked, Figures, radius, tail

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


_TYPICAL = 0.25
"""Where between the bounds a mean is taken to lie for the errors of variances."""
_NODES = 48
"""Of each of two noises, so many values stand for all."""
_PLACES = (0.05, 0.15, 0.3, 0.5)
"""Where means are taken to lie when groups are small."""


def moment_errors(asked: Asked, places: Reals, squares: Reals, epsilon: float) -> dict[str, float]:
    """The standard errors that come from noise of the scale 1/ε at points: of a count, and of moments times rows.

    That of a mean depends on where it lies between the bounds: it is least in the middle and largest at a bound, for
    two points 1.41 times as large. What is reported lies between, in the same ratio to both: within 19% wherever it is.
    """
    width, noise, place = asked.grid.width, math.sqrt(2) / epsilon, _TYPICAL
    spread = place * (1 - place) / 2  # half of what it can be at most
    moved = squares - 2 * place * places + place**2 - spread
    variance = width**2 * noise * float(np.sqrt((moved**2).sum()))
    least, most = (float(np.sqrt(((places - at) ** 2).sum())) for at in (0.5, 0.0))
    small = 1.0 if asked.task.rows is None else _of_small_groups(asked.task.rows * epsilon / math.sqrt(places.size / 2))
    return {
        "count": noise * math.sqrt(places.size),
        "mean": width * noise * math.sqrt(least * most) * small,
        "variance": variance,
        "deviation": variance / (2 * width * math.sqrt(spread)),
    }


@functools.lru_cache(maxsize=4096)
def _of_small_groups(rows: float) -> float:
    """The error of a mean of so many rows, in scales of noise, in times what it would be if noise were small.

    The mean is a ratio of two noisy numbers that is cut off at the bounds: of few rows it is off by more than the noise
    says, and of hardly any by less, since nothing is beyond the bounds. The noise is followed through, value by value.
    """
    if rows > 200:
        return 1.0
    parts = (np.arange(_NODES) + 0.5) / _NODES
    values = np.sign(parts - 0.5) * -np.log1p(-np.abs(2 * parts - 1))  # of a Laplace noise
    low, high = np.meshgrid(values, values)
    logs = []
    for place in _PLACES:
        linear = np.sqrt(np.mean((high * (1 - place) - low * place) ** 2)) / rows
        total = rows + low + high
        found = np.where(total > 0, np.clip((rows * place + high) / np.where(total > 0, total, 1.0), 0, 1), place)
        logs.append(math.log(float(np.sqrt(np.mean((found - place) ** 2))) / linear))
    return math.exp(sum(logs) / len(logs))


def points(asked: Asked) -> tuple[Reals, Reals]:
    """The points between which rows are shared out, and what a row at each adds to Σ u²."""
    if {"variance", "deviation"} & set(asked.task.statistics):
        return np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.0, 1.0])
    return np.array([0.0, 1.0]), np.array([0.0, 1.0])
