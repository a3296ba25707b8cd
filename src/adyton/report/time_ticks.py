"""Ticks for dates and times: at the beginning of hours, days, weeks, months or years, in as few letters as will do."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from adyton.schema.calendar import DAY, MONTHS, date_at, number_of, start_of
from adyton.schema.times import Times

_STEPS = (
    *(("hour", every) for every in (1, 2, 3, 6, 12)),
    *(("day", every) for every in (1, 2)),
    *(("week", every) for every in (1, 2)),
    *(("month", every) for every in (1, 2, 3, 6)),
    *(("year", every) for every in (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000)),
)
_SECONDS = {"hour": 3600, "day": DAY, "week": 7 * DAY, "month": 30.44 * DAY, "year": 365.25 * DAY}


def time_ticks(times: Times, count: int) -> list[tuple[float, str]]:
    """About *count* places among the cells, with words; a second line names the day or the year where it begins.

    A tick is where its period begins; of cells that are periods themselves, in the middle of the cell.
    """
    first, last = times.span
    period, every = next(
        (one for one in _STEPS[_finest(times) :] if (last - first) / (_SECONDS[one[0]] * one[1]) <= count), _STEPS[-1]
    )
    numbers = [
        one for one in range(number_of(period, first), number_of(period, last) + 1) if _falls(one, period, every)
    ]
    moments = [max(first, start_of(period, one)) for one in numbers if start_of(period, one) >= first or every == 1]
    if not moments:
        moments = [first]
    edges = np.append(times.starts, last + 1)
    middle = 0.5 if times.by == "quarter" or (times.every == 1 and times.by in (period, "week")) else 0.0
    places = np.interp(moments, edges, np.arange(edges.size)).tolist()
    cells = [min(int(place), len(edges) - 2) + middle if middle else place for place in places]
    words = _words(period, [date_at(one) for one in moments])
    kept = dict(zip(cells, words, strict=True))
    return list(kept.items())


def _finest(times: Times) -> int:
    """From which step on ticks are no closer than cells."""
    by = {"quarter": ("month", 3), "week": ("week", 1)}.get(times.by, (times.by, 1))
    return _STEPS.index(by)


def _falls(number: int, period: str, every: int) -> bool:
    """Whether one of every so many periods begins here: counted from midnight, January or the year 0."""
    if period == "month":
        return number % 12 % every == 0
    if period == "hour":
        return number % 24 % every == 0
    return number % every == 0


def _words(period: str, moments: list[datetime]) -> list[str]:
    """What is short goes first; what it belongs to, below it where it changes."""
    found, before = [], ""
    for when in moments:
        month = MONTHS[when.month - 1][:3]
        day = f"{when.day} {month}"
        above, below = {
            "hour": (f"{when.hour}:00", f"{day} {when.year:04}"),
            "day": (day, f"{when.year:04}"),
            "week": (day, f"{when.year:04}"),
            "month": (month, f"{when.year:04}"),
            "year": (f"{when.year:04}", ""),
        }[period]
        found.append(f"{above}\n{below}" if below != before and below else above)
        before = below
    return found
