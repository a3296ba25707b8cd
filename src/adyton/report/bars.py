"""Charts of bars and dots with intervals, one below the other, and of bars to two sides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adyton.arrays import Reals
from adyton.report import svg
from adyton.report.axes import fitted, side_by_side
from adyton.report.palette import DATA, SECOND, SERIES
from adyton.report.scales import figure, nice_ticks, number, people, reach, spread, tick_words

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


# ---- dots ------------------------------------------------------------------------------------------------------------


_DOT_ROW, _DOT_BELOW, _KEYS = 27.0, 42.0, 26.0


def dots(
    labels: Sequence[str],
    values: Reals,
    lower: Reals | None,
    upper: Reals | None,
    *,
    series: Sequence[str] = (),
    title: str,
    description: str,
    unit: str,
    width: float = 720,
    within: tuple[float, float] | None = None,
) -> str:
    """*values* has a row for each label and, if there are several *series*, a column for each of them. What lies
    not *within* the axis, if its ends are given, is drawn at its edge."""
    columns = len(series) or 1
    table, low_of, high_of = (
        None if one is None else one.reshape(len(labels), columns) for one in (values, lower, upper)
    )
    assert table is not None
    names, left, above = names_of(labels, width)
    figures = [figure(float(value)) for value in table[:, 0]] if columns == 1 else []
    right = svg.width_of(figures) + 14 if figures else 10.0
    every = [float(one) for part in (table, low_of, high_of) if part is not None for one in part.ravel()]
    low, high = within or reach(every, zero=False)
    top = _KEYS if series else 2.0
    deep = [max(1, len(lines)) * svg.LINE + (26 if above else 13) for lines in names]
    tops = [top + sum(deep[:place]) for place in range(len(names))]
    bottom = top + sum(deep)

    def x(value: float) -> float:
        return left + 6 + (min(max(value, low), high) - low) / (high - low) * (width - left - right - 6)

    marks = nice_ticks(low, high, max(2, int((width - left - right) / 80)))
    row = fitted(list(zip(marks, tick_words(marks), strict=True)), x, (0, width))
    # lines would strike out names that stand above
    parts = [] if above else [svg.line(x(mark), top, x(mark), bottom, 0.12) for mark in marks]
    parts += [svg.text(middle, bottom + 12, words, "middle") for _, middle, words in row.marks]
    parts += _keys(series, width)
    for place, lines in enumerate(names):
        middle = tops[place] + (svg.LINE * len(lines) + 10 if above else deep[place] / 2)
        parts += name_beside(lines, left, tops[place] + 9 if above else middle, above=above)
        for column in range(columns):
            y = middle + _beside(column, columns)
            if low_of is not None and high_of is not None:
                parts += svg.whisker(x(float(low_of[place, column])), x(float(high_of[place, column])), y)
            parts.append(svg.dot(x(float(table[place, column])), y, SERIES[column % len(SERIES)] if series else DATA))
        if figures:
            parts.append(svg.text(width, middle, figures[place], "end"))
    parts.append(svg.text(left, bottom + 31, svg.cut(unit, width - left), pale=True))
    return svg.drawing(width, bottom + _DOT_BELOW, title, description, parts)


def _beside(column: int, columns: int) -> float:
    """How far a dot is moved up or down, so that intervals of neighbours do not hide each other."""
    return 0.0 if columns == 1 else 5.0 * (column % 2) - 2.5


def _keys(series: Sequence[str], width: float) -> list[str]:
    """What each colour stands for."""
    parts, at = [], 6.0
    for column, name in enumerate(series):
        words = svg.cut(name, width / max(1, len(series)) - 24)
        parts += [svg.dot(at, 9, SERIES[column % len(SERIES)]), svg.text(at + 9, 9, words)]
        at += 26 + svg.length(words)
    return parts


# ---- bars to two sides -----------------------------------------------------------------------------------------------


_TOP, _APART = 44.0, 12.0


def pyramid(
    values: Reals,
    lower: Reals | None,
    upper: Reals | None,
    *,
    labels: Sequence[str],
    sides: tuple[str, str],
    apart: int,
    name: str,
    title: str,
    description: str,
    unit: str,
    width: float = 720,
) -> str:
    """*values* has a row for each label and a column for each side. The first label is at the bottom; the last ones, if
    they stand *apart* (other and missing values), are below it."""
    gutter = min(max(svg.width_of(labels), svg.length(name)) + 20, 0.36 * width)
    span = (width - gutter) / 2 - 1
    row = 19.0 if len(labels) > 8 else 25.0
    most = max(1.0, float(np.max(values if upper is None else np.maximum(values, upper))))
    base = len(labels) - apart
    bottom = _TOP + row * len(labels) + _APART * bool(apart)
    heights = [_TOP + row * (base - 1 - place + 0.5) for place in range(base)]
    heights += [_TOP + row * (base + place + 0.5) + _APART for place in range(apart)]
    parts = _frame(most, span, width, bottom, sides, values, unit)
    parts.append(svg.text(width / 2, _TOP - 14, svg.cut(name, gutter - 8), "middle", pale=True))
    for side, (colour, zero, way) in enumerate(((DATA, span, -1), (SECOND, width - span, 1))):
        for place, y in enumerate(heights):
            reach = max(0.0, float(values[place, side])) / most * span
            parts.append(svg.box(min(zero, zero + way * reach), y - row / 2 + 2, reach, row - 4, colour, 0.85))
            if lower is not None and upper is not None:
                low, high = (max(0.0, float(bound[place, side])) / most * span for bound in (lower, upper))
                parts += svg.whisker(zero + way * low, zero + way * high, y)
        parts.append(svg.line(zero, _TOP - 4, zero, bottom, 0.7))
    parts += [
        svg.text(width / 2, y, svg.cut(words, gutter - 8), "middle") for words, y in zip(labels, heights, strict=True)
    ]
    return svg.drawing(width, bottom + 42, title, description, parts)


def _frame(
    most: float, span: float, width: float, bottom: float, sides: tuple[str, str], values: Reals, unit: str
) -> list[str]:
    """The names of both sides with their sums, the grid and its ticks."""
    marks = nice_ticks(0, most, max(2, int(span / 75)))
    words = tick_words(marks)
    parts: list[str] = []
    for side, (zero, way) in enumerate(((span, -1), (width - span, 1))):

        def x(mark: float, zero: float = zero, way: int = way) -> float:
            return zero + way * mark / most * span

        edges = (0.0, span + 12) if way < 0 else (width - span - 12, width)
        ticks = list(zip(marks, words, strict=True))
        rows = (side_by_side(ticks[::every][::way], x, edges) for every in range(1, len(ticks) + 1))
        row = next((one for one in rows if one is not None), None)
        parts += [svg.line(x(mark), _TOP - 4, x(mark), bottom, 0.12) for mark in marks]
        parts += [svg.text(at, bottom + 12, told, "middle") for _, at, told in (row.marks if row else ())]
        told = svg.cut(f"{sides[side]}: {people(float(values[:, side].sum()))}", 0.86 * span)
        edge = 0 if way < 0 else width
        parts.append(svg.text(edge, 8, told, "start" if way < 0 else "end", bold=True))
    parts.append(svg.text(0, bottom + 31, svg.cut(unit, width), pale=True))
    return parts
