"""The pictures of :mod:`adyton_lab.bench.scale`: time and memory against size, both axes logarithmic, as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from adyton_lab.bench.scale import Growth

_WIDTH, _HEIGHT, _LEFT, _TOP, _BELOW, _RIGHT = 560, 300, 56, 14, 40, 130
_COLOURS = ("#0b7285", "#c2410c", "#6d28d9", "#15803d", "#be185d")


def plot(found: Sequence[Growth], grows: str, measure: str = "processor_seconds") -> str:
    """One line for every algorithm, of the points of one kind: seconds, processor seconds or megabytes.

    >>> svg = plot([Growth("rows", "identity", 10**k, 1.0, 10.0**(k - 6), 5.0) for k in (6, 7)], "rows")
    >>> svg.count("<polyline"), "identity" in svg
    (1, True)
    """
    points = [one for one in found if one.grows == grows]
    values = [max(getattr(one, measure), 1e-3) for one in points]
    across = _Axis.over([one.size for one in points], _LEFT, _WIDTH - _RIGHT)
    up = _Axis.over(values, _HEIGHT - _BELOW, _TOP)
    unit = {"seconds": "time in s", "processor_seconds": "processor time in s", "megabytes": "memory in MB"}[measure]
    parts = [_lines(across, up), _words(_LEFT, _HEIGHT - 8, f"{grows}; {unit}")]
    ends: list[float] = []
    for number, (name, group) in enumerate(groupby(zip(points, values, strict=True), lambda pair: pair[0].algorithm)):
        places = [(across.at(one.size), up.at(value)) for one, value in group]
        colour, line = _COLOURS[number % len(_COLOURS)], " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in places]
        ends.append(_apart(places[-1][1], ends))
        parts.append(_words(_WIDTH - _RIGHT + 8, ends[-1] + 4, name, colour=colour))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'font-family="system-ui,sans-serif" font-size="12"><title>{unit} against {grows}</title>{"".join(parts)}</svg>'
    )


class _Axis:
    """Powers of ten along a stretch of pixels."""

    def __init__(self, first: int, last: int, start: float, end: float) -> None:
        self.first, self.last, self._start, self._step = first, last, start, (end - start) / (last - first)

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> _Axis:
        """As many powers as hold all values."""
        first = math.floor(math.log10(min(values)) + 1e-9)
        return cls(first, max(first + 1, math.ceil(math.log10(max(values)) - 1e-9)), start, end)

    def at(self, value: float) -> float:
        """The place of a value."""
        return self._start + (math.log10(value) - self.first) * self._step


def _lines(across: _Axis, up: _Axis) -> str:
    """The grid, with a word at every power of ten."""
    low, high, left, right = _HEIGHT - _BELOW, _TOP, _LEFT, _WIDTH - _RIGHT
    parts = []
    for power in range(across.first, across.last + 1):
        x = across.at(10.0**power)
        parts += [_rule(x, low, x, high), _words(x, low + 15, _power(power), "middle")]
    for power in range(up.first, up.last + 1):
        y = up.at(10.0**power)
        parts += [_rule(left, y, right, y), _words(left - 6, y + 4, _power(power), "end")]
    return "".join(parts)


def _apart(place: float, taken: Sequence[float]) -> float:
    """The nearest place further up that leaves room for the words that are there."""
    while any(abs(place - other) < 13 for other in taken):
        place -= 1
    return place


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="#888" stroke-opacity=".35"/>'


def _words(x: float, y: float, words: str, anchor: str = "start", colour: str = "#888") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


def _power(power: int) -> str:
    return "1" if power == 0 else "10" + str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
