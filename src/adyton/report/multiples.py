"""Small multiples: the same picture for each of some levels, side by side and to the same scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adyton.arrays import Reals
from adyton.report import svg
from adyton.report.display_axis import DisplayAxis
from adyton.report.scales import nice_ticks, reach, tick_words
from adyton.report.step_line import Shape, band, line
from adyton.report.ticks import below

_TOP, _HEAD, _HIGH, _SPACE, _NAME = 24.0, 22.0, 104.0, 18.0, 22.0


def multiples(
    values: Reals,
    lower: Reals | None,
    upper: Reals | None,
    *,
    axis: DisplayAxis,
    names: Sequence[str],
    title: str,
    description: str,
    unit: str,
    width: float = 720,
    shape: Shape = "steps",
) -> str:
    """*values* has a row for each cell of the axis (other and missing values are not drawn), a column for each name."""
    base = axis.size - axis.apart
    parts_of = [values[:base]] + [one[:base] for one in (lower, upper) if one is not None]
    low, high = reach([float(np.min([one.min() for one in parts_of])), float(np.max([one.max() for one in parts_of]))])
    marks = nice_ticks(low, high, 3)
    heights = tick_words(marks)
    left = svg.width_of(heights) + 12
    columns = min(len(names), max(1, int((width - left) / 150)))
    while columns > 1 and -(-len(names) // (columns - 1)) == -(-len(names) // columns):
        columns -= 1
    wide = (width - left - _SPACE * (columns - 1) - 2) / columns
    row = below(axis, lambda at: at / base * wide, (-8.0, wide + 2))
    step = _HEAD + _HIGH + row.depth + 26
    parts = [svg.text(0, 8, svg.cut(unit, width), pale=True)]
    for number, name in enumerate(names):
        start, top = left + number % columns * (wide + _SPACE), _TOP + number // columns * step
        bottom = top + _HEAD + _HIGH

        def y(value: float, bottom: float = bottom) -> float:
            return bottom - (value - low) / (high - low) * _HIGH

        parts.append(svg.text(start, top + 8, svg.cut(name, 0.88 * wide), bold=True))
        for mark, words in zip(marks, heights, strict=True):
            parts.append(svg.line(start, y(mark), start + wide, y(mark), 0.12))
            if number % columns == 0:
                parts.append(svg.text(left - 8, y(mark), words, "end"))
        edges = [start + place / base * wide for place in range(base + 1)]
        if lower is not None and upper is not None:
            down, high_up = ([y(float(value)) for value in one[:base, number]] for one in (lower, upper))
            parts.append(band(edges, down, high_up, shape))
        parts.append(line(edges, [y(float(value)) for value in values[:base, number]], shape))
        parts.append(svg.line(start, y(0), start + wide, y(0), 0.7))
        parts += row.draw(bottom, start)
    end = _TOP + -(-len(names) // columns) * step
    parts.append(svg.text((left + width) / 2, end - 4, svg.cut(axis.name, width - left), "middle", pale=True))
    return svg.drawing(width, end + _NAME - 14, title, description, parts)
