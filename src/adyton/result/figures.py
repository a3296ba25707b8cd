"""Figures: numbers with their intervals, and sums, means and quantiles from the counts of cells, at no cost in privacy.

All bounds come from those of weighted sums of counts, whose noise is known, by inverting a test. The true mean μ has
Σ(v_i − μ)·x_i = 0, whatever the data: a candidate is ruled out if its sum is farther from 0 than noise would take it.
The q-quantile is in the first cell j with x_0 + … + x_j − q·Σx ≥ 0: a cell is ruled out if that sum is too far below 0,
or if the sum for the cell before it is too far above. Each mean and each cell is tested by itself, so that the true one
is ruled out no more often than the tests are wrong: if the bounds of the sums are exact, so are these. Where cells are
wider than one number, the least and the greatest number of each are used, on the safe side. Where the counts do not
show that there are any rows, nothing is ruled out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from adyton.arrays import Integers, Reals, arrow_column
from adyton.denoising.shrinkage import isotonic
from adyton.errors import BadInput
from adyton.messages import listing
from adyton.queries import Explicit, Prefix, Product, Queries
from adyton.result.intervals import Interval, Kind, ends
from adyton.result.sheets import to_pandas, to_polars, with_counted
from adyton.schema import Date, Duration, Integer, Numeric, Schema
from adyton.schema.attributes import Attribute
from adyton.schema.calendar import DAY, date_at
from adyton.schema.numbers import UNITS
from adyton.schema.times import Times

if TYPE_CHECKING:
    import pyarrow as pa

Value: TypeAlias = float | date | datetime | timedelta | None
Side: TypeAlias = Literal[-1, 0, 1]


@dataclass(frozen=True)
class Form:
    """How to read a number: days since 1970 for a date, seconds for a date with time, else an amount in *unit*.

    >>> Form("date").value(19_000.6), Form("duration", "minutes").text(90.0)
    (datetime.date(2022, 1, 9), '90 minutes')
    """

    kind: Literal["date", "datetime", "duration"]
    unit: str = ""

    def value(self, number: float, side: Side = 0) -> Value:
        """What the number stands for. Dates and times are rounded: to the nearest, down (side −1) or up (1). None if it
        is not a number, or beyond what Python's types can hold."""
        ways: dict[Side, Callable[[float], int]] = {-1: math.floor, 0: round, 1: math.ceil}
        whole = ways[side]
        try:
            match self.kind:
                case "date":
                    return date_at(whole(number) * DAY).date()
                case "datetime":
                    return date_at(whole(number))
                case _:
                    return timedelta(seconds=number * UNITS[self.unit])
        except (ValueError, OverflowError):
            return None

    def text(self, number: float, side: Side = 0) -> str:
        """The same, as text."""
        if self.kind == "duration":
            return f"{number:.6g} {self.unit}"
        return str(self.value(number, side) or "none")


_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class Lines:
    """Columns of equal length: labels, then a count with its bounds, then everything else."""

    columns: Mapping[str, Any]
    confidence: float
    kind: Kind
    """Whether the bounds are a promise (``exact``) or ``approximate``."""
    meaning: str
    """What they promise, in plain words; or why there are none."""
    counted: str = ""
    """Which rows were counted, in a few words, if not all of them."""

    def to_arrow(self) -> pa.Table:
        """As an Arrow table."""
        import pyarrow as pa

        columns = with_counted(dict(self.columns), self.counted, len(self))
        return pa.table({name: arrow_column(column) for name, column in columns.items()})

    def to_frame(self) -> Any:
        """As a pandas DataFrame."""
        return to_pandas(self.to_arrow())

    def to_polars(self) -> Any:
        """As a polars DataFrame."""
        return to_polars(self.to_arrow())

    def __getitem__(self, column: str) -> Any:
        return np.asarray(self.columns[column])

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Line by line."""
        return iter(zip(*(np.asarray(column).tolist() for column in self.columns.values()), strict=True))

    def __repr__(self) -> str:
        rows = [[_text(value) for value in line] for line, _ in zip(self, range(_SHOWN), strict=False)]
        texts = [list(self.columns), *rows]
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        lines = ["  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)) for line in texts]
        more = [f"… {len(self) - _SHOWN:,} more"] if len(self) > _SHOWN else []
        first = [f"({self.counted})"] if self.counted else []
        return "\n".join([*first, *lines, *more, f"({100 * self.confidence:g}% {self.kind})"])


def _text(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3g}"


class Figure(float):
    """A number with bounds: it acts as a plain number, and also knows the bounds for the true one, their confidence,
    and whether they are a promise (``exact``) or ``approximate``.

    >>> age = Figure(38.5, 37.9, 39.2, what="mean", confidence=0.95, kind="exact")
    >>> age, age + 1, age.interval
    (38.5 (37.9 to 39.2, 95% exact), 39.5, (37.9, 39.2))
    """

    __slots__ = ("confidence", "counted", "form", "kind", "lower", "note", "upper", "what")
    lower: float
    upper: float
    what: str
    """What it is, in a word or two."""
    confidence: float
    """That of the bounds; lower than what was asked for where *note* says so."""
    kind: Kind
    note: str
    """A caveat about the bounds, if any; or why there are none."""
    form: Form | None
    """How the number is read where it stands for a date, a time or a duration."""
    counted: str
    """Which rows it is about, in a few words, if not all of them."""

    def __new__(  # noqa: D102
        cls,
        value: float,
        lower: float,
        upper: float,
        *,
        what: str,
        confidence: float,
        kind: Kind,
        note: str = "",
        form: Form | None = None,
        counted: str = "",
    ) -> Figure:
        made = super().__new__(cls, value)
        made.lower, made.upper = min(lower, value), max(upper, value)  # no number lies outside of its bounds
        made.what, made.confidence, made.kind, made.note, made.form = what, confidence, kind, note, form
        made.counted = counted
        return made

    @classmethod
    def within(
        cls, value: float, lower: float, upper: float, interval: Interval, what: str, form: Form | None = None
    ) -> Figure:
        """A figure with these bounds, derived from *interval* and widened to contain the value; unbounded if its bounds
        may not be shown."""
        lower, upper = min(lower, value), max(upper, value)  # as they are if the value is not a number
        if missing := interval.missing:
            lower, upper = -math.inf, math.inf
        note = missing or interval.note
        return cls(
            value, lower, upper, what=what, confidence=interval.confidence, kind=interval.kind, note=note, form=form
        )

    @property
    def value(self) -> Value:
        """What it stands for: a number, a date, a time or a length of time, depending on the attribute.

        A date that lies between two days is the nearer of them; None where there are no rows.
        """
        return float(self) if self.form is None else self.form.value(self)

    @property
    def bounds(self) -> tuple[Value, Value]:
        """The interval, as in :attr:`value`; None for an end beyond such values."""
        if self.form is None:
            return self.interval
        return self.form.value(self.lower, -1), self.form.value(self.upper, 1)

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds, as numbers."""
        return self.lower, self.upper

    @property
    def bounded(self) -> bool:
        """Whether there are bounds."""
        return math.isfinite(self.lower) and math.isfinite(self.upper)

    @property
    def meaning(self) -> str:
        """What the interval promises, in plain words."""
        if not self.bounded:
            return self.note
        rate = f"{100 * self.confidence:g}"
        said = (
            f"Of all releases made in this way, at least {rate} in 100 have the true {self.what} inside the interval. "
            "The noise that was added and the width of the cells are accounted for, and nothing else: not rows that "
            "are missing or wrong, and values outside of the schema's bounds count as the schema says."
            if self.kind == "exact"
            else f"The interval is meant to hold the true {self.what} in {rate} of 100 releases, without a formal "
            "guarantee: how far off the counts are depends on the data, and was estimated."
        )
        of = f"Counted: {self.counted}. " if self.counted else ""
        return f"{of}{said} {self.note}".rstrip()

    def __reduce__(self) -> tuple[Any, ...]:
        named = {name: getattr(self, name) for name in ("what", "confidence", "kind", "note", "form", "counted")}
        return _again, (float(self), self.lower, self.upper, named)

    def __repr__(self) -> str:
        value, low, high = (
            (f"{float(self):.6g}", *ends(self.lower, self.upper))
            if self.form is None
            else (self.form.text(self), self.form.text(self.lower, -1), self.form.text(self.upper, 1))
        )
        bounds = f"{low} to {high}, {100 * self.confidence:g}% {self.kind}"
        counted = f"; {self.counted}" if self.counted else ""
        return f"{value} ({bounds if self.bounded else 'no bounds'}{counted})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)


def _again(value: float, lower: float, upper: float, named: dict[str, Any]) -> Figure:
    return Figure(value, lower, upper, **named)


# ---- from counts of cells --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CellNumbers:
    """The least and the greatest number of each cell, except those for other and missing values.

    >>> both = CellNumbers.of(Integer(0, 99, step=25))
    >>> both.least.tolist(), both.greatest.tolist(), both.middle.tolist()
    ([0.0, 25.0, 50.0, 75.0], [24.0, 49.0, 74.0, 99.0], [12.0, 37.0, 62.0, 87.0])
    """

    least: Reals
    greatest: Reals
    whole: bool
    """Whether they are whole numbers."""
    form: Form | None = None
    """What they stand for, if not plain numbers."""

    @classmethod
    def of(cls, attribute: Integer | Numeric | Times) -> CellNumbers:
        """Of whole numbers, of numbers in bins, of dates as days since 1970, or of times as seconds since then.

        >>> CellNumbers.of(Date("2024-02-28", "2024-03-02", by="month")).greatest - 19_781
        array([1., 3.])
        """
        if isinstance(attribute, Times):
            starts, ends = attribute.starts, np.append(attribute.starts[1:], attribute.span.last + 1)
            if isinstance(attribute, Date):
                return cls((starts // DAY).astype(float), ((ends - 1) // DAY).astype(float), True, Form("date"))
            return cls(starts.astype(float), ends.astype(float), False, Form("datetime"))
        if isinstance(attribute, Integer):
            least = np.arange(attribute.min, attribute.max + 1, attribute.step, dtype=np.float64)
            return cls(least, np.minimum(least + attribute.step - 1, attribute.max), True)
        edges = np.linspace(attribute.min, attribute.max, attribute.bins + 1)
        edges = np.array(attribute.edges, dtype=np.float64) if attribute.edges else edges
        form = Form("duration", attribute.unit) if isinstance(attribute, Duration) else None
        return cls(edges[:-1], edges[1:], False, form)

    @property
    def middle(self) -> Reals:
        """The number taken for a row if only its cell is known."""
        return np.asarray((self.least + self.greatest) / 2)

    @property
    def single(self) -> bool:
        """Whether every cell has one number only, so that nothing is lost by counting cells."""
        return bool((self.least == self.greatest).all())

    def some(self, cells: slice) -> CellNumbers:
        """The numbers of some cells."""
        return CellNumbers(self.least[cells], self.greatest[cells], self.whole, self.form)

    def inside(self, cell: int, part: float) -> float:
        """The number below which this part of a cell's rows lies, if they are spread evenly.

        >>> CellNumbers.of(Integer(0, 99, step=25)).inside(1, 0.5), CellNumbers.of(Numeric(0, 1, bins=2)).inside(1, 0.5)
        (37.0, 0.75)
        """
        least, greatest, kept = float(self.least[cell]), float(self.greatest[cell]), min(1.0, max(0.0, part))
        if not self.whole:
            return least + kept * (greatest - least)
        return min(greatest, least + float(np.floor(kept * (greatest - least + 1))))


Bounds: TypeAlias = Callable[[Queries], Interval]
"""Bounds on sums of the counts: symmetric about an unbiased answer."""

NO_ROWS = "The released counts do not show that there are any rows."
_LARGEST = 1 << 24
"""Weights not whole or above this are rounded to multiples of the largest divided by this."""
_STEPS, _ROUNDS = 33, 4
"""How many means are tested on a grid, and how often the grid is refined."""
_MOST_ENDS = 2048
"""The most blocks of cells in which a quantile is looked for: single cells, if there are no more of them."""


def sum_of(counts: Reals, numbers: CellNumbers, bounds: Bounds) -> Figure:
    """Σ v_i·x_i: the middle of each cell stands for its rows."""
    queries, step = weighed(np.stack([numbers.least, numbers.greatest]))
    interval = bounds(queries)
    lower, upper = float(interval.lower[0]) * step, float(interval.upper[1]) * step
    lower = max(lower, 0.0) if numbers.least[0] >= 0 else lower
    return Figure.within(float(numbers.middle @ counts), lower, upper, interval, "sum", numbers.form)


def mean_of(counts: Reals, numbers: CellNumbers, bounds: Bounds) -> Figure:
    """The sum divided by the number of rows; bounds by Fieller's theorem (1954), within those of the schema."""
    lowest, highest, rows = float(numbers.least[0]), float(numbers.greatest[-1]), float(counts.sum())
    value = min(highest, max(lowest, float(numbers.middle @ counts) / rows)) if rows > 0 else math.nan
    grid = np.union1d(np.linspace(lowest, highest, _STEPS), [value] if rows > 0 else [])
    possible, interval = _possible_means(grid, numbers, bounds)
    if interval.missing or not possible.any():
        return _limited(value, numbers, (lowest, highest), interval, "mean")
    first, last = np.flatnonzero(possible)[[0, -1]]
    ends = [(grid[max(0, first - 1)], grid[first]), (grid[min(grid.size - 1, last + 1)], grid[last])]
    for _ in range(_ROUNDS - 1):  # of each pair, the first is ruled out or a schema bound, the second is possible
        lines = [np.linspace(*pair, _STEPS) for pair in ends]
        possible, _ = _possible_means(np.concatenate(lines), numbers, bounds)
        firsts = [int(np.argmax(np.append(some, True))) for some in np.split(possible, 2)]
        ends = [
            (line[max(0, place - 1)], line[min(place, _STEPS - 1)]) for line, place in zip(lines, firsts, strict=True)
        ]
    return _limited(value, numbers, (float(ends[0][0]), float(ends[1][0])), interval, "mean")


def quantile_of(counts: Reals, numbers: CellNumbers, part: Fraction, bounds: Bounds) -> Figure:
    """The least number that this part of the rows does not exceed; within a cell, rows count as spread evenly."""
    what = f"{float(part):g}-quantile" if part != Fraction(1, 2) else "median"
    cells, curve = counts.size, cumulated(counts)
    rows = float(curve[-1])
    value = math.nan
    if rows > 0:
        cell = min(int(np.searchsorted(curve, float(part) * rows)), cells - 1)
        before = float(curve[cell - 1]) if cell else 0.0
        value = numbers.inside(cell, (float(part) * rows - before) / max(float(curve[cell]) - before, 1e-300))
    ends = np.unique(np.linspace(0, cells - 1, min(cells, _MOST_ENDS)).astype(np.int64))
    interval = bounds(_shifted_prefixes(ends, part.limit_denominator(10**6), cells))
    low, high = interval.upper < 0, interval.lower > 0
    possible = np.flatnonzero(~low & ~np.append(False, high[:-1]))
    first, last = (possible[0], possible[-1]) if possible.size else (0, ends.size - 1)
    start = ends[first - 1] + 1 if first else 0
    limits = float(numbers.least[start]), float(numbers.greatest[ends[last]])
    return _limited(value, numbers, limits, interval, what)


def cumulated(counts: Reals) -> Reals:
    """The number of rows up to each cell: the nearest curve that does not fall, and does not begin below 0.

    >>> cumulated(np.array([2.0, -1.0, 3.0])).tolist()
    [1.5, 1.5, 4.0]
    """
    return np.maximum(0.0, isotonic(np.cumsum(counts)))


def _limited(value: float, numbers: CellNumbers, ends: tuple[float, float], interval: Interval, what: str) -> Figure:
    """A figure between these ends, or between the schema's bounds if the counts show no rows."""
    if not math.isnan(value):
        return Figure.within(value, *ends, interval, what, numbers.form)
    made = Figure.within(value, float(numbers.least[0]), float(numbers.greatest[-1]), interval, what, numbers.form)
    made.note = f"{NO_ROWS} {made.note}".rstrip()
    return made


def _possible_means(means: Reals, numbers: CellNumbers, bounds: Bounds) -> tuple[np.ndarray, Interval]:
    """Which of these can be the true mean: Σ(least − μ)·x is not above 0, and Σ(greatest − μ)·x not below."""
    ends = [numbers.least] if numbers.single else [numbers.least, numbers.greatest]
    queries, _ = weighed(np.concatenate([end - means[:, None] for end in ends]))
    interval = bounds(queries)
    lower, upper = (bound.reshape(len(ends), -1) for bound in (interval.lower, interval.upper))
    return (lower[0] <= 0) & (upper[-1] >= 0), interval


def weighed(rows: Reals) -> tuple[Explicit, float]:
    """Sums with these weights in whole steps, and the step."""
    largest = float(np.abs(rows).max())
    plain = largest <= _LARGEST and bool((rows == np.rint(rows)).all())
    step = 1.0 if plain or not largest else largest / _LARGEST
    return Explicit.from_rows(np.rint(rows / step).astype(np.int64)), step


def _shifted_prefixes(ends: Integers, part: Fraction, cells: int) -> Queries:
    """For each end, (x_0 + … + x_end − part·Σx), times the denominator of the part."""
    inner = ends < cells - 1
    places, last = np.arange(ends.size), np.full(ends.size, cells - 1)
    own = np.where(inner, part.denominator, part.denominator - part.numerator)
    rest = np.full(int(inner.sum()), -part.numerator)
    outer = Explicit(
        cells,
        np.concatenate([places, places[inner]]),
        np.concatenate([ends, last[inner]]),
        np.concatenate([own, rest]),
        ends.size,
    )
    return Product(outer, Prefix(cells))


def numbered(schema: Schema, asked: str | None, what: str) -> str:
    """The attribute that is asked about, or the only one with numbers; else an error.

    >>> numbered(Schema({"age": Integer(0, 99)}), None, "mean")
    'age'
    """
    having = [name for name, attribute in schema.attributes.items() if has_numbers(attribute, summed=what == "sum")]
    if asked is not None:
        (name,) = schema.check_names(asked)
        if what == "sum" and isinstance(schema.attributes[name], Times):
            raise BadInput(f"{name} has dates or times, which have no sum. Ask for its mean or its median.")
        if name not in having:
            raise BadInput(f"{name} has no numbers, so that it has no {what}. {_instead(having)}")
        return name
    if len(having) != 1:
        of = f"{listing(having)} have numbers" if having else f"none of {listing(schema.names)} has numbers"
        raise BadInput(f"of which attribute is the {what} wanted? Here {of}. {_instead(having)}")
    return having[0]


def has_numbers(attribute: Attribute, *, summed: bool = False) -> bool:
    """Whether its cells stand for numbers: also dates and times, unless they are *summed*, or recur like weekdays."""
    if isinstance(attribute, Times):
        return not (summed or attribute.is_part)
    return isinstance(attribute, Integer | Numeric)


def _instead(having: list[str]) -> str:
    return f"Name one that has, like {having[0]!r}." if having else "Ask for release.top(10), or for its counts."
