"""From universal time to the clock of a time zone.

The rules come from Python's database of time zones, not from the machine's settings, and are turned into a table of the
moments at which the clock changes. Looking a moment up in it cannot fail, and every moment shows exactly one time.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np

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
