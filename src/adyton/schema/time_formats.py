"""How dates and times are written in texts: formats of a few directives, read without the machine's language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

from adyton.errors import SchemaError
from adyton.messages import listing, shorten
from adyton.schema.calendar import MONTHS, moment

UNIX = "unix"
"""Seconds since 1970 began in universal time."""
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
"""Of years in two digits, these are the first of the twentieth century."""
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
    return tuple(_checked(one) for one in formats)


def _checked(given: object) -> str:
    if not isinstance(given, str) or not given or len(given) > _LONGEST or not given.isprintable():
        raise SchemaError(f"a format is a text such as '%d.%m.%Y', given {shorten(given)}.")
    if given == UNIX:
        return given
    used = re.findall("%.?", given)
    unknown = [one for one in used if one not in _DIRECTIVES]
    if unknown:
        raise SchemaError(
            f"the format {given!r} holds {listing(unknown)}. Allowed are {listing(_DIRECTIVES, 20)}, or the word "
            f"{UNIX!r} for seconds since 1970."
        )
    twice = {one for one in used if used.count(one) > 1 and one != "%%"}
    if twice:
        raise SchemaError(f"the format {given!r} holds {listing(twice)} twice. Write each once.")
    for needed in (("%Y", "%y"), ("%m", "%b", "%B"), ("%d",)):
        if sum(one in used for one in needed) != 1:
            raise SchemaError(
                f"the format {given!r} needs one of {listing(needed)}: a day has a year, a month and a day."
            )
    if ("%H" in used and "%I" in used) or (("%I" in used) != ("%p" in used)):
        raise SchemaError(f"the format {given!r} needs %H, or %I with %p, for the hour.")
    return given


def moment_in_format(text: str, written: str) -> int | None:
    """The seconds since 1970 that a text in this format shows; None if it is not in it, or the calendar lacks the day.

    >>> moment_in_format("2 Jan 70 1:30 PM", "%d %b %y %I:%M %p"), moment_in_format("30.2.2024", "%d.%m.%Y")
    (135000, None)
    """
    found = _shape(written).fullmatch(text)
    if found is None:
        return None
    given = {part: value for part, value in found.groupdict().items() if value is not None}
    month = _month(given["name"], written) if "name" in given else int(given["month"])
    short = int(given.get("short", 0))
    year = int(given["year"]) if "year" in given else short + (1900 if short >= FIRST_SHORT_YEAR else 2000)
    hour = int(given.get("hour", 0))
    if "half" in given:
        half = int(given["half"])
        hour = half % 12 + 12 * (given["noon"] in "Pp") if 1 <= half <= 12 else -1
    minute, second = (int(given.get(one, 0)) for one in _REST)
    try:
        return moment(datetime(year, month, int(given["day"]), hour, minute, second))
    except ValueError:
        return None


def _month(name: str, written: str) -> int:
    """The number of a month by its English name, or the first three letters of it; 0 if there is none."""
    known = [month[:3].lower() if "%b" in written else month.lower() for month in MONTHS]
    return known.index(name.lower()) + 1 if name.lower() in known else 0


@lru_cache(64)
def _shape(written: str) -> re.Pattern[str]:
    """The regular expression of the texts that a format may read."""
    parts = re.split("(%.)", written)
    return re.compile("".join(_DIRECTIVES.get(part) or re.escape(part) for part in parts if part), re.ASCII)
