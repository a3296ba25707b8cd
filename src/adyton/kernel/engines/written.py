"""What a number looks like where a text is read as one: the same on every engine."""

from __future__ import annotations

from typing import Any

_DIGITS = "[0-9]+(_[0-9]+)*"
_NUMBER = f"^[+]?-?({_DIGITS}([.]({_DIGITS})?)?|[.]{_DIGITS})([eE][+-]?{_DIGITS})?$"
_SPECIAL = "^[+]?-?([iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN])"
LONGEST = 900
"""Longer texts are no numbers where the engine must be guarded; shorter ones fit into a decimal, or are far from it."""
PLAIN = "^-?[0-9.]+$"
"""Digits alone."""
SHORT = 250
"""No double is too small or too large for so many digits."""
MODERATE = "^-?[0-9.]+([eE]-?0*[0-9]{1,4})?$"
"""What fits into a decimal."""
FAR = "[eE]-"
"""An exponent that makes it small."""
TEXT_END = "(?![^x]|x)"
"""Not followed by any sign: in Java, a dollar stands before some signs at the end of a text, too."""


def is_number(text: Any) -> Any:
    """Whether a text without blanks around it is a number of digits.

    A longer one is cut before it is looked at: Java's stack is not deep enough for all of it.
    """
    return text.left(LONGEST + 1).re_search(_NUMBER) & (text.length() <= LONGEST)


def is_special(text: Any, text_end: str) -> Any:
    """Whether it is a word for infinity or not-a-number."""
    return text.re_search(_SPECIAL + text_end)


def special(text: Any) -> Any:
    """What such a word stands for."""
    import ibis

    infinite = ibis.ifelse(text.contains("-"), -float("inf"), float("inf"))
    return ibis.ifelse(text.lower().contains("nan"), float("nan"), infinite)
