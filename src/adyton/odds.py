"""What an ε means for one person, in plain words; and above which ε it protects little."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

from adyton.errors import LargeBudget
from adyton.exact import display

LARGE, VERY_LARGE = 3, 10
"""Above the first, there is a warning; above the second, the command line asks for consent."""


def chance(epsilon: Fraction) -> str | None:
    """How certain, in percent, an attacker who starts at 50% can become, at most, that one person is in a table.

    100·e^ε / (1 + e^ε), rounded up to the decimals that matter: one just above 50, at most three just below 100.
    None if the result is 100.

    >>> [chance(Fraction(epsilon)) for epsilon in ("0.00001", "0.01", "0.5", "1", "3", "10", "40")]
    ['50.1', '50.3', '63', '74', '96', '99.996', None]
    """
    if epsilon > 100 * VERY_LARGE:
        return None
    right = 100 / (1 + math.exp(-float(epsilon)))
    for places in range(int(right < 51), 4):
        shown = math.ceil(right * 10**places) / 10**places
        if shown < 100:
            return f"{shown:.{places}f}"
    return None


def in_words(epsilon: Fraction, unit: str = "person") -> str:
    """What a release with this ε guarantees, in a sentence.

    >>> print(in_words(Fraction(1)))
    An attacker who starts at 50% on whether a certain person is in the table can reach at most 74%.
    """
    return f"An attacker who starts at 50% on whether a certain {unit} is in the table {often(epsilon)}."


def often(epsilon: Fraction) -> str:
    """How certain such an attacker can become, in words.

    >>> often(Fraction("0.0001"))
    'can reach at most 50.1%'
    """
    times = chance(epsilon)
    return "can become almost certain" if times is None else f"can reach at most {times}%"


def remark(epsilon: Fraction, what: str, unit: str = "person") -> str | None:
    """A warning about a large budget; None if the budget is not large."""
    if epsilon <= LARGE:
        return None
    protects = "little" if epsilon <= VERY_LARGE else "hardly anybody"
    return f"{what} of ε = {display(epsilon)} protects {protects}. {in_words(epsilon, unit)}"


def warn(epsilon: Fraction, what: str, unit: str = "person") -> None:
    """Warn of a large budget; the warning points to the line that called the caller."""
    words = remark(epsilon, what, unit)
    if words is not None:
        warnings.warn(words, LargeBudget, stacklevel=3)
