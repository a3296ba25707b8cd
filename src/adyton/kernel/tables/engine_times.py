"""How dates and times are read where rows stay in an engine that cannot call functions of ours: in its own arithmetic.

Claim.  The value of a row is that of :mod:`adyton.kernel.tables.time_columns`, a total function of the row's own field.
Proof.  A text is taken apart only if it has the shape of a time, else another one is taken apart in its place; its
parts are digits, and what follows is arithmetic of whole numbers below 10¹⁵. Seconds that an engine tells are between
bounds. A clock is a table of the moments at which it changes, which is searched by comparisons.  ∎
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.kernel.engines import Server
from adyton.kernel.engines.engine import engine_function
from adyton.kernel.reading.times import clock_changes
from adyton.kernel.tables.blanks import BLANKS, stripped
from adyton.schema.calendar import DAY, EARLIEST, LATEST, part_numbers
from adyton.schema.time_formats import UNIX
from adyton.schema.times import Date, Times

_SHAPE = (
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?"
    "( ?([Zz]|[+-][0-9]{2}(:?[0-5][0-9])?))?)?"
)
_BEFORE_ZONE = "^.{10}([T ].{5}(:[0-9]{2}([.,][0-9]+)?)? ?)?"
_PLACES = {"year": (0, 4), "month": (5, 2), "day": (8, 2), "hour": (11, 2), "minute": (14, 2), "second": (17, 2)}
"""Where the numbers stand in a text of that shape, and how many signs they have."""
_LONGEST = 100
_NONE = "0000-01-01"
"""Has the shape of a time, and is none."""
_TO_MARCH = 719_468
"""Days from the first of March of the year 0 to 1970: years that begin in March have their leap day at the end."""


def with_times(table: Any, times: Mapping[str, tuple[str, Times]], engine: Server) -> Any:
    """The table with columns of times more, each made from another: whole numbers, null where there is no time.

    Step by step for all of them, so that every step is computed once.
    """
    if not times:
        return table
    paths = [_Path(name, column, attribute, engine) for name, (column, attribute) in times.items()]
    kept = table.columns
    for work in (_Path.shaped, _Path.parted, _Path.in_seconds, _Path.on_clock, _Path.finished):
        found = {name: column for path in paths for name, column in work(path, table).items()}
        table = engine.fenced(table.select(*kept, **found))
    return table


@dataclass(frozen=True)
class _Path:
    """One column of times on its way: what each step makes of what the one before it made."""

    name: str
    column: str
    attribute: Times
    engine: Server

    def shaped(self, table: Any) -> dict[str, Any]:
        """The text, if it has the shape of a time; and the number of a part that it names."""
        import ibis

        column, nothing = table[self.column], ibis.null("int64")
        kind = column.type()
        if kind.is_date() or kind.is_timestamp():
            return {self.name: _within(self.engine.seconds(column)), f"{self.name} named": nothing}
        if self._is_unix:
            inside = (column >= EARLIEST) & (column < LATEST + 1)
            seconds = ibis.ifelse(inside, column, 0).cast("float64")
            whole = engine_function("floor", "float64", "float64")(seconds).cast("int64")
            return {self.name: _within(ibis.ifelse(inside, whole, nothing)), f"{self.name} named": nothing}
        if not kind.is_string():
            hours = nothing if self.attribute.by != "hour of day" else _hour(column)
            return {self.name: nothing, f"{self.name} named": hours}
        text = column.strip()
        fits = text.left(_LONGEST + 1).re_search(_SHAPE + self.engine.text_end) & (text.length() <= _LONGEST)
        named = _named(stripped(column, BLANKS, self.engine), self.attribute)
        return {self.name: ibis.ifelse(fits, text, _NONE), f"{self.name} named": named}

    def parted(self, table: Any) -> dict[str, Any]:
        """The numbers in the text."""
        parts = _parts(table[self.name]) if table[self.name].type().is_string() else {"": table[self.name]}
        found = {f"{self.name} {part}" if part else self.name: value for part, value in parts.items()}
        return found | self._carried(table)

    def in_seconds(self, table: Any) -> dict[str, Any]:
        """The seconds, and whether they are in universal time."""
        import ibis

        if self.name in table.columns:
            kind = table[self.column].type()
            zoned = kind.is_timestamp() and kind.timezone is not None
            universal = ibis.literal(bool(zoned or self._is_unix))
            return {self.name: table[self.name], f"{self.name} universal": universal} | self._carried(table)
        parts = {part: table[f"{self.name} {part}"] for part in (*_PLACES, "zone")}
        seconds = ibis.ifelse(is_in_calendar(parts), _seconds(parts), ibis.null("int64"))
        universal = parts["zone"] != ""
        return {self.name: _within(seconds), f"{self.name} universal": universal} | self._carried(table)

    def on_clock(self, table: Any) -> dict[str, Any]:
        """What the attribute's clock shows."""
        shown = _on_clock(table[self.name], table[f"{self.name} universal"], self.attribute, self.engine)
        return {self.name: shown} | self._carried(table)

    def finished(self, table: Any) -> dict[str, Any]:
        """The value of the attribute."""
        return {self.name: _finished(table[self.name], table[f"{self.name} named"], self.attribute)}

    def _carried(self, table: Any) -> dict[str, Any]:
        """The number of a part, which is needed at the end."""
        return {f"{self.name} named": table[f"{self.name} named"]}

    @property
    def _is_unix(self) -> bool:
        """Whether numbers are seconds since 1970."""
        return UNIX in (self.attribute.format or ())


def _parts(shaped: Any) -> dict[str, Any]:
    """The numbers in a text that has the shape of a time, and what it says about the zone."""
    import ibis

    lengths = {"hour": shaped.length() >= 16, "minute": shaped.length() >= 16, "second": shaped.substr(16, 1) == ":"}
    numbers = {
        name: ibis.ifelse(lengths.get(name, ibis.literal(True)), shaped.substr(first, length), "0").cast("int64")
        for name, (first, length) in _PLACES.items()
    }
    zone = shaped.re_replace(_BEFORE_ZONE, "").replace(":", "")
    return {**numbers, "zone": zone}


def is_in_calendar(parts: Mapping[str, Any]) -> Any:
    """Whether the calendar has the day, and the day the time."""
    import ibis

    year, month, day = parts["year"], parts["month"], parts["day"]
    leap = ((year % 4 == 0) & (year % 100 != 0)) | (year % 400 == 0)
    february = ibis.ifelse(leap, 29, 28)
    length = ibis.cases((month == 2, february), (month.isin([4, 6, 9, 11]), 30), else_=31)
    clock = (parts["hour"] <= 23) & (parts["minute"] <= 59) & (parts["second"] <= 59)
    return (year >= 1) & month.between(1, 12) & day.between(1, length) & clock & (_ahead(parts["zone"], 1) <= 23)


def _seconds(parts: Mapping[str, Any]) -> Any:
    """The seconds since 1970."""
    import ibis

    hours = ibis.ifelse(parts["zone"].startswith("-"), -1, 1) * _ahead(parts["zone"], 1)
    minutes = ibis.ifelse(parts["zone"].startswith("-"), -1, 1) * _ahead(parts["zone"], 3)
    march = (parts["month"] + 9) % 12
    year = parts["year"] - ibis.ifelse(parts["month"] <= 2, 1, 0)
    day = (153 * march + 2) // 5 + parts["day"] - 1
    days = year * 365 + year // 4 - year // 100 + year // 400 + day - _TO_MARCH
    return days * DAY + (parts["hour"] - hours) * 3600 + (parts["minute"] - minutes) * 60 + parts["second"]


def _ahead(zone: Any, place: int) -> Any:
    """Hours or minutes of a zone such as +0130, 0 if there are none."""
    import ibis

    return ibis.ifelse(zone.length() >= place + 2, zone.substr(place, 2), "0").cast("int64")


def _within(seconds: Any) -> Any:
    import ibis

    return ibis.ifelse(seconds.between(EARLIEST, LATEST), seconds, ibis.null("int64"))


def _on_clock(seconds: Any, universal: Any, attribute: Times, engine: Server) -> Any:
    """What the clock of the attribute's zone shows: by comparisons within the span, and else by a search."""
    import ibis

    if attribute.zone == "UTC":
        return seconds
    moments, offsets = clock_changes(attribute.zone)

    def ahead(start: int, end: int) -> Any:
        if start == end:
            return ibis.literal(int(offsets[start]), "int64")
        middle = (start + end) // 2
        return ibis.ifelse(seconds < int(moments[middle]), ahead(start, middle), ahead(middle + 1, end))

    found = ahead(0, len(moments))
    if not attribute.is_part:
        near = attribute.span[0] - DAY, attribute.span[1] + DAY
        far = ibis.literal(offsets.tolist(), "array<int64>")[engine.passed(seconds, moments.tolist())]
        found = ibis.ifelse(seconds.between(*near), ahead(*map(int, np.searchsorted(moments, near))), far)
    return _within(ibis.ifelse(universal, seconds + found, seconds))


def _finished(seconds: Any, named: Any, attribute: Times) -> Any:
    """The value of the attribute."""
    positive = seconds - EARLIEST  # the year 1 began on a Monday
    match attribute.by:
        case "hour of day":
            value = (positive % DAY) // 3600
        case "weekday":
            value = (positive // DAY) % 7
        case "month of year":
            value = _month(positive // DAY + EARLIEST // DAY + _TO_MARCH)
        case _:
            value = positive - positive % DAY + EARLIEST if isinstance(attribute, Date) else seconds
    return value.cast("int64").fill_null(named)


def _month(days: Any) -> Any:
    """The month, 0 for January, from the days since the first of March of the year 0."""
    in_era = days % 146_097
    year = (in_era - in_era // 1460 + in_era // 36_524 - in_era // 146_096) // 365
    in_year = in_era - (365 * year + year // 4 - year // 100)
    return ((5 * in_year + 2) // 153 + 2) % 12


def _named(text: Any, attribute: Times) -> Any:
    """The number of a part that is written by its name."""
    import ibis

    word = text.lower()
    known = [(word == name, ibis.literal(place, "int64")) for name, place in part_numbers(attribute.by).items()]
    return ibis.cases(*known, else_=ibis.null("int64")) if known else ibis.null("int64")


def _hour(number: Any) -> Any:
    """A number that is an hour."""
    import ibis

    hour = ibis.greatest(ibis.least(number, 23), 0).cast("int64")
    return ibis.ifelse(hour == number, hour, ibis.null("int64"))
