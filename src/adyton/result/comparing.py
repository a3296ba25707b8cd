"""Comparisons of released numbers: differences, ratios, shares, rates, ranks, and changes from one release to the next.

They cost no privacy: everything here follows from what was released. A difference is a weighted sum of answers, and the
noise of weighted sums is known, covariances included. A ratio a/b has the bounds of Fieller (1954): all r for which 0
lies inside the interval of a − r·b. Where the noise alone could make the denominator 0, this set has no upper end, and
the comparison says so instead of giving a number.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal, TypeAlias

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.exact import positive
from adyton.exact import share as part_of_one
from adyton.messages import listing, shorten
from adyton.queries import Product, Queries
from adyton.result.figures import Lines, weighed
from adyton.result.intervals import Interval, Kind, radius
from adyton.result.noise_model import NoiseModel
from adyton.result.sheets import CONFIDENCE
from adyton.solving.noise_moments import Moments

Verdict: TypeAlias = Literal["yes", "no", "undecided"]
MAY_BE_NOTHING = "No bounds: within its noise, the number to divide by may be 0 or below. Compare with a larger group."
NO_UPPER = "No upper bound: within its noise, the number to divide by may be 0. Compare with a larger group."
_ROUNDS = 2
"""How often the ends of a ratio are corrected for the law of the noise at that end."""


@dataclass(frozen=True, repr=False)
class Comparison:
    """A share, a ratio, a difference or a rate of released numbers, with bounds for the true one.

    >>> Comparison("ratio", 2.1, 1.9, 2.3, 0.95, "exact", "cardiology has 1.9 to 2.3 times as many rows as surgery.")
    <ratio 2.1 (1.9 to 2.3, 95% exact): cardiology has 1.9 to 2.3 times as many rows as surgery.>
    """

    what: str
    """``share``, ``ratio``, ``difference`` or ``rate``."""
    estimate: float
    lower: float
    upper: float
    """Infinite where there is no bound; then *note* says why."""
    confidence: float
    """Lower than requested if simulated runs were slow."""
    kind: Kind
    """Whether the confidence is a promise (``exact``) or ``approximate``."""
    meaning: str
    """The comparison in plain words."""
    note: str = ""
    counted: str = ""
    """Which rows were counted, in a few words, where that is not all of them."""

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds."""
        return self.lower, self.upper

    @property
    def bounded(self) -> bool:
        """Whether there are bounds on both sides."""
        return math.isfinite(self.lower) and math.isfinite(self.upper)

    def __float__(self) -> float:
        return self.estimate

    def to_plain(self) -> dict[str, Any]:
        """Everything, as plain values for JSON; None where there is no number."""
        numbers = {name: getattr(self, name) for name in ("estimate", "lower", "upper")}
        finite = {name: value if math.isfinite(value) else None for name, value in numbers.items()}
        words = {name: getattr(self, name) for name in ("confidence", "kind", "meaning", "note", "counted")}
        return {"what": self.what, **finite, **words}

    def __repr__(self) -> str:
        low, high = (_plain(end, self.upper - self.lower) for end in self.interval)
        rate = f"{100 * self.confidence:g}% {self.kind}"
        bounds = f"{low} to {high}, {rate}" if self.bounded or math.isfinite(self.lower) else "no bounds"
        counted = f"; {self.counted}" if self.counted else ""
        return f"<{self.what} {_plain(self.estimate, self.upper - self.lower)} ({bounds}{counted}): {self.meaning}>"

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(self.what)}</b>: {escape(self.meaning)}</p>"


# ---- some answers and the joint law of their errors ------------------------------------------------------------------


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
        """The interval of the noise model."""
        outer, step = weighed(weights)
        found = self.noise.interval(Product(outer, self.queries), self.confidence)
        return found.arranged(lambda ends: ends * step)

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
            far = radius(moments, bounds.confidence)
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


def _times(weights: Reals, distances: Reals) -> Reals:
    """The distances times the weights above 0; a weight of 0 leaves out an infinite distance."""
    plus = np.maximum(weights, 0.0)
    return np.asarray(np.where(plus > 0, plus, 0.0) * np.where(plus > 0, distances, 0.0))


# ---- what is compared ------------------------------------------------------------------------------------------------


class Changing(ABC):
    """A release whose numbers can be compared with those of another release, at no cost in privacy."""

    @abstractmethod
    def joint_law(self, asked: Sequence[object], confidence: float) -> JointLaw:
        """The answers to some questions, None for everything, and how their errors scatter together."""

    @abstractmethod
    def each_question(self) -> Sequence[object]:
        """The questions that the release answers: one for each cell, group or query."""

    @abstractmethod
    def same_noise(self, other: Any) -> bool:
        """Whether both hold the same noise: one is the other, perhaps read from a file, or a part of it."""


class Comparable(Changing):
    """A release whose numbers can be compared with each other, at no cost in privacy."""

    @abstractmethod
    def holds_within(self, part: object, whole: object) -> bool:
        """Whether all that one question counts is counted by another, too."""

    def difference(self, a: object, b: object, *, confidence: float = CONFIDENCE) -> Comparison:
        """How many more rows *a* has than *b*: ``release.difference({"sex": "F"}, {"sex": "M"})``.

        Both are queries as for :meth:`answer`; a list of levels is one group. For a release of numbers, they are the
        arguments of ``value``, such as ``("mean", "F")``. The bounds use the covariance of the two answers.
        """
        law = self.joint_law([a, b], _rate(confidence))
        interval = law.interval(np.array([[1.0, -1.0]]))
        value = float(law.answers[0] - law.answers[1])
        return _said(law, "difference", value, _ends(interval), interval, _difference_in_words)

    def ratio(self, a: object, b: object, *, confidence: float = CONFIDENCE) -> Comparison:
        """How many times as many rows *a* has as *b*; bounds by Fieller's method, with their covariance."""
        law = self.joint_law([a, b], _rate(confidence))
        return _ratio(law, "ratio", 1.0, _ratio_in_words)

    def share(self, part: object, whole: object = None, *, confidence: float = CONFIDENCE) -> Comparison:
        """Which part of *whole*, or of all rows, is in *part*: ``release.share({"sex": "F"})``.

        >>> import pandas, adyton as ad
        >>> table = pandas.DataFrame({"ward": ["cardiology"] * 6000 + ["surgery"] * 3000 + ["other"] * 1000})
        >>> schema = ad.Schema({"ward": ad.Categorical(["cardiology", "surgery", "other"])})
        >>> release = ad.Session(table, schema=schema, epsilon=1).release(ad.Histogram("ward"), epsilon=1)
        >>> round(release.share("cardiology").estimate, 1), round(release.share(["surgery", "other"]).estimate, 1)
        (0.6, 0.4)
        >>> round(release.ratio("cardiology", "surgery").estimate, 1), release.above("surgery", "other")
        (2.0, 'yes')
        """
        if not self.holds_within(part, whole):
            raise BadInput(
                f"a share is of a part in its whole, but {shorten(part)} is not within {shorten(whole)}. Name a whole "
                "that contains it, or ask for the ratio of the two."
            )
        law = self.joint_law([part, whole], _rate(confidence))
        if not law.nonnegative:
            raise BadInput(f"{law.words[0]} may be negative, so that it is no share of a whole. Ask for the ratio.")
        return _ratio(law, "share", 1.0, _share_in_words, most=1.0)

    def rate(
        self, cases: object = None, *, of: object, per: float = 1000, confidence: float = CONFIDENCE
    ) -> Comparison:
        """How many *cases* (all rows by default) there are per 1,000 *of* another group, or of a known number.

        ``release.rate({"ill": "yes"}, of={"age": (65, None)})``; ``of=52_000`` is a public population, whose size is
        not protected.
        """
        times = float(positive(per, "per"))  # type: ignore[arg-type]  # it checks
        if isinstance(of, bool) or not isinstance(of, int | float):
            law = self.joint_law([cases, of], _rate(confidence))
            return _ratio(law, "rate", times, lambda *given: _rate_in_words(*given, per=times))
        if not 0 < of < math.inf:
            raise BadInput(f"a population is a number above 0, given {shorten(of)}.")
        law = self.joint_law([cases], _rate(confidence))
        law = replace(law, words=(*law.words, f"{of:,.10g}"))
        scale = times / of
        interval = law.interval(np.array([[1.0]])).arranged(lambda ends: ends * scale)
        value = float(law.answers[0]) * scale
        ends = _within(value, _ends(interval), law.nonnegative, None)
        return _said(law, "rate", value, ends, interval, lambda *given: _rate_in_words(*given, per=times))

    def above(self, a: object, b: object, *, confidence: float = CONFIDENCE) -> Verdict:
        """Whether *a* is larger than *b*: ``yes`` or ``no``, at this confidence, or ``undecided``."""
        found = self.difference(a, b, confidence=confidence)
        return "yes" if found.lower > 0 else "no" if found.upper < 0 else "undecided"


def _rate(confidence: float) -> float:
    return float(part_of_one(confidence, "confidence"))


def _ends(interval: Interval) -> tuple[float, float]:
    """The bounds of the only answer; infinite if they may not be shown."""
    if interval.missing:
        return -math.inf, math.inf
    return float(interval.lower[0]), float(interval.upper[0])


def _within(value: float, ends: tuple[float, float], nonnegative: bool, most: float | None) -> tuple[float, float]:
    """Bounds without impossible values, as far as the estimate allows; unknown ones stay unknown on both sides."""
    lower, upper = ends
    if lower == -math.inf and upper == math.inf:
        return ends
    lower = max(lower, 0.0) if nonnegative else lower
    upper = upper if most is None else min(upper, most)
    return min(lower, value), max(upper, value)


Words: TypeAlias = Callable[[JointLaw, float, tuple[float, float]], str]


def _said(
    law: JointLaw, what: str, value: float, ends: tuple[float, float], interval: Interval, words: Words, note: str = ""
) -> Comparison:
    """A comparison in plain words, with what they promise."""
    lower, upper = min(ends[0], value), max(ends[1], value)  # where it is biased, least squares may lie beside it
    note = interval.missing or note or interval.note
    rate = f"{100 * interval.confidence:g}"
    if lower == -math.inf or math.isnan(value):
        meaning = note
    elif interval.kind == "exact":
        meaning = f"{words(law, value, (lower, upper))}, in {rate} of 100 releases made in this way."
    else:
        meaning = f"{words(law, value, (lower, upper))}, at {rate}%, without a formal guarantee."
    counted = {"counted": law.counted}
    return Comparison(what, value, lower, upper, interval.confidence, interval.kind, meaning, note, **counted)


def _ratio(law: JointLaw, what: str, times: float, words: Words, most: float | None = None) -> Comparison:
    a, b = map(float, law.answers)
    lower, upper, interval = fieller(law, np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))
    value = times * a / b if b > 0 else math.nan
    ends = (times * float(lower[0]), times * float(upper[0])) if b > 0 else (-math.inf, math.inf)
    ends = _within(value, ends, law.nonnegative, most)
    note = MAY_BE_NOTHING if ends[0] == -math.inf else NO_UPPER if ends[1] == math.inf else ""
    return _said(law, what, value, ends, interval, words, note)


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
    far = np.maximum(np.maximum(first.upper - first.estimate, first.estimate - first.lower), 1e-300)
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


# ---- from one release to the next ------------------------------------------------------------------------------------


_MOST_LINES = 2048
"""How many numbers of two releases are compared at a time."""
_STEEP = 0.85
"""Beyond this confidence, noise with more kurtosis has wider bounds; a sum of independent noises has less kurtosis than
they have, so that √Σ (distance)² is enough for it."""


def change(before: Changing, after: Changing, queries: object = None, *, confidence: float = CONFIDENCE) -> Lines:
    """What changed from one release to another of the same attributes: the difference of each number, and the relative
    change, with bounds that account for the noise of both. It costs no privacy.

    The numbers are those of every cell, group or query of the release, or the answers to *queries*. The two releases
    must be independent: of different years, of different rows, or at least measured separately.

    >>> import pandas, adyton as ad
    >>> schema = ad.Schema({"ward": ad.Categorical(["cardiology", "surgery"])})
    >>> tables = [pandas.DataFrame({"ward": ["cardiology"] * rows + ["surgery"] * 3000}) for rows in (6000, 9000)]
    >>> sessions = [ad.Session(table, schema=schema, epsilon=1) for table in tables]
    >>> found = ad.change(*(session.release(ad.Histogram("ward"), epsilon=1) for session in sessions))
    >>> found["query"].tolist(), found["change"].round(1).tolist(), found.kind
    (['ward cardiology', 'ward surgery'], [0.5, 0.0], 'exact')
    """
    rate = _rate(confidence)
    for release in (before, after):
        if not isinstance(release, Changing):
            raise BadInput(f"change takes two releases of counts, tables or numbers, given {shorten(release)}.")
    _check_alike(before, after)
    asked = list(queries if isinstance(queries, list) else [queries]) if queries is not None else before.each_question()
    if not 1 <= len(asked) <= _MOST_LINES:
        raise BadInput(f"1 to {_MOST_LINES:,} numbers are compared at a time, given {len(asked):,}. Name some queries.")
    laws, many = [release.joint_law(asked, rate) for release in (before, after)], len(asked)
    law = _both(laws, many)
    one, other = np.vsplit(np.eye(2 * many), 2)
    first, second = (each.answers for each in laws)
    apart = law.interval(other - one)
    low, high, _ = fieller(law, other, one)
    if apart.missing:
        low, high = np.full(many, -np.inf), np.full(many, np.inf)
        apart = replace(apart, lower=low, upper=high)
    part = np.divide(second, first, out=np.full(many, np.nan), where=first > 0) - 1
    known = (first > 0) & ((low > -np.inf) | (high < np.inf))
    low = np.where(known, np.maximum(low, 0.0) if law.nonnegative else low, -np.inf)
    values = {
        "before": first,
        "after": second,
        "difference": second - first,
        "lower": np.minimum(apart.lower, second - first),
        "upper": np.maximum(apart.upper, second - first),
        "change": part,
        "change_lower": np.fmin(low - 1, part),
        "change_upper": np.fmax(np.where(known, high, np.inf) - 1, part),
    }
    ends = zip(values["change_lower"].tolist(), values["change_upper"].tolist(), strict=True)
    rate_in_words, what = (
        f"{100 * apart.confidence:g}",
        "the true difference inside its bounds, and as many the true change",
    )
    promise = (
        f"Of all pairs of releases made in this way, {rate_in_words} in 100 have {what}."
        if apart.kind == "exact"
        else f"Of 100 pairs of releases, {rate_in_words} are meant to have {what}, without a formal guarantee."
    )
    columns = {"query": list(laws[0].words), **values, "in_words": [_change_in_words(*pair) for pair in ends]}
    return Lines(columns, apart.confidence, apart.kind, apart.missing or promise, law.counted)


def _check_alike(before: Changing, after: Changing) -> None:
    one, other = (dict(release.schema.attributes) for release in (before, after))  # type: ignore[attr-defined]
    if one != other:
        how = (
            f"about {listing(list(one))} and {listing(list(other))}"
            if set(one) != set(other)
            else "declared in different ways"
        )
        raise BadInput(f"changes are of the same attributes; these are {how}.")
    tasks = [str(release.task) for release in (before, after)]  # type: ignore[attr-defined]
    if type(before) is not type(after) or (not isinstance(before, Comparable) and tasks[0] != tasks[1]):
        raise BadInput(f"changes are between releases of one kind; these are {tasks[0]} and {tasks[1]}.")
    if before is after or before.same_noise(after):
        raise BadInput("the same release is given twice. A change is between two releases, each with its own noise.")


def _both(laws: Sequence[JointLaw], many: int) -> ApartLaw:
    """The answers of two independent releases, one after the other."""
    every = np.eye(many)
    bounds, moments = [law.interval(every) for law in laws], [law.moments(every) for law in laws]
    known = [one for one in moments if one is not None]
    own = None
    if len(known) == len(laws):
        two, four = (np.concatenate([getattr(one, of) for one in known]) for of in ("variances", "fourths"))
        own = Moments(two, four, any(one.at_most for one in known))
    first = min(bounds, key=lambda interval: (interval.missing == "", interval.confidence))
    kind: Kind = "exact" if all(interval.kind == "exact" for interval in bounds) else "approximate"
    three = [np.concatenate([getattr(interval, of) for interval in bounds]) for of in ("estimate", "lower", "upper")]
    joint = replace(first, estimate=three[0], lower=three[1], upper=three[2], kind=kind)
    linear = all(isinstance(law, CellLaw) for law in laws) and first.confidence >= _STEEP
    sure: Kind = kind if own is not None or linear else "approximate"
    same = {name: getattr(laws[0], name) for name in ("words", "confidence", "noun", "nonnegative", "counted")}
    return ApartLaw(**same, bounds=joint, own=own, sums=sure, mixing=np.eye(2 * many))


def _change_in_words(lower: float, upper: float) -> str:
    if lower == -math.inf:
        return "unknown: it may have been 0 before"
    if lower >= 0:
        return f"up {_from_to((lower, upper), 100, '%')}"
    if upper <= 0:
        return f"down {_from_to((-upper, -lower), 100, '%')}"
    rise = "or up without bound" if upper == math.inf else f"to up {_plain(100 * upper, 100 * (upper - lower))}%"
    return f"from down {_plain(-100 * lower, 100 * (upper - lower))}% {rise}"


# ---- in words --------------------------------------------------------------------------------------------------------


def _plain(number: float, width: float) -> str:
    """A number with as many digits as its bounds make sense of: two digits of their distance."""
    if not math.isfinite(number):
        return "unknown"
    if not math.isfinite(width) or width <= 0:
        return f"{number:,.4g}"
    digits = min(12, max(0, 1 - math.floor(math.log10(width))))
    return f"{number + 0.0:,.{digits}f}"


def _from_to(ends: tuple[float, float], times: float = 1.0, unit: str = "") -> str:
    lower, upper = (end * times for end in ends)
    if upper == math.inf:
        return f"at least {lower:,.3g}{unit}"
    low, high = (f"{_plain(end, upper - lower)}{unit}" for end in (lower, upper))
    return low if low == high else f"{low} to {high}"


def _difference_in_words(law: JointLaw, value: float, ends: tuple[float, float]) -> str:
    a, b = law.words
    has, more, fewer = ("has", f" {law.noun} more", f" {law.noun} fewer") if law.noun else ("is", " more", " less")
    if ends[0] >= 0:
        return f"{a} {has} {_from_to(ends)}{more} than {b}"
    if ends[1] <= 0:
        return f"{a} {has} {_from_to((-ends[1], -ends[0]))}{fewer} than {b}"
    low, high = (_plain(abs(end), ends[1] - ends[0]) for end in ends)
    return f"{a} {has} between {low}{fewer} and {high}{more} than {b}"


def _ratio_in_words(law: JointLaw, value: float, ends: tuple[float, float]) -> str:
    a, b = law.words
    return (
        f"{a} has {_from_to(ends)} times as many {law.noun} as {b}"
        if law.noun
        else f"{a} is {_from_to(ends)} times {b}"
    )


def _share_in_words(law: JointLaw, value: float, ends: tuple[float, float]) -> str:
    part, whole = law.words
    return f"{_from_to(ends, 100, '%')} of {whole} {'are' if law.noun else 'is'} {part}"


def _rate_in_words(law: JointLaw, value: float, ends: tuple[float, float], *, per: float) -> str:
    cases, of = law.words
    return f"there are {_from_to(ends)} ({cases}) per {per:,.10g} of {of}"
