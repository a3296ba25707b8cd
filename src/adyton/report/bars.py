"""A chart of bars, one below the other, for a few cells with names."""

from __future__ import annotations

from collections.abc import Sequence

from adyton.report import svg
from adyton.report.palette import DATA
from adyton.report.scales import nice_ticks, number, spread, tick_words
from adyton.report.ticks import fitted

MOST = 60
"""More bars than this are better drawn as a line."""
THICKNESS = 15.0
_ROW, _BELOW, _BESIDE = 27.0, 42.0, 0.42
"""The height of a row, what lies below the last, and the part of the width that names beside bars take at most."""


def bars(
    labels: Sequence[str],
    values: Sequence[float],
    lower: Sequence[float] | None,
    upper: Sequence[float] | None,
    *,
    title: str,
    description: str,
    unit: str,
    width: float = 720,
    digits: int = 0,
) -> str:
    """Bars from the zero line, each with its number, and its interval as a thin line with ends.

    Names stand beside the bars, in two lines if need be; where there is no room for them, above.
    """
    figures = [number(value, digits) for value in values]
    names, left, above = names_of(labels, width)
    right = svg.width_of(figures) + 14
    low, high = spread([*values, *(lower or ()), *(upper or ())])
    tops, bottom = _rows(names, above)

    def x(value: float) -> float:
        return left + (value - low) / (high - low) * (width - left - right)

    parts = []
    marks = nice_ticks(low, high, max(2, int((width - left - right) / 80)))
    row = fitted(list(zip(marks, tick_words(marks), strict=True)), x, (0, width))
    if not above:  # they would strike names out
        parts += [svg.line(x(mark), 0, x(mark), bottom, 0.12) for mark in marks]
    parts += [svg.text(middle, bottom + 12, words, "middle") for _, middle, words in row.marks]
    for place, (lines, value) in enumerate(zip(names, values, strict=True)):
        middle = tops[place] + (svg.LINE * len(lines) + 4 + THICKNESS / 2 if above else _height(lines) / 2)
        parts += name_beside(lines, left, tops[place] + 7 if above else middle, above=above)
        start, end = sorted((x(0), x(value)))
        parts.append(svg.box(start, middle - THICKNESS / 2, end - start, THICKNESS, DATA, 0.85))
        if lower is not None and upper is not None:
            parts += svg.whisker(x(lower[place]), x(upper[place]), middle)
        parts.append(svg.text(width, middle, figures[place], "end"))
        sides = (middle - THICKNESS / 2 - 2, middle + THICKNESS / 2 + 2) if above else (0, bottom)
        if above or not place:
            parts.append(svg.line(x(0), sides[0], x(0), sides[1], 0.7))
    parts.append(svg.text(left, bottom + 31, svg.cut(unit, width - left), "start", pale=True))
    return svg.drawing(width, bottom + _BELOW, title, description, parts)


def names_of(labels: Sequence[str], width: float) -> tuple[list[list[str]], float, bool]:
    """The lines of each name, where bars begin, and whether names stand above them."""
    longest, most = svg.width_of(labels), _BESIDE * width
    if longest + 12 <= most:
        return [[label] for label in labels], longest + 12, False
    if longest <= 2.2 * most and width > 500:
        lines = [svg.wrapped(label, most - 12, 2) for label in labels]
        if not any(one[-1].endswith("…") for one in lines):
            return lines, svg.width_of(line for one in lines for line in one) + 12, False
    return [svg.wrapped(label, width - 4, 3) for label in labels], 2.0, True


def name_beside(lines: Sequence[str], left: float, middle: float, *, above: bool) -> list[str]:
    """A name at the left of a height, or from it downwards."""
    if above:
        return [svg.text(0, middle, "\n".join(lines))]
    return [svg.text(left - 8, middle - svg.LINE * (len(lines) - 1) / 2, "\n".join(lines), "end")]


def _height(lines: Sequence[str]) -> float:
    return max(_ROW, svg.LINE * len(lines) + 8)


def _rows(names: Sequence[Sequence[str]], above: bool) -> tuple[list[float], float]:
    """Where each row begins, and where the last ends."""
    tops, at = [], 2.0
    for lines in names:
        tops.append(at)
        at += svg.LINE * len(lines) + THICKNESS + 16 if above else _height(lines)
    return tops, at + 2
