"""Trees line by line, like the folders of a disk: each branch with a bar in the colours of what it leads to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from adyton.report import svg
from adyton.report.svg import COLOURS

_ROW, _BAR, _INDENT, _SWATCH = 24.0, 13.0, 14.0, 11.0


class Branch(NamedTuple):
    """One line."""

    depth: int
    words: str
    shares: Sequence[float]
    """The part of each colour in its bar."""
    said: str
    """What stands behind the bar."""


def outline(
    title: str, description: str, names: Sequence[str], branches: Sequence[Branch], width: float, left: float = 0.5
) -> str:
    """The tree as SVG, with bars from a part of the width on; names beyond the palette share its last colour."""
    parts, top = keys(names, width)
    begin, right = left * width, 0.74 * width
    above: dict[int, float] = {}
    for row, (depth, words, shares, said) in enumerate(branches):
        middle, x = top + _ROW * (row + 0.5), _INDENT * depth
        if depth:
            parts.append(svg.line(x - 8, above[depth - 1], x - 8, middle, 0.35))
            parts.append(svg.line(x - 8, middle, x - 2, middle, 0.35))
        above[depth] = middle + _ROW / 3
        parts.append(svg.text(x + 2, middle, svg.cut(words, begin - x - 8)))
        start = begin
        for place, share in enumerate(shares):
            length = share * (right - begin)
            if length >= 0.5:
                colour = COLOURS[min(place, len(COLOURS) - 1)]
                parts.append(svg.box(start, middle - _BAR / 2, length, _BAR, colour, 0.9))
            start += length
        parts.append(svg.text(right + 8, middle, svg.cut(said, width - right - 8)))
    return svg.drawing(width, top + _ROW * len(branches) + 6, title, description, parts)


def keys(names: Sequence[str], width: float, colours: Sequence[str] = COLOURS) -> tuple[list[str], float]:
    """A square and a name for each colour, in as many lines as they take; and where these end."""
    left = len(names) - len(colours)
    shown = [*names[: len(colours) - 1], f"{left + 1} others"] if left > 0 else names
    parts: list[str] = []
    x, y = 0.0, 10.0
    for colour, words in zip(colours, [svg.cut(name, width - 30) for name in shown], strict=False):
        room = _SWATCH + 6 + svg.length(words) + 14
        if x and x + room > width:
            x, y = 0.0, y + 20
        parts.append(svg.box(x, y - _SWATCH / 2, _SWATCH, _SWATCH, colour, 0.9))
        parts.append(svg.text(x + _SWATCH + 6, y, words))
        x += room
    return parts, y + 20
