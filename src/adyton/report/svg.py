"""The few pieces that charts are made of. Letters and lines take the colour of the text around them."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from adyton.report.letters import FONT, cut, length, width_of, wrapped

__all__ = ["LINE", "box", "cut", "dot", "drawing", "length", "line", "place", "text", "upright", "whisker"]
__all__ += ["width_of", "wrapped"]

LINE = 14.0
"""From one line of words to the next."""


def drawing(width: float, height: float, title: str, description: str, parts: Iterable[str]) -> str:
    """A complete picture, with words for those who do not see it."""
    return (
        f'<svg viewBox="0 0 {place(width)} {place(height)}" role="img" '
        f'style="display:block;width:100%;max-width:{place(width)}px;height:auto;font:{FONT}px system-ui,sans-serif">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>{''.join(parts)}</svg>"
    )


def text(
    x: float, y: float, words: str, anchor: str = "start", pale: bool = False, *, bold: bool = False, colour: str = ""
) -> str:
    """Words, the first line of them centred upon the height *y*."""
    style = (' fill-opacity=".75"' if pale else "") + (' font-weight="600"' if bold else "")
    ink = f'style="fill:{colour}"' if colour else 'fill="currentColor"'
    return "".join(
        f'<text x="{place(x)}" y="{place(y + number * LINE)}" dy=".35em" text-anchor="{anchor}" {ink}{style}>'
        f"{escape(line)}</text>"
        for number, line in enumerate(words.split("\n"))
    )


def upright(x: float, y: float, words: str) -> str:
    """Words that end at a point and are read from below upwards."""
    return (
        f'<text x="{place(x)}" y="{place(y)}" dy=".35em" text-anchor="end" fill="currentColor" '
        f'transform="rotate(-90 {place(x)} {place(y)})">{escape(words)}</text>'
    )


def line(x1: float, y1: float, x2: float, y2: float, opacity: float = 1.0, width: float = 1.0) -> str:
    """A straight line."""
    return (
        f'<line x1="{place(x1)}" y1="{place(y1)}" x2="{place(x2)}" y2="{place(y2)}" stroke="currentColor" '
        f'stroke-opacity="{opacity:g}" stroke-width="{width:g}"/>'
    )


def box(x: float, y: float, width: float, height: float, colour: str, opacity: float = 1.0) -> str:
    """A filled rectangle."""
    return (
        f'<rect x="{place(x)}" y="{place(y)}" width="{place(width)}" height="{place(height)}" '
        f'style="fill:{colour}" fill-opacity="{opacity:g}"/>'
    )


def dot(x: float, y: float, colour: str, radius: float = 4.0) -> str:
    """A filled circle."""
    return f'<circle cx="{place(x)}" cy="{place(y)}" r="{place(radius)}" style="fill:{colour}"/>'


def whisker(start: float, end: float, y: float) -> list[str]:
    """An interval from left to right: a thin line with ends."""
    return [
        line(start, y, end, y, 0.9, 1.3),
        *(line(side, y - 4, side, y + 4, 0.9, 1.3) for side in (start, end)),
    ]


def place(value: float) -> str:
    """A coordinate, to a tenth of a pixel.

    >>> place(3.0), place(2.345)
    ('3', '2.3')
    """
    return f"{value:.1f}".removesuffix(".0")
