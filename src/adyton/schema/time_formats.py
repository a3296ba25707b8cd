"""How dates and times are written in texts: formats of a few directives, and the shape that a text must have for one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from adyton.errors import SchemaError
from adyton.messages import listing, shorten

UNIX = "unix"
"""Seconds since 1970 began in universal time."""
_DIRECTIVES = {
    "%Y": r"\d{4}",
    "%y": r"\d\d",
    "%m": r"\d{1,2}",
    "%d": r"\d{1,2}",
    "%b": r"[A-Za-z]{3}",
    "%B": r"[A-Za-z]+",
    "%a": r"[A-Za-z]{3}",
    "%A": r"[A-Za-z]+",
    "%H": r"\d{1,2}",
    "%I": r"\d{1,2}",
    "%M": r"\d{1,2}",
    "%S": r"\d{1,2}",
    "%f": r"\d{1,6}",
    "%p": r"[AaPp][Mm]",
    "%%": "%",
}
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
            raise SchemaError(f"the format {given!r} needs one of {listing(needed)}: a day has a year, a month and a day.")
    if ("%H" in used and "%I" in used) or (("%I" in used) != ("%p" in used)):
        raise SchemaError(f"the format {given!r} needs %H, or %I with %p, for the hour.")
    return given


def shape_of(written: str) -> str:
    r"""The regular expression of the texts that a format may read: everything else is no date.

    >>> shape_of("%d.%m.%Y")
    '\\d{1,2}\\.\\d{1,2}\\.\\d{4}'
    """
    parts = re.split("(%.)", written)
    return "".join(_DIRECTIVES.get(part) or re.escape(part).replace(r"\ ", " ") for part in parts if part)
