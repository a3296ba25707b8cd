"""Comparisons of released numbers: differences, ratios, shares, rates, ranks, and changes from one release to the next.

They cost no privacy: everything here follows from what was released. A difference is a weighted sum of answers, and the
noise of weighted sums is known, covariances included. A ratio a/b has the bounds of Fieller (1954): all r for which 0
lies inside the interval of a − r·b. Where the noise alone could make the denominator 0, this set has no upper end, and
the comparison says so instead of giving a number.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from adyton.errors import BadInput
from adyton.exact import positive
from adyton.exact import share as part_of_one
from adyton.messages import listing, shorten
from adyton.result.figures import Lines
from adyton.result.intervals import Interval, Kind
from adyton.result.joint_law import ApartLaw, CellLaw, JointLaw, fieller
from adyton.result.sheets import CONFIDENCE
from adyton.solving.noise_moments import Moments

Verdict: TypeAlias = Literal["yes", "no", "undecided"]
MAY_BE_NOTHING = "No bounds: within its noise, the number to divide by may be 0 or below. Compare with a larger group."
NO_UPPER = "No upper bound: within its noise, the number to divide by may be 0. Compare with a larger group."


@dataclass(frozen=True, repr=False)
class Comparison:
    """A share, a ratio, a difference or a rate of released numbers, with bounds for the true one.

    >>> Comparison("ratio", 2.1, 1.9, 2.3, 0.95, "exact", "cardiology has 1.9 to 2.3 times as many rows as surgery.")
    <ratio 2.10 (1.90 to 2.30, 95% exact): cardiology has 1.9 to 2.3 times as many rows as surgery.>
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


class Combinable(ABC):
    """A release that can be combined with others of the same rows: see :func:`adyton.combine`."""

    @abstractmethod
    def combined_with(self, others: Sequence[Self]) -> Any:
        """One release out of this and others of the same attributes and rows."""

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
        law = self.joint_law([part, whole], _rate(confidence))
        if not self.holds_within(part, whole):
            raise BadInput(
                f"a share is of a part in its whole, but ({law.words[0]}) is not within ({law.words[1]}). Name a "
                "whole that contains it, or ask for the ratio of the two."
            )
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
        times = float(positive(per, "per"))
        if isinstance(of, bool) or not isinstance(of, numbers.Real):
            law = self.joint_law([cases, of], _rate(confidence))
            return _ratio(law, "rate", times, lambda *given: _rate_in_words(*given, per=times))
        population = float(positive(of, "the population (of)"))
        law = self.joint_law([cases], _rate(confidence))
        law = replace(law, words=(*law.words, f"{population:,.10g}"))
        scale = times / population
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
    lower, upper = (max(end, 0.0) if nonnegative else end for end in (lower, upper))
    lower, upper = (end if most is None else min(end, most) for end in (lower, upper))
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
    value = value if most is None or math.isnan(value) else min(max(value, 0.0), most)  # noise may go beyond
    ends = _within(value, ends, law.nonnegative, most)
    note = MAY_BE_NOTHING if ends[0] == -math.inf else NO_UPPER if ends[1] == math.inf else ""
    return _said(law, what, value, ends, interval, words, note)


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
    >>> found["query"].tolist(), round(float(found["change"][0]), 1), found.kind
    (['ward cardiology', 'ward surgery'], 0.5, 'exact')
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
    for question, same in zip(laws[0].words, laws[1].words, strict=True):
        if question != same:
            raise BadInput(f"changes are of the same number; these are {question} and {same}. Name the statistic.")
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
            f"one is about {listing(list(one))}, the other about {listing(list(other))}"
            if set(one) != set(other)
            else "their attributes are declared in different ways"
        )
        raise BadInput(f"these results answer different questions, and cannot be compared: {how}.")
    tasks = [str(release.task) for release in (before, after)]  # type: ignore[attr-defined]
    if type(before) is not type(after) or (not isinstance(before, Comparable) and tasks[0] != tasks[1]):
        raise BadInput(f"these results answer different questions, and cannot be compared: {tasks[0]}, and {tasks[1]}.")
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
    same = {name: getattr(laws[0], name) for name in ("words", "confidence", "noun", "nonnegative")}
    rows = [law.counted or "all rows" for law in laws]
    counted = laws[0].counted if rows[0] == rows[1] else f"before: {rows[0]}; after: {rows[1]}"
    return ApartLaw(**same, counted=counted, bounds=joint, own=own, sums=sure, mixing=np.eye(2 * many))


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
    if not math.isfinite(width) or width <= 1e-9 * abs(number):
        return f"{number:,.6g}"
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
