"""What was measured about numbers, part by part, and every statistic of every group that follows from it.

A part holds noisy numbers and their ε. Counts, means and variances come from noisy row counts at points: for
:class:`~adyton.kernel.transforms.ShareRows` the ends (and the middle) among which every row was shared out, for a
histogram its cells. The number of rows, Σ u and Σ u² (u is 0 at the lower bound, 1 at the upper one) are sums of these
counts with public weights, and the noise of all counts has the same scale.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from adyton.arrays import Flags, Reals
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.exact import as_number
from adyton.messages import shorten
from adyton.noise.simulated import discrete_laplace_radius, discrete_laplace_variance
from adyton.schema.plain_values import as_amount, as_real, as_text, of_kind, part_of
from adyton.statistics.grouped import Figures, GroupedNumbers, radius, tail
from adyton.statistics.quantile_posterior import located_figures, parts_around
from adyton.statistics.quantiles import SIXTEENTHS, borders, chosen_figures, coarse_parts, curve_figures
from adyton.statistics.shrinking import between, half_widths, shrunk
from adyton.statistics.tree_reading import TreeReading
from adyton.whole import IntegerArray, whole_array

KINDS = ("sums", "rough", "shares", "look", "coarse", "quantiles", "around", "cells", "curve", "tree")
_MOST_BITS = 256


@dataclass(frozen=True, eq=False)
class Part:
    """Numbers for every group, groups × width, and their ε per row; a look has one line for all groups."""

    kind: str
    numbers: IntegerArray
    """Whole numbers; for a curve, real ones; for a tree, the numbers of blocks, their answers and their precisions."""
    epsilon: Fraction
    error: float = 0.0
    """For a curve: the standard error of a cumulative count."""

    def to_plain(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "kind": self.kind,
            "epsilon": as_number(self.epsilon),
            "error": self.error,
            "numbers": self.numbers.tolist(),
        }

    @classmethod
    def from_plain(cls, plain: object, numbers: GroupedNumbers, most: Fraction) -> Part:
        """What :meth:`to_plain` wrote; every value is checked."""
        kind = as_text(part_of(plain, "kind"), "kind")
        if kind not in KINDS:
            raise BadInput(f"{shorten(kind)} is not a kind of measured numbers")
        epsilon = as_amount(part_of(plain, "epsilon"), "epsilon", most=most)
        lines = of_kind(list, part_of(plain, "numbers"), "numbers")
        widths, flat = _widths(kind, numbers), list[Any]()
        for line in lines:
            if kind != "tree" and len(of_kind(list, line, "numbers")) not in widths:
                raise BadInput(f"a group has {len(line)} numbers of the kind {kind}")
            flat += line
        if len(lines) != (1 if kind == "look" else numbers.groups) or len({len(line) for line in lines}) != 1:
            raise BadInput(f"there are numbers of {len(lines)} groups, not of {numbers.groups}")
        shape = (len(lines), len(lines[0]))
        error = as_real(part_of(plain, "error"), "error")
        if kind in ("curve", "tree"):
            real = cls(kind, np.array([as_real(value, "a number") for value in flat]).reshape(shape), epsilon, error)
            if kind == "tree":
                TreeReading.of(numbers, real.numbers[0], float(epsilon))
            return real
        if not all(type(value) is int and value.bit_length() <= _MOST_BITS for value in flat):
            raise BadInput("there is a number that is not whole")
        if kind in ("look", "quantiles") and not (min(flat) >= 0 and max(flat) < numbers.cells):
            raise BadInput("a chosen cell is not a cell of the attribute")
        return cls(kind, whole_array(flat, shape), epsilon, error)


def _widths(kind: str, numbers: GroupedNumbers) -> tuple[int, ...]:
    """How many numbers of a kind a group can have."""
    return {
        "sums": (1,),
        "rough": (2, 3),
        "shares": (2, 3),
        "quantiles": (len(numbers.task.quantiles),),
        "look": (len(SIXTEENTHS),),
        "coarse": (coarse_parts(numbers),),
        "around": (parts_around(numbers),),
    }.get(kind, (numbers.cells,))


def reported(
    numbers: GroupedNumbers, parts: Sequence[Part], confidence: float, *, shrink: bool = False
) -> tuple[Figures, ...]:
    """The statistics of the task, in its order; what was not measured is missing. With *shrink*, means are shrunk
    towards that of all groups."""
    known, wanted = {part.kind: part for part in parts}, numbers.task.statistics
    figures = _quantiles(numbers, known, confidence)
    moments, names = _moments(numbers, known), ["count", "mean", "variance", "deviation"]
    if moments is None and "tree" in known:
        figures += tree_of(numbers, known["tree"]).moments(confidence)
    elif moments is None and "rough" in known:  # the program ended early; a line through two points has no variance
        moments, names = _shared(numbers, known["rough"]), names[:2]
    if moments is not None:
        ways = {"mean": "shrunk_mean"} if shrink else {}
        figures += [getattr(moments, ways.get(name, name))(confidence) for name in names if name in wanted]
    if "sums" in known:
        figures.append(_sums(numbers, known["sums"], confidence))
    elif "cells" in known and "sum" in wanted:
        figures.append(_sum_of_cells(numbers, known["cells"], confidence))
    by_name = {figure.name: figure for figure in figures}
    return tuple(by_name.get(name, Figures.missing(name, numbers.groups)) for name in wanted)


def _sums(numbers: GroupedNumbers, part: Part, confidence: float) -> Figures:
    """Exact bounds: each sum has a single noise."""
    scale, step = max(1, numbers.grid.reach) / part.epsilon, float(numbers.grid.step)
    far = discrete_laplace_radius(scale, confidence) * step
    error = float(discrete_laplace_variance([scale])[0]) ** 0.5 * step
    sums = part.numbers[:, 0].astype(float) * step
    return Figures("sum", sums, sums - far, sums + far, np.full(sums.shape, error), "exact")


def _sum_of_cells(numbers: GroupedNumbers, part: Part, confidence: float) -> Figures:
    """Σ value·count over the cells of a histogram, each a single number."""
    values, rows = numbers.middles, part.numbers.astype(float)
    scales = np.abs(values) / float(part.epsilon)
    far, error = float(radius(scales, confidence)), float(np.sqrt(2 * (scales**2).sum()))
    sums = rows @ values
    return Figures("sum", sums, sums - far, sums + far, np.full(sums.shape, error), "exact")


def _moments(numbers: GroupedNumbers, known: dict[str, Part]) -> NoisyMoments | None:
    grid = numbers.grid
    if "shares" in known:
        return _shared(numbers, known["shares"])
    if "cells" not in known:
        return None
    part = known["cells"]
    places = (numbers.middles - grid.lower) / grid.width
    rows = part.numbers.astype(float)
    off = numbers.rounding if numbers.single else float(np.diff(numbers.edges).max()) / 2
    return NoisyMoments(rows, places, places**2, 1 / float(part.epsilon), grid.lower, grid.width, off)


def _shared(numbers: GroupedNumbers, part: Part) -> NoisyMoments:
    """Rows that were shared out among points."""
    grid, degree = numbers.grid, part.numbers.shape[1] - 1
    whole = grid.span**degree  # these numbers may be longer than 64 bits
    rows = np.array([[int(share) / whole for share in line] for line in part.numbers.tolist()])
    places = np.arange(degree + 1) / degree
    squares = np.array([0.0, 0.0, 1.0]) if degree == 2 else places**2
    return NoisyMoments(rows, places, squares, 1 / float(part.epsilon), grid.lower, grid.width, numbers.rounding)


def _quantiles(numbers: GroupedNumbers, known: dict[str, Part], confidence: float) -> list[Figures]:
    if not numbers.task.quantiles:
        return []
    if "quantiles" in known:
        part, counted = known["quantiles"], None
        if "look" in known and "around" in known:
            look, counts = known["look"], known["around"]
            sixteenths = look.numbers[0].astype(np.int64)
            epsilons = float(look.epsilon), float(part.epsilon), float(counts.epsilon)
            chosen = part.numbers.astype(np.int64)
            return located_figures(numbers, sixteenths, chosen, counts.numbers, epsilons, confidence)
        if "look" in known and "coarse" in known:
            coarse = known["coarse"]
            counted = (
                borders(numbers, known["look"].numbers[0].astype(np.int64)),
                coarse.numbers,
                1 / float(coarse.epsilon),
            )
        return chosen_figures(numbers, part.numbers, counted, float(part.epsilon), confidence)
    if "tree" in known:
        return tree_of(numbers, known["tree"]).quantiles(confidence)
    curve = known.get("curve") or known.get("cells")
    return [] if curve is None else curve_figures(numbers, curve.numbers.astype(float), curve.error, confidence)


def tree_of(numbers: GroupedNumbers, part: Part) -> TreeReading:
    """The tree that was measured."""
    return TreeReading.of(numbers, part.numbers[0], float(part.epsilon))


def rough_mean(numbers: GroupedNumbers, shares: Part) -> tuple[float, float]:
    """The noisy number of all rows, at least one, and their mean."""
    moments = _shared(numbers, shares)
    return max(float(moments.total.sum()), 1.0), moments.lower + moments.width * float(moments.mean_place[0])


_FAR, _FAR_OFF, _SQUARES, _UNKNOWN = 0.1, 0.25, 100.0, 0.2
"""Found on 14 skewed columns with bounds of 1, 10 and 100 times their 99% points; see :func:`far_bounds`."""


def far_bounds(numbers: GroupedNumbers, rough: Part, epsilon: float) -> bool:
    """Whether moments from a tree, with *epsilon*, probably have smaller errors than those from shares, by *rough*
    shares: the upper bound must be far from the mean.

    The error of a mean from shares is √2/(ε·rows) of the range, and from a tree about twice as large a part of what
    the rows really span. The error of a deviation from shares is about 1/(u²·ε·rows) of itself, if the mean is at the
    part u of the range. But where cells hold several numbers, a tree does not know where rows lie inside their cells:
    this adds about a fifth of a cell to the error of a mean.
    """
    moments = _shared(numbers, rough)
    rows, place = max(float(moments.total.sum()), 1.0), float(moments.mean_place[0])
    off = math.sqrt(2) * moments.scale / rows
    if place > _FAR + _FAR_OFF * off:
        return False
    if {"variance", "deviation"} & set(numbers.task.statistics):
        return epsilon * rows * (1.5 * max(place - off, 0.0)) ** 2 < _SQUARES
    return numbers.single or math.sqrt(2) / (epsilon * rows) > _UNKNOWN / numbers.cells


# ---- moments --------------------------------------------------------------------------------------------------------

_HALVINGS = 50


@dataclass(frozen=True, eq=False)
class NoisyMoments:
    """Noisy row counts at points, groups × points."""

    rows: Reals
    places: Reals
    """Where each point lies, from 0 to 1."""
    squares: Reals
    """What a row at each point adds to Σ u²."""
    scale: float
    """The scale of the Laplace noise in each number."""
    lower: float
    width: float
    rounding: float

    @cached_property
    def total(self) -> Reals:
        """The rows of each group."""
        return np.asarray(self.rows.sum(axis=1))

    @cached_property
    def mean_place(self) -> Reals:
        """Where the mean lies, from 0 to 1; that of all groups together if noise left a group without rows."""
        summed = self.rows @ self.places
        everything = float(self.total.sum())
        pooled = min(max(float(summed.sum()) / everything, 0.0), 1.0) if everything > 0 else 0.5
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.total > 0, np.clip(summed / self.total, 0.0, 1.0), pooled)

    @cached_property
    def _known_rows(self) -> Reals:
        """The rows of each group, but at least the standard error of the noise: a divisor for errors."""
        return np.asarray(np.maximum(self.total, self.scale * np.sqrt(2 * self.places.size)))

    def count(self, confidence: float) -> Figures:
        """The rows that have a number, with exact bounds."""
        scales = np.full(self.places.size, self.scale)
        far = float(radius(scales, confidence))
        error = np.full(self.total.shape, self.scale * np.sqrt(2 * self.places.size))
        lower = np.minimum(np.maximum(self.total - far, 0), self.total)  # a count below 0 is inside its interval, too
        return Figures("count", self.total, lower, np.maximum(self.total + far, 0), error, "exact")

    def mean(self, confidence: float) -> Figures:
        """The mean, with bounds by Fieller's method, which are exact however few rows there are.

        Without noise, Σ_j (p_j − u)·rows_j is 0 exactly where u is the mean. The law of the noise is known: the bounds
        enclose all u for which the measured sum is not too far from 0.
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
        """The least and the largest place that is not rejected at the level *beyond*.

        Noise may move the ratio out of the range, so that hardly any place is not rejected: the bounds of a small group
        would meet although nothing is known. What the nearest place is off by more than half of the allowance is taken
        from all: this rejects less, and only there.
        """
        summed = self.rows @ self.places
        ends = [float(radius(self.scale * np.abs(self.places - end), 1 - beyond)) / 2 for end in (0, 1)]
        least = np.maximum(np.maximum(-summed - ends[0], summed - self.total - ends[1]), 0.0)

        def rejected(place: Reals) -> Reals:
            """Below 0 on one side of the bounds and above it on the other; 0 within."""
            weights = self.places - place[:, None]
            off = summed - place * self.total
            far = np.maximum(np.abs(off) - least, 0.0)
            return np.where(tail(self.scale * np.abs(weights), far) < beyond, np.sign(off), 0.0)

        first, last = np.zeros(self.total.shape), np.ones(self.total.shape)
        low = _edge(lambda place: rejected(place) > 0, first, last)
        high = 1 - _edge(lambda place: rejected(1 - place) < 0, first, last)
        lost = (self.total <= 0) | (low > high)
        return np.where(lost, 0.0, low), np.where(lost, 1.0, high)

    def shrunk_mean(self, confidence: float) -> Figures:
        """The mean, shrunk towards that of all groups; see :mod:`adyton.statistics.shrinking`."""
        summed, rows = self.rows @ self.places, self.total
        everything = float(rows.sum())
        middle = min(max(float(summed.sum()) / everything, 0.0), 1.0) if everything > 0 else 0.5
        scales = self.scale * np.abs(self.places - middle)
        noise, rows_noise = 2 * float(np.square(scales).sum()), 2 * self.scale**2 * self.places.size
        spread = between(summed - middle * rows, rows, noise, rows_noise)
        differences, weights, errors = shrunk(summed - middle * rows, rows, noise, spread)
        left = weights * math.sqrt(noise) / np.where(rows > 0, rows, math.inf)
        longer = float(radius(scales, confidence)) / (NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(noise))
        far = half_widths(weights, left, spread, confidence, longer)
        far = np.where(rows > 0, far, math.sqrt(spread / (1 - confidence)))
        place = np.clip(middle + differences, 0.0, 1.0)
        return Figures(
            "mean",
            self.lower + self.width * place,
            np.maximum(self.lower + self.width * (place - far) - self.rounding, self.lower),
            np.minimum(self.lower + self.width * (place + far) + self.rounding, self.lower + self.width),
            self.width * errors,
            "approximate",
        )

    def variance(self, confidence: float) -> Figures:
        """The variance, with bounds to first order in the noise: good where the rows far outnumber it."""
        place = self.mean_place
        with np.errstate(divide="ignore", invalid="ignore"):
            raw = np.where(self.total > 0, (self.rows @ self.squares) / self.total, 0.0) - place**2
        most = place * (1 - place)  # of any distribution with this mean
        clipped = np.clip(raw, 0.0, most)
        weights = self.squares - 2 * place[:, None] * self.places + (place**2 - clipped)[:, None]
        scales = self.scale * np.abs(weights) / self._known_rows[:, None]
        far = radius(scales, confidence)
        error = np.minimum(np.sqrt(2 * (scales**2).sum(axis=1)), 0.25)
        lost = self.total <= 0
        low, high = np.clip(raw - far, 0, clipped), np.clip(raw + far, clipped, 0.25)
        bounds = np.where(lost, 0.0, low), np.where(lost, 0.25, high)
        square = self.width**2
        return Figures(
            "variance", square * clipped, square * bounds[0], square * bounds[1], square * error, "approximate"
        )

    def deviation(self, confidence: float) -> Figures:
        """The root of the variance."""
        variance = self.variance(confidence)
        root = np.sqrt(variance.estimate)
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.where(root > 0, variance.error / (2 * root), np.sqrt(variance.error))
        error = np.minimum(error, self.width / 2)
        return Figures("deviation", root, np.sqrt(variance.lower), np.sqrt(variance.upper), error, "approximate")


def _edge(rejected: Callable[[Reals], Flags], low: Reals, high: Reals) -> Reals:
    """The first place from *low* on that is not rejected; *high* if all are."""
    bad = rejected(low)
    start, end = low.copy(), high.copy()
    for _ in range(_HALVINGS):
        middle = (start + end) / 2
        outside = rejected(middle)
        start, end = np.where(outside, middle, start), np.where(outside, end, middle)
    return np.where(bad, end, low)


_TYPICAL = 0.25
"""Where between the bounds a mean is taken to lie for the errors of variances."""
_NODES = 48
"""How many values represent each of two noises."""
_PLACES = (0.05, 0.15, 0.3, 0.5)
"""Where means are taken to lie when groups are small."""


def moment_errors(numbers: GroupedNumbers, places: Reals, squares: Reals, epsilon: float) -> dict[str, float]:
    """The standard errors from noise of scale 1/ε at each point: of a count, and of moments, the latter times rows.

    That of a mean depends on where it lies between the bounds: least in the middle and largest at a bound (1.41 times
    as large for two points). The geometric mean of both is reported: it is within 19% wherever the mean lies.
    """
    width, noise, place = numbers.grid.width, math.sqrt(2) / epsilon, _TYPICAL
    spread = place * (1 - place) / 2  # half of the largest possible
    moved = squares - 2 * place * places + place**2 - spread
    variance = width**2 * noise * float(np.sqrt((moved**2).sum()))
    least, most = (float(np.sqrt(((places - at) ** 2).sum())) for at in (0.5, 0.0))
    small = (
        1.0 if numbers.task.rows is None else _of_small_groups(numbers.task.rows * epsilon / math.sqrt(places.size / 2))
    )
    return {
        "count": noise * math.sqrt(places.size),
        "mean": width * noise * math.sqrt(least * most) * small,
        "variance": variance,
        "deviation": variance / (2 * width * math.sqrt(spread)),
    }


@functools.lru_cache(maxsize=4096)
def _of_small_groups(rows: float) -> float:
    """The error of a mean relative to that for small noise; *rows* are multiples of the noise scale.

    The mean is a ratio of two noisy numbers that is cut off at the bounds: with few rows its error is larger than the
    noise alone gives, and with hardly any it is smaller, since it cannot leave the bounds. It is computed on a grid
    of values of both noises.
    """
    if rows > 200:
        return 1.0
    parts = (np.arange(_NODES) + 0.5) / _NODES
    values = np.sign(parts - 0.5) * -np.log1p(-np.abs(2 * parts - 1))  # Laplace quantiles
    low, high = np.meshgrid(values, values)
    logs = []
    for place in _PLACES:
        linear = np.sqrt(np.mean((high * (1 - place) - low * place) ** 2)) / rows
        total = rows + low + high
        noisy = np.where(total > 0, np.clip((rows * place + high) / np.where(total > 0, total, 1.0), 0, 1), place)
        logs.append(math.log(float(np.sqrt(np.mean((noisy - place) ** 2))) / linear))
    return math.exp(sum(logs) / len(logs))


def points(numbers: GroupedNumbers) -> tuple[Reals, Reals]:
    """The points among which rows are shared out, and what a row at each adds to Σ u²."""
    if {"variance", "deviation"} & set(numbers.task.statistics):
        return np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.0, 1.0])
    return np.array([0.0, 1.0]), np.array([0.0, 1.0])
