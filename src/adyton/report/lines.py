"""A line with a shaded band around it, stepped or from point to point; and small ones side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np

from adyton.arrays import Reals
from adyton.report import svg
from adyton.report.axes import DisplayAxis, Ticks, below, fitted
from adyton.report.palette import DATA
from adyton.report.scales import nice_ticks, reach, tick_words

Shape: TypeAlias = Literal["steps", "points"]
_TOP, _GAP, _APART = 26.0, 12.0, 48.0
_DOTS = 40
"""Up to so many points have a dot each."""


def step_line(
    values: Sequence[float],
    lower: Sequence[float] | None,
    upper: Sequence[float] | None,
    *,
    ticks: Ticks | DisplayAxis,
    apart: Sequence[str] = (),
    title: str,
    description: str,
    unit: str,
    name: str,
    width: float = 720,
    height: float = 300,
    shape: Shape = "steps",
    zero: bool = True,
    within: tuple[float, float] | None = None,
) -> str:
    """One step or point for each value; the last ones, if they have names in *apart*, stand behind a gap.

    The axis upwards begins at zero, unless that is not wanted; what does not lie *within* it is drawn at its edge.
    """
    low, high = within or reach([*values, *(lower or ()), *(upper or ())], zero)
    marks = nice_ticks(low, high)
    heights = tick_words(marks)
    left = svg.width_of(heights) + 14
    end = width - 2 - len(apart) * (_APART + _GAP)
    base = len(values) - len(apart)

    def x(place: float) -> float:
        return left + place / max(1, base) * (end - left)

    row = fitted(ticks, x, (0, end if apart else width))
    bottom = height - 34 - row.depth

    def y(value: float) -> float:
        return bottom - (min(max(value, low), high) - low) / (high - low) * (bottom - _TOP)

    parts = [svg.text(0, 8, svg.cut(unit, width), pale=True)]
    for mark, words in zip(marks, heights, strict=True):
        parts += [svg.line(left, y(mark), width, y(mark), 0.12), svg.text(left - 8, y(mark), words, "end")]
    parts += row.draw(bottom)
    parts.append(svg.text((left + end) / 2, height - 9, svg.cut(name, end - left), "middle", pale=True))
    pieces = [([x(place) for place in range(base + 1)], slice(0, base))] if base else []
    for number, words in enumerate(apart):
        start = end + _GAP + number * (_APART + _GAP)
        pieces.append(([start, start + _APART], slice(base + number, base + number + 1)))
        parts.append(svg.text(start + _APART / 2, bottom + 15, svg.cut(words, _APART), "middle"))
    parts += _pieces(pieces, values, lower, upper, y, shape)
    if low <= 0 <= high:
        parts.append(svg.line(left, y(0), width, y(0), 0.7))
    return svg.drawing(width, height, title, description, parts)


def _pieces(
    pieces: Sequence[tuple[Sequence[float], slice]],
    values: Sequence[float],
    lower: Sequence[float] | None,
    upper: Sequence[float] | None,
    y: Callable[[float], float],
    shape: Shape,
) -> list[str]:
    """Bands first, then lines, then dots."""
    bands, lines, dots = [], [], []
    for sides, part in pieces:
        own: Shape = shape if len(sides) > 2 else "steps"
        at = [y(value) for value in values[part]]
        if lower is not None and upper is not None:
            bands.append(band(sides, [y(value) for value in lower[part]], [y(value) for value in upper[part]], own))
        lines.append(line(sides, at, own))
        if own == "points" and len(at) <= _DOTS:
            dots += [svg.dot((a + b) / 2, h, DATA, 2.6) for a, b, h in zip(sides[:-1], sides[1:], at, strict=True)]
    return [*bands, *lines, *dots]


def _path(sides: Sequence[float], heights: Sequence[float], shape: Shape) -> str:
    """From the first to the last, without the letter that begins a path: along steps, or through their middles."""
    if shape == "points":
        middles = [(a + b) / 2 for a, b in pairwise(sides)]
        return "L".join(f"{svg.place(a)} {svg.place(b)}" for a, b in zip(middles, heights, strict=True))
    steps = (f"V{svg.place(height)}H{svg.place(side)}" for height, side in zip(heights, sides[1:], strict=True))
    return f"{svg.place(sides[0])} {svg.place(heights[0])}{''.join(steps)}"


def line(sides: Sequence[float], heights: Sequence[float], shape: Shape, colour: str = DATA) -> str:
    """The line of some values."""
    path = f"M{_path(sides, heights, shape)}"
    return f'<path d="{path}" fill="none" style="stroke:{colour}" stroke-width="1.6" stroke-linejoin="round"/>'


def band(
    sides: Sequence[float], lower: Sequence[float], upper: Sequence[float], shape: Shape, colour: str = DATA
) -> str:
    """The band between two bounds."""
    there = f"M{_path(sides, upper, shape)}"
    if shape == "points":
        back = f"L{_path(sides[::-1], lower[::-1], shape)}"
    else:
        turned = zip(lower[::-1], sides[-2::-1], strict=True)
        back = "".join(f"V{svg.place(height)}H{svg.place(side)}" for height, side in turned)
    return f'<path d="{there}{back}Z" style="fill:{colour}" fill-opacity=".22"/>'


# ---- small multiples -------------------------------------------------------------------------------------------------


_SMALL_TOP, _HEAD, _HIGH, _SPACE, _NAME = 24.0, 22.0, 104.0, 18.0, 22.0


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
        start, top = left + number % columns * (wide + _SPACE), _SMALL_TOP + number // columns * step
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
    end = _SMALL_TOP + -(-len(names) // columns) * step
    parts.append(svg.text((left + width) / 2, end - 4, svg.cut(axis.name, width - left), "middle", pale=True))
    return svg.drawing(width, end + _NAME - 14, title, description, parts)
