"""Attributes of lengths of time, as numbers of a unit."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from adyton.errors import SchemaError
from adyton.messages import listing, shorten
from adyton.schema.checks import column_name
from adyton.schema.numbers import Numeric

UNITS: dict[str, float] = {
    "nanoseconds": 1e-9,
    "microseconds": 1e-6,
    "milliseconds": 1e-3,
    "seconds": 1.0,
    "minutes": 60.0,
    "hours": 3600.0,
    "days": 86_400.0,
    "weeks": 604_800.0,
}
"""How many seconds each has."""


@dataclass(frozen=True)
class Duration(Numeric):
    """Lengths of time from *min* to *max* units, in *bins* of equal length or between *edges* of your own.

    A number is one of *unit*. A text can also be ``1:30:00``, ``2 days 01:30:00`` or ``PT1H30M``; columns of durations
    are turned into the unit.

    >>> Duration(0, 90, bins=3, unit="minutes").labels
    ('[0, 30)', '[30, 60)', '[60, 90]')
    """

    kind: ClassVar[str] = "duration"

    _: KW_ONLY
    unit: str = "seconds"
    column: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.unit, str) or self.unit not in UNITS:
            raise SchemaError(f"unit must be one of {listing(UNITS, 8)}, given {shorten(self.unit)}.")
        object.__setattr__(self, "column", column_name(self.column, "column"))

    @property
    def seconds(self) -> float:
        """How many seconds a unit has."""
        return UNITS[self.unit]
