"""A number that was computed from a release, with its interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from adyton.arrays import arrow_column
from adyton.result import frames
from adyton.result.intervals import Interval, Kind
from adyton.schema.calendar import DAY, date_at
from adyton.schema.numbers import UNITS

if TYPE_CHECKING:
    import pyarrow as pa


Value: TypeAlias = float | date | datetime | timedelta | None
Side: TypeAlias = Literal[-1, 0, 1]


@dataclass(frozen=True)
class Form:
    """How to read a number: days since 1970 for a date, seconds for a date with time, else so many of a unit.

    >>> Form("date").value(19_000.6), Form("duration", "minutes").text(90.0)
    (datetime.date(2022, 1, 9), '90 minutes')
    """

    kind: Literal["date", "datetime", "duration"]
    unit: str = ""

    def value(self, number: float, side: Side = 0) -> Value:
        """What the number stands for; of dates the nearest, the last before (−1) or the first after it (1). None for
        what is no number, or beyond what Python can tell."""
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
        """The same as a text."""
        if self.kind == "duration":
            return f"{number:.6g} {self.unit}"
        return str(self.value(number, side) or "none")


_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class Lines:
    """Columns of one length: labels first, then a count with its bounds, then what else there is to say."""

    columns: Mapping[str, Any]
    confidence: float
    kind: Kind
    """Whether the bounds are a promise (``exact``) or ``approximate``."""
    meaning: str
    """What they promise, in plain words; or why there are none."""
    counted: str = ""
    """Which rows were counted, in a few words, where that is not all of them."""

    def to_arrow(self) -> pa.Table:
        """As an Arrow table."""
        import pyarrow as pa

        columns = frames.with_counted(dict(self.columns), self.counted, len(self))
        return pa.table({name: arrow_column(column) for name, column in columns.items()})

    def to_frame(self) -> Any:
        """As a pandas DataFrame."""
        return frames.to_pandas(self.to_arrow())

    def to_polars(self) -> Any:
        """As a polars DataFrame."""
        return frames.to_polars(self.to_arrow())

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
    """A number with bounds: it counts as a plain number, and knows between which bounds the true one is to be looked
    for, how sure that is, and whether it is a promise (``exact``) or ``approximate``.

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
    """What has to be said about the bounds, if anything; or why there are none."""
    form: Form | None
    """How the number is read where it stands for a date, a time or a duration."""
    counted: str
    """Which rows it is of, in a few words, where that is not all of them."""

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
        cls, value: float, lower: float, upper: float, found: Interval, what: str, form: Form | None = None
    ) -> Figure:
        """With these bounds, which were made of *found*; without any where that has none that may be shown."""
        if missing := found.missing:
            lower, upper = -math.inf, math.inf
        note = missing or found.note
        return cls(value, lower, upper, what=what, confidence=found.confidence, kind=found.kind, note=note, form=form)

    @property
    def value(self) -> Value:
        """What it stands for: a number, or a date, a time or a length of time, as the attribute has them.

        A date that lies between two days is the nearer of them; None where there are no rows.
        """
        return float(self) if self.form is None else self.form.value(self)

    @property
    def bounds(self) -> tuple[Value, Value]:
        """The interval in the same form; None for an end that has none."""
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
            (f"{float(self):.6g}", f"{self.lower:.6g}", f"{self.upper:.6g}")
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
