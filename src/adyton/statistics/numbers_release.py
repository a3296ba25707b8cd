"""A release of numbers: the measurements, every statistic that follows from them, its bounds and its receipt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.arrays import Flags
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.exact import share
from adyton.messages import listing, no_such
from adyton.result.comparing import Comparable
from adyton.result.coverage import Coverage, Total
from adyton.result.intervals import Interval
from adyton.result.joint_law import ApartLaw
from adyton.result.result import Result
from adyton.result.sheets import AS_IT_IS, CONFIDENCE, Column, Look, Sheet, Sheets, cell_labels
from adyton.schema.plain_values import as_text, of_kind, part_of
from adyton.solving.noise_moments import Moments
from adyton.statistics.grouped import Figures, GroupedNumbers
from adyton.statistics.parts import Part, reported
from adyton.statistics.programs import PROGRAMS
from adyton.tasks import NumbersTask
from adyton.tasks.numbers import statistic_in_words

if TYPE_CHECKING:
    from adyton.report.page import View
    from adyton.report.pictures import Drawing

_MOST_GROUPS, _MOST_STATISTICS = 5, 8
"""The largest numbers of groups and statistics that are named in words."""
_SUMMED = ("sum", "count")
"""The statistics of several groups together that follow from those of each."""
FILE = "numbers.csv"
_SHRUNK = (
    "Shrunk means: the mean of each group is moved towards the mean of all groups, the farther the more noise it has, "
    "so that the error over all groups is less. A small group that is truly different looks more like the others. "
    "Bounds of means are meant to hold for 95 of 100 groups on average, not for each group."
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NumbersRelease(Result, Comparable):
    """Statistics of the numbers of an attribute, a line for each group, with bounds.

    Made by :meth:`adyton.Session.release` for :class:`adyton.Sum`, :class:`adyton.Mean`, :class:`adyton.Quantiles`,
    :class:`adyton.Variance` and :class:`adyton.Summary`; saved to a folder by :meth:`save`, read back by :meth:`load`.

    >>> import pandas, adyton as ad
    >>> rows = pandas.DataFrame({"age": [20, 40] * 5000, "sex": ["F", "F", "M", "M"] * 2500})
    >>> schema = ad.Schema({"age": ad.Integer(0, 100), "sex": ad.Categorical(["F", "M"])})
    >>> release = ad.Session(rows, schema=schema, epsilon=1).release(ad.Mean("age", by="sex"), epsilon=1)
    >>> release.to_frame()["mean"].round().tolist(), round(release.value("mean", "F"))
    ([30.0, 30.0], 30)
    """

    kind = "numbers"
    holds = "a release of numbers"
    holds_back = True
    bulky = ("measured",)

    task: NumbersTask
    parts: tuple[Part, ...]
    """The noisy numbers, as they were measured."""
    why: str
    """Why this program ran."""
    shrink: bool = False
    """Whether means of groups are shrunk towards the mean of all groups."""

    @cached_property
    def asked(self) -> GroupedNumbers:
        """The task with the schema of its attributes."""
        return GroupedNumbers(self.task, self.schema)

    @cached_property
    def _usual(self) -> tuple[Figures, ...]:
        return reported(self.asked, self.parts, CONFIDENCE, shrink=self.shrink)

    def figures(self, confidence: float = CONFIDENCE) -> tuple[Figures, ...]:
        """Every requested statistic, with bounds at this confidence."""
        rate = float(share(confidence, "confidence"))
        return self._usual if rate == CONFIDENCE else reported(self.asked, self.parts, rate, shrink=self.shrink)

    def shrunk(self) -> NumbersRelease:
        """The same, with the means of groups shrunk towards the mean of all groups, at no cost in privacy.

        Each mean is moved the farther, the more noise it has compared with how much the groups differ. The mean squared
        error over all groups is less; a small group that is truly different looks more like the others. Bounds hold
        for 95% of the groups on average (robust empirical Bayes), not for each group.

        >>> import pandas, adyton as ad
        >>> rows = pandas.DataFrame({"age": [20, 40, 60] * 60, "ward": ["a", "b", "c"] * 60})
        >>> schema = ad.Schema({"age": ad.Integer(0, 100), "ward": ad.Categorical(["a", "b", "c"])})
        >>> release = ad.Session(rows, schema=schema, epsilon=1).release(ad.Mean("age", by="ward"), epsilon=1)
        >>> release.shrunk().groups == release.groups, release.shrunk().figures()[1].kind
        (True, 'approximate')
        """
        self.task.check_shrinking(self.asked.groups)
        return replace(self, shrink=True)

    def held_back(self, *, below: float | None = None, wider_than: Any = None) -> NumbersRelease:
        """As for counts; *below* is a number of rows, and all numbers of a group with fewer are held back."""
        self.task.check_threshold(below)
        return super().held_back(below=below, wider_than=wider_than)

    @property
    def groups(self) -> list[tuple[Any, ...]]:
        """The labels of each group; a single group without labels where the task has no groups."""
        return self.asked.lines

    def value(self, statistic: str, *group: Any) -> float:
        """One number: ``release.value("mean", "F")``; without a group where there is only one."""
        return float(self._figures(statistic).estimate[self._line(group)])

    def interval(self, statistic: str, *group: Any, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """The bounds of one number; ``release.explain()`` says whether they are exact or approximate."""
        figures, line = self._figures(statistic, confidence), self._line(group)
        return float(figures.lower[line]), float(figures.upper[line])

    def _figures(self, statistic: str, confidence: float = CONFIDENCE) -> Figures:
        known = {figures.name: figures for figures in self.figures(confidence)}
        if not isinstance(statistic, str) or statistic not in known:
            raise BadInput(no_such("statistic", statistic, known))
        return known[statistic]

    def _line(self, group: tuple[Any, ...]) -> int:
        given = tuple(group[0]) if len(group) == 1 and isinstance(group[0], list | tuple) else group
        if given not in self.groups:
            names = listing(self.task.by) if self.task.by else "no groups"
            raise BadInput(f"there is no group {listing(given)}: the release has {names}, like {self.groups[0]}.")
        return self.groups.index(given)

    # ---- comparisons ------------------------------------------------------------------------------------------------

    def joint_law(self, asked: Sequence[object], confidence: float) -> ApartLaw:
        """One statistic of some groups: rows of different groups have independent noise.

        A question is what :meth:`value` takes, ``("mean", "F")``, or a group alone for the first statistic that is
        not a count; a list of groups stands for their sum; None for that of all groups.
        """
        read = [self._compared(question) for question in asked]
        statistic = read[0][0]
        if any(other != statistic for other, _ in read):
            raise BadInput("one statistic is compared at a time: their errors in one group depend on each other.")
        summed = statistic in _SUMMED
        if not summed and any(len(lines) > 1 for _, lines in read):
            raise BadInput(f"the {statistic} of several groups together was not released. Compare single groups.")
        figures, mixing = self._figures(statistic, confidence), np.zeros((len(read), self.asked.groups))
        for place, (_, lines) in enumerate(read):
            mixing[place, lines] = 1.0
        used = mixing.any(axis=0)
        lower, upper, error = (part[used] for part in (figures.lower, figures.upper, figures.error))
        note = "" if np.isfinite(upper - lower).all() else "No bounds: a part of the release is missing."
        bounds = Interval(figures.estimate[used], lower, upper, confidence, figures.kind, note=note)
        exact = figures.kind == "exact" and summed
        return ApartLaw(
            words=tuple(self._in_words(*question) for question in read),
            confidence=confidence,
            noun="rows" if statistic == "count" else "",
            nonnegative=statistic in ("count", "variance", "deviation") or self.asked.grid.lower >= 0,
            counted=self.counted_rows,
            bounds=bounds,
            own=Moments(np.square(error), 3 * np.square(np.square(error)), at_most=True) if exact else None,
            mixing=mixing[:, used],
        )

    def each_question(self) -> list[object]:
        """Each group."""
        return list(self.groups)

    def holds_within(self, part: object, whole: object) -> bool:
        """Whether the groups of one question are among those of another."""
        return set(self._compared(part)[1]) <= set(self._compared(whole)[1])

    def same_noise(self, other: Any) -> bool:
        """Whether both have the same numbers from the same entries of a ledger."""
        return (
            isinstance(other, NumbersRelease)
            and self.receipt.entries == other.receipt.entries
            and [part.to_plain() for part in self.parts] == [part.to_plain() for part in other.parts]
        )

    def _compared(self, question: Any) -> tuple[str, list[int]]:
        """The statistic and the groups that a question is about."""
        names = [figures.name for figures in self.figures()]
        given = question if isinstance(question, tuple) else (question,)
        usual = next((name for name in names if name != "count"), names[0])
        statistic, rest = (given[0], given[1:]) if given and given[0] in names else (usual, given)
        match rest:
            case (None,):
                return statistic, list(range(self.asked.groups))
            case ([],):
                raise BadInput("the list of groups is empty. Name at least one group, or None for all.")
            case (list() as several,):
                return statistic, [self._line(group if isinstance(group, tuple) else (group,)) for group in several]
        return statistic, [self._line(rest)]

    def _in_words(self, statistic: str, lines: list[int]) -> str:
        groups = " and ".join(" × ".join(map(str, self.groups[line])) for line in lines[:_MOST_GROUPS])
        groups += f" and {len(lines) - _MOST_GROUPS:,} more" if len(lines) > _MOST_GROUPS else ""
        of = "" if not self.task.by else " of all groups" if len(lines) == self.asked.groups > 1 else f" of {groups}"
        called = statistic_in_words(statistic)
        quantile = " quantile" if called.endswith("%") else ""
        return f"the {called}{quantile} of {self.task.attribute}{of}"

    @property
    def expected_error(self) -> Mapping[str, float]:
        """The standard error of each statistic in the median group: half of the groups have at most this."""
        return {figures.name: figures.typical_error for figures in self.figures()}

    @property
    def typical_errors(self) -> Mapping[str, float]:
        """The same as :attr:`expected_error`."""
        return self.expected_error

    place = "are in these numbers"

    @property
    def coverage(self) -> Coverage:
        """Which rows are in it: those with a number, in a group."""
        return self._covered(self.schema, numbers=self.task.attribute)

    def total(self) -> Total | None:
        """The rows of all groups, where they were counted."""
        for figures in self._usual:
            if figures.name == "count" and figures.known:
                return Total(float(np.sum(figures.estimate)), float(np.sqrt(np.square(figures.error).sum())))
        return None

    @property
    def extent(self) -> str:
        """The number of groups."""
        return f"; {self.asked.groups:,} groups" if self.task.by else ""

    def own_paragraphs(self) -> tuple[str, ...]:
        """Which program ran and why, its expected errors, and which groups are mostly noise."""
        way = f"Algorithm: {self.algorithm}, which {PROGRAMS[self.algorithm].words}; {self.why}."
        kinds = {part.kind for part in self.parts}
        way += f" Here {'a tree' if 'tree' in kinds else 'no tree'} was measured." if "rough" in kinds else ""
        return (
            way,
            *((_SHRUNK,) if self.shrink else ()),
            self._errors_in_words(),
            *self._small_groups(),
            *self._at_a_bound(),
            self._bounds_in_words(),
        )

    def _errors_in_words(self) -> str:
        known = [figures for figures in self.figures() if figures.known]
        words = [f"{of.name} ± {of.typical_error:,.3g} ({of.kind} bounds)" for of in known[:_MOST_STATISTICS]]
        words += [f"{len(known) - _MOST_STATISTICS} more"] if len(known) > _MOST_STATISTICS else []
        meaning = "In 95 of 100 releases made in this way, exact bounds contain the true number."
        if any(figures.kind == "approximate" for figures in known):
            meaning += " Approximate bounds are meant to, without a formal guarantee."
        if any(figures.name.endswith("%") for figures in known):
            meaning += (
                " On public tables, the bounds of quantiles held in about 92 to 98 of 100 releases; in more where "
            )
            meaning += "many rows share a value."
        groups = f", in the median of {self.asked.groups:,} groups" if self.task.by else ""
        return f"Expected error: {'; '.join(words)}{groups}. {meaning}"

    def _small_groups(self) -> tuple[str, ...]:
        """A warning that names groups too small for the budget; they are never left out."""
        lost = self._noisy_groups() if self.task.by else []
        if not lost:
            return ()
        named = ", ".join(" × ".join(map(str, self.groups[line])) for line in lost[:_MOST_GROUPS])
        more = f" and {len(lost) - _MOST_GROUPS:,} more" if len(lost) > _MOST_GROUPS else ""
        return (
            f"Small groups: {len(lost):,} of {self.asked.groups:,} groups have too few rows for this ε: their bounds "
            "span more than half "
            f"of the possible range ({named}{more}). They are still published; rely on the intervals.",
        )

    def _at_a_bound(self) -> tuple[str, ...]:
        """Which means are shown at a bound, and why."""
        means, grid, said = [of for of in self.figures() if of.name == "mean" and of.known], self.asked.grid, []
        for end, which, beyond in ((grid.lower, "smallest", "below"), (grid.upper, "largest", "above")):
            found = (np.flatnonzero((of.estimate == float(end)) & ~self.held(of.name)) for of in means)
            lines = [int(line) for some in found for line in some]
            named = ", ".join(" × ".join(map(str, self.groups[line])) for line in lines[:_MOST_GROUPS])
            named += f" and {len(lines) - _MOST_GROUPS:,} more" if len(lines) > _MOST_GROUPS else ""
            if lines:
                said.append(
                    f"At a bound: the mean{f' of {named}' * bool(self.task.by)} is shown as {self._value(end)}, the "
                    f"{which} value allowed. With its noise it was there or {beyond}; rely on the interval."
                )
        return tuple(said)

    def _value(self, number: Any) -> str:
        """A value of the attribute in words."""
        return f"{float(number):.10g}" if self.asked.attribute.years else f"{float(number):,.10g}"

    def _noisy_groups(self) -> list[int]:
        """The groups whose statistics are little more than noise."""
        known = {figures.name: figures for figures in self.figures() if figures.known}
        width, wide = self.asked.grid.width, [name for name in known if name == "mean" or name.endswith("%")]
        noisy = [(known[name].upper - known[name].lower > width / 2) & ~self.held(name) for name in wide]
        if not wide and "sum" in known:
            noisy = [(known["sum"].lower < 0) & (known["sum"].upper > 0) & ~self.held("sum")]
        return [int(line) for line in np.flatnonzero(np.any(noisy, axis=0))]

    def _bounds_in_words(self) -> str:
        """What happens to values that are not between the bounds."""
        attribute, grid = self.asked.attribute, self.asked.grid
        least, most = self._value(grid.lower), self._value(grid.upper)
        outside = {"clamp": "moved to the nearer bound", "drop": "left out", "other": "left out"}[attribute.outside]
        return (
            f"Values: of {self.task.attribute} between {least} and {most}, in steps of {float(grid.step):g}; other "
            f"values are {outside}, missing values are left out."
        )

    def sheets(self, look: Look = AS_IT_IS, confidence: float | None = CONFIDENCE) -> Sheets:
        """A line for each group: its labels, then every statistic with its bounds and its standard error."""
        rate = CONFIDENCE if confidence is None else confidence
        axes = [self.schema.attributes[name].labels for name in self.task.by]
        labels = dict(zip(self.task.by, cell_labels(axes), strict=True))
        years = self.asked.attribute.years
        columns = tuple(
            Column(
                *(of.name, of.estimate, of.lower, of.upper, of.error, of.kind, of.known),
                years=years and (of.name == "mean" or of.name.endswith("%")),
            )
            for of in self.figures(rate)
        )
        return Sheets(FILE, (Sheet(labels, columns, prefixed=True, counted=self.counted_rows),), rate).held_by(
            self.hold
        )

    def held(self, statistic: str) -> Flags:
        """Which numbers of a statistic are held back."""
        column = next(column for column in self.sheets().sheets[0].columns if column.name == statistic)
        return np.zeros(self.asked.groups, dtype=bool) if column.held is None else column.held

    def explained(self) -> tuple[Sheets, ...]:
        """The numbers themselves: they are few."""
        return (self.sheets(),)

    def drawings(self, most: int | None = None) -> list[Drawing]:
        """Dots with intervals for groups, lines for groups that are dates."""
        from adyton.report.numbers import drawings  # loaded only where something is drawn

        return drawings(self)[:most]

    def view(self) -> View:
        """The usual page, with the number of groups, and how far off their numbers are."""
        from adyton.report.numbers import groups_view  # loaded only where a page is made

        also = self._at_a_bound()
        return groups_view(self, also, len(self._noisy_groups()) if self.task.by else 0)

    def own_dict(self, *, complete: bool) -> dict[str, Any]:
        """All measurements: everything else follows from them."""
        shrunk = {"shrunk": True} if self.shrink else {}
        return {"why": self.why, **shrunk, "measured": [part.to_plain() for part in self.parts]}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], common: Mapping[str, Any]) -> NumbersRelease:
        """A release from its saved form: noisy numbers for every group."""
        task, schema, epsilon = common["task"], common["schema"], common["epsilon"]
        if not isinstance(task, NumbersTask) or task.select(schema) != schema:
            raise BadInput("the task is about other attributes than the schema")
        if common["algorithm"] not in PROGRAMS:
            raise BadInput("the result names an algorithm for numbers that does not exist")
        numbers, measured = GroupedNumbers(task, schema), of_kind(list, part_of(plain, "measured"), "measured")
        parts = tuple(Part.from_plain(part, numbers, epsilon) for part in measured)
        shrink = of_kind(bool, plain.get("shrunk", False), "shrunk")
        if shrink:
            task.check_shrinking(numbers.groups)
        return cls(**common, parts=parts, why=as_text(part_of(plain, "why"), "why"), shrink=shrink)
