"""One text, one time: how dates, times and durations are written, and what they are worth. No text makes it fail."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime

from adyton.schema.calendar import EARLIEST, LATEST, moment
from adyton.schema.time_formats import UNIX, moment_in_format

_BLANKS = " \t\n\r\v\f"
_MOMENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?"
    r"(?: ?(?:([Zz])|([+-])(\d\d)(?::?([0-5]\d))?))?)?",
    re.ASCII,
)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_CLOCKED = re.compile(r"([+-]?)(?:(\d{1,9}) days?,? )?(\d{1,9}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?", re.ASCII)
_PARTS = re.compile(
    r"([+-]?)P(?!T?$)(?:(\d+(?:\.\d+)?)D)?(?:T(?!$)(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?"
    r"(?:(-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?)S)?)?",
    re.ASCII,
)
_LONGEST = 100


def moment_in(text: str, formats: Sequence[str] = ()) -> tuple[int, bool] | None:
    """The seconds since 1970 that a text shows, and whether they are in universal time; None if it shows none.

    >>> moment_in("1970-01-01T01:00:00.5"), moment_in("1970-01-01 01:00+01:00"), moment_in("1.2.1970", ["%d.%m.%Y"])
    ((3600, False), (0, True), (2678400, False))
    """
    text = text.strip(_BLANKS)
    if not text or len(text) > _LONGEST:
        return None
    for written in formats:
        if written == UNIX:
            number = _number(text)
            if number is not None and EARLIEST <= number < LATEST + 1:
                return math.floor(number), True
        elif (found := moment_in_format(text, written)) is not None:
            return found, False
    return None if any(written.startswith("%Y-") for written in formats) else _iso(text)


def _iso(text: str) -> tuple[int, bool] | None:
    """A text such as 2024-03-01, 2024-03-01 13:30 or 2024-03-01T13:30:59.5+01:00."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    *numbers, universal, sign, hours, minutes = found.groups()
    year, month, day, hour, minute, second = (int(number or 0) for number in numbers)
    try:
        seconds = moment(datetime(year, month, day, hour, minute, second))
    except ValueError:
        return None
    if sign is None:
        return seconds, universal is not None
    if int(hours) > 23:
        return None
    ahead = int(hours) * 3600 + int(minutes or 0) * 60
    return seconds + (ahead if sign == "-" else -ahead), True


def duration_in(text: str, unit: float) -> float | None:
    """The number of units, of so many seconds each, that a text shows; None if it shows none.

    >>> duration_in("1:30:00", 60.0), duration_in("PT1H30M", 60.0), duration_in("90", 60.0), duration_in("long", 60.0)
    (90.0, 90.0, 90.0, None)
    """
    text = text.strip(_BLANKS)
    if not text or len(text) > _LONGEST:
        return None
    number = _number(text)
    if number is not None:
        return number
    found = _CLOCKED.fullmatch(text) or _PARTS.fullmatch(text)
    if found is None:
        return None
    sign, *parts = found.groups()
    days, hours, minutes, seconds = (float(part or 0) for part in parts)
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    length = (-total if sign == "-" else total) / unit
    return length if math.isfinite(length) else None


def _number(text: str) -> float | None:
    """A text that is a finite number; words such as inf are none."""
    number = float(text) if _NUMBER.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None
