"""From what was measured to what is told: every statistic of every group, as a pure function of the parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adyton.arrays import Reals
from adyton.noise.probabilities import discrete_laplace_radius, discrete_laplace_variance
from adyton.statistics.asked import Asked
from adyton.statistics.figures import Figures
from adyton.statistics.looking import borders
from adyton.statistics.moments import NoisyMoments
from adyton.statistics.parts import Part
from adyton.statistics.quantile_figures import chosen_figures, curve_figures

_MOMENTS = ("count", "mean", "variance", "deviation")


def told(asked: Asked, parts: Sequence[Part], confidence: float) -> tuple[Figures, ...]:
    """The statistics of the task, in its order; what was not measured is missing."""
    known = {part.kind: part for part in parts}
    found: dict[str, Figures] = {}
    if "sums" in known:
        found["sum"] = _sums(asked, known["sums"], confidence)
    moments = _moments(asked, known)
    if moments is not None:
        for name in _MOMENTS:
            if name in asked.task.statistics:
                found[name] = getattr(moments, name)(confidence)
        if "sum" in asked.task.statistics and "sum" not in found:
            found["sum"] = _sum_of_cells(asked, known["cells"], confidence)
    found |= {one.name: one for one in _quantiles(asked, known, confidence)}
    return tuple(found.get(name, Figures.missing(name, asked.groups)) for name in asked.task.statistics)


def _sums(asked: Asked, part: Part, confidence: float) -> Figures:
    """Exact bounds: one discrete Laplace noise."""
    scale, step = max(1, asked.grid.reach) / part.epsilon, float(asked.grid.step)
    far = discrete_laplace_radius(scale, confidence) * step
    error = float(discrete_laplace_variance([scale])[0]) ** 0.5 * step
    sums = part.numbers[:, 0].astype(float) * step
    return Figures("sum", sums, sums - far, sums + far, np.full(sums.shape, error), "exact")


def _sum_of_cells(asked: Asked, part: Part, confidence: float) -> Figures:
    """Σ value·count over the cells of a histogram, each a single number."""
    from adyton.statistics.laplace_sums import radius

    values, rows = asked.middles, part.numbers.astype(float)
    scales = np.abs(values) / float(part.epsilon)
    far, error = float(radius(scales, confidence)), float(np.sqrt(2 * (scales**2).sum()))
    sums = rows @ values
    return Figures("sum", sums, sums - far, sums + far, np.full(sums.shape, error), "exact")


def _moments(asked: Asked, known: dict[str, Part]) -> NoisyMoments | None:
    grid = asked.grid
    if "shares" in known:
        part = known["shares"]
        degree = part.numbers.shape[1] - 1
        rows = _divided(part.numbers, grid.span**degree)
        places = np.arange(degree + 1) / degree
        squares = np.array([0.0, 0.0, 1.0]) if degree == 2 else places**2
        return NoisyMoments(rows, places, squares, 1 / float(part.epsilon), grid.lower, grid.width, asked.rounding)
    if "cells" not in known:
        return None
    part = known["cells"]
    places = (asked.middles - grid.lower) / grid.width
    rows = part.numbers.astype(float)
    off = asked.rounding if asked.single else float(np.diff(asked.edges).max()) / 2
    return NoisyMoments(rows, places, places**2, 1 / float(part.epsilon), grid.lower, grid.width, off)


def _divided(numbers: Reals, by: int) -> Reals:
    """Whole numbers of any length, as real ones."""
    return np.array([[int(one) / by for one in line] for line in numbers.tolist()])


def _quantiles(asked: Asked, known: dict[str, Part], confidence: float) -> list[Figures]:
    if not asked.task.quantiles:
        return []
    if "quantiles" in known:
        part, counted = known["quantiles"], None
        if "look" in known and "coarse" in known:
            coarse = known["coarse"]
            counted = (
                borders(asked, known["look"].numbers[0].astype(np.int64)),
                coarse.numbers,
                1 / float(coarse.epsilon),
            )
        return chosen_figures(asked, part.numbers, counted, float(part.epsilon), confidence)
    if "curve" in known:
        part = known["curve"]
        return curve_figures(asked, np.asarray(part.numbers, dtype=float), part.error, confidence)
    if "cells" in known:
        part = known["cells"]
        return curve_figures(asked, part.numbers.astype(float), part.error, confidence)
    return []
