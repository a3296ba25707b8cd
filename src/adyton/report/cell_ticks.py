"""Ticks of attributes of numbers, times and places: round values, and where among the cells they lie."""

from __future__ import annotations

import math
from collections.abc import Sequence

from adyton.report.scales import nice_step, nice_ticks, number, tick_words
from adyton.report.time_ticks import time_ticks
from adyton.schema import Integer, Latitude, Longitude, Numeric
from adyton.schema.attributes import Attribute
from adyton.schema.times import Times

_HOURS = (1, 2, 3, 4, 6, 12)


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
            signs = {"longitude": ("E", "W"), "latitude": ("N", "S")}.get(attribute.kind)
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


def coordinate_signs(attribute: Attribute) -> tuple[str, str]:
    """The letters of a longitude's or a latitude's two directions."""
    assert isinstance(attribute, Longitude | Latitude)
    return ("E", "W") if isinstance(attribute, Longitude) else ("N", "S")
