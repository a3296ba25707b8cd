"""The axes of pictures: which cells of an attribute are joined, ticks whose labels fit, and places on the globe."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from adyton.report import svg
from adyton.report.svg import figure, nice_step, nice_ticks, number, tick_words
from adyton.schema import Integer, Latitude, Longitude, Numeric
from adyton.schema.attributes import Attribute, CelledAttribute
from adyton.schema.calendar import DAY, MONTHS, date_at, number_of, start_of
from adyton.schema.times import Times

Ticks: TypeAlias = Sequence[tuple[float, str]]
"""Positions with labels."""
_JOINS = {
    "hour": (1, 2, 3, 6, 12, 24, 168),
    "day": (1, 7, 14, 28),
    "week": (1, 2, 4, 13, 26, 52),
    "month": (1, 3, 6, 12),
}
"""How many cells of a period may be joined, so that the result is a period, too."""
_NAMED = ("weekday", "month of year")
"""Parts of times that recur and have names, not numbers."""


@dataclass(frozen=True)
class DisplayAxis:
    """The cells of one attribute as they are shown: each stands for a run of neighbouring cells of the domain."""

    name: str
    first: tuple[int, ...]
    """The first cell of each run."""
    last: tuple[int, ...]
    """The last cell of each run, included."""
    labels: tuple[str, ...]
    apart: int
    """How many cells at the end stand for other and missing values, which are never joined with their neighbours."""
    attribute: Attribute

    @property
    def ordered(self) -> bool:
        """Whether neighbouring cells have similar values: numbers, not categories."""
        return self.attribute.ordered

    @property
    def size(self) -> int:
        """How many cells are shown."""
        return len(self.first)

    @property
    def dated(self) -> bool:
        """Whether its cells follow each other in time, as days and months do, and do not recur."""
        return isinstance(self.attribute, Times) and not self.attribute.is_part

    @property
    def numbered(self) -> bool:
        """Whether a few ticks are enough to read it; otherwise each level needs its name."""
        return self.ordered and not (isinstance(self.attribute, Times) and self.attribute.by in _NAMED)

    @property
    def joined(self) -> int:
        """How many cells of the domain one shown cell stands for, at most."""
        return max(last - first + 1 for first, last in zip(self.first, self.last, strict=True))

    def ticks(self, count: int, *, whole: bool = False) -> list[tuple[float, str]]:
        """About *count* positions with labels; the first shown cell extends from 0 to 1.

        The *whole* axis of categories includes other and missing values.
        """
        base = self.size if whole and not self.ordered else self.size - self.apart
        if ticks := _cell_ticks(self.attribute, count) if base else []:
            last = {str(self.attribute.labels[base - 1]): self.labels[base - 1]} if self.joined == 1 else {}
            edges = [*self.first[:base], self.last[base - 1] + 1]
            places = np.interp([place for place, _ in ticks], edges, range(base + 1)).tolist()
            return [(place, last.get(words, words)) for place, (_, words) in zip(places, ticks, strict=True)]
        every = max(1, math.ceil(base / max(1, count)))
        return [(place + 0.5, self.labels[place]) for place in range(0, base, every)]


def display_axis(name: str, attribute: Attribute, most: int) -> DisplayAxis:
    """The axis of an attribute with at most *most* shown cells."""
    cells = attribute.size
    base = attribute.base_size if isinstance(attribute, CelledAttribute) else cells
    together = _together(attribute, math.ceil(base / max(1, most - (cells - base))))
    first = (*range(0, base, together), *range(base, cells))
    last = (*(min(start + together, base) - 1 for start in range(0, base, together)), *range(base, cells))
    labels = tuple(_run_words(attribute, start, end) for start, end in zip(first, last, strict=True))
    return DisplayAxis(name, first, last, labels, cells - base, attribute)


def _together(attribute: Attribute, least: int) -> int:
    """How many cells are joined: at least *least*, and a round number."""
    if least <= 1:
        return 1
    joins = _JOINS.get(attribute.by, ()) if isinstance(attribute, Times) else ()
    power = int(10 ** math.floor(math.log10(least)))
    return next(count for count in (*joins, power, 2 * power, 5 * power, 10 * power) if count >= least)


def _run_words(attribute: Attribute, first: int, last: int) -> str:
    """The label of a run of cells."""
    begin, end = str(attribute.labels[first]), str(attribute.labels[last])
    if first == last:
        return begin
    match attribute:
        case Integer(min=least, max=most, step=step):
            return f"{least + first * step} to {min(least + (last + 1) * step - 1, most)}"
        case Times():
            return f"{begin.split(' to ', maxsplit=1)[0]} to {end.rsplit(' to ', maxsplit=1)[-1]}"
        case Numeric():
            return f"{begin.split(',', maxsplit=1)[0]},{end.split(',')[1]}"
    return f"{begin} … {end}"


# ---- round values ----------------------------------------------------------------------------------------------------


_HOURS = (1, 2, 3, 4, 6, 12)
_SIGNS: dict[type[Attribute], tuple[str, str]] = {Longitude: ("E", "W"), Latitude: ("N", "S")}
"""The letters of the two directions."""


def _cell_ticks(attribute: Attribute, count: int) -> Ticks:
    """About *count* positions with labels, where the first cell begins at 0; empty for attributes with names only."""
    match attribute:
        case Times(is_part=False):
            return _time_ticks(attribute, count)
        case Times(by="hour of day"):
            step = next((hours for hours in _HOURS if 24 / hours <= count), _HOURS[-1])
            return [(float(hour), f"{hour}:00") for hour in range(0, 24, step)]
        case Integer(min=least, max=most):
            room = nice_step(most - least, count) if most > least else 1.0
            values = [value for value in nice_ticks(least, most, count) if room > 1 or value == int(value)]
            middle = 0.5 if attribute.step == 1 else 0.0
            places = [(value - least) / attribute.step + middle for value in values]
            return list(zip(places, tick_words(values, years=attribute.years), strict=True))
        case Numeric(edges=None):
            values, signs = nice_ticks(attribute.min, attribute.max, count), _SIGNS.get(type(attribute))
            words = tick_words(values, years=attribute.years) if signs is None else degrees(values, signs)
            return [
                ((value - attribute.min) / attribute.width, word) for value, word in zip(values, words, strict=True)
            ]
        case Numeric(edges=edges) if edges is not None:
            every = max(1, math.ceil(len(edges) / max(2, count)))
            shown = range(0, len(edges), every)
            digits = [number(edges[place], 6) for place in shown]
            return [
                (float(place), words.replace(",", "") if attribute.years else words)
                for place, words in zip(shown, digits, strict=True)
            ]
    return []


def degrees(values: Sequence[float], signs: tuple[str, str]) -> list[str]:
    """Degrees of longitude or latitude, all with the same number of digits.

    >>> degrees([-73.5, -74.0], ("E", "W")), degrees([0.0], ("N", "S"))
    (['73.5° W', '74.0° W'], ['0°'])
    """
    digits = max((len(number(abs(value), 6).partition(".")[2]) for value in values), default=0)
    return [f"{abs(value):.{digits}f}°{'' if value == 0 else f' {signs[value < 0]}'}" for value in values]


_STEPS = (
    *(("hour", every) for every in (1, 2, 3, 6, 12)),
    *(("day", every) for every in (1, 2)),
    *(("week", every) for every in (1, 2)),
    *(("month", every) for every in (1, 2, 3, 6)),
    *(("year", every) for every in (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000)),
)
_SECONDS = {"hour": 3600, "day": DAY, "week": 7 * DAY, "month": 30.44 * DAY, "year": 365.25 * DAY}
_ROUND = {"month": 12, "hour": 24}
"""After how many months and hours counting starts again: in January, and at midnight."""


def _time_ticks(times: Times, count: int) -> Ticks:
    """About *count* positions with labels; a second line names the day or the year where it begins.

    A tick is where its period begins or, if the cells are such periods themselves, in the middle of the cell.
    """
    first, last = times.span
    finest = _STEPS.index({"quarter": ("month", 3)}.get(times.by, (times.by, 1)))  # ticks are no closer than cells
    fitting = (step for step in _STEPS[finest:] if (last - first) / (_SECONDS[step[0]] * step[1]) <= count)
    period, every = next(fitting, _STEPS[-1])
    numbers = range(number_of(period, first), number_of(period, last) + 1)
    falls = [place for place in numbers if place % _ROUND.get(period, every) % every == 0]
    starts = [start_of(period, place) for place in falls]
    moments = [max(first, start) for start in starts if start >= first or every == 1] or [first]
    edges = np.append(times.starts, last + 1)
    places = np.interp(moments, edges, np.arange(edges.size)).tolist()
    if times.by == "quarter" or (times.every == 1 and times.by in (period, "week")):
        places = [min(int(place), len(edges) - 2) + 0.5 for place in places]
    words, before = [], ""
    for when in map(date_at, moments):
        month, year = MONTHS[when.month - 1][:3], f"{when.year:04}"
        day = f"{when.day} {month}"
        above = {"hour": f"{when.hour}:00", "month": month, "year": year}.get(period, day)
        under = {"hour": f"{day} {year}", "year": ""}.get(period, year)
        words.append(f"{above}\n{under}" if under not in (before, "") else above)
        before = under
    return list(dict(zip(places, words, strict=True)).items())


# ---- ticks that fit --------------------------------------------------------------------------------------------------


_GAP, _HIGH = 9.0, 15.0
"""The least distance in pixels between neighbouring labels, and between lines of labels."""
_COUNTS = (14, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)
_LEAST, _UPRIGHT_MOST = 46.0, 96.0
"""The least width to which names side by side are cut, and the largest width of names that are read upwards."""


@dataclass(frozen=True)
class Row:
    """Ticks below an axis: the position of each, its label, and the position of the label between two edges."""

    marks: tuple[tuple[float, float, str], ...] = ()
    """The position of the tick, the middle of its label, the label."""
    turned: bool = False
    """Whether the labels are read upwards."""

    @property
    def depth(self) -> float:
        """The height of the labels in pixels."""
        if self.turned:
            return svg.width_of(words for *_, words in self.marks) + 4
        return svg.LINE * max((words.count("\n") + 1 for *_, words in self.marks), default=1)

    def draw(self, bottom: float, right: float = 0.0) -> list[str]:
        """Short lines with labels below them, moved by *right* pixels."""
        parts = [svg.line(at + right, bottom, at + right, bottom + 4, 0.6) for at, _, _ in self.marks]
        if self.turned:
            return parts + [svg.upright(middle + right, bottom + 8, words) for _, middle, words in self.marks]
        return parts + [svg.text(middle + right, bottom + 15, words, "middle") for _, middle, words in self.marks]


def fitted(
    ticks: Ticks | DisplayAxis,
    x: Callable[[float], float],
    edges: tuple[float, float],
    *,
    way: int = 1,
    whole: bool = False,
) -> Row:
    """As many ticks as fit side by side between two edges; they go to the left if *way* is −1.

    Names of categories are all shown: side by side, shortened or in two lines if necessary, or else upwards.
    """
    if not isinstance(ticks, DisplayAxis):
        rows = (_side_by_side(ticks[::every][::way], x, edges) for every in range(1, len(ticks) + 1))
    elif ticks.numbered:
        rows = (_side_by_side(ticks.ticks(count, whole=whole), x, edges) for count in _COUNTS)
    else:
        return _names(ticks, x, ticks.size if whole else ticks.size - ticks.apart)
    return next((row for row in rows if row is not None), Row())


def _side_by_side(ticks: Ticks, x: Callable[[float], float], edges: tuple[float, float]) -> Row | None:
    """Ticks with their labels, moved inwards at the edges; None if labels overlap."""
    marks, end = [], -math.inf
    for place, words in ticks:
        half = svg.length(words) / 2
        middle = min(max(x(place), edges[0] + half), edges[1] - half)
        if middle - half < max(end + _GAP, edges[0] - 0.1):
            return None
        marks.append((x(place), middle, words))
        end = middle + half
    return Row(tuple(marks))


def _names(axis: DisplayAxis, x: Callable[[float], float], size: int) -> Row:
    room, names = x(1) - x(0) - _GAP, axis.labels[:size]
    if axis.ordered and svg.width_of(names) > room:  # weekdays and months have short names
        names = tuple(words if words.startswith("(") else words[:3] for words in names)
    if room >= _LEAST or svg.width_of(names) <= room:
        lines = ["\n".join(svg.wrapped(name, room, 2)) for name in names]
        return Row(tuple((x(place + 0.5), x(place + 0.5), words) for place, words in enumerate(lines)))
    every = math.ceil(_HIGH / (x(1) - x(0)))
    places = [x(place + 0.5) for place in range(0, size, every)]
    return Row(tuple(zip(places, places, svg.cut_apart(names[::every], _UPRIGHT_MOST), strict=True)), turned=True)


def beside(axis: DisplayAxis, height: float) -> Ticks:
    """As many ticks of a vertical axis as fit without overlapping."""
    if not axis.numbered:
        every = math.ceil(_HIGH * axis.size / height)
        return [(place + 0.5, axis.labels[place]) for place in range(0, axis.size, every)]
    for count in range(7, 0, -1):
        ticks = [(place, words.replace("\n", " ")) for place, words in axis.ticks(count, whole=True)]
        places = sorted(place / axis.size * height for place, _ in ticks)
        if all(after - before >= _HIGH for before, after in pairwise(places)):
            break
    return ticks


# ---- places on the globe ---------------------------------------------------------------------------------------------


KILOMETRES = 6371.0088 * math.pi / 180
"""The kilometres of one degree along a meridian, on a sphere of the size of the earth."""
_ALIKE = 0.05
"""If the scale differs by more than this between the map's edges, its label says at which latitude it holds."""
_PART = 0.3
"""The length of the scale as a part of the map's width, about."""


@dataclass(frozen=True)
class Ground:
    """The area of a map: its width in degrees, and its southern and northern latitudes."""

    wide: float
    south: float
    north: float

    @property
    def _true(self) -> float:
        """The width in degrees of latitude at the middle latitude, where width and height have the same scale."""
        return self.wide * _cosine((self.south + self.north) / 2)

    @property
    def aspect(self) -> float:
        """Its height for a width of 1."""
        return (self.north - self.south) / self._true

    def scale(self) -> tuple[float, str]:
        """A round length as a part of the width, and its label.

        >>> Ground(0.6, 40.5, 40.9).scale()[1], Ground(9.3, 47.2, 55.1).scale()[1]
        ('20 km', '200 km at 51° N')
        """
        whole = self._true * KILOMETRES
        length = nice_step(_PART * whole, 1)
        words = f"{figure(length)} km" if length >= 1 else f"{figure(1000 * length)} m"
        least, most = sorted(_cosine(edge) for edge in (self.south, self.north))
        if most / least > 1 + _ALIKE or (self.south < 0 < self.north and 1 / least > 1 + _ALIKE):
            words += f" at {degrees([float(round((self.south + self.north) / 2))], ('N', 'S'))[0]}"
        return length / whole, words


def ground_of(across: DisplayAxis, up: DisplayAxis) -> Ground | None:
    """The area of a map, if the two axes are longitude and latitude without other or missing values."""
    east, north = across.attribute, up.attribute
    if not isinstance(east, Longitude) or not isinstance(north, Latitude) or across.apart or up.apart:
        return None
    return Ground(east.max - east.min, north.min, north.max) if east.edges is None and north.edges is None else None


def middle_of(axis: DisplayAxis, cell: int) -> str:
    """The middle of a shown cell of longitude or latitude, in degrees."""
    attribute = axis.attribute
    assert isinstance(attribute, Longitude | Latitude)
    middle = attribute.min + attribute.width * (axis.first[cell] + axis.last[cell] + 1) / 2
    digits = max(0, 1 - math.floor(math.log10(attribute.width)))
    return degrees([round(middle, digits)], _SIGNS[type(attribute)])[0]


def _cosine(latitude: float) -> float:
    return max(0.05, math.cos(math.radians(latitude)))
