"""Texts of the usual shapes, 2024-03-01 and 2024-03-01 13:30:59, as seconds; and seconds on the clock of a time zone.

The rules of zones come from Python's database, not from the machine's settings, and are turned into a table of the
moments at which the clock changes. Looking a moment up in it cannot fail, and every moment shows exactly one time.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers
from adyton.schema.calendar import DAY, moment
from adyton.schema.times import time_zone

_FIRST, _LAST = moment(datetime(1900, 1, 1)), moment(datetime(2100, 1, 1))
"""Clock changes are known in these years; before and after, clocks stay as they are at the ends."""


def on_clock(seconds: Integers, zone: str) -> Integers:
    """Seconds since 1970 in universal time, as the clock of a zone shows them.

    >>> on_clock(np.array([1711846799, 1711846800]), "Europe/Berlin") - 1711846800
    array([3599, 7200])
    """
    if zone == "UTC":
        return seconds
    moments, offsets = clock_changes(zone)
    return seconds + offsets[np.searchsorted(moments, seconds, side="right")]


@lru_cache(64)
def clock_changes(zone: str) -> tuple[Integers, Integers]:
    """The moments at which the clock of a zone changes, and how far ahead it is before the first and after each."""
    rules, second = time_zone(zone), timedelta(seconds=1)
    start = datetime(1970, 1, 1, tzinfo=rules)  # its numbers are those of universal time: fromutc reads them so

    def ahead(moment: int) -> timedelta | None:
        return rules.fromutc(start + timedelta(seconds=moment)).utcoffset()

    moments: list[int] = []
    offsets = [ahead(_FIRST)]
    for place, offset in enumerate(_day_by_day(rules)):
        if offset != offsets[-1]:
            high = _FIRST + place * DAY
            low = high - DAY  # the clock changes between them
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if ahead(middle) == offsets[-1] else (low, middle)
            moments.append(high)
            offsets.append(offset)
    seconds = [(offset or timedelta()) // second for offset in offsets]
    return np.array(moments, dtype=np.int64), np.array(seconds, dtype=np.int64)


def _day_by_day(rules: ZoneInfo) -> Iterator[timedelta | None]:
    """How far ahead a clock is at the beginning of every day in universal time."""
    when, day = datetime(1900, 1, 1, tzinfo=rules), timedelta(days=1)
    for _ in range(_FIRST, _LAST + 1, DAY):
        yield rules.fromutc(when).utcoffset()
        when += day


NO_TIME = -(1 << 62)
"""Stands for no time at all."""
_SHAPES = (b"0000-00-00", b"0000-00-00 00:00:00")
_MONTH_LENGTHS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


def iso_seconds(values: Any) -> tuple[Integers, Any]:
    """The seconds of an Arrow array's texts, and the array of all others, null where a text has been read or is null.

    >>> import pyarrow
    >>> seconds, others = iso_seconds(pyarrow.array(["1970-01-01 00:01:00", "1970-1-1"]))
    >>> seconds[0].item(), others.to_pylist()
    (60, [None, '1970-1-1'])
    """
    import pyarrow
    from pyarrow import compute

    seconds = np.full(len(values), NO_TIME, dtype=np.int64)
    lengths = compute.fill_null(compute.binary_length(values), 0).to_numpy(zero_copy_only=False)
    for shape in _SHAPES:
        places = np.flatnonzero(lengths == len(shape))
        if places.size:
            seconds[places] = _of_shape(values.take(pyarrow.array(places)), shape)
    return seconds, compute.if_else(pyarrow.array(seconds == NO_TIME), values, None)


def _of_shape(texts: Any, shape: bytes) -> Integers:
    """The seconds of texts that have as many bytes as the shape."""
    length = len(shape)
    raw = np.frombuffer(texts.buffers()[2], np.uint8, count=len(texts) * length).reshape(-1, length)
    pattern = np.frombuffer(shape, np.uint8)
    digit = pattern == ord("0")
    numbers = raw.astype(np.int64) - ord("0")
    fits = ((numbers >= 0) & (numbers <= 9))[:, digit].all(axis=1) & _separated(raw, pattern, digit)
    numbers = np.where(fits[:, None], numbers, 0)
    year = _number(numbers, 0, 4)
    month, day = _number(numbers, 5, 7), _number(numbers, 8, 10)
    fits &= (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    month = np.where(fits, month, 1)
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    fits &= day <= _MONTH_LENGTHS[month] + (leap & (month == 2))
    days = ((year - 1970) * 12 + month - 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) + day - 1
    seconds = days * DAY
    if length > len(_SHAPES[0]):
        hour, minute, second = (_number(numbers, first, first + 2) for first in (11, 14, 17))
        fits &= (hour <= 23) & (minute <= 59) & (second <= 59)
        seconds += hour * 3600 + minute * 60 + second
    return np.where(fits, seconds, NO_TIME)


def _separated(raw: npt.NDArray[np.uint8], pattern: npt.NDArray[np.uint8], digit: npt.NDArray[np.bool_]) -> Any:
    """Whether what stands between the digits is what should; a T may stand for the blank."""
    same = (raw == pattern) | digit | ((pattern == ord(" ")) & (raw == ord("T")))
    return same.all(axis=1)


def _number(digits: Integers, first: int, end: int) -> Integers:
    total = np.zeros(len(digits), dtype=np.int64)
    for place in range(first, end):
        total = total * 10 + digits[:, place]
    return total
