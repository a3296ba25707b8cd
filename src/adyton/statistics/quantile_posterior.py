"""Where a quantile probably lies, given the chosen cell and noisy counts around it: its estimate, bounds and error.

A choice says at which rank the quantile lies: the number of rows between the chosen cell and the true one has a known
law, which falls as e^(−rows/scale). How far that is in the unit of the attribute depends on how densely rows lie there.
After the choice, the rows of every group are counted in a few parts around the chosen cells. What is not known of the
rows is described by a prior, in three steps:

* rows of a group: a gamma law whose mean is the average group, on a grid of node values;
* rows of a part, given those of the group: a gamma law whose mean follows the first look at all rows;
* rows within a part: as the chosen quantiles and the first look say, but for a gamma factor; where rows share their
  values, more are in a chosen cell.

The quantile itself is a priori where rows are: those of all groups if the group has few. Then the law of its cell
follows from Bayes' formula; it is computed at distances from the chosen cell that grow geometrically. The median of
this law is published for one of several groups; of all rows the chosen cell is, which is nearer. All this is arithmetic
on published numbers. The constants were fitted to 26 attributes of public tables; eight attributes of
others, on which it was measured, were known when its form was decided; three more were looked at
later, before the chance of the right cell in nested choices was corrected.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from adyton.arrays import Flags, Reals
from adyton.statistics.grouped import Figures, GroupedNumbers, radius
from adyton.statistics.quantiles import SIXTEENTHS, likely, rank_scales
from adyton.tasks.numbers import quantile_name
from adyton.whole import IntegerArray

REACH = 1 / 6
"""One of the parts reaches from this part of all rows before the first quantile to as much after the last one."""
EVEN = 0.03
"""This part of the rows is assumed to be anywhere between the bounds of the attribute, with equal chance."""
TRUSTED = 60.0
"""With this many scales of rows, the quantile is a priori half where the group's own quantiles say that rows are, and
half where all rows are."""
RELIABLE = 20.0
"""With this many scales of rows in all, the first look at them is trusted half as much."""
GROUP, PART = 1.3, 10.0
"""The shapes of the gamma laws: of the rows of a group, and of a part of it. The first is changed by how much the
counted groups differ, as if three more groups had this shape."""
_ASSUMED_GROUPS = 3
_LARGEST_SHAPE = 20.0
RARE = 0.08
"""For the error, what is beyond bounds with this chance on either side counts as if it were at these bounds, or a cell
away: otherwise hardly possible values would decide it."""


class _Prior(NamedTuple):
    """What is assumed of how rows lie."""

    own: float
    """By the chosen quantiles this part of a group's rows is distributed, and the rest by the look at all rows."""
    within: float
    """The shape of the gamma law of the density within a part."""
    missed: float
    """The chance beyond the bounds, relative to what the confidence allows: the law is right on average over groups,
    and in some groups rows lie farther apart next to the quantile than anywhere near."""


_SEVERAL, _SINGLE = _Prior(0.8, 6.0, 0.5), _Prior(0.3, 4.0, 0.2)
"""For one of several groups, and for all rows: the look is about these, and their number is all that is on average."""
SHARED = (0.7, 2.5, 9.0)
"""A chosen cell has about one of these multiples of the rows of an average cell, with equal chance."""
_NODES = 14
"""How many numbers of rows of a group are considered."""
_STEP = 1.2
"""The ratio of neighbouring distances from the chosen cell."""
_AT_ONCE = 256
"""The number of groups that are computed at once."""


def parts_around(numbers: GroupedNumbers) -> int:
    """In how many parts the rows of a group are counted: every chosen cell is a part of its own."""
    return min(2 * len(numbers.task.quantiles) + 3, numbers.cells)


def around(numbers: GroupedNumbers, sixteenths: IntegerArray, chosen: IntegerArray) -> IntegerArray:
    """The borders of the parts of every group, groups × (parts + 1): where each part begins, and where the last ends.
    A part may be empty.

    *chosen* has the cells of the quantiles, groups × quantiles. The first part ends at some distance before the first
    of them, the last begins at some distance after the last, and each of them has a border on either side.
    """
    if parts_around(numbers) == numbers.cells:
        return np.tile(np.arange(numbers.cells + 1), (len(chosen), 1))
    reach = _Reach.of(numbers, sixteenths, chosen)
    ends = np.zeros(len(chosen), dtype=np.int64), np.full(len(chosen), numbers.cells)
    return np.sort(np.column_stack([ends[0], reach.low, chosen, chosen + 1, reach.high, ends[1]]), axis=1)


class _Reach(NamedTuple):
    """For each group, a border before all of its quantiles and one after them, and the full cells next to them."""

    low: IntegerArray
    high: IntegerArray
    before: IntegerArray
    """The full cell that ends at the lower border; −1 if there is none."""
    after: IntegerArray
    """The full cell that begins at the upper border; the number of cells if there is none."""

    @classmethod
    def of(cls, numbers: GroupedNumbers, sixteenths: IntegerArray, chosen: IntegerArray) -> _Reach:
        """Of all rows, the borders are next to a full cell, in which several sixteenths lie, if there is one so near:
        whether a quantile lies in it depends on the few rows up to it. For groups the look says little about cells."""
        cells, upto = numbers.cells, np.concatenate(([0.0], np.cumsum(likely(numbers.cells, sixteenths))))
        ranks = (upto[chosen] + upto[chosen + 1]) / 2
        first, last = chosen.min(axis=1), chosen.max(axis=1)
        low = np.minimum(np.searchsorted(upto, ranks.min(axis=1) - REACH, side="right") - 1, first).clip(0, cells)
        high = np.maximum(np.searchsorted(upto, ranks.max(axis=1) + REACH), last + 1).clip(0, cells)
        ordered = np.sort(sixteenths)
        full = np.unique(ordered[1:][np.diff(ordered) == 0]) if numbers.groups == 1 else ordered[:0]
        full = np.concatenate(([-1], full, [cells]))
        before, after = full[np.searchsorted(full, first) - 1], full[np.searchsorted(full, last, side="right")]
        before, after = np.where(before >= low, before, -1), np.where(after < high, after, cells)
        return cls(np.where(before < 0, low, before + 1), np.where(after == cells, high, after), before, after)


def located_figures(
    numbers: GroupedNumbers,
    sixteenths: IntegerArray,
    chosen: IntegerArray,
    counts: IntegerArray,
    epsilons: tuple[float, float, float],
    confidence: float,
) -> list[Figures]:
    """Every quantile, from the *sixteenths* of all rows, the *chosen* cells and *counts* of the parts around them;
    *epsilons* are those of the look, the choice and the counts."""
    laws = _laws(rank_scales(numbers.task.quantiles, epsilons[1]))
    borders, rows, scale = around(numbers, sixteenths, chosen), counts.astype(float), 1 / epsilons[2]
    there = np.diff(borders, axis=1) > 0  # that the others are empty is public
    reach = _Reach.of(numbers, sixteenths, chosen)
    low, high = reach.low[:, None], reach.high[:, None]
    before, after = there & (borders[:, 1:] <= low), there & (borders[:, :-1] >= high)
    wide = np.stack([before, there & ~before & ~after, after], axis=1)
    merged = (wide * rows[:, None, :]).sum(axis=2)
    deviations = scale * np.sqrt(2 * np.maximum(wide.sum(axis=2), 1))
    outer = np.column_stack([0 * low, low, high, 0 * high + numbers.cells])
    sizes = _sizes(merged, deviations)
    looked = sizes[0] * len(rows) / float(rank_scales(SIXTEENTHS, epsilons[0]).max())
    doubted = TRUSTED * looked / (looked + RELIABLE)
    upto = np.concatenate(([0.0], np.cumsum(likely(numbers.cells, sixteenths, EVEN))))
    found = []
    for first in range(0, len(chosen), _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        group = _Groups(numbers, upto, chosen[some], outer[some])
        group.count(merged[some], deviations[some], sizes, doubted)
        counted = np.where(there, rows, 0.0)[some]
        near = _Reach(*(part[some] for part in reach))
        beside = _beside_of(numbers, borders[some], counted, chosen[some], near, scale, confidence)
        located = zip(chosen[some].T, laws, beside, strict=True)
        found.append([group.located(cells, law, beyond, confidence) for cells, law, beyond in located])
    return [_figures(part, [some[place] for some in found]) for place, part in enumerate(numbers.task.quantiles)]


def _beside_of(
    numbers: GroupedNumbers,
    borders: IntegerArray,
    rows: Reals,
    chosen: IntegerArray,
    reach: _Reach,
    scale: float,
    confidence: float,
) -> list[tuple[IntegerArray, IntegerArray]]:
    """For each quantile: how many cells below its chosen cell, and above it, the noisy *rows* of the parts do not rule
    out, of the next cell and the full one on either side.

    It is below a border if the rows below are at least its part of all rows. A side is ruled out if noise would hardly
    ever exceed how far the counts are from that, with a chance of 1 − *confidence*, whatever was chosen: the
    noise of the choice is independent of that of the counts, so the interval misses for this reason no more often.
    """
    there = np.diff(borders, axis=1) > 0

    def possible(edge: IntegerArray, part: float, side: float) -> Flags:
        """Whether the quantile may be on this side of a border."""
        weights = np.where(there, side * (part - (borders[:, 1:] <= edge[:, None])), 0.0)
        laws, own = np.unique(np.sort(np.abs(weights), axis=1), axis=0, return_inverse=True)
        far = scale * np.array([_far(tuple(law.tolist()), confidence) for law in laws])
        return np.asarray((weights * rows).sum(axis=1) < far[own.reshape(-1)])

    sides = []
    for part, cells in zip(map(float, numbers.task.quantiles), chosen.T, strict=True):
        below = np.where(possible(cells, part, 1.0), np.minimum(cells, 1), 0)
        above = np.where(possible(cells + 1, part, -1.0), np.minimum(numbers.cells - 1 - cells, 1), 0)
        full = possible(reach.low, part, 1.0) & (reach.before >= 0)
        below = np.where(full, np.maximum(below, cells - reach.before), below)
        full = possible(reach.high, part, -1.0) & (reach.after < numbers.cells)
        sides.append((below, np.where(full, np.maximum(above, reach.after - cells), above)))
    return sides


@lru_cache(maxsize=1024)
def _far(scales: tuple[float, ...], confidence: float) -> float:
    """What a sum of Laplace noise with these scales exceeds with a chance of 1 − *confidence*."""
    return float(radius(np.array(scales), max(2 * confidence - 1, 0.0)))


def _sizes(rows: Reals, deviations: Reals) -> tuple[float, float]:
    """The mean and the shape of the gamma law of the rows of a group, from the noisy counts of all groups."""
    groups, noise = len(rows), float((deviations**2).sum(axis=1).mean())
    average = float(cut_normal(rows.sum(), math.sqrt(noise * groups))[0]) / groups
    spread = max(float(((rows.sum(axis=1) - average) ** 2).mean()) - noise, 0.0) / average**2
    return average, min((_ASSUMED_GROUPS + groups) / (_ASSUMED_GROUPS / GROUP + groups * spread), _LARGEST_SHAPE)


def _figures(part: Fraction, located: list[tuple[Reals, Reals, Reals, Reals]]) -> Figures:
    estimate, lower, upper, error = (np.concatenate(pieces) for pieces in zip(*located, strict=True))
    return Figures(quantile_name(part), estimate, lower, upper, error, "approximate")


_Side: TypeAlias = tuple[IntegerArray, Reals]


class _Law(NamedTuple):
    """How a quantile was chosen: the scales of the noise in its rank."""

    own: float
    before: float
    """That of the choices in whose runs it was chosen; 0 if it was the first."""
    whole: bool
    """Whether cells were chosen as a whole, and not places of them, because nothing is nested in the choice."""

    def right(self, rows: Reals) -> Reals:
        """The chance that the chosen cell is the right one, if an average cell holds *rows* rows."""
        width = np.multiply.outer(SHARED, rows)
        chance = _own_cell(width / self.own) if self.whole else _stays(width / self.own)
        return np.asarray((chance * _stays(width / self.before) if self.before else chance).mean(axis=0))


def _laws(scales: Reals) -> list[_Law]:
    """The law of each quantile, from the scales quantiles × choices."""
    own = np.diag(scales)
    before = np.sqrt(np.maximum((scales**2).sum(axis=1) - own**2, 0.0))
    return [_Law(*law) for law in zip(own, before, (scales > 0).sum(axis=0) == 1, strict=True)]


class _Groups:
    """Some groups, what is assumed of their rows, and what was counted."""

    def __init__(self, numbers: GroupedNumbers, upto: Reals, chosen: IntegerArray, borders: IntegerArray) -> None:
        self.numbers, self.upto, self.borders = numbers, upto, borders
        self.single = numbers.groups == 1
        """Whether nothing is known from other groups: then the chosen cells are published, because the choice had by
        far the most budget, and noisy counts alone would move them."""
        self.lines = np.arange(len(chosen))
        parts = np.array([0.0, *map(float, numbers.task.quantiles), 1.0])
        same = chosen[:, :, None] == chosen[:, None, :]
        within = (np.tril(same).sum(axis=2) - 0.5) / same.sum(axis=2)  # several quantiles in a cell share it
        inner = upto[chosen] + within * (upto[chosen + 1] - upto[chosen])
        ends = np.zeros((len(chosen), 1)), np.ones((len(chosen), 1))
        self.prior = _SINGLE if self.single else _SEVERAL
        self.parts, self.knots = parts, np.concatenate((ends[0], inner, ends[1]), axis=1)
        self.upto_borders = self._rank_at(borders)
        self.shares = np.maximum(np.diff(self.upto_borders, axis=1), 1e-12)

    def count(self, rows: Reals, deviations: Reals, sizes: tuple[float, float], doubted: float) -> None:
        """What was counted in the parts, the *deviations* of their noise, the law of the rows of a group, and with
        how many scales of rows its own quantiles say as much as the look."""
        self.rows, self.deviations, self.sizes, self.doubted = rows, deviations, sizes, doubted

    def _rank_at(self, places: IntegerArray) -> Reals:
        """Which part of the rows of a group lies before each place, groups × places, by the quantiles of the group and,
        between them, by the first look."""
        pooled = self.upto[places]
        last = np.clip((self.knots[:, None, 1:] <= pooled[:, :, None]).sum(axis=2), 0, self.parts.size - 2)
        low, high = (np.take_along_axis(self.knots, last + more, 1) for more in (0, 1))
        share = np.clip((pooled - low) / np.maximum(high - low, 1e-12), 0, 1)
        own = self.parts[last] + share * (self.parts[last + 1] - self.parts[last])
        return np.asarray(self.prior.own * own + (1 - self.prior.own) * pooled)

    def located(
        self, chosen: IntegerArray, law: _Law, near: tuple[IntegerArray, IntegerArray], confidence: float
    ) -> tuple[Reals, Reals, Reals, Reals]:
        """The estimate, the bounds and the standard error of one quantile of each group; *near* says how many cells it
        may well be below, or above, the chosen cell."""
        numbers, cells, chosen = self.numbers, self.numbers.cells, chosen.astype(np.int64)
        exact, below, above = self.probable(chosen, law)
        less, more = below[1].sum(axis=1), above[1].sum(axis=1)
        # what is beyond the bounds is equal on both sides, as far as there is as much
        beyond = self.prior.missed * (1 - confidence)
        left = np.minimum(less, beyond / 2)
        right = np.minimum(more, beyond - left)
        left = np.minimum(less, beyond - right)
        # the next cell is in the interval unless counts rule that side out
        low = np.minimum(np.floor(_reached(*below, left) + 1e-9), chosen - near[0]).astype(np.int64)
        high = np.maximum(np.ceil(_reached(*above, right) - 1e-9), chosen + 1 + near[1]).astype(np.int64)
        middle = chosen if self.single else self._median(chosen, below, above).clip(low, high - 1)
        value = numbers.middles[middle]
        squares, rare = exact * (numbers.middles[chosen] - value) ** 2, np.full(len(chosen), RARE)
        for side, (places, mass) in ((-1, below), (1, above)):
            last = np.abs(np.rint(_reached(places, mass, rare)).astype(np.int64) - places[:, 0])
            end = np.abs(numbers.edges[places[:, 0] + side * last] - value)
            end = np.maximum(end, numbers.edges[middle + 1] - numbers.edges[middle])[:, None]
            far = numbers.middles[np.minimum((places[:, 1:] + places[:, :-1]) // 2, cells - 1)] - value[:, None]
            squares = squares + (mass * np.minimum(np.abs(far), end) ** 2).sum(axis=1)
        wide = numbers.edges[middle + 1] - numbers.edges[middle] - numbers.gap  # no finer than its cell
        error = np.sqrt(squares + wide**2 / 12)
        return value, numbers.edges[low], numbers.edges[high] - numbers.gap, error

    @staticmethod
    def _median(chosen: IntegerArray, below: _Side, above: _Side) -> IntegerArray:
        """The cell on either side of which the quantile is with a chance of at most a half."""
        half = np.full(len(chosen), 0.5)
        middle = np.where(below[1].sum(axis=1) > 0.5, np.floor(_reached(*below, half) + 1e-9), chosen)
        above_half = above[1].sum(axis=1) > 0.5
        return np.where(above_half, np.ceil(_reached(*above, half) - 1e-9) - 1, middle).astype(np.int64)

    def probable(self, chosen: IntegerArray, law: _Law) -> tuple[Reals, _Side, _Side]:
        """Where one quantile probably is: the chance of the chosen cell; on either side of it, places, and the chance
        that it lies between a place and the next."""
        scale = math.hypot(law.own, law.before)
        weights, upto, doubts, trust = self._densities(scale)
        own = (self.borders[:, 1:] <= chosen[:, None]).sum(axis=1)
        inside = np.diff(self._rows_at(upto, np.column_stack([chosen, chosen + 1])), axis=2)[:, :, 0]
        shapes = 1 / (1 / self.prior.within + doubts[self.lines, :, own])
        sides = [self._beside(chosen, side, scale, upto, shapes, trust) for side in (-1, 1)]
        outside = sum(mass.sum(axis=2) for _, mass in sides)
        right = np.where(outside > 0, law.right(inside), 1.0)
        factor = weights * (1 - right) / np.where(outside > 0, outside, 1.0)
        below, above = ((places, (mass * factor[:, :, None]).sum(axis=1)) for places, mass in sides)
        return (weights * right).sum(axis=1), below, above

    def _densities(self, scale: float) -> tuple[Reals, Reals, Reals, Reals]:
        """For some numbers of rows of each group: their weights, groups × nodes; the rows up to each border, groups ×
        nodes × borders; the relative variance of the rows of each part; and how far the group's own quantiles say where
        its rows are, from 0 to 1."""
        top = np.maximum(self.rows.sum(axis=1), 0) + 4 * np.sqrt((self.deviations**2).sum(axis=1))
        (average, shape), least = self.sizes, scale / 2
        steps = np.arange(_NODES) / (_NODES - 1) * np.log(np.maximum(top / least, 2.0))[:, None]
        sizes = least * np.exp(steps)
        expected = sizes[:, :, None] * self.shares[:, None, :]
        own, noise = expected**2 / PART, self.deviations[:, None, :] ** 2
        off = self.rows[:, None, :] - expected
        logs = -(off**2 / (own + noise) + np.log(own + noise)).sum(axis=2) / 2
        logs += shape * (np.log(sizes) - sizes / max(average, least))
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        rows, variance = cut_normal(expected + own / (own + noise) * off, np.sqrt(own * noise / (own + noise)))
        rows = np.where(np.diff(self.borders, axis=1)[:, None, :] > 0, rows, 0.0)
        upto = np.concatenate((np.zeros((*rows.shape[:2], 1)), np.cumsum(rows, axis=2)), axis=2)
        doubts, trust = variance / np.maximum(rows, 1e-100) ** 2, sizes / (sizes + self.doubted * scale)
        return weights / weights.sum(axis=1, keepdims=True), upto, doubts, trust

    def _beside(
        self, chosen: IntegerArray, side: int, scale: float, upto: Reals, shapes: Reals, trust: Reals
    ) -> tuple[IntegerArray, Reals]:
        """On one side of the chosen cell: places, and, for each number of rows of a group, the weight that the quantile
        is between a place and the next."""
        start = (chosen + (side > 0))[:, None]
        places = np.clip(start + side * _distances(self.numbers.cells), 0, self.numbers.cells)
        passed = np.abs(self._rows_at(upto, places) - self._rows_at(upto, start)) / scale
        likelihood = np.exp(-shapes[:, :, None] * np.log1p(passed / shapes[:, :, None]))
        own, pooled = (np.abs(np.diff(at, axis=1))[:, None, :] for at in (self._rank_at(places), self.upto[places]))
        prior = trust[:, :, None] * own + (1 - trust[:, :, None]) * pooled
        return places, prior * (likelihood[:, :, 1:] + likelihood[:, :, :-1]) / 2

    def _rows_at(self, upto: Reals, places: IntegerArray) -> Reals:
        """The rows up to each of the places, groups × nodes × places."""
        last = np.minimum((self.borders[:, None, 1:] <= places[:, :, None]).sum(axis=2), self.shares.shape[1] - 1)
        begin, wide = np.take_along_axis(self.upto_borders, last, 1), np.take_along_axis(self.shares, last, 1)
        share = np.clip((self._rank_at(places) - begin) / wide, 0, 1)
        low, high = (np.take_along_axis(upto, last[:, None, :] + more, 2) for more in (0, 1))
        return np.asarray(low + (high - low) * share[:, None, :])


def _reached(places: IntegerArray, mass: Reals, beyond: Reals) -> Reals:
    """The place beyond which there is this much *mass*; the first place if there is less."""
    lines = np.arange(len(places))
    rest = np.concatenate((np.cumsum(mass[:, ::-1], axis=1)[:, ::-1], np.zeros((len(places), 1))), axis=1)
    last = np.clip((rest > beyond[:, None]).sum(axis=1) - 1, 0, mass.shape[1] - 1)
    part = (rest[lines, last] - beyond) / np.maximum(rest[lines, last] - rest[lines, last + 1], 1e-300)
    near, far = places[lines, last], places[lines, last + 1]
    return np.where(rest[:, 0] > beyond, near + np.clip(part, 0, 1) * (far - near), places[:, 0])


def _distances(cells: int) -> IntegerArray:
    """From 0 to *cells*: each cell at first, then in growing steps."""
    steps = [0]
    while steps[-1] < cells:
        steps.append(min(max(steps[-1] + 1, int(steps[-1] * _STEP)), cells))
    return np.array(steps)


def _own_cell(width: Reals) -> Reals:
    """The chance that a chosen cell is the right one, if each cell holds *width* scales of rows.

    The quantile may be anywhere in its cell, which is chosen with weight e^depth; a cell at a distance has weight
    e^(−distance).

    >>> _own_cell(np.array([1e-6, 1.0, 100.0])).round(2).tolist()
    [0.0, 0.39, 1.0]
    """
    wide = np.clip(width, 1e-9, 300.0)[..., None]
    inside = (np.arange(32) + 0.5) / 32 * wide
    own = np.exp(np.minimum(inside, wide - inside))
    rest = (np.exp(-inside) + np.exp(inside - wide)) / -np.expm1(-wide)
    return np.asarray((own / (own + rest)).mean(axis=-1))


def _stays(width: Reals) -> Reals:
    """The chance that noise of scale 1 leaves a rank in its cell, if each cell holds *width* scales of rows.

    >>> _stays(np.array([1e-6, 1.0, 100.0])).round(2).tolist()
    [0.0, 0.37, 0.99]
    """
    wide = np.maximum(width, 1e-9)
    return np.asarray(1 + np.expm1(-wide) / wide)


def cut_normal(mean: Reals, deviation: Reals | float) -> tuple[Reals, Reals]:
    """The mean and the variance of a normal variable, given that it is positive.

    >>> [float(one.round(2)) for one in cut_normal(np.array(0.0), 1.0)]
    [0.8, 0.36]
    """
    from scipy.special import log_ndtr  # loaded only where quantiles are reported

    deviation = np.maximum(deviation, 1e-150)
    ratio = np.maximum(mean / deviation, -1e7)
    hazard = np.exp(-(ratio**2) / 2 - log_ndtr(ratio)) / math.sqrt(2 * math.pi)
    return np.maximum(mean + deviation * hazard, 1e-9 * deviation), deviation**2 * np.maximum(
        1 - hazard * (hazard + ratio), 1e-9
    )
