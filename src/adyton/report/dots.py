"""Dots with intervals, one line for each group: for numbers whose zero means nothing, such as means and quantiles."""

from __future__ import annotations

from collections.abc import Sequence

from adyton.arrays import Reals
from adyton.report import svg
from adyton.report.bars import name_beside, names_of
from adyton.report.palette import DATA, SERIES
from adyton.report.scales import figure, nice_ticks, reach, tick_words
from adyton.report.ticks import fitted

_ROW, _BELOW, _KEYS = 27.0, 42.0, 26.0


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
    return svg.drawing(width, bottom + _BELOW, title, description, parts)


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
