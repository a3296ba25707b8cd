"""Periods of the calendar: hours, days, weeks, months, quarters and years, as whole numbers and as words.

A moment is a number of seconds since the start of 1970 on the same clock, in today's calendar, without time zones: what
a clock on the wall shows. Periods are numbered consecutively.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import NamedTuple

import numpy as np

from adyton.arrays import Places
from adyton.errors import SchemaError
from adyton.messages import shorten

PERIODS = ("hour", "day", "week", "month", "quarter", "year")
DAY = 86_400
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
PARTS: dict[str, tuple[str | int, ...]] = {
    "hour of day": tuple(range(24)),
    "weekday": WEEKDAYS,
    "month of year": MONTHS,
}
"""Periods that repeat, and the names of their cells."""
LENGTHS = {"hour": 3600, "day": DAY, "week": 7 * DAY}
"""The length in seconds of periods that are all equally long."""
_MONTHS_IN = {"month": 1, "quarter": 3, "year": 12}
_MONDAY = -3 * DAY
"""1970 began on a Thursday."""
_EPOCH = datetime(1970, 1, 1)
EARLIEST, LATEST = -62_135_596_800, 253_402_300_799
"""The first second of the year 1 and the last second of the year 9999: times outside them are not accepted."""


def part_numbers(by: str) -> dict[str, int]:
    """The number of a part by its name in lower case; hours are also listed with a leading zero.

    >>> part_numbers("weekday")["monday"], part_numbers("hour of day")["07"], part_numbers("month")
    (0, 7, {})
    """
    numbers = {str(name).lower(): place for place, name in enumerate(PARTS.get(by, ()))}
    return numbers | ({f"{hour:02}": hour for hour in range(10)} if by == "hour of day" else {})


_WRITTEN = re.compile(
    r"(?P<year>\d{4})"
    r"(-(Q(?P<quarter>[1-4])|W(?P<week>\d\d)|(?P<month>\d\d)"
    r"(-(?P<day>\d\d)([T ](?P<hour>\d\d):(?P<minute>\d\d)(:(?P<second>\d\d))?)?)?))?",
    re.ASCII,
)
_OTHERWISE = re.compile(r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})", re.ASCII)
HOW = "'2024', '2024-Q1', '2024-W09', '2024-03', '2024-03-01', '2024-03-01 13:30' or '2024-03-01 13:30:59'"


class Span(NamedTuple):
    """The first and the last second of a period or an attribute."""

    first: int
    last: int


def moment(when: date) -> int:
    """A date, or a date and time, as seconds since 1970 on its own clock.

    >>> moment(date(1970, 1, 2)), moment(datetime(2024, 2, 29, 12))
    (86400, 1709208000)
    """
    own = when.replace(tzinfo=None) if isinstance(when, datetime) else datetime(when.year, when.month, when.day)
    return (own - _EPOCH) // timedelta(seconds=1)


def date_at(second: int) -> datetime:
    """The date and time of a number of seconds."""
    return _EPOCH + timedelta(seconds=second)


def number_of(period: str, second: int) -> int:
    """The number of the period that contains a second.

    >>> number_of("week", moment(date(2024, 3, 4))) - number_of("week", moment(date(2024, 3, 3)))
    1
    """
    if period in LENGTHS:
        return (second - (_MONDAY if period == "week" else 0)) // LENGTHS[period]
    when = date_at(second)
    return (when.year * 12 + when.month - 1) // _MONTHS_IN[period]


def start_of(period: str, number: int) -> int:
    """The first second of a period, including the period after the year 9999."""
    return int(starts_of(period, number, 1, 1)[0])


def starts_of(period: str, first: int, count: int, every: int) -> Places:
    """The first seconds of *count* runs of *every* periods each, from period number *first* on."""
    numbers = first + every * np.arange(count, dtype=np.int64)
    if period in LENGTHS:
        return np.asarray(numbers * LENGTHS[period] + (_MONDAY if period == "week" else 0), dtype=np.int64)
    months = (numbers * _MONTHS_IN[period] - 1970 * 12).astype("datetime64[M]")
    return months.astype("datetime64[s]").astype(np.int64)


def name_of(period: str, second: int) -> str:
    """The name of the period that contains a second; :func:`span_of` reads it again.

    >>> [name_of(period, moment(date(2024, 12, 30))) for period in PERIODS]
    ['2024-12-30 00:00', '2024-12-30', '2025-W01', '2024-12', '2024-Q4', '2024']
    """
    return names_of(period, np.array([second]))[0]


def names_of(period: str, seconds: Places) -> list[str]:
    """The names of the periods that contain some seconds."""
    if period == "week":
        weeks = (date_at(second).isocalendar() for second in seconds.tolist())
        return [f"{year:04}-W{week:02}" for year, week, _ in weeks]
    unit = {"hour": "h", "day": "D", "year": "Y"}.get(period, "M")
    texts: list[str] = seconds.astype("datetime64[s]").astype(f"datetime64[{unit}]").astype(str).tolist()
    if period == "hour":
        return [text.replace("T", " ") + ":00" for text in texts]
    return [f"{text[:4]}-Q{(int(text[5:]) + 2) // 3}" for text in texts] if period == "quarter" else texts


def span_of(written: object, name: str) -> Span:
    """The first and the last second of a written date or time: a day means the whole day, a year the whole year.

    >>> span_of("2024-02", "min") == (moment(date(2024, 2, 1)), moment(date(2024, 3, 1)) - 1)
    True
    """
    match written:
        case datetime() if written.tzinfo is not None:
            raise SchemaError(f"{name} is a time on the attribute's own clock: write it without a time zone.")
        case datetime():
            return Span(moment(written), moment(written))
        case date():
            return Span(moment(written), moment(written) + DAY - 1)
        case str():
            parts = _WRITTEN.fullmatch(written.strip())
            with suppress(ValueError):  # no such day, hour or week
                if parts is not None:
                    return _span({part: int(value) for part, value in parts.groupdict().items() if value is not None})
    if day := _as_day(written):
        raise SchemaError(f"{name} is written {day} (year-month-day), given {shorten(written)}.")
    raise SchemaError(f"{name} must be a date or a time such as {HOW}, given {shorten(written)}.")


def _as_day(written: object) -> str:
    """The day that a text means which is written in another order or with other marks, if that is certain.

    >>> _as_day("31.01.2012"), _as_day("2012/1/31"), _as_day("01/31/2012"), _as_day("02/03/2012")
    ('2012-01-31', '2012-01-31', '2012-01-31', '')
    """
    parts = _OTHERWISE.fullmatch(written.strip()) if isinstance(written, str) else None
    if parts is None:
        return ""
    first, middle, last = int(parts[1]), int(parts[3]), int(parts[4])
    orders = [(first, middle, last)] if len(parts[1]) == 4 else []
    if len(parts[4]) == 4:
        orders = [(last, middle, first)] + [(last, first, middle)] * (parts[2] == "/")
    days = set()
    for order in orders:
        with suppress(ValueError):
            days.add(date(*order).isoformat())
    return days.pop() if len(days) == 1 else ""


def _span(given: dict[str, int]) -> Span:
    year = given["year"]
    if "week" in given:
        period, when = "week", datetime.fromisocalendar(year, given["week"], 1)
    else:
        month = given.get("month", 3 * given.get("quarter", 1) - 2)
        hour, minute, second = (given.get(part, 0) for part in ("hour", "minute", "second"))
        when = datetime(year, month, given.get("day", 1), hour, minute, second)
        period = next((part for part in ("minute", "day", "month", "quarter") if part in given), "year")
    first = moment(when)
    if period == "minute":
        return Span(first, first + (0 if "second" in given else 59))
    return Span(first, min(LATEST, start_of(period, number_of(period, first) + 1) - 1))


def written_at(second: int, *, last: bool = False) -> str:
    """A second as the shortest text; with *last*, the last second of a day is written as the day.

    >>> written_at(0), written_at(3600), written_at(86399, last=True)
    ('1970-01-01', '1970-01-01 01:00', '1970-01-01')
    """
    when = date_at(second)
    if second % DAY == (DAY - 1 if last else 0):
        return when.date().isoformat()
    short = second % 60 == (59 if last else 0)
    return when.isoformat(sep=" ", timespec="minutes" if short else "seconds")
