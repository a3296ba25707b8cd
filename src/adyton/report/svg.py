"""The elements of drawings: shapes and their colours, the width of text, round numbers for axes, and numbers formatted
for people. Text and lines take the colour of the text around the drawing."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from html import escape
from itertools import accumulate

from adyton import messages

COLOURS = ("#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#0072B2", "#D55E00", "#BBBBBB")
"""Eight colours that people with any kind of colour vision can distinguish (Okabe and Ito, 2008), with grey in
place of black."""
SKY, ORANGE, BLUE, VERMILION = (COLOURS[place] for place in (0, 1, 5, 6))
DATA = f"var(--adyton-data,{BLUE})"
"""The colour of estimates; a page may set another one for a dark background."""
SECOND = f"var(--adyton-second,{VERMILION})"
"""The colour of a second series."""
SERIES = (DATA, SECOND, "#009E73", "#CC79A7", "#8A949E", "#9C755F", "#8E6CC0")
"""The colours of several series in one picture, different on light and dark backgrounds."""
LINE = 14.0
"""The distance between lines of text."""


def drawing(width: float, height: float, title: str, description: str, parts: Iterable[str]) -> str:
    """A complete picture, with a description for those who cannot see it."""
    return (
        f'<svg viewBox="0 0 {place(width)} {place(height)}" role="img" '
        f'style="display:block;width:100%;max-width:{place(width)}px;height:auto;font:{FONT}px system-ui,sans-serif">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>{''.join(parts)}</svg>"
    )


def text(
    x: float, y: float, words: str, anchor: str = "start", pale: bool = False, *, bold: bool = False, colour: str = ""
) -> str:
    """Text whose first line is vertically centred at *y*."""
    style = (' fill-opacity=".75"' if pale else "") + (' font-weight="600"' if bold else "")
    ink = f'style="fill:{colour}"' if colour else 'fill="currentColor"'
    return "".join(
        f'<text x="{place(x)}" y="{place(y + number * LINE)}" dy=".35em" text-anchor="{anchor}" {ink}{style}>'
        f"{escape(line)}</text>"
        for number, line in enumerate(words.split("\n"))
    )


def upright(x: float, y: float, words: str) -> str:
    """Text that ends at a point and is read upwards."""
    turned = f'text-anchor="end" transform="rotate(-90 {place(x)} {place(y)})"'
    return text(x, y, words.replace("\n", " "), "end").replace('text-anchor="end"', turned)


def line(x1: float, y1: float, x2: float, y2: float, opacity: float = 1.0, width: float = 1.0, colour: str = "") -> str:
    """A straight line."""
    ink = f'style="stroke:{colour}"' if colour else 'stroke="currentColor"'
    return (
        f'<line x1="{place(x1)}" y1="{place(y1)}" x2="{place(x2)}" y2="{place(y2)}" {ink} '
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


def whisker(ends: Sequence[float], y: float, within: tuple[float, float], colour: str = "") -> list[str]:
    """A horizontal interval, if there is one: a thin line with ends. An end that is not *within* the picture is an open
    arrow at its edge; an interval that is outside is not drawn."""
    shown = [min(max(side, within[0]), within[1]) for side in ends]
    if not ends or (shown != list(ends) and shown[0] == shown[1]):
        return []
    parts = [line(shown[0], y, shown[1], y, 0.9, 1.3, colour)]
    for given, side in zip(ends, shown, strict=True):
        if abs(given - side) < 0.05:
            parts.append(line(side, y - 4, side, y + 4, 0.9, 1.3, colour))
        else:
            back = side + (6 if given < side else -6)
            parts += [line(back, y + up, side, y, 0.9, 1.3, colour) for up in (-4, 4)]
    return parts


def arrow(x: float, y: float, colour: str, way: int) -> str:
    """A filled arrow with its tip at a point: to the right, or to the left if *way* is −1."""
    back = place(x - 9 * way)
    return f'<path d="M{place(x)} {place(y)}L{back} {place(y - 5)}L{back} {place(y + 5)}Z" style="fill:{colour}"/>'


def place(value: float) -> str:
    """A coordinate, to a tenth of a pixel.

    >>> place(3.0), place(2.345)
    ('3', '2.3')
    """
    return f"{value:.1f}".removesuffix(".0")


# ---- how wide words are ----------------------------------------------------------------------------------------------


FONT = 12
"""The height of letters; drawings are made at the size at which they are shown, so that letters stay readable."""
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
"""The widths of letters as parts of their height: those of DejaVu Sans, wider than most fonts."""
_LETTERS = {letter: width for letters, width in _WIDTHS.items() for letter in letters}
_OTHER, _SQUARE = 0.8, 1.05
"""The widths of letters that are not listed, and of Chinese, Japanese and Korean characters and pictographs."""


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
    """The width of a text in pixels; of several lines, the longest counts."""
    return FONT * max(sum(_width(letter) for letter in line) for line in words.split("\n"))


def width_of(words: Iterable[str]) -> float:
    """The width of the longest of several texts."""
    return max(map(length, words), default=0.0)


def cut(words: str, room: float) -> str:
    """The text, shortened with an ellipsis if it does not fit into *room* pixels.

    >>> cut("cardiology", 100), cut("cardiology", 40)
    ('cardiology', 'card…')
    """
    if length(words) <= room:
        return words
    widths = accumulate((FONT * _width(letter) for letter in words), initial=length("…"))
    kept = sum(width <= room for width in widths) - 1
    return words[: max(1, kept)].rstrip() + "…"


def cut_apart(names: Sequence[str], room: float) -> list[str]:
    """Several texts, shortened at the end, or in the middle if some of them would otherwise look the same.

    >>> cut_apart(["north of the river", "south"], 60), cut_apart(["district 10", "district 20"], 60)
    (['north o…', 'south'], ['dis…t 10', 'dis…t 20'])
    """
    short = [cut(name, room) for name in names]
    if len(set(short)) == len(set(names)):
        return short
    heads = [cut(name, room / 2).removesuffix("…") for name in names]
    tails = [cut(name[::-1], room - length(head))[::-1] for name, head in zip(names, heads, strict=True)]
    return [
        name if length(name) <= room else f"{head}{tail}" for name, head, tail in zip(names, heads, tails, strict=True)
    ]


def wrapped(words: str, room: float, lines: int) -> list[str]:
    """The text in at most *lines* lines, broken at blanks if possible; the last line is cut if it is too long.

    >>> wrapped("Diseases of the circulatory system", 120, 2)
    ['Diseases of the', 'circulatory system']
    """
    full: list[str] = []
    left = words
    while len(full) < lines - 1 and length(left) > room:
        first = _fitting(left, room)
        full.append(left[:first].rstrip())
        left = left[first:].lstrip()
    return [*full, cut(left, room)]


def _fitting(words: str, room: float) -> int:
    """How many letters fit on a line: up to a blank or a hyphen, unless the first word is too long."""
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


# ---- round numbers for axes, and numbers as people write them --------------------------------------------------------


_STEPS = (1.0, 2.0, 5.0, 10.0)
_SIZES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k"))
"""The sizes from which ticks are written with a letter."""


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """About *count* round numbers from *low* to *high*, none outside.

    >>> nice_ticks(-3, 104), nice_ticks(0, 1)
    ([0.0, 20.0, 40.0, 60.0, 80.0, 100.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    """
    step = nice_step(high - low, count)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(place * step, digits) + 0.0 for place in range(first, last + 1)]


def nice_step(width: float, count: int = 5) -> float:
    """The round distance (1, 2 or 5 times a power of ten) that fits about *count* times into *width*.

    >>> nice_step(107), nice_step(0.9)
    (20.0, 0.2)
    """
    rough = width / max(1, count) if width > 0 else 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    return float(f"{power * min(_STEPS, key=lambda step: abs(math.log(step * power / rough))):.12g}")


def reach(values: Sequence[float], zero: bool = True) -> tuple[float, float]:
    """The range of an axis that shows some values, never empty: including 0 with *zero*, otherwise with a little room
    around them.

    >>> reach([5.0, 10.0]), reach([3.0, -1.0]), reach([0.0]), reach([5.0, 10.0], zero=False), reach([7.0], zero=False)
    ((0.0, 10.0), (-1.0, 3.0), (0.0, 1.0), (4.8, 10.2), (6.5, 7.5))
    """
    finite = [value for value in values if math.isfinite(value)]
    if zero or not finite:
        low, high = min([0.0, *finite]), max([0.0, *finite])
        return (low, high) if high > low else (0.0, 1.0)
    low, high = min(finite), max(finite)
    room = 0.04 * (high - low) or 0.5 * max(abs(low), 1e-9) / max(abs(low), 1.0)
    return low - room, high + room


def people(value: float) -> str:
    """A number of people, as a whole number.

    >>> people(1234.56), people(-0.4), people(-7.6)
    ('1,235', '0', '−8')
    """
    return number(value, 0)


def number(value: float, digits: int = 1) -> str:
    """A number for people: with commas for thousands, a real minus sign, and without trailing zeros.

    >>> number(1234.56), number(-0.04), number(2.0), number(-7.25)
    ('1,234.6', '0', '2', '−7.2')
    """
    text = f"{value:,.{digits}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("-", "−")


def figure(value: float) -> str:
    """A number with three digits, or with all digits before the decimal point if there are more.

    >>> figure(12345.6), figure(12.345), figure(0.001234), figure(1.5e12)
    ('12,346', '12.3', '0.00123', '1.5e+12')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "∞" if value > 0 else "−∞"
    if not 1e-5 <= abs(value) < 1e9:
        return f"{value:.3g}".replace("-", "−", 1) if value < 0 else f"{value:.3g}"
    return number(value, max(0, 2 - math.floor(math.log10(abs(value)))))


def plain(value: float) -> str:
    """The same as :func:`figure`, without commas: for years.

    >>> plain(1975.0), plain(1975.26)
    ('1975', '1975')
    """
    return figure(value).replace(",", "")


def span(low: float, high: float, write: Callable[[float], str] = figure) -> tuple[str, str]:
    """The ends of an interval, written with as many digits as they need to differ.

    >>> span(21.683, 21.712), span(260.6, 261.2, people), span(90.0, 90.0), span(-3.0, 7.4, people)
    (('21.68', '21.71'), ('260.6', '261.2'), ('90', '90'), ('−3', '7'))
    >>> span(1975.37, 1975.39, plain)
    ('1975.37', '1975.39')
    """
    first, last = messages.span(low, high, write, number)
    return (first, last) if "," in write(1000.0) else (first.replace(",", ""), last.replace(",", ""))


def tick_words(values: Sequence[float], *, years: bool = False) -> list[str]:
    """The labels of ticks: short, all with the same letter for thousands, millions or more; *years* without commas.

    >>> tick_words([-1500.0, 0.0, 1500.0]), tick_words([0.0, 5000.0, 20000.0]), tick_words([0.0, 2.5e6])
    (['−1,500', '0', '1,500'], ['0', '5k', '20k'], ['0', '2.5M'])
    >>> tick_words([1975.0, 1980.0], years=True)
    ['1975', '1980']
    """
    if years:
        return [number(value, 6).replace(",", "") for value in values]
    largest = max((abs(value) for value in values), default=0.0)
    size, letter = next(((size, letter) for size, letter in _SIZES if largest >= size), (1.0, ""))
    unit = 1e3 if letter == "k" else size
    return [number(value / unit, 6) + letter * (value != 0) for value in values]
