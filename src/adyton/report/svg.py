"""The few pieces that drawings are made of, their colours, and how wide words are. Letters and lines take the colour of
the text around them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import escape
from itertools import accumulate

COLOURS = ("#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#0072B2", "#D55E00", "#BBBBBB")
"""Eight that people of every kind of colour vision tell apart (Okabe and Ito, 2008), grey in the place of black."""
SKY, ORANGE, BLUE, VERMILION = (COLOURS[place] for place in (0, 1, 5, 6))
DATA = f"var(--adyton-data,{BLUE})"
"""The colour of what was estimated; a page may set another one for a dark background."""
SECOND = f"var(--adyton-second,{VERMILION})"
"""The colour of what stands beside it."""
SERIES = (DATA, SECOND, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A949E")
"""The colours of several things in one picture."""
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
    turned = f'text-anchor="end" transform="rotate(-90 {place(x)} {place(y)})"'
    return text(x, y, words.replace("\n", " "), "end").replace('text-anchor="end"', turned)


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


def whisker(ends: Sequence[float], y: float) -> list[str]:
    """An interval from left to right, if there is one: a thin line with ends."""
    sides = [line(side, y - 4, side, y + 4, 0.9, 1.3) for side in ends]
    return [line(ends[0], y, ends[1], y, 0.9, 1.3), *sides] if ends else []


def place(value: float) -> str:
    """A coordinate, to a tenth of a pixel.

    >>> place(3.0), place(2.345)
    ('3', '2.3')
    """
    return f"{value:.1f}".removesuffix(".0")


# ---- how wide words are ----------------------------------------------------------------------------------------------


FONT = 12
"""The height of letters; drawings are made in the pixels in which they are shown, so that letters stay readable."""
_WIDTHS = {
    "'ijlIJ": 0.3,
    " ,./:;\\|f-": 0.36,
    "()[]t!r": 0.42,
    '"*_`°–szc?L': 0.56,
    "FkvxyPTYaoeESbdghnpqu$0123456789{}": 0.64,
    "KAVBRXZC": 0.7,
    "UHNDGOQ&": 0.79,
    "w#+<=>^~−×M": 0.86,
    "%mW@…": 1.0,
}
"""The widths of letters as parts of their height: those of DejaVu Sans, which are seldom surpassed."""
_LETTERS = {letter: width for letters, width in _WIDTHS.items() for letter in letters}
_OTHER, _SQUARE = 0.8, 1.05
"""Those of letters that are not listed, and of Chinese, Japanese and Korean ones and pictures."""


@lru_cache(1 << 14)
def _width(letter: str) -> float:
    if letter in _LETTERS:
        return _LETTERS[letter]
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF" or ord(letter) > 0xFFFF:
        return _SQUARE
    plain = unicodedata.normalize("NFD", letter)[0]
    return _LETTERS.get(plain, _OTHER)


def length(words: str) -> float:
    """How many pixels words take; of several lines, the longest."""
    return FONT * max(sum(_width(letter) for letter in line) for line in words.split("\n"))


def width_of(words: Iterable[str]) -> float:
    """How wide the longest of these is."""
    return max(map(length, words), default=0.0)


def cut(words: str, room: float) -> str:
    """Words that fit into so many pixels, with an ellipsis if some had to go.

    >>> cut("cardiology", 100), cut("cardiology", 40)
    ('cardiology', 'card…')
    """
    if length(words) <= room:
        return words
    widths = accumulate((FONT * _width(letter) for letter in words), initial=length("…"))
    kept = sum(width <= room for width in widths) - 1
    return words[: max(1, kept)].rstrip() + "…"


def wrapped(words: str, room: float, lines: int) -> list[str]:
    """Words in at most so many lines, broken at blanks where there are any; the last is cut if there are too many.

    >>> wrapped("Diseases of the circulatory system", 120, 2)
    ['Diseases of the', 'circulatory system']
    """
    found: list[str] = []
    left = words
    while len(found) < lines - 1 and length(left) > room:
        first = _fitting(left, room)
        found.append(left[:first].rstrip())
        left = left[first:].lstrip()
    return [*found, cut(left, room)]


def _fitting(words: str, room: float) -> int:
    """How many letters go on a line: up to a blank or a hyphen, unless the first word alone is too long."""
    best, taken = 0, 0.0
    for place, letter in enumerate(words):
        taken += FONT * _width(letter)
        if letter == " ":
            best = place
        if taken > room:
            return best or max(1, place)
        if letter in "-/":
            best = place + 1
    return len(words)
