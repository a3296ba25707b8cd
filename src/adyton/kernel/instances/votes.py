"""The votes of instances, and their sums.

A vote is the checked curve of an instance, with a whole number 0 … 2²⁰ at every place: a function of its instance
alone. A curve that is not well formed counts as the flat vote, whatever the reason, without any message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from adyton.arrays import Array, Integers, Places, Reals
from adyton.errors import BadInput
from adyton.kernel.instances.lattice import POINTS, UNIT, Lattice, SmoothCurve, StepCurve, Utility
from adyton.kernel.sealed import Sealed
from adyton.messages import no_such
from adyton.whole import rises

_LARGEST_TERM = 2.0**44
"""The largest term of a smooth curve where it is used, in levels; beyond it, doubles are not precise enough."""
_WIDEST = 2.0**64
"""The largest ratio of an interval's upper end to its first point, for smooth curves."""
_SIXTEENTHS = 16.0
_SLACK_STEPS = 1
_SLACK_SHARE = 2.0**-44
_MOST_CUTS = 1 << 17
_LEAST_CHANGE = UNIT / 4
"""Pieces of the sum are cut until the envelope changes by at most this within a piece, if the number of cuts allows."""
_FAR = 64
ADD_REMOVE, REPLACE = "add-remove", "replace"
RELATIONS = (ADD_REMOVE, REPLACE)


@dataclass(frozen=True, eq=False)
class StepVote:
    """The level of every piece."""

    starts: Places
    levels: Integers


@dataclass(frozen=True, eq=False)
class SmoothVote:
    """The coefficients of every piece, and the largest value on the instance, to which levels are relative."""

    starts: Places
    coefficients: Reals
    best: float


Vote: TypeAlias = StepVote | SmoothVote
FLAT = StepVote(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
"""The same level everywhere: it favours no parameter."""


def vote_of(curve: object, parameters: Lattice | int, utility: Utility) -> Vote:
    """The vote of a curve over a lattice, or over a number of points; the flat vote for anything else."""
    with np.errstate(all="ignore"):
        if type(curve) is StepCurve:
            return _step_vote(curve, POINTS if isinstance(parameters, Lattice) else parameters, utility)
        if type(curve) is SmoothCurve and isinstance(parameters, Lattice):
            return _smooth_vote(curve, parameters, utility)
        return FLAT


def _step_vote(curve: StepCurve, places: int, utility: Utility) -> Vote:
    starts, values = _checked_starts(curve.starts, places), _checked_reals(curve.values)
    if starts is None or values is None or values.shape != starts.shape:
        return FLAT
    return StepVote(starts, utility.levels(values, float(values.max())))


def _smooth_vote(curve: SmoothCurve, lattice: Lattice, utility: Utility) -> Vote:
    starts, coefficients = _checked_starts(curve.starts, POINTS), _checked_reals(curve.coefficients)
    if starts is None or coefficients is None or coefficients.shape != (starts.size, 3):
        return FLAT
    if not 0 < lattice.high <= _WIDEST * lattice.point(0):
        return FLAT
    ends = np.append(starts[1:], POINTS) - 1
    maxima = _maxima(starts, ends, coefficients, lattice)
    best = float(max(smooth_values(coefficients, lattice.point(places)).max() for places in maxima))
    offset, slope = utility.line(np.array([best]))
    nearest = 1 / lattice.point(starts)
    terms = np.abs(slope * coefficients * np.stack([np.ones_like(nearest), nearest, nearest * nearest], axis=1))
    if not (np.isfinite(best) and np.isfinite(offset).all() and (terms < _LARGEST_TERM).all()):
        return FLAT
    return SmoothVote(starts, coefficients, best)


def smooth_values(coefficients: Reals, points: Reals) -> Reals:
    """c₀ + c₁/s + c₂/s² for each row of coefficients and its s. Every operation is correctly rounded, so the result is
    the same on every machine and in every batch."""
    return np.asarray(coefficients[:, 0] + coefficients[:, 1] / points + coefficients[:, 2] / (points * points))


def _maxima(starts: Places, ends: Places, coefficients: Reals, lattice: Lattice) -> list[Places]:
    """The ends of every piece, and the places around its stationary point s = −2c₂/c₁: one of them has its maximum."""
    turns = -2 * coefficients[:, 2] / coefficients[:, 1]
    steps = np.floor((turns - lattice.low) / (lattice.high - lattice.low) * POINTS - 0.5)
    around = np.clip(np.nan_to_num(steps, nan=0.0, posinf=0.0, neginf=0.0), 0, POINTS - 1).astype(np.int64)
    return [starts, ends, np.clip(around, starts, ends), np.clip(around + 1, starts, ends)]


def _checked_starts(given: object, places: int) -> Places | None:
    if not isinstance(given, np.ndarray) or given.dtype.kind not in "iu" or given.ndim != 1 or not given.size:
        return None
    if given[0] != 0 or int(given.max()) >= places:
        return None
    starts = np.array(given, dtype=np.int64)
    return starts if rises(starts) else None


def _checked_reals(given: object) -> Reals | None:
    if not isinstance(given, np.ndarray) or given.dtype.kind not in "iuf" or not given.size:
        return None
    values = np.array(given, dtype=np.float64)
    return values if bool(np.isfinite(values).all()) else None


# ---- sums of smooth votes --------------------------------------------------------------------------------------------
#
# Sums of votes that are c₀ + c₁/s + c₂/s² between their starts: exact at every place, bounded from above on pieces.
#
# These are not piecewise constant. A level is computed at the lattice point, rounded to a whole number and clipped; the
# sum of levels at one place is a whole number, computed from every vote. The sampler proposes from an *envelope*: a
# whole number for each piece that no sum inside it exceeds.
#
# In t = 1/s an unclipped level is a parabola a₀ + a₁t + a₂t². A vote's pieces are cut where the parabola crosses 0 or
# 2²⁰, or turns; on every part it is bounded by 0, by 2²⁰, by itself, or, if a crossing lies inside because of rounding,
# by its largest value, depending on the parabola's smallest and largest values there. These bounds are parabolas again,
# with coefficients rounded to whole sixteenths (as integers of any length), and are added up by a sweep. On a piece of
# the sum the largest value is at one of its ends or at the stationary point. A grid step for each vote and 2⁻⁴⁴ of the
# terms are added to it. A step is enough: rounding a level takes half a step, rounding three coefficients 3/32, and the
# terms of a vote, which are below 2⁴⁴ steps, are known to 2⁻⁵⁰ of their size. As n steps for n votes change no weight
# by more than a factor e^{ε·n/2²⁰}, they rarely cause another draw.


class SmoothSums:
    """The sum over owners of the mean of their votes, rounded down; votes of one owner are adjacent."""

    exact = False

    def __init__(self, owners: Sequence[Sequence[Vote]], lattice: Lattice, utility: Utility) -> None:
        votes = [vote for owned in owners for vote in owned]
        self._lattice, self._utility = lattice, utility
        self._sizes = np.array([len(owned) for owned in owners], dtype=np.int64)
        self._firsts = np.cumsum(self._sizes) - self._sizes
        self._smooth = np.array([isinstance(vote, SmoothVote) for vote in votes])
        self._best = np.array([vote.best if isinstance(vote, SmoothVote) else 0.0 for vote in votes])
        self._coefficients = np.concatenate([_coefficients(vote) for vote in votes])
        numbers = np.repeat(np.arange(len(votes)), [vote.starts.size for vote in votes])
        self._keys = numbers * POINTS + np.concatenate([vote.starts for vote in votes])
        self.starts, self.tops = self._envelope(numbers)

    def at(self, places: Places) -> Integers:
        """The sums at these places."""
        return np.array([self._at(place) for place in places.tolist()], dtype=np.int64)

    def _at(self, place: int) -> int:
        rows = np.searchsorted(self._keys, np.arange(self._smooth.size) * POINTS + place, "right") - 1
        values = smooth_values(self._coefficients[rows], np.full(rows.size, self._lattice.point(place)))
        levels = np.where(self._smooth, self._utility.levels(values, self._best), self._coefficients[rows, 0])
        return int((np.add.reduceat(levels.astype(np.int64), self._firsts) // self._sizes).sum())

    # ---- the envelope -----------------------------------------------------------------------------------------------

    def _envelope(self, numbers: Places) -> tuple[Places, Integers]:
        starts = self._keys % POINTS
        ends = np.append(starts[1:], POINTS)
        ends[ends <= starts] = POINTS
        offsets, slopes = self._utility.line(self._best)
        offsets, slopes = np.where(self._smooth, offsets, 0.0)[numbers], np.where(self._smooth, slopes, 1.0)[numbers]
        parabolas = self._coefficients * slopes[:, None]
        parabolas[:, 0] += offsets
        parts, rows, lasts = _cut(starts, ends, parabolas, self._lattice)
        bounds = _bounded(parabolas[rows], 1 / self._lattice.point(lasts), 1 / self._lattice.point(parts))
        bounds /= np.repeat(self._sizes, self._sizes)[numbers[rows]][:, None]
        places, sums = _swept(numbers[rows], parts, bounds * _scales(self._lattice))
        sums = sums / _scales(self._lattice)
        return self._cut_finely(places, sums)

    def _cut_finely(self, places: Places, sums: Reals) -> tuple[Places, Integers]:
        """Cut pieces on which the envelope changes much and is not far below the best."""
        ends = np.append(places[1:], POINTS)
        low, high = self._extremes(places, ends, sums)
        change = np.where(high.max() - high < _FAR * (high - low), high - low, 0.0)
        step = max(_LEAST_CHANGE, float(change.sum()) / _MOST_CUTS)
        parts = np.minimum(np.maximum(np.ceil(change / step), 1), ends - places).astype(np.int64)
        rows = np.repeat(np.arange(places.size), parts)
        inner = np.arange(rows.size) - np.repeat(np.cumsum(parts) - parts, parts)
        cut = places[rows] + (inner * ((ends - places)[rows] / parts[rows])).astype(np.int64)
        new = np.append(True, cut[1:] > cut[:-1])
        cut, rows = cut[new], rows[new]
        last = np.append(cut[1:], POINTS)
        _, high = self._extremes(cut, last, sums[rows])
        nearest = 1 / self._lattice.point(cut)
        terms = np.abs(sums[rows, 0]) + np.abs(sums[rows, 1]) * nearest + np.abs(sums[rows, 2]) * nearest * nearest
        tops = np.ceil(high + _SLACK_SHARE * terms) + _SLACK_STEPS * self._smooth.size
        return cut, np.clip(tops, 0, UNIT * self._sizes.size).astype(np.int64)

    def _extremes(self, places: Places, ends: Places, parabolas: Reals) -> tuple[Reals, Reals]:
        return _extremes(parabolas, 1 / self._lattice.point(ends - 1), 1 / self._lattice.point(places))


def _coefficients(vote: Vote) -> Reals:
    if isinstance(vote, SmoothVote):
        return vote.coefficients
    return np.stack([vote.levels.astype(np.float64), *np.zeros((2, vote.levels.size))], axis=1)


def _scales(lattice: Lattice) -> Reals:
    """Factors that make the coefficients of 1, t and t² comparable: t is largest at the first point."""
    largest = 1 / lattice.point(0)
    return _SIXTEENTHS * np.array([1.0, largest, largest * largest])


def _cut(starts: Places, ends: Places, parabolas: Reals, lattice: Lattice) -> tuple[Places, Places, Places]:
    """Parts of pieces: their starts, the piece that each belongs to, and their last places."""
    a0, a1, a2 = parabolas.T
    with np.errstate(all="ignore"):
        turn = -a1 / (2 * a2)
        crossings = [turn]
        for level in (0.0, float(UNIT)):
            root = np.sqrt(a1 * a1 - 4 * a2 * (a0 - level))
            wide = -(a1 + np.where(a1 < 0, -root, root)) / 2  # without cancellation
            crossings += [wide / a2, (a0 - level) / wide]
        steps = np.ceil((1 / np.array(crossings) - lattice.low) / (lattice.high - lattice.low) * POINTS - 0.5)
        steps = np.where(np.isfinite(steps), np.clip(steps, 0, POINTS), 0).astype(np.int64)
    inside = np.where((steps > starts) & (steps < ends), steps, starts)
    parts = np.sort(np.concatenate([starts[None], inside]), axis=0).T
    kept = np.concatenate([np.ones((starts.size, 1), dtype=bool), parts[:, 1:] > parts[:, :-1]], axis=1)
    rows, places = np.nonzero(kept)[0], parts[kept]
    lasts = np.where(np.append(rows[1:] == rows[:-1], False), np.append(places[1:], 0), ends[rows]) - 1
    return places, rows, lasts


def _bounded(parabolas: Reals, least: Reals, largest: Reals) -> Reals:
    """For every part, with t from *least* to *largest*, a parabola that no level exceeds by a whole step or more."""
    low, high = _extremes(parabolas, least, largest)
    constant = np.clip(high, 0.0, UNIT)
    constant[low >= UNIT - 0.5] = UNIT
    constant[high <= 0.5] = 0.0
    free = (low >= -0.5) & (low < UNIT - 0.5) & (high > 0.5) & (high <= UNIT + 0.5)
    flat = np.stack([constant, np.zeros_like(low), np.zeros_like(low)], axis=1)
    return np.where(free[:, None], parabolas, flat)


def _extremes(parabolas: Reals, least: Reals, largest: Reals) -> tuple[Reals, Reals]:
    """The smallest and the largest value of each parabola on its stretch."""
    a0, a1, a2 = parabolas.T
    with np.errstate(all="ignore"):
        turn = np.nan_to_num(-a1 / (2 * a2), nan=0.0, posinf=0.0, neginf=0.0)
    at = [least, largest, np.clip(turn, least, largest)]
    values = np.array([a0 + t * (a1 + t * a2) for t in at])
    return values.min(axis=0), values.max(axis=0)


def _swept(numbers: Places, parts: Places, bounds: Reals) -> tuple[Places, Reals]:
    """The sum of the votes' bounds: its starts, and its coefficients, added up as whole numbers of any length."""
    whole: Array = np.empty(bounds.shape, dtype=object)
    whole[:] = [[int(number) for number in row] for row in np.rint(bounds).tolist()]
    before: Array = np.zeros_like(whole)
    same = np.append(False, numbers[1:] == numbers[:-1])
    before[same] = whole[np.flatnonzero(same) - 1]
    order = np.argsort(parts, kind="stable")
    sums = np.cumsum((whole - before)[order], axis=0)
    places = parts[order]
    last = np.append(places[1:] != places[:-1], True)
    return places[last], sums[last].astype(np.float64)


class StepSums:
    """The sum of votes that are constant between their starts: whole numbers, at every place.

    >>> first = StepVote(np.array([0, 5]), np.array([3, 1]))
    >>> second = StepVote(np.array([0, 2, 5]), np.array([0, 1, 3]))
    >>> sums = StepSums.of([first, second])
    >>> sums.starts.tolist(), sums.tops.tolist(), sums.at(np.array([4, 5])).tolist()
    ([0, 2], [3, 4], [4, 4])
    """

    exact = True
    """The tops are the sums themselves."""

    def __init__(self, starts: Places, tops: Integers) -> None:
        self.starts, self.tops = starts, tops

    @classmethod
    def of(cls, votes: Sequence[StepVote]) -> StepSums:
        """The sum; 0 everywhere if there are no votes. The order of the votes does not matter.

        Levels are at most 2²⁰ and there are fewer than 2⁴² votes, so 64 bits hold every sum.
        """
        moving = [vote for vote in votes if vote.starts.size > 1]
        first = sum(int(vote.levels[0]) for vote in votes)
        if not moving:
            return cls(np.zeros(1, dtype=np.int64), np.array([first], dtype=np.int64))
        places = np.concatenate([vote.starts[1:] for vote in moving])
        changes = np.concatenate([np.diff(vote.levels) for vote in moving])
        order = np.argsort(places, kind="stable")
        places, sums = places[order], first + np.cumsum(changes[order])
        last = np.append(places[1:] != places[:-1], True)  # the last of the changes at one place
        starts, tops = np.append(0, places[last]), np.append(first, sums[last])
        new = np.append(True, tops[1:] != tops[:-1])
        return cls(starts[new], tops[new])

    def at(self, places: Places) -> Integers:
        """The sums at these places."""
        return np.asarray(self.tops[np.searchsorted(self.starts, places, "right") - 1])

    def averaged(self, votes: int) -> StepVote:
        """One vote in place of this number of votes: their mean, rounded down to a whole number."""
        return StepVote(self.starts, self.tops // votes)


SummedUtility: TypeAlias = StepSums | SmoothSums
"""The sum of all votes at every place; ``tops`` are the sums of the pieces from ``starts``, or bounds on them."""


class PrivateInstances(Sealed):
    """The sum of all votes. For mechanisms only."""

    __slots__ = ("parameters", "spread", "sums")

    def __init__(self, sums: SummedUtility, parameters: Lattice | int, neighbours: str) -> None:
        self.sums, self.parameters = sums, parameters
        self.spread = spread(neighbours)


def spread(neighbours: str) -> int:
    """The most by which two neighbours can move the sum at one parameter relative to the sum at another.

    A vote lies in 0 … 2²⁰. One vote more or less adds a number of that range to every sum, or subtracts it. Replacing a
    vote by another adds a number of −2²⁰ … 2²⁰.
    """
    if not isinstance(neighbours, str) or neighbours not in RELATIONS:
        raise BadInput(no_such("relation of neighbours", neighbours, RELATIONS))
    return UNIT if neighbours == ADD_REMOVE else 2 * UNIT
