"""What a cell is, in plain Python: exact numbers, one value at a time."""

import datetime as dt
import math
import re
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

from hard_rows import NUMBERS, TRUTHS

from adyton.schema import Boolean, Categorical, Integer
from adyton.schema.times import Date, Times

ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?(?: ?(Z|z|[+-]\d\d(?::?[0-5]\d)?))?)?", re.ASCII
)
OUTSIDE = object()


def cell_of(attribute, value, column):
    """The number of the cell; None where the row is left out."""
    value = read(attribute, value, column)
    if value is None:
        return attribute.null_cell
    base = inside(attribute, value)
    if base is not None:
        return base
    if attribute.outside == "clamp":
        return 0 if value < bounds(attribute)[0] else attribute.base_size - 1
    return attribute.other_cell


def bounds(attribute):
    return attribute.span if isinstance(attribute, Times) else (attribute.min, attribute.max)


def read(attribute, value, column):
    """The value in the attribute's terms; None if it is missing."""
    if isinstance(attribute, Times):
        return time_of(attribute, value)
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(attribute, Boolean):
        if column == "truth":
            truth = TRUTHS[value]
            return OUTSIDE if value is not None and truth is None else OUTSIDE if truth == "outside" else truth
        return value if value is None or isinstance(value, bool) else {0: False, 1: True}.get(value, OUTSIDE)
    if column == "number":
        value = NUMBERS[value]
    value = float(value) if isinstance(value, Decimal) else value
    if isinstance(attribute, Categorical) and isinstance(value, str):
        return value.strip(" ")
    return value


def inside(attribute, value):  # noqa: PLR0911
    """The cell of a value before policies; None if it is outside."""
    if isinstance(attribute, Boolean):
        return None if value is OUTSIDE else int(value)
    if isinstance(attribute, Categorical):
        return attribute.levels.index(value) if value in attribute.levels else None
    if isinstance(attribute, Times):
        return time_cell(attribute, value)
    if isinstance(value, float) and math.isinf(value):
        return None
    if isinstance(attribute, Integer):
        whole = math.floor(value)
        return (whole - attribute.min) // attribute.step if attribute.min <= whole <= attribute.max else None
    if not attribute.min <= value <= attribute.max:
        return None
    if attribute.edges:
        return min(sum(value >= edge for edge in attribute.edges) - 1, attribute.bins - 1)
    low, width = Fraction(attribute.min), (Fraction(attribute.max) - Fraction(attribute.min)) / attribute.bins
    return min(math.floor((Fraction(value) - low) / width + Fraction(1, 10**9)), attribute.bins - 1)


def time_of(attribute, value):
    """Seconds since 1970 on the attribute's clock, or the number of a part."""
    named = None
    if isinstance(value, str):
        word = value.strip().lower()
        parts = {"weekday": ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]}
        parts["hour of day"] = [str(hour) for hour in range(24)]
        names = parts.get(attribute.by, [])
        padded = word.lstrip("0") or "0" if attribute.by == "hour of day" and len(word) == 2 else word
        named = names.index(padded) if padded in names else None
        value = iso(value.strip(" \t\n\r\v\f"))
    if value is None:
        return named
    if not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    if value.tzinfo is not None:
        try:
            value = on_clock(value, attribute.zone)
        except OverflowError:
            return None
    days = (value.date() - dt.date(1970, 1, 1)).days
    match attribute.by:
        case "hour of day":
            return value.hour
        case "weekday":
            return value.weekday()
        case "month of year":
            return value.month - 1
    return days * 86_400 + (0 if isinstance(attribute, Date) else value.hour * 3600 + value.minute * 60 + value.second)


def on_clock(value, zone):
    """What the clock of a zone shows; before 1900 and after 2100 it is as far ahead as it is then."""
    near = min(max(value, dt.datetime(1900, 1, 1, tzinfo=dt.UTC)), dt.datetime(2100, 1, 1, tzinfo=dt.UTC))
    return value.astimezone(dt.UTC).replace(tzinfo=None) + near.astimezone(ZoneInfo(zone)).utcoffset()


def iso(word):
    match = ISO.fullmatch(word) if len(word) <= 100 else None
    if match is None:
        return None
    *numbers, zone = match.groups()
    try:
        value = dt.datetime(*(int(number or 0) for number in numbers))
        if zone is None:
            return value
        if zone in ("Z", "z"):
            return value.replace(tzinfo=dt.UTC)
        digits = zone[1:].replace(":", "").ljust(4, "0")
        if int(digits[:2]) > 23:
            return None
        ahead = dt.timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        return (value + (ahead if zone[0] == "-" else -ahead)).replace(tzinfo=dt.UTC)
    except (ValueError, OverflowError):
        return None


def time_cell(attribute, value):
    first, last = attribute.span
    if not first <= value <= last:
        return None
    if attribute.is_part:
        return value
    if attribute.length is not None:
        return (value - attribute.anchor) // attribute.length
    return sum(start <= value for start in attribute.starts.tolist()) - 1
