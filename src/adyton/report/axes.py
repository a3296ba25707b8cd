"""How an attribute lies along an axis of a picture: which cells are joined, ticks whose words fit, and places on the
globe."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

import numpy as np

from adyton.report import svg
from adyton.report.scales import figure, nice_step, nice_ticks, number, tick_words
from adyton.schema import Integer, Latitude, Longitude, Numeric
from adyton.schema.attributes import Attribute, CelledAttribute
from adyton.schema.calendar import DAY, MONTHS, date_at, number_of, start_of
from adyton.schema.times import Times

_JOINS = {
    "hour": (1, 2, 3, 6, 12, 24, 168),
    "day": (1, 7, 14, 28),
    "week": (1, 2, 4, 13, 26, 52),
    "month": (1, 3, 6, 12),
}
"""How many cells of a period are joined, so that what they make is a period, too."""
_ROUND = (1, 2, 5)
_NAMED = ("weekday", "month of year")
"""What comes round again and has names, not numbers."""


@dataclass(frozen=True)
class DisplayAxis:
    """The cells of one attribute as they are shown: each stands for a run of neighbouring cells of the domain."""

    name: str
    first: tuple[int, ...]
    """The first cell of each run."""
    last: tuple[int, ...]
    """The last cell of each run, included."""
    labels: tuple[str, ...]
    ordered: bool
    """Whether neighbours are close to each other: numbers, not categories."""
    apart: int
    """How many at the end stand for other and missing values, which are never joined with their neighbours."""
    attribute: Attribute

    @property
    def size(self) -> int:
        """How many cells are shown."""
        return len(self.first)

    @property
    def dated(self) -> bool:
        """Whether it goes on and on, as days and months do."""
        return isinstance(self.attribute, Times) and not self.attribute.is_part

    @property
    def numbered(self) -> bool:
        """Whether a few ticks tell what lies between them; the levels of others have a name each."""
        return self.ordered and not (isinstance(self.attribute, Times) and self.attribute.by in _NAMED)

    def short_names(self, room: float) -> tuple[str, ...]:
        """The labels; those of weekdays and months with three letters where there is no room for more."""
        if isinstance(self.attribute, Times) and self.attribute.by in _NAMED and svg.width_of(self.labels) > room:
            return tuple(words if words.startswith("(") else words[:3] for words in self.labels)
        return self.labels

    @property
    def joined(self) -> int:
        """How many cells of the domain one shown cell stands for, at most."""
        return max(last - first + 1 for first, last in zip(self.first, self.last, strict=True))

    def ticks(self, count: int, *, whole: bool = False) -> list[tuple[float, str]]:
        """About *count* places with words, the left end of the first shown cell being 0 and its right end 1.

        The *whole* axis of categories includes other and missing values.
        """
        base = self.size if whole and not self.ordered else self.size - self.apart
        found = cell_ticks(self.attribute, count) if base else []
        if found:
            last = {str(self.attribute.labels[base - 1]): self.labels[base - 1]} if self.joined == 1 else {}
            return [(self._place(place), last.get(words, words)) for place, words in found]
        every = max(1, math.ceil(base / max(1, count)))
        return [(place + 0.5, self.labels[place]) for place in range(0, base, every)]

    def _place(self, cell: float) -> float:
        """Where a place among the cells of the domain is among the shown ones."""
        base = self.size - self.apart
        return float(np.interp(cell, [*self.first[:base], self.last[base - 1] + 1], range(base + 1)))


def display_axis(name: str, attribute: Attribute, most: int) -> DisplayAxis:
    """The axis of an attribute with at most *most* shown cells."""
    cells = attribute.size
    base = attribute.base_size if isinstance(attribute, CelledAttribute) else cells
    together = _together(attribute, math.ceil(base / max(1, most - (cells - base))))
    first = [*range(0, base, together), *range(base, cells)]
    last = [*(min(start + together, base) - 1 for start in range(0, base, together)), *range(base, cells)]
    words = _words(attribute)
    return DisplayAxis(
        name=name,
        first=tuple(first),
        last=tuple(last),
        labels=tuple(words(start, end) for start, end in zip(first, last, strict=True)),
        ordered=attribute.ordered,
        apart=cells - base,
        attribute=attribute,
    )


def _together(attribute: Attribute, least: int) -> int:
    """How many cells are joined: at least so many, and a number that people count by."""
    if least <= 1:
        return 1
    joins = _JOINS.get(attribute.by, ()) if isinstance(attribute, Times) else ()
    power = 10 ** math.floor(math.log10(least))
    return next((one for one in (*joins, *(step * power for step in _ROUND), 10 * power) if one >= least), least)


def _words(attribute: Attribute) -> Callable[[int, int], str]:
    """What a run of cells is called, from its first and its last cell."""
    labels = attribute.labels

    def words(first: int, last: int) -> str:
        if first == last:
            return str(labels[first])
        match attribute:
            case Integer(min=least, max=most, step=step):
                return f"{least + first * step} to {min(least + (last + 1) * step - 1, most)}"
            case Times():
                begin, end = str(labels[first]).split(" to ")[0], str(labels[last]).split(" to ")[-1]
                return f"{begin} to {end}"
            case Numeric():
                return f"{str(labels[first]).split(',')[0]},{str(labels[last]).split(',')[1]}"
        return f"{labels[first]} … {labels[last]}"

    return words


# ---- round values ----------------------------------------------------------------------------------------------------


_HOURS = (1, 2, 3, 4, 6, 12)
_SIGNS: dict[type[Attribute], tuple[str, str]] = {Longitude: ("E", "W"), Latitude: ("N", "S")}
"""The letters of the two directions."""


def cell_ticks(attribute: Attribute, count: int) -> list[tuple[float, str]]:
    """About *count* places with words, the left end of the first cell being 0; none for what has names only."""
    found: list[tuple[float, str]] = []
    match attribute:
        case Times(is_part=False):
            found = time_ticks(attribute, count)
        case Times(by="hour of day"):
            step = next((one for one in _HOURS if 24 / one <= count), _HOURS[-1])
            found = [(float(hour), f"{hour}:00") for hour in range(0, 24, step)]
        case Integer():
            found = _whole(attribute, count)
        case Numeric(edges=None):
            values = nice_ticks(attribute.min, attribute.max, count)
            signs = _SIGNS.get(type(attribute))
            words = tick_words(values) if signs is None else degrees(values, signs)
            places = [(value - attribute.min) / attribute.width for value in values]
            found = list(zip(places, words, strict=True))
        case Numeric(edges=edges) if edges is not None:
            every = max(1, math.ceil(len(edges) / max(2, count)))
            found = [(float(place), number(edges[place], 6)) for place in range(0, len(edges), every)]
    return found


def _whole(attribute: Integer, count: int) -> list[tuple[float, str]]:
    least, most = attribute.min, attribute.max
    room = max(1.0, nice_step(most - least, count)) if most > least else 1.0
    values = [value for value in nice_ticks(least, most, count) if room > 1 or value == int(value)]
    middle = 0.5 if attribute.step == 1 else 0.0
    places = [(value - least) / attribute.step + middle for value in values]
    return list(zip(places, tick_words(values), strict=True))


def degrees(values: Sequence[float], signs: tuple[str, str]) -> list[str]:
    """Places on the globe, all with as many digits.

    >>> degrees([-73.5, -74.0], ("E", "W")), degrees([0.0], ("N", "S"))
    (['73.5° W', '74.0° W'], ['0°'])
    """
    digits = max((len(number(abs(value), 6).partition(".")[2]) for value in values), default=0)
    return [f"{abs(value):.{digits}f}°{'' if value == 0 else f' {signs[value < 0]}'}" for value in values]


# ---- the beginnings of hours, days, weeks, months and years ----------------------------------------------------------


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
    words = _time_words(period, [date_at(one) for one in moments])
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


def _time_words(period: str, moments: list[datetime]) -> list[str]:
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


# ---- ticks that fit --------------------------------------------------------------------------------------------------


Ticks = Sequence[tuple[float, str]]
GAP = 9.0
"""So many pixels lie between the words of neighbours, at least."""
_COUNTS = (14, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)
_MOST_BESIDE = _COUNTS.index(7)
_LEAST, _UPRIGHT_MOST = 46.0, 96.0
"""Names are not cut shorter than this to stand side by side, and not longer where they are read upwards."""


@dataclass(frozen=True)
class Row:
    """Ticks below an axis: where each is, its words, and where they stand so that they stay between two edges."""

    marks: tuple[tuple[float, float, str], ...]
    """The place of the tick, the middle of its words, the words."""
    turned: bool = False
    """Whether the words are read upwards."""

    @property
    def depth(self) -> float:
        """How many pixels the words take downwards."""
        if self.turned:
            return svg.width_of(words for *_, words in self.marks) + 4
        return svg.LINE * max((words.count("\n") + 1 for *_, words in self.marks), default=1)

    def draw(self, bottom: float, right: float = 0.0) -> list[str]:
        """Short lines and words below them, moved to the *right* by so much."""
        parts = [svg.line(at + right, bottom, at + right, bottom + 4, 0.6) for at, _, _ in self.marks]
        if self.turned:
            return parts + [svg.upright(middle + right, bottom + 8, words) for _, middle, words in self.marks]
        return parts + [svg.text(middle + right, bottom + 15, words, "middle") for _, middle, words in self.marks]


def below(axis: DisplayAxis, x: Callable[[float], float], edges: tuple[float, float], *, whole: bool = False) -> Row:
    """The most ticks of an axis whose words fit side by side between two edges.

    Names of categories are all told: side by side, if need be in short or in two lines, or else upwards.
    """
    if not axis.numbered:
        return _names(axis, x, edges, whole)
    for count in _COUNTS:
        row = side_by_side(axis.ticks(count, whole=whole), x, edges)
        if row is not None:
            return row
    return Row(())


def fitted(ticks: Ticks | DisplayAxis, x: Callable[[float], float], edges: tuple[float, float], way: int = 1) -> Row:
    """The ticks of an axis, or as many of these as fit; they go to the left where the *way* is −1."""
    if isinstance(ticks, DisplayAxis):
        return below(ticks, x, edges)
    rows = (side_by_side(ticks[::every][::way], x, edges) for every in range(1, len(ticks) + 1))
    return next((row for row in rows if row is not None), Row(()))


def side_by_side(ticks: Ticks, x: Callable[[float], float], edges: tuple[float, float]) -> Row | None:
    """Ticks with their words, moved inwards at the edges; None if words collide."""
    marks = []
    for place, words in ticks:
        half = svg.length(words) / 2
        middle = min(max(x(place), edges[0] + half), edges[1] - half)
        marks.append((x(place), middle, words))
    spans = [(middle - svg.length(words) / 2, middle + svg.length(words) / 2) for _, middle, words in marks]
    close = any(left[1] + GAP > right[0] for left, right in pairwise(spans))
    if close or any(low < edges[0] - 0.1 for low, _ in spans):
        return None
    return Row(tuple(marks))


def _names(axis: DisplayAxis, x: Callable[[float], float], edges: tuple[float, float], whole: bool) -> Row:
    size = axis.size if whole else axis.size - axis.apart
    room = x(1) - x(0) - GAP
    names = axis.short_names(room)[:size]
    if room >= _LEAST or svg.width_of(names) <= room:
        lines = ["\n".join(svg.wrapped(name, room, 2)) for name in names]
        return Row(tuple((x(place + 0.5), x(place + 0.5), words) for place, words in enumerate(lines)))
    every = max(1, -int(-15.0 // (x(1) - x(0))))
    found = ((x(place + 0.5), svg.cut(names[place], _UPRIGHT_MOST)) for place in range(0, size, every))
    return Row(tuple((at, at, words) for at, words in found), turned=True)


def beside(axis: DisplayAxis, height: float) -> Ticks:
    """The most ticks of an axis from top to bottom that do not collide."""
    if not axis.numbered:
        every = max(1, -int(-15.0 * axis.size // height))
        return [(place + 0.5, axis.labels[place]) for place in range(0, axis.size, every)]
    for count in _COUNTS[_MOST_BESIDE:]:
        ticks = [(place, words.replace("\n", " ")) for place, words in axis.ticks(count, whole=True)]
        places = sorted(place / axis.size * height for place, _ in ticks)
        if all(after - before >= 15.0 for before, after in pairwise(places)):
            return ticks
    return ticks


# ---- places on the globe ---------------------------------------------------------------------------------------------


KILOMETRES = 6371.0088 * math.pi / 180
"""Those of one degree along a meridian, on a ball as large as the earth."""
_ALIKE = 0.05
"""If kilometres differ more than this between the map's edges, a scale says where it holds."""
_PART = 0.3
"""A scale is about so large a part of the map's width."""


@dataclass(frozen=True)
class Ground:
    """What lies below a map: how wide and how high it is in degrees, and its middle latitude."""

    wide: float
    high: float
    south: float
    north: float

    @property
    def middle(self) -> float:
        """The latitude at which widths and heights are true to each other."""
        return (self.south + self.north) / 2

    @property
    def aspect(self) -> float:
        """Its height for a width of 1: at the middle latitude, a degree east is cos(latitude) times as long as one
        north."""
        return self.high / (self.wide * _cosine(self.middle))

    def scale(self) -> tuple[float, str]:
        """A round length as a part of the width, and its words.

        >>> Ground(0.6, 0.4, 40.5, 40.9).scale()[1], Ground(9.3, 7.9, 47.2, 55.1).scale()[1]
        ('20 km', '200 km at 51° N')
        """
        whole = self.wide * _cosine(self.middle) * KILOMETRES  # along the middle latitude
        length = nice_step(_PART * whole, 1)
        words = f"{figure(length)} km" if length >= 1 else f"{figure(1000 * length)} m"
        least, most = sorted(_cosine(edge) for edge in (self.south, self.north))
        if most / least > 1 + _ALIKE or (self.south < 0 < self.north and 1 / least > 1 + _ALIKE):
            words += f" at {degrees([float(round(self.middle))], ('N', 'S'))[0]}"
        return length / whole, words


def ground_of(across: DisplayAxis, up: DisplayAxis) -> Ground | None:
    """What a picture of two axes is a map of, if they are longitude and latitude and nothing else."""
    one, other = across.attribute, up.attribute
    if not isinstance(one, Longitude) or not isinstance(other, Latitude) or across.apart or up.apart:
        return None
    if one.edges is not None or other.edges is not None:
        return None
    return Ground(one.max - one.min, other.max - other.min, other.min, other.max)


def middle_of(axis: DisplayAxis, cell: int) -> str:
    """The middle of a shown cell of longitude or latitude, in degrees."""
    one = axis.attribute
    assert isinstance(one, Longitude | Latitude)
    middle = one.min + one.width * (axis.first[cell] + axis.last[cell] + 1) / 2
    digits = max(0, 1 - math.floor(math.log10(one.width)))
    return degrees([round(middle, digits)], _SIGNS[type(one)])[0]


def _cosine(latitude: float) -> float:
    return max(0.05, math.cos(math.radians(latitude)))
