"""Confidence intervals: what they mean, and how wide they are for noise with known moments, for simulated runs, and
for estimates that smooth what was measured."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.arrays import Flags, Places, Reals
from adyton.messages import span
from adyton.solving.noise_moments import Moments

Kind: TypeAlias = Literal["exact", "approximate"]

NOT_MEASURED = "No bounds: these counts do not follow from what was measured. Ask for them in a release of their own."
_SHOWN = 6


@dataclass(frozen=True, eq=False)
class Interval:
    """Answers with bounds: *kind* says whether the confidence is a promise (``exact``) or ``approximate``."""

    estimate: Reals
    lower: Reals
    upper: Reals
    confidence: float
    """Lower than requested if simulated runs were slow; then *note* says so."""
    kind: Kind
    beyond: bool = False
    """Whether some of the answers do not follow from what was measured, although the task's own do."""
    note: str = ""
    """A remark on the simulated runs that the bounds come from, if one is needed."""
    means: str = ""
    """What the intervals promise, where that differs from other intervals of their kind."""
    counted: str = ""
    """Which rows were counted, in a few words, where that is not all of them."""

    def arranged(self, order: Callable[[Reals], Reals]) -> Interval:
        """The same with answers and bounds in another order or shape."""
        return replace(self, estimate=order(self.estimate), lower=order(self.lower), upper=order(self.upper))

    @property
    def bounded(self) -> bool:
        """Whether there are bounds. If too few runs could be made in time, they are infinite."""
        return bool(np.isfinite(self.upper).all())

    @property
    def missing(self) -> str:
        """Why no bounds may be shown with the counts: there are none, or they would be wrong about the true counts.
        Empty if bounds may be shown."""
        return self.note if not self.bounded else NOT_MEASURED if self.beyond else ""

    @property
    def meaning(self) -> str:
        """What the intervals promise, in plain words."""
        if not self.bounded:
            return self.note
        if self.means:
            return self.means
        rate = f"{100 * self.confidence:g}"
        if self.kind == "exact":
            return (
                f"Of all releases made in this way, {rate} in 100 have the true count of a query inside its interval. "
                "The noise that was added is accounted for, and nothing else: not rows that are missing or wrong."
            )
        if self.beyond:
            return (
                "These answers do not follow from what was measured: what the task did not ask for is filled in "
                "evenly. The intervals show how far noise moves them; there is no formal guarantee, and true "
                "counts can lie far outside. Ask for these counts in a release of their own."
            )
        return (
            f"The intervals are meant to hold the true count in {rate} of 100 releases, without a formal guarantee: "
            "the algorithm adapts to the data, and its error was estimated by running it again on what it published, "
            "and from how far the estimates are from what was measured, where that is known. Where real detail was "
            "smoothed away, single intervals can be too narrow."
        )

    def __repr__(self) -> str:
        return (
            f"<{100 * self.confidence:g}% intervals ({self.kind}): {self._listed()}>" if self.bounded else "<no bounds>"
        )

    def __str__(self) -> str:
        return f"{self._listed()}. {self.meaning}{self.note and ' ' + self.note}" if self.bounded else self.note

    def _listed(self) -> str:
        pairs = zip(self.lower.reshape(-1).tolist()[:_SHOWN], self.upper.reshape(-1).tolist()[:_SHOWN], strict=True)
        more = ", …" if self.lower.size > _SHOWN else ""
        counted = f" ({self.counted})" if self.counted else ""
        return ", ".join(" to ".join(ends(*pair)) for pair in pairs) + more + counted


def ends(low: float, high: float) -> tuple[str, str]:
    """The ends of an interval with six digits, or more if they need them to differ."""
    return span(low, high, "{:.6g}".format, lambda value, digits: f"{value:.{6 + digits}g}")


# ---- how wide intervals are ------------------------------------------------------------------------------------------


_GRID, _POINTS = 33, 1024
_STEPS, _LARGEST = 48, 60.0
_USUAL = 0.95
_AT_USUAL = (
    *(1.960062, 1.9601652, 1.9607707, 1.9617857, 1.9632177, 1.9650757, 1.9673675, 1.9700985, 1.9732697, 1.9768763),
    *(1.9809067, 1.9853434, 1.9901628, 1.9953368, 2.0008338, 2.0066198, 2.0126596, 2.0189177, 2.0253588, 2.0319487),
    *(2.0386544, 2.0454446, 2.0522895, 2.0591616, 2.0660348, 2.0728851, 2.0796905, 2.0864303, 2.0930859, 2.0996402),
    *(2.1060774, 2.1123834, 2.1185454),
)
"""The quantiles at the usual confidence: computing them needs SciPy, which takes a third of a second to load."""
_WHOLE = 100.0
"""Below this variance it matters that noise consists of whole numbers."""
_LAPLACE = 3 + 1e-12
"""More kurtosis than this shows that noise consists of whole numbers; less could be due to rounding."""


_ALIKE = 64
"""How many answers of similar size are pooled, if there are that many."""
_MOST_KINDS = 32
_DRAWN = 3.0
"""How many runs the mean deviation of answers of similar size counts for, in addition to an answer's own runs."""
_DOUBT = 0.7
"""The part of the errors outside of the bounds is reduced by this factor, because answers of similar size do not follow
exactly one law, and simulated runs are not exactly like the real one."""
_SUPPOSED = 40
"""How many errors drawn from a normal law are added to those observed."""


def radius(moments: Moments, confidence: float) -> Reals:
    """How far from the truth each answer is at most, in this part of all releases, from its variance and kurtosis.

    A sum of Laplace variables lies between the Laplace law and the normal one. Two laws have its variance and its
    kurtosis 3ρ²: a normal variable plus a Laplace variable with the part ρ of the variance, and a sum of 1/ρ² equal
    Laplace variables. The first is right where one noise is large and many are small, the second where all are equal;
    the wider of the two is taken. Noise so small that most of it is 0 has more kurtosis; it is treated as a single
    noise on whole numbers.

    >>> one = Moments(np.array([2e6, 2e6]), np.array([0.0, 3 * 4e12]))
    >>> (radius(one, 0.95) / np.sqrt(2e6)).round(2).tolist()
    [1.96, 2.12]
    """
    excess, variances = moments.excess, moments.variances
    whole = excess > _LAPLACE
    far = np.empty(variances.shape)
    far[whole] = _of_one_noise(variances[whole], excess[whole], confidence)
    if not whole.all():
        far[~whole] = _of_sums(variances[~whole], excess[~whole], confidence, at_most=moments.at_most)
    return far


def _of_sums(variances: Reals, excess: Reals, confidence: float, *, at_most: bool) -> Reals:
    """The radius for noise with the kurtosis of the Laplace law or less; where the kurtosis is only an upper limit
    (*at_most*), the largest radius up to it. Beyond a confidence of about 85% the radius grows with kurtosis, below it
    shrinks."""
    parts = np.sqrt(np.clip(excess, 0.0, 3.0) / 3)
    known = quantiles(confidence)
    if at_most:
        known = np.maximum.accumulate(known)
    far = np.interp(parts, np.linspace(0, 1, _GRID), known) * np.sqrt(variances)
    return np.asarray(np.where(variances < _WHOLE, np.maximum(far, np.ceil(far - 0.5)), far))


def quantiles(confidence: float) -> Reals:
    """The quantiles of |X| for X of variance 1 and kurtosis 3ρ², for ρ from 0 to 1."""
    return np.array(_AT_USUAL) if confidence == _USUAL else computed_quantiles(confidence)


@lru_cache(maxsize=32)
def computed_quantiles(confidence: float) -> Reals:
    """The same quantiles, computed by bisection."""
    from scipy.special import gammaincinv, log_ndtr, ndtr

    part = np.linspace(0, 1, _GRID)
    scale, rest = np.sqrt(np.maximum(part, 1e-4) / 2), np.sqrt(np.maximum(1 - part, 1e-12))
    noises = 1 / np.square(np.maximum(part, 0.01))
    chances = (np.arange(_POINTS) + 0.5) / _POINTS
    spreads = np.sqrt(
        gammaincinv(noises[:, None], chances) / noises[:, None]
    )  # a Laplace variable is normal with random variance
    spreads /= np.sqrt(np.square(spreads).mean(axis=1, keepdims=True))

    def one_large(far: Reals) -> Reals:
        shift = rest**2 / (2 * scale**2)
        up = np.exp(shift - far / scale + log_ndtr(far / rest - rest / scale))
        down = np.exp(shift + far / scale + log_ndtr(-far / rest - rest / scale))
        return np.asarray(2 * ndtr(-far / rest) + up - down)

    def all_equal(far: Reals) -> Reals:
        return np.asarray(2 * ndtr(-far[:, None] / spreads).mean(axis=1))

    low, high = np.zeros(_GRID), np.full(_GRID, _LARGEST)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        inside = np.maximum(one_large(middle), all_equal(middle)) <= 1 - confidence
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    return high


def _of_one_noise(variances: Reals, excess: Reals, confidence: float) -> Reals:
    """The least k with P(|L| > k) = 2a^(k+1)/(1 + a) ≤ 1 − confidence, times the size of one step of the noise."""
    a = np.maximum(1 / (excess - 2 + np.sqrt(np.square(excess - 2) - 1)), 1e-300)
    steps = np.ceil(np.log((1 - confidence) * (1 + a) / 2) / np.log(a) - 1 - 1e-9)
    step = np.sqrt(variances * np.square(1 - a) / (2 * a)).round(9)  # of whole numbers it is 1, whatever the rounding
    return np.asarray(np.maximum(steps, 0) * np.maximum(step, 1.0))


def pooled_radius(errors: npt.NDArray[np.float32], answers: Reals, rate: float) -> Reals:
    """How far from the truth each answer is at most in this part of all runs; *errors* has a row for each run.

    Answers of similar size are pooled, so that few runs suffice. Each answer has a deviation of its own: its root mean
    square error, shrunk slightly towards that of answers of similar size. Each error is divided by the deviation that
    the *other* runs give; the ratios of all answers of similar size form one sample, whose quantile is taken. A few
    errors from a normal law are added to those observed, so that few answers in few runs have bounds, too.

    >>> deviations = np.linspace(1, 5, 500)
    >>> runs = np.random.default_rng(1).normal(size=(20, 500)) * deviations
    >>> far = pooled_radius(np.abs(runs).astype(np.float32), np.arange(500.0), 0.95)
    >>> float((far / deviations).mean().round(1))
    2.2
    """
    squares = np.square(errors, dtype=np.float64)
    far = np.empty(answers.shape)
    for kind in _alike(answers):
        far[kind] = _of_one_kind(squares[:, kind], rate)
    return far


def _alike(answers: Reals) -> list[Places]:
    """Groups of answers of similar size."""
    kinds = max(1, min(_MOST_KINDS, answers.size // _ALIKE))
    return np.array_split(np.argsort(answers, kind="stable"), kinds)


def _of_one_kind(squares: Reals, rate: float) -> Reals:
    runs, alike = len(squares), float(squares.mean())
    sums = squares.sum(axis=0) + _DRAWN * alike
    others = np.maximum(sums - squares, 1e-300) / (runs - 1 + _DRAWN)
    times = np.sqrt(squares / others)
    supposed = _normal(runs)
    weight = math.sqrt(squares.shape[1]) / squares.shape[1]  # answers of one run are not independent
    values = np.concatenate([times.ravel(), supposed])
    weights = np.concatenate([np.full(times.size, weight), np.ones(supposed.size)])
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    place = min(int(np.searchsorted(reached, (1 - _DOUBT * (1 - rate)) * reached[-1])), values.size - 1)
    return np.asarray(values[order][place] * np.sqrt(sums / (runs + _DRAWN)))


def _normal(runs: int) -> Reals:
    """Normal errors relative to a deviation estimated from *runs* runs: nearly the quantiles of Student's law."""
    parts = (np.arange(_SUPPOSED) + 0.5) / _SUPPOSED
    plain = np.array([NormalDist().inv_cdf((1 + part) / 2) for part in parts])
    return np.asarray(plain * (1 + (np.square(plain) + 1) / (4 * (runs + _DRAWN))))


# ---- estimates that smooth what was measured -------------------------------------------------------------------------
#
# Simulated runs on a smooth estimate do not show what it has smoothed away. But every answer was also measured with
# noise of a known law. In units of that noise, the distance from the estimate to the truth has a mixed law: mostly that
# of the simulated runs, and with some chance a Laplace law of a larger scale. The chances are fitted by EM to the
# distances from the estimates to the measured answers; bounds are quantiles of the posterior law of each answer.


_TIMES = np.array([2.5, 6.0, 15.0])
"""Errors that are larger than the simulated ones by these factors."""
_SCALES = np.array([2.0, 4.0, 8.0, 16.0, 64.0, 256.0])
"""The scales of detail that smoothing may have removed, in units of the noise (for a cell, a unit is 1/ε)."""
_BELIEFS = np.array([20.0, *[1.0] * _TIMES.size, *[0.15] * _SCALES.size])
"""How many answers the prior counts for: those like the simulated ones, and of each larger scale. Found on public
data."""
_SHARED = 100.0
"""How many answers the chances of all answers count for, in the fit to answers of similar size."""
_STRETCH = 1.3
"""Where estimates are much smoother than what was measured, simulated errors are stretched by up to this factor more;
where they are as noisy, not at all. Found on public data, like the next two."""
_SIZES = 1.0
"""How quickly that factor falls with the size of an answer, in units of the noise: it is half at 1/_SIZES."""
_ROUGH, _ROUGH_SUMS = 0.07, 0.15
"""Neighbouring counts that look alike differ by this part of their size, more or less, beyond chance; and sums of
cells, whose factor above does not fall with their size."""
_SUMMED = 0.6
"""Bounds on sums of cells are at least this part of the radius of the measured answers: what smoothing removes from
single cells, far below the noise, adds up. Found on made-up data."""
_EM_STEPS, _MOST_FITTED, _HALVINGS, _TOGETHER = 60, 1 << 12, 36, 1 << 13


@dataclass(frozen=True, eq=False)
class Detail:
    """The posterior law of how far the truth is from each estimate, in units of the noise that was measured with."""

    unit: Reals
    """The size of the unit for each answer: the scale of a Laplace law with the variance of the noise."""
    apart: Reals
    """How far the measured answers are above the estimates, in these units."""
    scales: Reals
    """For each answer, the scale of the simulated errors, stretched, and the larger scales."""
    chances: Reals
    """For each answer, the chance of each scale."""

    @classmethod
    def of(
        cls, answers: Reals, measured: Reals, variances: Reals, simulated: Reals, sums: Flags | bool = False
    ) -> Detail:
        """Fit the chances to all answers, then to answers of similar size; *simulated* is the scale of a Laplace law of
        the simulated errors of each answer."""
        unit = np.sqrt(np.maximum(variances, 1e-12) / 2)
        apart, scale = (measured - answers) / unit, np.maximum(simulated / unit, 1e-6)
        size, room = np.maximum(answers, 0) / unit, np.maximum(1 - scale, 0)
        rough = np.minimum(np.where(sums, _ROUGH_SUMS, _ROUGH) * size, room)
        scale = np.hypot(scale * (1 + _STRETCH * room / np.where(sums, 1, 1 + _SIZES * size)), rough)
        larger = np.minimum(scale[:, None] * _TIMES, _SCALES[-1])
        scales = np.concatenate([scale[:, None], larger, np.broadcast_to(_SCALES, (scale.size, _SCALES.size))], axis=1)
        scales[np.abs(scales - 1) < 0.05] = 1.05  # so that no denominator vanishes
        likely = _likelihoods(apart, scales)
        common = _fitted(likely, _BELIEFS)
        for kind in _alike(answers):
            likely[kind] *= _fitted(likely[kind], _SHARED * common) if kind.size < answers.size else common
        return cls(unit, apart, scales, likely / likely.sum(axis=1, keepdims=True))

    def bounds(self, rate: float) -> tuple[Reals, Reals]:
        """The distances from the estimate to the lower and to the upper bound."""
        low, high = np.empty(self.unit.shape), np.empty(self.unit.shape)
        for start in range(0, low.size, _TOGETHER):
            part = slice(start, start + _TOGETHER)
            law = np.abs(self.apart[part]), self.scales[part], self.chances[part]
            down, up = (-_crossing(*law, rate, (1 - rate) / 2), _crossing(*law, rate, (1 + rate) / 2))
            above = self.apart[part] >= 0
            low[part], high[part] = np.where(above, down, up), np.where(above, up, down)
        return np.maximum(low, 0) * self.unit, np.maximum(high, 0) * self.unit


def around_measured(
    answers: Reals, far: Reals, measured: Reals, moments: Moments, rate: float, sums: Flags | bool = False
) -> tuple[Reals, Reals]:
    """Bounds around estimates with simulated errors of at most *far*, whose answers were also measured with noise.
    *sums* says which answers add up cells.

    They are at least as far as simulated errors. Where these are as large as the noise, or nothing was smoothed, the
    bounds are those of the measured answers, and include the estimate. Where noise as large as the distance between the
    two is not expected in any of these answers, they include both.

    >>> noise = Moments(np.full(3, 200.0), np.full(3, 3 * 4e4))
    >>> low, high = around_measured(np.zeros(3), np.full(3, 2.0), np.array([0.0, 20.0, 200.0]), noise, 0.95)
    >>> low.round().tolist(), high.round().tolist()
    ([-5.0, -5.0, -2.0], [5.0, 24.0, 228.0])
    """
    own = radius(moments, rate)
    down, up = Detail.of(answers, measured, moments.variances, -far / math.log(1 - rate), sums).bounds(rate)
    plain = (far >= own) | np.allclose(answers, measured)
    least = np.where(sums, np.maximum(far, _SUMMED * own), far)
    lower = np.where(plain, np.minimum(measured - own, answers), answers - np.maximum(down, least))
    upper = np.where(plain, np.maximum(measured + own, answers), answers + np.maximum(up, least))
    against = np.abs(measured - answers) > _hardly_exceeded(moments, (1 - rate) / answers.size)
    return np.where(against, np.minimum(lower, measured), lower), np.where(against, np.maximum(upper, measured), upper)


def _hardly_exceeded(moments: Moments, chance: float) -> Reals:
    """What noise exceeds about this often, between the normal law and the Laplace law by its kurtosis."""
    parts = np.sqrt(np.clip(moments.excess, 0.0, 3.0) / 3)
    normal, laplace = NormalDist().inv_cdf(1 - chance / 2), -math.log(chance) / math.sqrt(2)
    return np.asarray((normal + parts * (laplace - normal)) * np.sqrt(moments.variances))


def within_counts(answers: Reals, lower: Reals, upper: Reals) -> tuple[Reals, Reals]:
    """The same bounds for numbers of rows: whole, and at least 0, unless the estimate is not.

    >>> [bound.tolist() for bound in within_counts(np.array([1.5, -2.0]), np.array([-3.0, -5.0]), np.array([4.7, 3.2]))]
    [[0.0, -2.0], [4.0, 3.0]]
    """
    raised = np.maximum(np.ceil(lower - 1e-9), 0)
    return np.minimum(raised, answers), np.maximum(np.floor(upper + 1e-9), answers)


def _likelihoods(apart: Reals, scales: Reals) -> Reals:
    """The density of these distances: Laplace noise alone for the simulated scale (estimates follow the noise), and the
    sum of Laplace noise and a Laplace law for each larger scale."""
    far, larger = np.abs(apart)[:, None], scales[:, 1:]
    sums = (larger * np.exp(-far / larger) - np.exp(-far)) / (2 * (np.square(larger) - 1))
    return np.asarray(np.maximum(np.concatenate([np.exp(-far) / 2, sums], axis=1), 1e-300))


def _fitted(likely: Reals, beliefs: Reals) -> Reals:
    """The chances of all scales, by EM."""
    likely = likely[:: max(1, len(likely) // _MOST_FITTED)]
    chances = beliefs / beliefs.sum()
    for _ in range(_EM_STEPS):
        joint = likely * chances
        chances = (1 / joint.sum(axis=1)) @ joint + beliefs
        chances /= chances.sum()
    return np.asarray(chances)


def _crossing(apart: Reals, scales: Reals, chances: Reals, rate: float, chance: float) -> Reals:
    """The distance below which the truth lies with this chance; the measured answer is *apart* above the estimate.

    Given detail of scale c, the posterior density at t is proportional to exp(−|t|/c − |apart − t|).
    """
    first, scales, apart = scales[:, 0], scales[:, 1:], apart[:, None]
    rise, between = 1 / scales + 1, 1 - 1 / scales
    gone, kept = np.exp(-apart), np.exp(-apart / scales)
    share = chances[:, 1:] / (gone / rise + (kept - gone) / between + kept / rise)

    def below(t: Reals) -> Reals:
        inside = np.exp(-np.abs(t) / first) / 2
        plain = np.where(t < 0, inside, 1 - inside)
        t = t[:, None]
        left = gone * np.exp(np.minimum(t, 0) * rise) / rise
        inner = np.clip(t, 0, apart)
        middle = (np.exp(between * inner - apart) - gone) / between
        right = kept * -np.expm1(-np.maximum(t - apart, 0) * rise) / rise
        return np.asarray(chances[:, 0] * plain + (share * (left + middle + right)).sum(axis=1))

    reach = apart[:, 0] + (first + 1) * math.log(8 / (1 - rate))
    low, high = -reach, reach
    for _ in range(_HALVINGS):
        between_them = (low + high) / 2
        less = below(between_them) < chance
        low, high = np.where(less, between_them, low), np.where(less, high, between_them)
    return np.asarray(high if chance > 0.5 else low)
