"""Texts in CSV files that a spreadsheet must not take for formulas."""

from __future__ import annotations

import re

_FORMULA = re.compile(r"'*(?:[\s\x00-\x1f]*[=+\-@＝＋－＠]|[\t\r\n])")
"""Apostrophes in front of a formula too: they get one more, so that no two texts become one."""
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


def harmless(text: str) -> str:
    """The text, with an apostrophe in front if a spreadsheet could run it. Numbers stay as they are.

    >>> harmless("=HYPERLINK(1)"), harmless("@home"), harmless("-5"), harmless("surgery"), harmless("'=a")
    ("'=HYPERLINK(1)", "'@home", '-5', 'surgery', "''=a")
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text
