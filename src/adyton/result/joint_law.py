"""Some answers of a release with the joint law of their errors; bounds on their weighted sums, and on their ratios.

A ratio a/b has the bounds of Fieller (1954): all r for which 0 lies inside the interval of a − r·b. Covariances are
accounted for, because that is the interval of a weighted sum.

Where an algorithm smooths what it measured, simulated runs on the smooth estimate know the noise, and not what was
smoothed away. In a single count this is small beside the count; in a difference of counts it may be all that there is.
So the variance of a weighted sum is that of the runs, plus that of the detail which may be hidden.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from adyton.arrays import Reals
from adyton.compiling import cached_property
from adyton.queries import Identity, Product, Queries
from adyton.result.figures import weighed
from adyton.result.intervals import Interval, Kind, radius
from adyton.result.known import KnownNoise
from adyton.result.noise_model import NoiseModel
from adyton.solving.noise_moments import Moments

_FINE = 2.0**-24
"""Sums that are not whole numbers are taken in steps of this size, where it does not matter that noise is whole."""
_NARROW = 1e-6
"""Relative: narrower bounds are taken to be this wide at first, as those of an answer that is exactly known."""
_ROUNDS = 2
"""How often the ends of a ratio are corrected for the law of the noise at that end."""
_SEEN, _HIDDEN = 3.0, 2.6
"""A cell may hide detail if its error in simulated runs has a variance below _SEEN/ε², one and a half times that of a
count that is measured with the whole budget. The variance of the detail is what is missing to this, times _HIDDEN.
Found on public data, as is the next."""
_MOST_HIDDEN = 8.0
"""A sum hides at most as much as this many cells: of more cells, the measured sums would show it."""
_FEWEST_RUNS, _MOST_RUNS, _WORK = 16, 100, 1 << 16
_MOST_READ = 1 << 26
"""For how many coefficients hidden detail is looked for."""


@dataclass(frozen=True, eq=False, kw_only=True)
class JointLaw(ABC):
    """Some answers of a release, and how their errors scatter together."""

    words: tuple[str, ...]
    """What each of the answers is."""
    confidence: float
    noun: str = "rows"
    """What is counted; empty for answers that are not counts."""
    nonnegative: bool = True
    """Whether no true answer is below 0."""
    counted: str = ""
    """Which rows were counted, in a few words, where that is not all of them."""

    @property
    @abstractmethod
    def answers(self) -> Reals:
        """The released answers."""

    @abstractmethod
    def interval(self, weights: Reals) -> Interval:
        """Bounds on weighted sums of the true answers, around unbiased sums; each row of *weights* is one sum."""

    def moments(self, weights: Reals) -> Moments | None:
        """The moments of the errors of these sums, if they are known in closed form."""
        return None


@dataclass(frozen=True, eq=False, kw_only=True)
class CellLaw(JointLaw):
    """Answers from the counts of cells, whose noise has a model."""

    noise: NoiseModel
    queries: Queries

    @property
    def answers(self) -> Reals:
        """Sums of the estimate."""
        return np.asarray(self.queries @ self.noise.estimate, dtype=np.float64)

    def interval(self, weights: Reals) -> Interval:
        """The interval of the noise model; with hidden detail where it only has simulated runs on a smooth estimate."""
        outer, step = weighed(weights)
        sums = Product(outer, self.queries)
        found = self.noise.interval(sums, self.confidence)
        if self._runs_only(found, sums):
            far = self._distances(sums, found.confidence)
            found = replace(found, lower=found.estimate - far, upper=found.estimate + far)
        return found.arranged(lambda ends: ends * step)

    def _runs_only(self, found: Interval, sums: Queries) -> bool:
        """Whether bounds come from simulated runs alone: no measurement shows what these do not."""
        if found.kind == "exact" or found.missing or found.note or isinstance(self.noise, KnownNoise):
            return False
        return sums.count * sums.cells <= _MOST_READ and self.noise.unbiased(sums) is None

    @property
    def _runs(self) -> int:
        """As many runs as are made for any of these bounds, and kept."""
        return max(_FEWEST_RUNS, min(_MOST_RUNS, _WORK // self.queries.cells))

    def _distances(self, sums: Queries, confidence: float) -> Reals:
        """z·√(variance in simulated runs + variance of hidden detail), with z as for as many runs as there are."""
        squares = np.square(np.concatenate(list(self.noise.runs.errors(sums, self._runs, exact=False))))
        normal = NormalDist().inv_cdf((1 + confidence) / 2)
        wide = normal * (1 + (normal**2 + 1) / (4 * len(squares)))
        unseen = np.concatenate([self._hidden(rows) for rows in sums.rows()])
        return np.asarray(wide * np.sqrt(squares.mean(axis=0) + unseen))

    def _hidden(self, rows: Reals) -> Reals:
        """The variance of the detail that may be missing in sums with these coefficients: Σ coefficient²·(that of the
        cell), at most that of a few cells."""
        squares = np.square(rows)
        most = _MOST_HIDDEN * _SEEN / float(self.noise.epsilon) ** 2
        return np.asarray(_HIDDEN * np.minimum(squares @ self._missing, most * squares.max(axis=1)))

    @cached_property
    def _missing(self) -> Reals:
        """How much the variance of each cell in simulated runs is below _SEEN/ε²."""
        cells, runs = np.zeros(self.queries.cells), 0
        for errors in self.noise.runs.errors(Identity(self.queries.domain), self._runs, exact=False):
            cells, runs = cells + np.square(errors).sum(axis=0), runs + len(errors)
        return np.maximum(_SEEN / float(self.noise.epsilon) ** 2 - cells / runs, 0.0)

    def moments(self, weights: Reals) -> Moments | None:
        """The moments of the noise model."""
        outer, step = weighed(weights)
        found = self.noise.moments(Product(outer, self.queries))
        if found is None:
            return None
        return replace(found, variances=found.variances * step**2, fourths=found.fourths * step**4)


@dataclass(frozen=True, eq=False, kw_only=True)
class ApartLaw(JointLaw):
    """Sums of numbers with independent errors. Their bounds come from the moments of all errors, if they are known;
    otherwise they are as far away as √Σ (weight·distance)² on each side."""

    bounds: Interval
    own: Moments | None = None
    """The moments of each error."""
    sums: Kind = "approximate"
    """Whether the bounds of sums are a promise."""
    mixing: Reals
    """The sums that are compared: a row for each, with the weights of the answers in *bounds*."""

    @property
    def answers(self) -> Reals:
        """The centres of the bounds."""
        return np.asarray(self.mixing @ self.bounds.estimate)

    def interval(self, weights: Reals) -> Interval:
        """As far as all answers in a sum have bounds."""
        weights, bounds = weights @ self.mixing, self.bounds
        middle, alone = weights @ bounds.estimate, bool(((weights != 0).sum(axis=1) <= 1).all())
        moments = self._moments(weights)
        if moments is not None and not alone:
            far = radius_of_sums(moments, bounds.confidence, whole=bool(self.noun) and is_whole(weights))
            return replace(bounds, estimate=middle, lower=middle - far, upper=middle + far)
        down, up = bounds.estimate - bounds.lower, bounds.upper - bounds.estimate
        ends = [
            np.sqrt(np.square(_times(weights, plus) + _times(-weights, minus)).sum(axis=1))
            for plus, minus in ((down, up), (up, down))
        ]
        kind = bounds.kind if alone else self.sums
        return replace(bounds, estimate=middle, lower=middle - ends[0], upper=middle + ends[1], kind=kind)

    def moments(self, weights: Reals) -> Moments | None:
        """Cumulants of independent errors add up."""
        return self._moments(weights @ self.mixing)

    def _moments(self, weights: Reals) -> Moments | None:
        if self.own is None:
            return None
        two, four = np.square(weights) @ self.own.variances, np.square(np.square(weights)) @ self.own.fourths
        return Moments(two, four, self.own.at_most)


def is_whole(weights: Reals) -> bool:
    """Whether all weights are whole numbers."""
    return bool((weights == np.rint(weights)).all())


def radius_of_sums(moments: Moments, confidence: float, *, whole: bool) -> Reals:
    """The distances of the bounds on sums with these moments, in steps of 1 if the sums are *whole* numbers."""
    step = 1.0 if whole else _FINE
    finer = replace(moments, variances=moments.variances / step**2, fourths=moments.fourths / step**4)
    return radius(finer, confidence) * step


def _times(weights: Reals, distances: Reals) -> Reals:
    """The distances times the weights above 0; a weight of 0 leaves out an infinite distance."""
    plus = np.maximum(weights, 0.0)
    return np.asarray(np.where(plus > 0, plus, 0.0) * np.where(plus > 0, distances, 0.0))


# ---- ratios ----------------------------------------------------------------------------------------------------------


def fieller(law: JointLaw, above: Reals, below: Reals) -> tuple[Reals, Reals, Interval]:
    """For each pair of weighted sums a and b, the ends of the set of r for which 0 is inside the bounds of a − r·b.

    With bounds z·√Var(a − r·b) these are the roots of a quadratic equation, and z depends on r a little: it is found at
    each end. Where b may be 0, the set goes on beyond infinity: answers that are never negative still have a lower
    bound then, if the rest of the set is negative; otherwise there are no bounds. The last value is the interval of a
    and b themselves.
    """
    many, first = len(above), law.interval(np.concatenate([above, below]))
    endless = np.full(many, np.inf)
    if first.missing:
        return -endless, endless, first
    far = np.maximum(first.upper - first.estimate, first.estimate - first.lower)
    far = np.maximum(far, np.maximum(_NARROW * np.abs(first.estimate), 1e-150))
    a, b = np.split(far[:, None], 2)
    above, below = above / a, below / b
    u, v = np.split(first.estimate / far, 2)
    mixed = law.interval(above - below)
    first = replace(first, kind=mixed.kind, confidence=min(first.confidence, mixed.confidence))
    wide = np.maximum(mixed.upper - mixed.estimate, mixed.estimate - mixed.lower)
    like = np.clip(1 - np.square(wide) / 2, -1.0, 1.0)  # the correlation of a and b
    z = np.ones((2, many))
    for _ in range(_ROUNDS):
        ends = _roots(u, v, like, z, law.nonnegative)
        at = np.where(np.isfinite(ends), ends, 0.0)
        here = law.interval((above - at[..., None] * below).reshape(2 * many, -1))
        reach = np.stack([(here.estimate - here.lower)[:many], (here.upper - here.estimate)[many:]])
        spread = np.sqrt(np.maximum(1 - 2 * like * at + np.square(at), 0.0))
        z = np.where(np.isfinite(ends) & (spread > 1e-9), reach / np.maximum(spread, 1e-9), z)
    lower, upper = _roots(u, v, like, z, law.nonnegative) * (a / b)[:, 0]
    return lower, upper, first


def _roots(u: Reals, v: Reals, like: Reals, z: Reals, nonnegative: bool) -> Reals:
    """The ends of the set of t with (u − t·v)² ≤ z²·(1 − 2·like·t + t²), which contains u/v; infinite where there is no
    end. Each end has its own z."""
    two, one, none = np.square(v) - np.square(z), u * v - np.square(z) * like, np.square(u) - np.square(z)
    under = np.square(one) - two * none
    root, safe = np.sqrt(np.maximum(under, 0.0)), np.where(two == 0, 1.0, two)
    low, high = (one - root) / safe, (one + root) / safe  # for two < 0, the larger one is called low
    known = (two > 0) & (v > 0)
    beyond = (two < 0) & (under > 0) & (v > 0) & (high < 0) & (u >= low * v) & nonnegative
    return np.stack([np.where(known | beyond, low, -np.inf)[0], np.where(known, high, np.inf)[1]])
