"""Attributes of dates and times: cells by hour, day, week, month, quarter or year, or by periods that repeat.

A time is read on the clock of a stated time zone, never on the clock of the machine. Its value is the number of seconds
on that clock since 1970; for periods that repeat, such as the hour of day, it is the number of the period.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from adyton.arrays import Places
from adyton.compiling import cached_property
from adyton.errors import SchemaError
from adyton.messages import listing, shorten
from adyton.schema.attributes import CelledAttribute, Label
from adyton.schema.calendar import (
    DAY,
    LENGTHS,
    PARTS,
    PERIODS,
    Span,
    name_of,
    names_of,
    number_of,
    span_of,
    start_of,
    starts_of,
    written_at,
)
from adyton.schema.reading import whole_number
from adyton.schema.time_formats import checked_formats

_LARGEST = 1 << 31


@dataclass(frozen=True)
class Times(CelledAttribute):
    """What dates and times share: bounds, periods, a clock, and how texts are written."""

    ordered: ClassVar[bool] = True
    policies: ClassVar[tuple[str, ...]] = ("drop", "clamp", "other")
    allowed: ClassVar[tuple[str, ...]]
    """The allowed values of *by*."""

    min: Any = None
    max: Any = None
    by: str = "day"
    _: KW_ONLY
    every: int = 1
    zone: str = "UTC"
    format: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        self._check_policies()
        if not isinstance(self.by, str) or self.by not in self.allowed:
            raise SchemaError(f"by must be one of {listing(self.allowed)} for {self.kind}, given {shorten(self.by)}.")
        object.__setattr__(self, "every", whole_number(self.every, "every"))
        object.__setattr__(self, "format", checked_formats(self.format))
        time_zone(self.zone)
        if self.by in PARTS:
            self._check_part()
        else:
            self._check_bounds()

    def _check_part(self) -> None:
        given = [name for name in ("min", "max") if getattr(self, name) is not None] + ["every"] * (self.every != 1)
        if given:
            raise SchemaError(f"{self.by} repeats and takes no {' and no '.join(given)}. Leave them out.")
        if self.outside != "drop":
            raise SchemaError(f"{self.by} repeats: nothing lies outside. Leave outside out.")

    def _check_bounds(self) -> None:
        missing = [name for name in ("min", "max") if getattr(self, name) is None]
        if missing:
            raise SchemaError(f"{' and '.join(missing)} missing: {self.kind} by {self.by} needs min and max.")
        first, last = span_of(self.min, "min").first, span_of(self.max, "max").last
        if "hour" not in self.allowed:
            first, last = first // DAY * DAY, last // DAY * DAY + DAY - 1
        if first > last:
            raise SchemaError(f"min is {self.min} and max is {self.max}: min must not exceed max. Swap them?")
        if not 1 <= self.every <= _LARGEST:
            raise SchemaError(f"every must be at least 1 and at most 2^31, given {self.every}.")
        object.__setattr__(self, "min", written_at(first))
        object.__setattr__(self, "max", written_at(last, last=True))

    @property
    def is_part(self) -> bool:
        """Whether the cells repeat, as the hours of a day do."""
        return self.by in PARTS

    @property
    def span(self) -> Span:
        """The first and the last second; for periods that repeat, the first and the last number."""
        if self.is_part:
            return Span(0, len(PARTS[self.by]) - 1)
        return Span(span_of(self.min, "min").first, span_of(self.max, "max").last)

    @property
    def length(self) -> int | None:
        """The length of a cell in seconds, where all are equal; otherwise None."""
        return LENGTHS[self.by] * self.every if self.by in LENGTHS else None

    @property
    def anchor(self) -> int:
        """The second at which the first cell would begin if *min* did not shorten it."""
        return start_of(self.by, number_of(self.by, self.span.first))

    @property
    def base_size(self) -> int:
        """One cell for *every* periods from *min* to *max*; the first and the last may be shorter."""
        first, last = self.span
        if self.is_part:
            return last + 1
        return (number_of(self.by, last) - number_of(self.by, first)) // self.every + 1

    @cached_property
    def starts(self) -> Places:
        """The first second of every cell."""
        first, _ = self.span
        starts = starts_of(self.by, number_of(self.by, first), self.base_size, self.every)
        starts[0] = first
        starts.flags.writeable = False
        return starts

    def ends(self, cell: int) -> int:
        """The last second of a cell."""
        return int(self.starts[cell + 1]) - 1 if cell + 1 < self.base_size else self.span.last

    def literal(self, value: object, name: str) -> Span:
        """The first and the last of the attribute's values that a literal covers."""
        if not self.is_part:
            return span_of(value, name)
        parts = PARTS[self.by]
        if isinstance(value, bool) or value not in parts:
            raise SchemaError(f"{name} must be one of {listing(parts, 24)}, given {shorten(value)}.")
        return Span(parts.index(value), parts.index(value))

    def _base_labels(self) -> tuple[Label, ...]:
        if self.is_part:
            return PARTS[self.by]
        names = names_of(self.by, self.starts)
        if self.every == 1:
            return tuple(names)
        last = [name_of(self.by, self.ends(cell)) for cell in range(self.base_size)]
        return tuple(a if a == b else f"{a} to {b}" for a, b in zip(names, last, strict=True))


@dataclass(frozen=True)
class Date(Times):
    """Days from *min* to *max*, both included, in cells *by* day, week, month, quarter or year.

    Weeks begin on Mondays and are numbered as in ISO 8601. With *every*, several periods make a cell. *by* can also be
    ``"weekday"`` or ``"month of year"``, which take no bounds. A time with an offset is first converted to the clock of
    *zone*; then its day counts. Texts are written ``2024-03-01``, or as *format* says.

    >>> Date("2024-01-15", "2024-03-31", by="month").labels
    ('2024-01', '2024-02', '2024-03')
    >>> Date(by="weekday").labels[:2]
    ('Monday', 'Tuesday')
    """

    kind: ClassVar[str] = "date"
    allowed: ClassVar[tuple[str, ...]] = (*PERIODS[1:], "weekday", "month of year")


@dataclass(frozen=True)
class Datetime(Times):
    """Times from *min* to *max* on the clock of *zone*, in cells *by* hour, day, week, month, quarter or year.

    A bound includes all that it names: *max* = ``"2024-12-31"`` is the last second of that day. *by* can also be
    ``"hour of day"``, ``"weekday"`` or ``"month of year"``, which take no bounds. A time with an offset, or from a
    column in universal time, is converted to the clock of *zone*; any other time is taken to be on that clock.

    >>> Datetime("2024-03-31", "2024-03-31", by="hour", every=6).labels[:2]
    ('2024-03-31 00:00 to 2024-03-31 05:00', '2024-03-31 06:00 to 2024-03-31 11:00')
    >>> Datetime(by="hour of day", zone="Europe/Berlin").size
    24
    """

    kind: ClassVar[str] = "datetime"
    allowed: ClassVar[tuple[str, ...]] = (*PERIODS, *PARTS)

    by: str = "hour"


def time_zone(zone: object) -> ZoneInfo:
    """The rules of a time zone, from the Python package tzdata if it is installed; an error for an unknown zone."""
    rules = _zone(zone) if isinstance(zone, str) and zone else None
    if rules is None:
        raise SchemaError(
            f"zone must be the name of a time zone such as 'Europe/Berlin' or 'UTC', given {shorten(zone)}."
        )
    return rules


@lru_cache(64)
def _zone(zone: str) -> ZoneInfo | None:
    from importlib import resources

    try:
        *folders, name = zone.split("/")
        if all(part.replace("_", "").replace("-", "").replace("+", "").isalnum() for part in (*folders, name)):
            with resources.files("tzdata").joinpath("zoneinfo", *folders, name).open("rb") as file:
                return ZoneInfo.from_file(file, zone)
    except (OSError, ValueError, ModuleNotFoundError):
        pass
    try:
        return ZoneInfo(zone)
    except (OSError, ValueError, KeyError):  # ZoneInfoNotFoundError is a KeyError
        return None
