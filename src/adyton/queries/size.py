"""What it takes to answer a request: public bounds, known before anything is paid, and what is allowed of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from adyton.errors import BadInput

MOST_NUMBERS = 1 << 28
"""How many numbers a request may hold in memory beside the counts themselves: two gigabytes of them."""
MOST_STEPS = 1 << 33
"""How many steps of arithmetic a request may take: about a minute."""
SLOW_DRAW = 1 << 12
"""As many steps take as long as one draw of noise whose scale is too long for machine arithmetic."""


class Size(NamedTuple):
    """Upper bounds on the numbers that are held at one time, and on the steps of arithmetic. They are rough: what
    matters is that nothing which is allowed can exhaust the memory, or never end."""

    numbers: int
    steps: int

    def then(self, other: Size) -> Size:
        """One after the other: what the first has held is free again."""
        return Size(max(self.numbers, other.numbers), self.steps + other.steps)

    def check(self, what: Callable[[], str], advice: str) -> None:
        """Refuse what is too large, with a sentence about *what*: its words are asked for only then.

        >>> Size(1 << 40, 1).check(lambda: "this histogram", "Ask for less.")
        Traceback (most recent call last):
        adyton.errors.BadInput: this histogram needs about 8,796 GB of memory, allowed are 2 GB. Ask for less.
        """
        if self.numbers > MOST_NUMBERS:
            raise BadInput(f"{what()} needs about {_gigabytes(self.numbers)} GB of memory, allowed are 2 GB. {advice}")
        if self.steps > MOST_STEPS:
            raise BadInput(
                f"{what()} takes about {_rounded(self.steps)} steps of arithmetic, allowed are {_rounded(MOST_STEPS)}. "
                f"{advice}"
            )


NOTHING = Size(0, 0)


def _gigabytes(numbers: int) -> str:
    whole = 8 * numbers // 10**9
    return f"{whole:,}" if whole < 10**6 else "more than a million"


def _rounded(steps: int) -> str:
    """To one digit, in words that can be read.

    >>> _rounded(8_589_934_592), _rounded(51_000_000_000_000)
    ('9 billion', '51,000 billion')
    """
    billions = round(steps / 10**9) if steps < 10**24 else 10**15
    return f"{billions:,} billion"
