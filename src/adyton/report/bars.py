"""A chart of bars, one below the other, for a few cells with names."""

from __future__ import annotations

from collections.abc import Sequence

from adyton.report import svg
from adyton.report.palette import DATA
from adyton.report.scales import nice_ticks, number, spread, tick_words

MOST = 60
"""More bars than this are better drawn as a line."""
_ROW, _THICKNESS, _BELOW = 27.0, 15.0, 42.0


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
) -> str:
    """Bars from the zero line, each with its number, and its interval as a thin line with ends."""
    figures = [number(value) for value in values]
    left = min(svg.width_of(labels) + 12, 0.36 * width)
    right = svg.width_of(figures) + 14
    low, high = spread([*values, *(lower or ()), *(upper or ())])
    bottom = _ROW * len(values) + 4

    def x(value: float) -> float:
        return left + (value - low) / (high - low) * (width - left - right)

    parts = []
    marks = nice_ticks(low, high, max(2, int((width - left - right) / 90)))
    for mark, words in zip(marks, tick_words(marks), strict=True):
        parts += [svg.line(x(mark), 0, x(mark), bottom, 0.12), svg.text(x(mark), bottom + 12, words, "middle")]
    for row, (label, value) in enumerate(zip(labels, values, strict=True)):
        middle = _ROW * (row + 0.5) + 2
        parts.append(svg.text(left - 8, middle, svg.cut(label, left - 12), "end"))
        start, end = sorted((x(0), x(value)))
        parts.append(svg.box(start, middle - _THICKNESS / 2, end - start, _THICKNESS, DATA, 0.85))
        if lower is not None and upper is not None:
            parts += _whisker(x(lower[row]), x(upper[row]), middle)
        parts.append(svg.text(width, middle, figures[row], "end"))
    parts.append(svg.line(x(0), 0, x(0), bottom, 0.7))
    parts.append(svg.text(x(low), bottom + 31, unit, "start", pale=True))
    return svg.drawing(width, bottom + _BELOW, title, description, parts)


def _whisker(start: float, end: float, middle: float) -> list[str]:
    return [
        svg.line(start, middle, end, middle, 0.9, 1.3),
        *(svg.line(side, middle - 4, side, middle + 4, 0.9, 1.3) for side in (start, end)),
    ]
