"""Single noisy counts: of rows, of units, and of the rows and units that the limit on rows per unit cuts."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from adyton.arrays import Reals
from adyton.errors import BadInput
from adyton.exact import as_number, display, share
from adyton.kernel.mechanisms import VectorLaplace
from adyton.messages import shorten
from adyton.noise.simulated import discrete_laplace_radius, discrete_laplace_variance, mixed_laplace_radius
from adyton.plans.base import ExpectedError
from adyton.queries import Explicit
from adyton.result.combining import COMBINED, MOST, check_same, joint_receipt
from adyton.result.comparing import Changing, Combinable
from adyton.result.coverage import Total
from adyton.result.figures import Figure
from adyton.result.intervals import Interval
from adyton.result.joint_law import ApartLaw
from adyton.result.result import Result, result_from
from adyton.result.sheets import AS_IT_IS, CONFIDENCE, Column, Look, Sheet, Sheets
from adyton.schema.plain_values import as_amount, as_real, of_kind, part_of
from adyton.solving.noise_moments import Moments, laplace_excess
from adyton.tasks import RowsPerUnit
from adyton.whole import SAFE, whole

if TYPE_CHECKING:
    from adyton.kernel.sources import TableSource, VectorSource
    from adyton.report.pictures import Drawing
    from adyton.result.release import Release


FILE = "number.csv"
_LIMITS = (1, 2, 3, 5)
_ROUNDED = 1 + Fraction(1, 1 << 20)
"""The kernel rounds the scale of noise up, by less than this factor."""
_UNCHECKED = (
    "A row with a blank or unknown value meets no comparison with it, and is not counted here; how many such rows "
    "there are was not measured."
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Number(Result, Changing, Combinable):
    """A noisy number of rows, or of units that have rows, with its interval.

    Made by :meth:`adyton.Session.count`, :meth:`adyton.Session.count_units`, and by :meth:`adyton.Session.release` for
    :class:`adyton.Count` and :class:`adyton.Units`; kept in a folder by :meth:`save`, and read back by :meth:`load`.

    >>> import pandas, adyton as ad
    >>> session = ad.Session(pandas.DataFrame({"age": [34, 51] * 500}), schema=ad.Schema({"age": ad.Integer(0, 119)}),
    ...                      epsilon=1)
    >>> rows = session.release(ad.Count(), epsilon=1)
    >>> abs(rows.value - 1000) < 30, rows.interval().lower < rows.value
    (True, True)
    """

    kind = "number"
    noun = "count"
    holds = "a count"
    at_once = True
    checks_values = False
    place = "are counted"
    bulky = ("parts",)

    value: int
    """The number with its noise."""
    row_epsilon: Fraction
    """What one row pays; the scale of the noise is 1 divided by this. Of a combined count, what it pays for all."""
    parts: tuple[Number, ...] = ()
    """The counts that :func:`adyton.combine` made it from, if it did; it is their average, weighted by their noise, to
    the nearest whole number."""

    @property
    def answers(self) -> np.ndarray:
        """The number, as an array with one element."""
        return np.array([self.value])

    @property
    def variances(self) -> Reals:
        """The variance of its noise, as an array with one element."""
        weights, each = self._mixed
        return np.array([np.square(weights) @ each])

    @property
    def _mixed(self) -> tuple[Reals, Reals]:
        """The weight of each part, in proportion to 1 divided by the variance of its noise; and these variances."""
        variances = discrete_laplace_variance([1 / part.row_epsilon for part in self.parts or (self,)])
        worth = 1 / np.maximum(variances, 1e-300)
        return worth / worth.sum(), variances

    @property
    def standard_deviations(self) -> Reals:
        """The square root of the variance."""
        return np.sqrt(self.variances)

    @property
    def private(self) -> bool:
        """Whether the noise is real."""
        return self.receipt.private

    @property
    def expected_error(self) -> ExpectedError:
        """The standard deviation of the noise."""
        return ExpectedError(float(self.standard_deviations[0]), 1, "exact")

    @property
    def typical_errors(self) -> Mapping[str, float]:
        """The standard deviation of the noise, by the name ``count``."""
        return {"count": self.expected_error.per_query}

    def radius(self, confidence: float = CONFIDENCE) -> int:
        """The largest distance between the number and the true one, with this confidence."""
        rate = float(share(confidence, "confidence"))
        if not self.parts:
            return discrete_laplace_radius(1 / self.row_epsilon, rate)
        return mixed_laplace_radius([1 / part.row_epsilon for part in self.parts], self._mixed[0], rate)

    def interval(self, confidence: float = CONFIDENCE) -> Figure:
        """The number with its exact interval."""
        far, rate = self.radius(confidence), float(share(confidence, "confidence"))
        lower, upper = self.value - far, self.value + far
        what = f"number of {'units' if self.task.per_unit else 'rows'}"
        return Figure(self.value, lower, upper, what=what, confidence=rate, kind="exact", counted=self.counted_rows)

    def joint_law(self, asked: Sequence[object], confidence: float) -> ApartLaw:
        """The number and its noise; there is nothing else to ask for."""
        if any(question is not None for question in asked):
            raise BadInput("a single count answers no further queries. Compare it as a whole.")
        noun, rate = "units" if self.task.per_unit else "rows", float(share(confidence, "confidence"))
        weights, variances = self._mixed
        each = [part.interval(rate) for part in self.parts or (self,)]
        values, lower, upper = (
            np.array([float(end) for end in ends])
            for ends in zip(*((own, own.lower, own.upper) for own in each), strict=True)
        )
        return ApartLaw(
            words=tuple(f"number of {noun}" for _ in asked),
            confidence=rate,
            noun=noun,
            counted=self.counted_rows,
            bounds=Interval(values, lower, upper, rate, "exact"),
            own=Moments(variances, np.square(variances) * laplace_excess(variances)),
            mixing=np.tile(weights, (len(asked), 1)),
        )

    def each_question(self) -> list[object]:
        """One: the number itself."""
        return [None]

    def same_noise(self, other: Any) -> bool:
        """Whether both are the same number from the same entries of a ledger."""
        return isinstance(other, Number) and any(
            (left.value, left.receipt.entries) == (right.value, right.receipt.entries)
            for left, right in itertools.product(self.parts or (self,), other.parts or (other,))
        )

    def combined_with(self, others: Sequence[Self]) -> Number:
        """The average of this and other counts of the same rows, weighted by their noise."""
        if any((other.task, other.counted_rows) != (self.task, self.counted_rows) for other in others):
            raise BadInput("only counts of the same rows, or of the same units, are combined.")
        return _averaged([part for number in (self, *others) for part in number.parts or (number,)])

    def __int__(self) -> int:
        return self.value

    def __float__(self) -> float:
        return float(self.value)

    def total(self) -> Total:
        """The number, unless units are counted; it has no values that could be unknown."""
        return Total(float(self.value), float(self.standard_deviations[0]))

    def own_paragraphs(self) -> tuple[str, ...]:
        """The number, how far off it is, and a remark where a predicate's values were not checked."""
        of = "units" if self.task.per_unit else "rows"
        far = self.radius()
        apart = f"at most {far:,} apart" if far else "equal"
        what = self.counted.what() if self.counted else of
        words = (
            f"About {self.value:,} {what}. It is the true number plus noise; in 95 of 100 cases the two are {apart}."
        )
        return (words, *self._parts_in_words(), *((_UNCHECKED,) if self.where else ()))

    def _parts_in_words(self) -> tuple[str, ...]:
        """How it was combined, if it was."""
        if not self.parts:
            return ()
        pairs = zip(self.parts, self._mixed[0], strict=True)
        shares = ", ".join(f"that of ε = {display(part.epsilon)} counts {weight:.0%}" for part, weight in pairs)
        return (f"Combined from {len(self.parts)} counts, weighted by their noise: {shares}.",)

    def sheets(self, look: Look = AS_IT_IS, confidence: float | None = CONFIDENCE) -> Sheets:
        """A sheet with one line."""
        rate = CONFIDENCE if confidence is None else confidence
        interval, what = self.interval(rate), "units" if self.task.per_unit else "rows"
        bounds = np.array([int(interval.lower)]), np.array([int(interval.upper)])
        column = Column("count", self.answers, *bounds, self.standard_deviations)
        return Sheets(FILE, (Sheet({"of": [what]}, (column,), counted=self.counted_rows),), rate)

    def shown(self, *, quiet: bool = False) -> tuple[str, ...]:
        """The bare number, followed by what it counts if that is not all rows."""
        return (f"{self.value}{f' {self.counted.what()}' if self.counted and not quiet else ''}",)

    def drawings(self, most: int | None = None) -> list[Drawing]:
        """A dot with its interval."""
        from adyton.report.numbers import number_drawing  # pictures are loaded when somebody looks at one

        return [number_drawing(self)]

    def view(self) -> dict[str, Any]:
        """What its page says, with a remark on values that were not checked."""
        from adyton.report.numbers import number_view  # pages are loaded when one is made

        return number_view(self)

    def own_dict(self, *, complete: bool) -> dict[str, Any]:
        """The number, its noise and its interval."""
        plain = {
            "count": self.value,
            "of": self.receipt.unit if self.task.per_unit else "rows",
            "row_epsilon": as_number(self.row_epsilon),
            "variance": float(self.variances[0]),
            "within": {"confidence": CONFIDENCE, "radius": self.radius()},
        }
        return plain | ({"parts": [part._body(complete=False) for part in self.parts]} if self.parts else {})

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], common: Mapping[str, Any]) -> Number:
        """Read the count, a whole number, and the budget that determines its noise."""
        if common["task"].select(common["schema"]) != common["schema"]:
            raise BadInput("the task and the schema describe different tables.")
        if "parts" in plain:
            return _combined(plain)
        value = part_of(plain, "count")
        if abs(whole(value, "the count", -SAFE)) > SAFE:
            raise BadInput(f"the count must not be beyond ±2^62, given {shorten(value)}.")
        own = as_amount(part_of(plain, "row_epsilon"), "what a row pays", most=common["epsilon"])
        return cls(**common, value=value, row_epsilon=own)


def _averaged(parts: Sequence[Number]) -> Number:
    """The average of counts that are not combined themselves."""
    made = replace(
        parts[0],
        algorithm=COMBINED,
        options={},
        epsilon=sum((part.epsilon for part in parts), Fraction(0)),
        receipt=joint_receipt([part.receipt for part in parts]),
        row_epsilon=sum((part.row_epsilon for part in parts), Fraction(0)),
        parts=tuple(parts),
    )
    return replace(made, value=round(float(made._mixed[0] @ [part.value for part in parts])))


def _combined(plain: Mapping[str, Any]) -> Number:
    """Read a combined count: each part as a count of its own, from which all else follows."""
    parts = of_kind(list, plain["parts"], "parts")
    if not 2 <= len(parts) <= MOST or any(isinstance(part, Mapping) and "parts" in part for part in parts):
        raise BadInput(f"it must be combined from 2 to {MOST:,} counts, which must not be combined themselves.")
    read = [result_from(part, Number._own_kind) for part in parts]
    numbers = [number for number in read if isinstance(number, Number)]
    check_same(numbers)
    return numbers[0].combined_with(numbers[1:])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RowsCut(Result):
    """What the limit on the rows of a unit leaves out: see :class:`~adyton.result.number.CutOff`."""

    kind = "rows cut"
    noun = "count"
    holds = "a count of what is left out"
    at_once = True
    checks_values = False
    place = ""

    cut_off: CutOff

    def own_paragraphs(self) -> tuple[str, ...]:
        """The count, in words."""
        return (f"{self.cut_off}.",)

    def sheets(self, look: Look = AS_IT_IS, confidence: float | None = CONFIDENCE) -> Sheets:
        """The number of units that are cut, and of rows left out, at least."""
        cut, rate = self.cut_off, CONFIDENCE if confidence is None else confidence
        pairs: tuple[tuple[float, float], ...] = (cut.units_between, cut.rows_between)
        if rate != CONFIDENCE:
            sides = (1, max(1, cut.most - cut.limit))  # the scales are 2/ε and 2m/ε
            radii = [discrete_laplace_radius(2 * side / self.epsilon * _ROUNDED, rate) for side in sides]
            pairs = tuple((value - far, value + far) for value, far in zip((cut.units, cut.rows), radii, strict=True))
        lower, upper = (np.array([pair[end] for pair in pairs]) for end in (0, 1))
        column = Column("count", np.array([cut.units, cut.rows]), lower, upper)
        labels = {"of": ["units with more rows than the limit", "rows left out, at least"]}
        return Sheets(FILE, (Sheet(labels, (column,)),), rate)

    def shown(self, *, quiet: bool = False) -> tuple[str, ...]:
        """The count in words, which say what is "at least"."""
        return self.own_paragraphs()

    def drawings(self, most: int | None = None) -> list[Drawing]:
        """No pictures: the two numbers count different things."""
        return []

    def own_dict(self, *, complete: bool) -> dict[str, Any]:
        """The numbers, under names that say what is "at least"."""
        return {"of": self.receipt.unit, **self.cut_off.to_plain()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], common: Mapping[str, Any]) -> RowsCut:
        """Read the numbers, which must be finite."""

        def pair(name: str) -> tuple[float, float]:
            low, high = (as_real(end, name) for end in of_kind(list, part_of(plain, name), name))
            return low, high

        cut = CutOff(
            whole(part_of(plain, "rows_per_unit"), "rows_per_unit", 1),
            whole(part_of(plain, "rows_of_a_unit_up_to"), "most", 1),
            as_real(part_of(plain, "units_cut"), "units_cut"),
            as_real(part_of(plain, "rows_left_out_at_least"), "rows_left_out_at_least"),
            pair("rows_left_out_at_least_between"),
            pair("units_cut_between"),
        )
        return cls(**common, cut_off=cut)


@dataclass(frozen=True)
class CutOff:
    """What a limit on the rows of a unit leaves out: of how many units, and at least how many of their rows.

    How many rows are left out in all cannot be measured, because one unit may have any number of them. What can be
    measured is the number of units with more rows than the limit, which one unit changes by 1, and their rows beyond
    the limit, up to a public number per unit. So every number of rows here is "at least": the true one may be much
    larger.
    """

    limit: int
    most: int
    """How many rows of a unit are taken into account: a unit that reaches this number may have more."""
    units: float
    """How many units have more rows than the limit."""
    rows: float
    """How many of their rows are left out, at least."""
    rows_between: tuple[float, float]
    """Bounds for that number, in 95 of 100 cases. The lower one holds for all rows that are left out, too."""
    units_between: tuple[float, float]
    """Bounds for the number of units, in 95 of 100 cases."""
    units_share: float | None = None
    """The same as a part of all units; None where the total was not counted."""
    rows_share: float | None = None
    """The part of all rows that is left out, at least; None where the total was not counted."""

    def to_plain(self) -> dict[str, Any]:
        """Everything, as plain values for JSON; names say what is "at least"."""
        return {
            "in_words": f"{self}.",
            "rows_per_unit": self.limit,
            "rows_of_a_unit_up_to": self.most,
            "units_cut": self.units,
            "units_cut_between": list(self.units_between),
            "units_cut_share": self.units_share,
            "rows_left_out_at_least": self.rows,
            "rows_left_out_at_least_between": list(self.rows_between),
            "rows_left_out_at_least_share": self.rows_share,
            "confidence": CONFIDENCE,
        }

    def __str__(self) -> str:
        units, rows = max(self.units, 0), max(self.rows, 0)
        of_units = "" if self.units_share is None else f" ({self.units_share:.1%})"
        of_rows = "" if self.rows_share is None else f" (at least {self.rows_share:.1%})"
        low, high = (max(0, bound) for bound in self.rows_between)
        return (
            f"rows_per_unit = {self.limit}: cuts at least about {rows:,.0f} rows{of_rows} of about {units:,.0f} units"
            f"{of_units}. Counting up to {self.most:,} rows of a unit, that is {low:,.0f} to {high:,.0f} rows in 95 of "
            "100 cases; rows of a unit beyond that are cut, too"
        )


def unit_sizes(root: TableSource, most: int) -> VectorSource:
    """The number of units with 1, 2, … and *most* or more rows, before rows are cut; one unit changes one by 1."""
    (name,) = RowsPerUnit(most).select(root.schema).names
    if most <= root.schema.rows_per_unit:
        raise BadInput(
            f"most must be larger than rows_per_unit = {root.schema.rows_per_unit}, given {shorten(most)}: it is the "
            "largest number of rows of a unit that is counted."
        )
    return root.units(name, most=most).vectorize()


def measured_cut_off(sizes: VectorSource, limit: int, epsilon: Fraction) -> CutOff:
    """What *limit* leaves out, from one measurement that costs *epsilon*.

    A unit changes the first answer by 1 and the second by at most m = most − limit. Weights m and 1 make both cost the
    same: ε/2 each, with noise of scale 2/ε for units and 2m/ε for rows. The kernel computes that from the queries.
    """
    most = sizes.cells
    over = np.maximum(np.arange(1, most + 1) - limit, 0)
    queries, weights = Explicit.from_rows(np.stack([over > 0, over]).astype(np.int64)), [most - limit, 1]
    scales = VectorLaplace.weighted(queries, weights).scales(epsilon)
    ratios = [Fraction(int(above), int(below)) for above, below in np.broadcast(scales.numerator, scales.denominator)]
    radii = [discrete_laplace_radius(ratio, CONFIDENCE) for ratio in (ratios * 2)[:2]]
    units, rows = sizes.measure(queries, epsilon, weights).answers.reshape(-1).tolist()
    bounds = [
        (float(value - radius), float(value + radius)) for value, radius in zip((units, rows), radii, strict=True)
    ]
    return CutOff(limit, most, float(units), float(rows), bounds[1], bounds[0])


def cut_off(release: Release, limits: int | Sequence[int] | None = None) -> list[CutOff]:
    """What some limits on the rows of a unit would leave out; by default 1, 2, 3, 5, 10, 20, 30, 50 and so on.

    ``ad.cut_off(session.release(ad.RowsPerUnit(50), epsilon="0.1"))``; nothing more is spent. The last class of such a
    release is "50 or more", so rows are given as "at least". For the limit that is in force,
    :meth:`adyton.Session.cut_off` measures the same with less noise.
    """
    task = getattr(release, "task", None)
    if not isinstance(task, RowsPerUnit):
        given = shorten(release) if task is None else str(task)
        raise BadInput(f"what is cut off follows from a release of ad.RowsPerUnit(…). This is {given}.")
    if limits is None:
        steps = [step * 10**power for power in range(6) for step in _LIMITS]
        limits = [step for step in steps if step < task.most]
    wanted = [whole(limit, "a limit", 1) for limit in ([limits] if isinstance(limits, int) else limits)]
    if not wanted:
        return []
    if max(wanted) >= task.most:
        raise BadInput(
            f"limits are numbers of rows below {task.most}: units with that many or more are one class of the release, "
            f"given {shorten(limits)}."
        )
    sizes = np.arange(1, task.most + 1)
    cut = np.array([np.maximum(sizes - limit, 0) for limit in wanted])
    of_units, of_rows = (
        release.noise.interval(Explicit.from_rows(queries.astype(np.int64)), CONFIDENCE) for queries in (cut > 0, cut)
    )
    units, rows = float(release.estimate.sum()), float(release.estimate @ sizes)
    return [
        CutOff(
            limit,
            task.most,
            above := float(release.estimate[limit:].sum()),
            gone := float(release.estimate @ cut[place]),
            (float(of_rows.lower[place]), float(of_rows.upper[place])),
            (float(of_units.lower[place]), float(of_units.upper[place])),
            _share(above, units),
            _share(gone, rows),
        )
        for place, limit in enumerate(wanted)
    ]


def _share(part: float, whole_part: float) -> float:
    """A part of the whole, from 0 to 1: noise can make a part negative, or larger than the whole."""
    return float(np.clip(part / whole_part, 0, 1)) if whole_part > 0 else 0.0
