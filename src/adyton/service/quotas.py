"""What analysts may take of what all of them share, whatever their ε: ε bounds what is learnt, not work or storage.

Everything here is computed before a debit and from public sizes: the cells of a question, its queries, and what is
stored for the analyst already. Seconds are never counted, because they depend on rows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adyton.errors import AdytonError, BadInput
from adyton.exact import display

_LINE, _REQUEST, _NUMBERS = 160, 8_192, 8
"""The bytes of a line beside the digits of its noise, in an answer and in a result; of a request beside its text; and
the most numbers of a group."""
_QUERY = 2_000
"""How many cells of work a query is, at most about: a strategy is fitted to it; or a quantile of a group, which is a
selection of its own."""
_STEPS = 64
"""The steps of arithmetic for a cell, in the sizes of mechanisms."""
_SECONDS = 3600.0


class OverQuota(AdytonError):
    """A request that would store more, or take more work, than its analyst has left."""


@dataclass(frozen=True)
class Quota:
    """The quota of each analyst of a data set."""

    least_epsilon: Fraction
    storage: int
    """In bytes of the ledger."""
    work: int
    """In cells, within an hour."""

    @classmethod
    def of(cls, plain: Mapping[str, Any] | None) -> Quota | None:
        """From settings; None where there is none."""
        return None if plain is None else cls(Fraction(plain["least_epsilon"]), plain["storage"], plain["work"])

    def check_epsilon(self, epsilon: Fraction) -> None:
        """Refuse a budget that is smaller than is sensible."""
        if epsilon < self.least_epsilon:
            least = display(self.least_epsilon)
            raise BadInput(f"epsilon must be at least {least} at this service, given {display(epsilon)}.")

    def check_storage(self, stored: int, more: int) -> None:
        """Refuse what does not fit into the storage that is left."""
        if stored + more > self.storage:
            raise OverQuota(
                f"The answer may take {more:,} bytes, and {max(0, self.storage - stored):,} of your {self.storage:,} "
                "are left. Ask for fewer cells, or ask the curator for more storage. Nothing was spent."
            )


def bytes_of(epsilon: Fraction, lines: int, text: str = "") -> int:
    """How much a request stores at most, about: its text, and so many noisy numbers as answers and as a result. The
    digits of a number are those of its noise.

    >>> bytes_of(Fraction(1), 1000), bytes_of(Fraction(1, 10**11), 1000)
    (168192, 190192)
    """
    digits = max(0, math.ceil(-math.log10(epsilon)))
    return _REQUEST + len(text) + lines * (_LINE + 2 * digits)


def lines_of_groups(groups: int) -> int:
    """The numbers that are stored for groups with several numbers each."""
    return groups * _NUMBERS


def work_of(lines: int, queries: int) -> int:
    """How much work a request is, in cells."""
    return lines + _QUERY * queries


def cells_of(steps: int) -> int:
    """The work of a mechanism that takes so many steps of arithmetic, in cells."""
    return steps // _STEPS


class WorkDone:
    """What each analyst has used of their quota of work: it is given back evenly, within an hour."""

    def __init__(self, most: int, now: Callable[[], float] = time.monotonic) -> None:
        self._most, self._now = most, now
        self._used: dict[str, tuple[float, float]] = {}

    def book(self, name: str, work: int) -> None:
        """Count work before it is done, or refuse it."""
        used, since = self._used.get(name, (0.0, 0.0))
        now = self._now()
        used = max(0.0, used - self._most * (now - since) / _SECONDS)
        if used + work > self._most:
            how = "Ask for fewer cells or queries" if work > self._most else "Wait, or ask for fewer cells or queries"
            left = max(0, int(self._most - used))
            raise OverQuota(
                f"This request is work for {work:,} cells, and {left:,} of your {self._most:,} of an hour are left. "
                f"{how}. Nothing was spent."
            )
        self._used[name] = (used + work, now)
