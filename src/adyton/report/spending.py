"""The picture of a ledger: what was spent, added up over time, below the total.

It has exact times, like the ledger itself: both are the curator's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from adyton.errors import BadInput
from adyton.exact import display, exact
from adyton.kernel.ledger import LedgerReport
from adyton.report import svg
from adyton.report.axes import Ticks, fitted
from adyton.report.pictures import Drawing
from adyton.schema.calendar import DAY, MONTHS, date_at, number_of, start_of

_TOP, _HIGH, _RIGHT = 26.0, 190.0, 10.0
"""The space above the picture, its height, and the space beside it."""
_LEAST_SECONDS = 60
_STEPS = (*(("minute", every) for every in (1, 2, 5, 15, 30)), *(("hour", every) for every in (1, 3, 6, 12)))
_LONGER = (*(("day", every) for every in (1, 2, 3, 7, 14)), *(("month", every) for every in (1, 2, 3, 6)))
_YEARS = tuple(("year", every) for every in (1, 2, 5, 10, 50, 100, 1000))
_SECONDS = {"minute": 60, "hour": 3600, "day": DAY, "month": 30.44 * DAY, "year": 365.25 * DAY}
_ROUND = {"month": 12, "hour": 24, "minute": 60}
"""After how many periods counting starts again."""


class Curve(NamedTuple):
    """An amount that changes at some times, in seconds since 1970, and stays between them."""

    times: tuple[float, ...]
    amounts: tuple[float, ...]

    def until(self, end: float) -> Curve:
        """The same, up to a time."""
        return Curve((*self.times, end), (*self.amounts, self.amounts[-1]))


def drawing_of(report: LedgerReport, until: datetime) -> Drawing:
    """What was spent of the total, from the first entry or change until a moment."""
    spent, total = spent_over_time(report), total_over_time(report)
    end = max(_seconds(until.isoformat()), *spent.times, *total.times)
    end = max(end, min(*spent.times, *total.times) + _LEAST_SECONDS)
    shown = f"ε = {display(report.spent)} of {display(report.total)}"
    caption = (
        f"Spent so far: {shown}. The line rises with each entry of the ledger; when it reaches the total, nothing more "
        "is answered. Times are UTC."
    )
    return Drawing("What was spent over time", caption, partial(_draw, spent.until(end), total.until(end), shown))


def spent_over_time(report: LedgerReport) -> Curve:
    """What was spent after each entry."""
    first = _beginning(report)
    times = (first, *(_seconds(entry.time) for entry in report.entries))
    return Curve(
        tuple(map(max, times, (first,) * len(times))), (0.0, *(float(own.spent_after) for own in report.entries))
    )


def total_over_time(report: LedgerReport) -> Curve:
    """The total, which may have been raised."""
    changes: list[tuple[float, float]] = []
    first, amount = _beginning(report), report.total
    for event in reversed([event for event in report.events if event.changed == "total"]):
        changes.insert(0, (_seconds(event.time), float(amount)))
        with suppress(BadInput):  # an amount of many digits was cut off in the event
            amount = exact(event.old, "total", computed=True)
    return Curve((first, *(when for when, _ in changes)), (float(amount), *(after for _, after in changes)))


def _beginning(report: LedgerReport) -> float:
    times = [own.time for own in report.entries[:1]] + [own.time for own in report.events[:1]]
    return min(map(_seconds, times), default=_seconds(datetime.now(UTC).isoformat()))


def _seconds(time: str) -> float:
    when = datetime.fromisoformat(time)
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


# ---- drawn -----------------------------------------------------------------------------------------------------------


def _draw(spent: Curve, total: Curve, shown: str, width: float) -> str:
    (first, *_, last), most = spent.times, max(*total.amounts, *spent.amounts)
    marks = svg.nice_ticks(0, most, 4)
    words = svg.tick_words(marks) if most >= 1e-3 else [svg.figure(mark) for mark in marks]
    left = svg.width_of(words) + 14
    bottom = _TOP + _HIGH

    def x(second: float) -> float:
        return left + (second - first) / (last - first) * (width - left - _RIGHT)

    def y(amount: float) -> float:
        return bottom - amount / (1.06 * most) * _HIGH

    parts = []
    for mark, label in zip(marks, words, strict=True):
        parts += [svg.line(left, y(mark), width - _RIGHT, y(mark), 0.12), svg.text(left - 8, y(mark), label, "end")]
    row = next(filled for filled in (_row(first, last, count, x, width) for count in (8, 6, 5, 4, 3, 2, 1)) if filled)
    parts += row
    steps = "L".join(f"{svg.place(across)} {svg.place(up)}" for across, up in _steps(spent, x, y))
    floor = f"L{svg.place(x(last))} {svg.place(bottom)}L{svg.place(x(first))} {svg.place(bottom)}Z"
    parts.append(f'<path d="M{steps}{floor}" style="fill:{svg.DATA}" fill-opacity=".15"/>')
    limit = "L".join(f"{svg.place(across)} {svg.place(up)}" for across, up in _steps(total, x, y))
    parts.append(
        f'<path d="M{limit}" fill="none" style="stroke:{svg.SECOND}" stroke-width="1.8" stroke-dasharray="6 4"/>'
    )
    parts.append(f'<path d="M{steps}" fill="none" style="stroke:{svg.DATA}" stroke-width="2"/>')
    parts.append(svg.line(left, bottom, width - _RIGHT, bottom, 0.7))
    parts += _names(width - _RIGHT, y(spent.amounts[-1]), y(total.amounts[-1]), left)
    described = f"The line of what was spent rises from 0 to {shown}; a dashed line above it is the total."
    return svg.drawing(width, bottom + 42, "What was spent over time", described, parts)


def _names(right: float, spent: float, total: float, left: float) -> Iterator[str]:
    """The names of both lines at their right ends, apart from one another."""
    yield svg.text(right, min(total, spent) - 10, "total", "end", colour=svg.SECOND, bold=True)
    room = spent - total > 30
    yield svg.text(right, spent - 10 if room else max(total, spent) + 12, "spent", "end", colour=svg.DATA, bold=True)


def _steps(curve: Curve, x: Callable[[float], float], y: Callable[[float], float]) -> Iterator[tuple[float, float]]:
    """The corners of a line that stays level between two times; of all within a pixel, the last."""
    height, before = y(curve.amounts[0]), x(curve.times[0])
    yield before, height
    points = {round(x(time), 0): y(amount) for time, amount in zip(curve.times[1:], curve.amounts[1:], strict=True)}
    for across, up in points.items():
        yield max(across, before), height
        if up != height:
            yield max(across, before), up
        height = up


def _row(first: float, last: float, count: int, x: Callable[[float], float], width: float) -> list[str]:
    """About *count* times with their labels; nothing where they do not fit."""
    drawn = fitted(_times(first, last, count), x, (0, width))
    return drawn.draw(_TOP + _HIGH) if drawn.marks or count == 1 else []


def _times(first: float, last: float, count: int) -> Ticks:
    """Round times; a second line names the day or the year where it begins."""
    steps: Sequence[tuple[str, int]] = (*_STEPS, *_LONGER, *_YEARS)
    fitting = (step for step in steps if (last - first) / (_SECONDS[step[0]] * step[1]) <= count)
    period, every = next(fitting, steps[-1])
    if period == "minute":
        starts = [60 * place for place in range(int(first) // 60, int(last) // 60 + 1) if place % every == 0]
    else:
        numbers = range(number_of(period, int(first)), number_of(period, int(last)) + 1)
        starts = [start_of(period, place) for place in numbers if place % _ROUND.get(period, every) % every == 0]
    ticks, before = [], ""
    for start in starts:
        if not first <= start <= last:
            continue
        when = date_at(start)
        day, month, year = f"{when.day} {MONTHS[when.month - 1][:3]}", MONTHS[when.month - 1][:3], f"{when.year:04}"
        above = {"minute": f"{when:%H:%M}", "hour": f"{when:%H:%M}", "month": month, "year": year}.get(period, day)
        under = {"minute": f"{day} {year}", "hour": f"{day} {year}", "year": ""}.get(period, year)
        ticks.append((float(start), f"{above}\n{under}" if under not in (before, "") else above))
        before = under
    return ticks or [(first, f"{date_at(int(first)):%H:%M}\n{date_at(int(first)):%d %b %Y}")]
