"""The few pieces that charts are made of. Letters and lines take the colour of the text around them."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

FONT = 12
"""The height of letters; drawings are made in the pixels in which they are shown, so that letters stay readable."""
_LETTER = 7.0
"""The mean width of a letter of that height."""


def drawing(width: float, height: float, title: str, description: str, parts: Iterable[str]) -> str:
    """A complete picture, with words for those who do not see it."""
    return (
        f'<svg viewBox="0 0 {place(width)} {place(height)}" role="img" '
        f'style="display:block;width:100%;max-width:{place(width)}px;height:auto;font:{FONT}px system-ui,sans-serif">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>{''.join(parts)}</svg>"
    )


def text(x: float, y: float, words: str, anchor: str = "start", pale: bool = False) -> str:
    """Words, centred upon the height *y*."""
    style = ' fill-opacity=".75"' if pale else ""
    return (
        f'<text x="{place(x)}" y="{place(y)}" dy=".35em" text-anchor="{anchor}" fill="currentColor"{style}>'
        f"{escape(words)}</text>"
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


def cut(words: str, room: float) -> str:
    """Words that fit into so many pixels, with an ellipsis if some had to go.

    >>> cut("cardiology", 100), cut("cardiology", 40)
    ('cardiology', 'card…')
    """
    letters = max(2, int(room / _LETTER))
    return words if len(words) <= letters else words[: letters - 1].rstrip() + "…"


def width_of(words: Iterable[str]) -> float:
    """About how wide the longest of these is."""
    return max((len(one) for one in words), default=0) * _LETTER


def place(value: float) -> str:
    """A coordinate, to a tenth of a pixel.

    >>> place(3.0), place(2.345)
    ('3', '2.3')
    """
    return f"{value:.1f}".removesuffix(".0")
