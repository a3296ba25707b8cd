"""Numbers that stand for something else: dates, times of day, lengths of time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal, TypeAlias

from adyton.schema.calendar import DAY, date_at
from adyton.schema.numbers import UNITS

Value: TypeAlias = float | date | datetime | timedelta | None
Side: TypeAlias = Literal[-1, 0, 1]


@dataclass(frozen=True)
class Form:
    """How to read a number: days since 1970 for a date, seconds for a date with time, else so many of a unit.

    >>> Form("date").value(19_000.6), Form("duration", "minutes").text(90.0)
    (datetime.date(2022, 1, 9), '90 minutes')
    """

    kind: Literal["date", "datetime", "duration"]
    unit: str = ""

    def value(self, number: float, side: Side = 0) -> Value:
        """What the number stands for; of dates the nearest, the last before (−1) or the first after it (1). None for
        what is no number, or beyond what Python can tell."""
        ways: dict[Side, Callable[[float], int]] = {-1: math.floor, 0: round, 1: math.ceil}
        whole = ways[side]
        try:
            match self.kind:
                case "date":
                    return date_at(whole(number) * DAY).date()
                case "datetime":
                    return date_at(whole(number))
                case _:
                    return timedelta(seconds=number * UNITS[self.unit])
        except (ValueError, OverflowError):
            return None

    def text(self, number: float, side: Side = 0) -> str:
        """The same as a text."""
        if self.kind == "duration":
            return f"{number:.6g} {self.unit}"
        return str(self.value(number, side) or "none")
