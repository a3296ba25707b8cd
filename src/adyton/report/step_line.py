"""A stepped line with a shaded band around it, for many cells in a row."""

from __future__ import annotations

from collections.abc import Sequence

from adyton.report import svg
from adyton.report.palette import DATA
from adyton.report.scales import nice_ticks, spread, tick_words

_TOP, _BELOW, _GAP, _APART = 26.0, 46.0, 12.0, 40.0


def step_line(
    values: Sequence[float],
    lower: Sequence[float] | None,
    upper: Sequence[float] | None,
    *,
    ticks: Sequence[tuple[float, str]],
    apart: Sequence[str] = (),
    title: str,
    description: str,
    unit: str,
    name: str,
    width: float = 720,
    height: float = 300,
) -> str:
    """One step for each value; the last ones, if they have names in *apart*, stand by themselves behind a gap."""
    low, high = spread([*values, *(lower or ()), *(upper or ())])
    marks = nice_ticks(low, high)
    heights = tick_words(marks)
    left, bottom = svg.width_of(heights) + 12, height - _BELOW
    end = width - 2 - len(apart) * (_APART + _GAP)
    base = len(values) - len(apart)

    def x(place: float) -> float:
        return left + place / max(1, base) * (end - left)

    def y(value: float) -> float:
        return bottom - (value - low) / (high - low) * (bottom - _TOP)

    parts = [svg.text(0, 8, unit, pale=True)]
    for mark, words in zip(marks, heights, strict=True):
        parts += [svg.line(left, y(mark), width, y(mark), 0.12), svg.text(left - 8, y(mark), words, "end")]
    room = (end - left) / max(1, len(ticks)) - 4
    for place, label in ticks:
        words = svg.cut(label, room)
        if apart and x(place) + svg.width_of([words]) / 2 > end - 2:
            continue  # it would run into the words of what stands apart
        parts += [svg.line(x(place), bottom, x(place), bottom + 4, 0.6)]
        parts += [svg.text(x(place), bottom + 15, words, _anchor(x(place), width, words))]
    parts.append(svg.text((left + end) / 2, bottom + 36, name, "middle", pale=True))
    edges = [x(place) for place in range(base + 1)]
    pieces = [(edges, slice(0, base))] if base else []
    for number, words in enumerate(apart):
        start = end + _GAP + number * (_APART + _GAP)
        pieces.append(([start, start + _APART], slice(base + number, base + number + 1)))
        parts.append(svg.text(start + _APART / 2, bottom + 15, svg.cut(words, _APART + _GAP), "middle"))
    for sides, part in pieces:
        if lower is not None and upper is not None:
            parts.append(_band(sides, [y(value) for value in lower[part]], [y(value) for value in upper[part]]))
    parts.append(svg.line(left, y(0), width, y(0), 0.7))
    parts += [_line(sides, [y(value) for value in values[part]]) for sides, part in pieces]
    return svg.drawing(width, height, title, description, parts)


def _anchor(place: float, width: float, words: str) -> str:
    """Words at the right edge end there, so that none are cut off."""
    return "end" if place + svg.width_of([words]) / 2 > width else "middle"


def _steps(sides: Sequence[float], heights: Sequence[float]) -> str:
    """From the left end of the first step to the right end of the last one."""
    return "".join(f"V{svg.place(height)}H{svg.place(side)}" for height, side in zip(heights, sides[1:], strict=True))


def _line(sides: Sequence[float], heights: Sequence[float]) -> str:
    path = f"M{svg.place(sides[0])} {svg.place(heights[0])}{_steps(sides, heights)}"
    return f'<path d="{path}" fill="none" style="stroke:{DATA}" stroke-width="1.6" stroke-linejoin="round"/>'


def _band(sides: Sequence[float], lower: Sequence[float], upper: Sequence[float]) -> str:
    there = f"M{svg.place(sides[0])} {svg.place(upper[0])}{_steps(sides, upper)}"
    back = "".join(
        f"V{svg.place(height)}H{svg.place(side)}" for height, side in zip(lower[::-1], sides[-2::-1], strict=True)
    )
    return f'<path d="{there}{back}Z" style="fill:{DATA}" fill-opacity=".22"/>'
