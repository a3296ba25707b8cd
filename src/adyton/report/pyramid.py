"""Two levels back to back along something ordered: an age pyramid, with one level at the left and one at the right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adyton.arrays import Reals
from adyton.report import svg
from adyton.report.palette import DATA, SECOND
from adyton.report.scales import nice_ticks, people, tick_words
from adyton.report.ticks import side_by_side

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
