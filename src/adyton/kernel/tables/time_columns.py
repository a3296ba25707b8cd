"""How dates, times and durations are read from an engine's column, without ever failing.

Claim.  Whatever stands in a column, its value is a whole number of seconds on the clock of the attribute's zone, the
number of a part such as the hour of day, a number of units, or missing; and it depends on that one field alone.
Proof.  A text is read only if it has the shape of a time, and by conversions that yield null instead of failing; columns
of times are brought between the years 1 and 9999 before they are converted, so that no number overflows. A clock is a
table in which every moment is found.  ∎
"""

from __future__ import annotations

from functools import cache
from typing import Any

from adyton.kernel.tables.columns import engine_function, number_text
from adyton.kernel.tables.zones import on_clock
from adyton.schema.calendar import DAY, EARLIEST, LATEST, MONTHS, WEEKDAYS
from adyton.schema.durations import Duration
from adyton.schema.time_formats import UNIX, shape_of
from adyton.schema.times import Date, Times

_CLOCK = r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d([.,]\d+)?)?"
_OFFSET = r" ?([Zz]|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)"
_SHAPE = rf"^\d{{4}}-\d\d-\d\d([T ]{_CLOCK}({_OFFSET})?)?$"
_WITH_SECONDS, _DAY_ONLY = 19, 10
_NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?$"
_CLOCKED = r"^([+-]?)(?:(\d{1,9}) days?,? )?(\d{1,9}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?$"
_ISO = r"^(-?)P(?:([\d.]+)D)?(?:T(?:([\d.]+)H)?(?:([\d.]+)M)?(?:(-?[\d.]+(?:[eE][+-]?\d{1,3})?)S)?)?$"
_PARTS_OF_DURATION = ((2, DAY), (3, 3600), (4, 60), (5, 1))


def read_times(column: Any, attribute: Times, *, written_by_us: bool) -> Any:
    """The seconds on the attribute's clock, or the number of the part; null where there is none.

    *written_by_us* says that texts are those of a column of times, whatever the attribute's formats are.
    """
    seconds = _between(_seconds(column, attribute, written_by_us))
    if attribute.is_part:
        return _part(seconds, attribute.by, column)
    return (seconds // DAY).cast("int64") * DAY if isinstance(attribute, Date) else seconds


def _between(seconds: Any) -> Any:
    """Null outside the years 1 to 9999."""
    import ibis

    return ibis.ifelse(seconds.between(EARLIEST, LATEST), seconds, ibis.null("int64"))


def _seconds(column: Any, attribute: Times, written_by_us: bool) -> Any:
    import ibis

    kind, zone = column.type(), attribute.zone
    if kind.is_date():
        first, last = ibis.date(1, 1, 1), ibis.date(9999, 12, 31)
        near = ibis.greatest(ibis.least(column, last), first)
        return ibis.ifelse(column.between(first, last), _whole(_engine("epoch_us", kind)(near), 10**6), ibis.null("int64"))
    if kind.is_timestamp():
        fine = kind.scale == 9
        number = _engine("epoch_ns" if fine else "epoch_us", kind)(column)
        seconds = _whole(number, 10**9 if fine else 10**6)
        return seconds if kind.timezone is None else on_clock(_between(seconds), zone)
    formats = () if written_by_us else tuple(attribute.format or ())
    if not kind.is_string():
        return _from_number(column, formats, zone)
    text = column.strip()
    ways = [_unix(_number(text), zone) if one == UNIX else _formatted(text, one) for one in formats]
    if not any(one.startswith("%Y-") for one in formats):
        ways.append(_iso(text, zone))
    return ibis.coalesce(*ways)


def _from_number(column: Any, formats: tuple[str, ...], zone: str) -> Any:
    """A number is a time only where a format says so: as its digits, or as seconds since 1970."""
    import ibis

    if not formats or not _is_number(column):
        return ibis.null("int64")
    number = column.cast("float64")
    digits = number_text(number)
    ways = [_unix(number, zone) if one == UNIX else _formatted(digits, one) for one in formats]
    return ibis.coalesce(*ways)


def _unix(number: Any, zone: str) -> Any:
    """Seconds since 1970 in universal time."""
    import ibis

    near = ibis.ifelse(number.between(EARLIEST, LATEST + 0.5), number, ibis.null("float64"))
    return on_clock(engine_function("floor", float, float)(near).try_cast("int64"), zone)


def _is_number(column: Any) -> bool:
    kind = column.type()
    return bool(kind.is_integer() or kind.is_floating() or kind.is_decimal())


def _formatted(text: Any, written: str) -> Any:
    """A text in a format: of its shape, and a day that the calendar has."""
    import ibis

    found = _engine("try_strptime", "string", "string", gives="timestamp")(text, written)
    seconds = _whole(_engine("epoch_us", "timestamp")(found), 10**6)
    return ibis.ifelse(text.re_search(f"^{shape_of(written)}$"), seconds, ibis.null("int64"))


def _iso(text: Any, zone: str) -> Any:
    """A text such as 2024-03-01, 2024-03-01 13:30 or 2024-03-01T13:30:59.5+01:00."""
    import ibis

    long = text.substr(16, 1) == ":"
    core = ibis.ifelse(long, text.substr(0, _WITH_SECONDS), text.substr(0, _WITH_SECONDS - 3))
    seconds = _whole(_engine("epoch_us", "timestamp")(core.try_cast("timestamp")), 10**6)
    rest = text.substr(_WITH_SECONDS - 3)
    sign = ibis.cases((rest.contains("+"), 1), (rest.contains("-"), -1), else_=0)
    digits = rest.re_extract(r"[+-](\d\d)", 1), rest.re_extract(r"[+-]\d\d:?(\d\d)", 1)
    hours, minutes = (part.try_cast("int64").fill_null(0) for part in digits)
    offset = sign * (hours * 3600 + minutes * 60)
    stated = (sign != 0) | rest.lower().endswith("z")
    shown = ibis.ifelse(stated, on_clock(_between(seconds - offset), zone), seconds)
    return ibis.ifelse(text.re_search(_SHAPE), shown, ibis.null("int64"))


def _whole(number: Any, unit: int) -> Any:
    """⌊number / unit⌋ of whole numbers, exactly."""
    import ibis

    quotient = _engine("divide", "int64", "int64")(number, ibis.literal(unit, "int64"))
    return quotient - (number % unit < 0).cast("int64")


def _part(seconds: Any, by: str, column: Any) -> Any:
    """The number of the part that a second lies in; or that the column names itself."""
    days = (seconds // DAY).cast("int64")
    if by == "hour of day":
        own, named = (seconds - days * DAY) // 3600, {str(hour): hour for hour in range(24)}
        named |= {f"{hour:02}": hour for hour in range(10)}
    elif by == "weekday":
        own, named = (days + 3) - (days + 3) // 7 * 7, {day.lower(): place for place, day in enumerate(WEEKDAYS)}
    else:
        own, named = _month(days), {month.lower(): place for place, month in enumerate(MONTHS)}
    return own.cast("int64").fill_null(_named(column, named))


def _named(column: Any, named: dict[str, int]) -> Any:
    """The number of the part whose name stands in the column."""
    import ibis

    text = number_text(column.cast("float64")) if _is_number(column) else column
    if not text.type().is_string():
        return ibis.null("int64")
    text = text.strip().lower()
    return ibis.cases(*((text == name, ibis.literal(place, "int64")) for name, place in named.items()))


def _month(days: Any) -> Any:
    """The month of a day, from 0 on, by whole numbers alone: years that begin in March have leap days at their ends."""
    shifted = days + 719_468
    era = (shifted // 146_097).cast("int64")
    day = shifted - era * 146_097
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    of_year = day - (365 * year + year // 4 - year // 100)
    march_based = (5 * of_year + 2) // 153
    return (march_based + 2) % 12


def read_durations(column: Any, attribute: Duration) -> Any:
    """A number of the attribute's units, as a double; null where there is none."""
    import ibis

    kind = column.type()
    if kind.is_interval():
        return _engine("epoch", "interval", gives="float64")(column) / attribute.seconds
    if _is_number(column):
        return column.cast("float64")
    if not kind.is_string():
        return ibis.null("float64")
    text = column.strip()
    clocked, iso = (_parts(text, shape) / attribute.seconds for shape in (_CLOCKED, _ISO))
    whole = text.re_search("[DHMS]$")  # a P alone is no duration
    return ibis.coalesce(_number(text), clocked, ibis.ifelse(whole, iso, ibis.null("float64")))


def _number(text: Any) -> Any:
    """A text that is a number; words such as inf are none."""
    import ibis

    return ibis.ifelse(text.re_search(_NUMBER), text.try_cast("float64"), ibis.null("float64"))


def _parts(text: Any, shape: str) -> Any:
    """The seconds of a text whose groups are a sign, days, hours, minutes and seconds."""
    import ibis

    total = ibis.literal(0.0, "float64")
    for group, seconds in _PARTS_OF_DURATION:
        part = text.re_extract(shape, group)
        total = total + ibis.ifelse(part == "", ibis.literal("0"), part).try_cast("float64") * float(seconds)
    signed = ibis.ifelse(text.startswith("-"), -total, total)
    return ibis.ifelse(text.re_search(shape), signed, ibis.null("float64"))


@cache
def _engine(name: str, *takes: Any, gives: str = "int64") -> Any:
    """A function that the engine has under this name."""
    import ibis

    return ibis.udf.scalar.builtin(_never_called_with(len(takes)), name=name, signature=(takes, gives))


def _never_called_with(count: int) -> Any:
    return _never_called if count == 1 else _never_called_twice


def _never_called(value: Any) -> Any:
    raise AssertionError(value)  # the name stands for the engine's own function


def _never_called_twice(value: Any, other: Any) -> Any:
    raise AssertionError(value, other)
