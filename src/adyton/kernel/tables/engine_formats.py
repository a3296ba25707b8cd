"""Dates and times in formats of the schema's, where rows stay in an engine that cannot call functions of ours.

Claim.  A text becomes the time that :func:`adyton.schema.time_formats.moment_in` reads in it, written in the usual
shape, or a text that has no such shape: a total function of that text.
Proof.  The text is compared with the regular expression of every format, one after the other. Its groups, where it
fits, are a few digits or letters, in whose place there is a zero elsewhere. A format counts only if the calendar has
its day. Groups take as many signs as they can, the first one first, on every engine.  ∎
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from adyton.errors import SchemaError
from adyton.kernel.engines import Engine, Server
from adyton.kernel.tables.engine_times import is_in_calendar
from adyton.schema.calendar import MONTHS
from adyton.schema.time_formats import FIRST_SHORT_YEAR, UNIX
from adyton.schema.times import Times

_GROUPS = {
    "%Y": ("year", "([0-9]{4})"),
    "%y": ("short", "([0-9]{2})"),
    "%m": ("month", "([0-9]{1,2})"),
    "%d": ("day", "([0-9]{1,2})"),
    "%b": ("name", "([A-Za-z]{3})"),
    "%B": ("name", "([A-Za-z]+)"),
    "%H": ("hour", "([0-9]{1,2})"),
    "%I": ("half", "([0-9]{1,2})"),
    "%M": ("minute", "([0-9]{1,2})"),
    "%S": ("second", "([0-9]{1,2})"),
    "%p": ("noon", "([AaPp])[Mm]"),
}
_OTHERS = {"%a": "[A-Za-z]{3}", "%A": "[A-Za-z]+", "%f": "[0-9]{1,9}", "%%": "%"}
_PARTS = ("year", "month", "day", "hour", "minute", "second")
_LONGEST = 100
_ISO_START = "^[0-9]{4}-"


def check_formats(attribute: Times, kind: Any, engine: type[Engine]) -> None:
    """An error if a server cannot read a column in the attribute's formats: there, seconds since 1970 are numbers."""
    formats = tuple(attribute.format or ()) if issubclass(engine, Server) else ()
    if UNIX in formats and (kind.is_string() or len(formats) > 1):
        raise SchemaError(
            f"on {engine.title}, the format {UNIX!r} is for columns of numbers, and no other format stands beside it. "
            "Convert the column there, or write the table to a Parquet file, and open that."
        )


def with_formats(table: Any, times: Mapping[str, tuple[str, Times]], engine: Engine) -> tuple[Any, dict[str, str]]:
    """The table with columns of texts more, in which times have the usual shape; and their names."""
    import ibis

    texts = {}
    for name, (column, attribute) in times.items():
        kind = table[column].type()
        number = kind.is_integer() or kind.is_floating()
        if (kind.is_string() or number) and attribute.format and UNIX not in attribute.format:
            text = table[column] if kind.is_string() else engine.number_text(table[column].cast("float64"))
            texts[name] = text.strip()
    if not texts:
        return table, {}
    made = {name: f"f{place}" for place, name in enumerate(texts)}
    kept = table.columns
    table = engine.fenced(table.mutate(**{made[name]: text for name, text in texts.items()}))
    formats = {
        f"{made[name]}_{place}": (made[name], written)
        for name in made
        for place, written in enumerate(times[name][1].format or ())
    }
    parts = {
        f"{column}_{part}": value
        for column, (text, written) in formats.items()
        for part, value in _parts(table[text], written, engine).items()
    }
    table = engine.fenced(table.mutate(**parts))
    shown = {column: _iso(table, column) for column in formats}
    table = engine.fenced(table.mutate(**shown))
    outcome = {}
    for name, text in made.items():
        other = table[text]
        if any(written.startswith("%Y-") for written in times[name][1].format or ()):
            other = ibis.ifelse(other.re_search(_ISO_START), "", other)
        outcome[text] = ibis.coalesce(*(table[one] for one, (own, _) in formats.items() if own == text), other)
    return engine.fenced(table.select(*kept, **outcome)), made


def _shape(written: str) -> tuple[str, list[str]]:
    """The regular expression of a format, and what its groups are.

    >>> _shape("%d.%m.%y")
    ('^([0-9]{1,2})[.]([0-9]{1,2})[.]([0-9]{2})', ['day', 'month', 'short'])
    """
    groups, shape = [], "^"
    for part in re.split("(%.)", written):
        if part in _GROUPS:
            groups.append(_GROUPS[part][0])
            shape += _GROUPS[part][1]
        else:
            shape += _OTHERS.get(part) or "".join(f"\\{sign}" if sign in "^\\[]" else f"[{sign}]" for sign in part)
    return shape, groups


def _parts(text: Any, written: str, engine: Engine) -> dict[str, Any]:
    """The numbers in a text, in the words of the calendar; the year 0, which there is not, if it does not fit."""
    import ibis

    shape, groups = _shape(written)
    pattern = engine.constant(shape + engine.text_end)
    fits = (text.length() <= _LONGEST) & text.left(_LONGEST + 1).re_search(pattern)
    short = ibis.ifelse(fits, text, ibis.null("string"))
    found = {part: short.re_extract(pattern, place) for place, part in enumerate(groups, 1)}
    word = {part: found.pop(part).lower() for part in ("name", "noon") if part in found}
    number = {part: ibis.ifelse(fits, value, "0").cast("int64") for part, value in found.items()}
    if "name" in word:
        months = [month[:3].lower() if "%b" in written else month.lower() for month in MONTHS]
        known = [(word["name"] == month, ibis.literal(place, "int64")) for place, month in enumerate(months, 1)]
        number["month"] = ibis.cases(*known, else_=ibis.literal(0, "int64"))
    if "short" in number:
        year = number.pop("short")
        year = year + ibis.ifelse(year >= FIRST_SHORT_YEAR, 1900, 2000)
        number["year"] = ibis.ifelse(fits, year, 0).cast("int64")
    if "half" in number:
        half = number.pop("half")
        hour = half % 12 + ibis.ifelse(word["noon"] == "p", 12, 0)
        number["hour"] = ibis.ifelse(half.between(1, 12), hour, 99).cast("int64")
    nothing = ibis.literal(0, "int64")
    return {part: number.get(part, nothing).fill_null(0) for part in _PARTS}


def _iso(table: Any, column: str) -> Any:
    """The time in the usual shape; null if the calendar has none."""
    import ibis

    parts = {part: table[f"{column}_{part}"] for part in _PARTS}
    year, month, day, hour, minute, second = (
        (value + (10_000 if part == "year" else 100)).cast("string").substr(1) for part, value in parts.items()
    )
    shown = year + "-" + month + "-" + day + " " + hour + ":" + minute + ":" + second
    return ibis.ifelse(is_in_calendar(parts | {"zone": ibis.literal("")}), shown, ibis.null("string"))
