"""How dates and times are written in texts: formats of a few directives, independent of the machine's language.

Each text is read independently of all others, and no text causes an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

from adyton.errors import SchemaError
from adyton.messages import listing, shorten
from adyton.schema.calendar import EARLIEST, LATEST, MONTHS, moment

UNIX = "unix"
"""Seconds since the start of 1970 in universal time."""
_DIRECTIVES = {
    "%Y": r"(?P<year>\d{4})",
    "%y": r"(?P<short>\d\d)",
    "%m": r"(?P<month>\d{1,2})",
    "%d": r"(?P<day>\d{1,2})",
    "%b": r"(?P<name>[A-Za-z]{3})",
    "%B": r"(?P<name>[A-Za-z]+)",
    "%a": r"[A-Za-z]{3}",
    "%A": r"[A-Za-z]+",
    "%H": r"(?P<hour>\d{1,2})",
    "%I": r"(?P<half>\d{1,2})",
    "%M": r"(?P<minute>\d{1,2})",
    "%S": r"(?P<second>\d{1,2})",
    "%f": r"\d{1,9}",
    "%p": r"(?P<noon>[AaPp])[Mm]",
    "%%": "%",
}
FIRST_SHORT_YEAR = 69
"""Two-digit years from here on belong to the twentieth century."""
_REST = ("minute", "second")
_LONGEST = 100
_MOST = 16


def checked_formats(given: object) -> tuple[str, ...] | None:
    """The formats as a tuple, or an error."""
    if given is None:
        return None
    formats = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Sequence) else (given,)
    if not 1 <= len(formats) <= _MOST:
        raise SchemaError(f"format is one to {_MOST} formats such as '%d.%m.%Y', given {len(formats)}.")
    return tuple(_checked(form) for form in formats)


def _checked(given: object) -> str:
    if not isinstance(given, str) or not given or len(given) > _LONGEST or not given.isprintable():
        raise SchemaError(f"a format is a text such as '%d.%m.%Y', given {shorten(given)}.")
    if given == UNIX:
        return given
    used = re.findall("%.?", given)
    unknown = [directive for directive in used if directive not in _DIRECTIVES]
    if unknown:
        raise SchemaError(
            f"the format {given!r} has {listing(unknown)}. It may have {listing(_DIRECTIVES, 20)}, or be the word "
            f"{UNIX!r} for seconds since 1970."
        )
    twice = {directive for directive in used if used.count(directive) > 1 and directive != "%%"}
    if twice:
        raise SchemaError(f"the format {given!r} has {listing(twice)} twice. Write each once.")
    for needed in (("%Y", "%y"), ("%m", "%b", "%B"), ("%d",)):
        if sum(directive in used for directive in needed) != 1:
            raise SchemaError(
                f"the format {given!r} needs one of {listing(needed)}: a date has a year, a month and a day."
            )
    if ("%H" in used and "%I" in used) or (("%I" in used) != ("%p" in used)):
        raise SchemaError(f"the format {given!r} needs %H, or %I with %p, for the hour.")
    return given


def moment_in_format(text: str, written: str) -> int | None:
    """The seconds since 1970 that a text in this format shows; None if it does not match, or the day does not exist.

    >>> moment_in_format("2 Jan 70 1:30 PM", "%d %b %y %I:%M %p"), moment_in_format("30.2.2024", "%d.%m.%Y")
    (135000, None)
    """
    match = _shape(written).fullmatch(text)
    if match is None:
        return None
    given = {part: value for part, value in match.groupdict().items() if value is not None}
    month = _month(given["name"], written) if "name" in given else int(given["month"])
    short = int(given.get("short", 0))
    year = int(given["year"]) if "year" in given else short + (1900 if short >= FIRST_SHORT_YEAR else 2000)
    hour = int(given.get("hour", 0))
    if "half" in given:
        half = int(given["half"])
        hour = half % 12 + 12 * (given["noon"] in "Pp") if 1 <= half <= 12 else -1
    minute, second = (int(given.get(part, 0)) for part in _REST)
    try:
        return moment(datetime(year, month, int(given["day"]), hour, minute, second))
    except ValueError:
        return None


def _month(name: str, written: str) -> int:
    """The number of a month by its English name, or its first three letters; 0 if there is no such month."""
    known = [month[:3].lower() if "%b" in written else month.lower() for month in MONTHS]
    return known.index(name.lower()) + 1 if name.lower() in known else 0


@lru_cache(64)
def _shape(written: str) -> re.Pattern[str]:
    """The regular expression for the texts of a format."""
    parts = re.split("(%.)", written)
    return re.compile("".join(_DIRECTIVES.get(part) or re.escape(part) for part in parts if part), re.ASCII)


_BLANKS = " \t\n\r\v\f"
_MOMENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?"
    r"(?: ?(?:([Zz])|([+-])(\d\d)(?::?([0-5]\d))?))?)?",
    re.ASCII,
)
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_CLOCKED = re.compile(r"([+-]?)(?:(\d{1,9}) days?,? )?(\d{1,9}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?", re.ASCII)
_PARTS = re.compile(
    r"([+-]?)P(?!T?$)(?:(\d+(?:\.\d+)?)D)?(?:T(?!$)(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?"
    r"(?:(-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?)S)?)?",
    re.ASCII,
)


def moment_in(text: str, formats: Sequence[str] = ()) -> tuple[int, bool] | None:
    """The seconds since 1970 that a text shows, and whether they are in universal time; None if it is not a time.

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
        elif (seconds := moment_in_format(text, written)) is not None:
            return seconds, False
    return None if any(written.startswith("%Y-") for written in formats) else _iso(text)


def _iso(text: str) -> tuple[int, bool] | None:
    """A text such as 2024-03-01, 2024-03-01 13:30 or 2024-03-01T13:30:59.5+01:00."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    *numbers, universal, sign, hours, minutes = match.groups()
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
    """The number of units, of *unit* seconds each, that a text shows; None if it is not a length of time.

    >>> duration_in("1:30:00", 60.0), duration_in("PT1H30M", 60.0), duration_in("90", 60.0), duration_in("long", 60.0)
    (90.0, 90.0, 90.0, None)
    """
    text = text.strip(_BLANKS)
    if not text or len(text) > _LONGEST:
        return None
    number = _number(text)
    if number is not None:
        return number
    match = _CLOCKED.fullmatch(text) or _PARTS.fullmatch(text)
    if match is None:
        return None
    sign, *parts = match.groups()
    days, hours, minutes, seconds = (float(part or 0) for part in parts)
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    length = (-total if sign == "-" else total) / unit
    return length if math.isfinite(length) else None


def _number(text: str) -> float | None:
    """The finite number that a text shows; None for anything else, including words such as inf."""
    number = float(text) if _NUMBER.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None
