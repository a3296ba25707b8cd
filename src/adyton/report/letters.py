"""How wide words are, before anybody has drawn them: what is told of letters holds in the widest of the usual fonts."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

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


def length(words: str, size: float = FONT) -> float:
    """How many pixels words take, in letters of this height; of several lines, the longest."""
    return size * max(sum(_width(letter) for letter in line) for line in words.split("\n"))


def width_of(words: Iterable[str], size: float = FONT) -> float:
    """How wide the longest of these is."""
    return max((length(one, size) for one in words), default=0.0)


def cut(words: str, room: float, size: float = FONT) -> str:
    """Words that fit into so many pixels, with an ellipsis if some had to go.

    >>> cut("cardiology", 100), cut("cardiology", 40)
    ('cardiology', 'card…')
    """
    if length(words, size) <= room:
        return words
    left = room - length("…", size)
    kept = 0
    while kept < len(words) and (left := left - size * _width(words[kept])) >= 0:
        kept += 1
    return words[: max(1, kept)].rstrip() + "…"


def wrapped(words: str, room: float, lines: int, size: float = FONT) -> list[str]:
    """Words in at most so many lines, broken at blanks where there are any; the last is cut if there are too many.

    >>> wrapped("Diseases of the circulatory system", 120, 2)
    ['Diseases of the', 'circulatory system']
    """
    found: list[str] = []
    left = words
    while len(found) < lines - 1 and length(left, size) > room:
        first = _fitting(left, room, size)
        found.append(left[:first].rstrip())
        left = left[first:].lstrip()
    return [*found, cut(left, room, size)]


def _fitting(words: str, room: float, size: float) -> int:
    """How many letters go on a line: up to a blank or a hyphen, unless the first word alone is too long."""
    best, taken = 0, 0.0
    for place, letter in enumerate(words):
        taken += size * _width(letter)
        if letter == " ":
            best = place
        if taken > room:
            return best or max(1, place)
        if letter in "-/":
            best = place + 1
    return len(words)
