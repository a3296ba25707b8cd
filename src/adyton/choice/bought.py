"""What was bought to choose by: noisy numbers, each bought when it is first asked for, at most once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adyton.exact import as_number
from adyton.queries import Measurement, Noisy


@dataclass(frozen=True, eq=False)
class Bought:
    """A feature that was bought: its noisy value, the standard deviation of the noise, and its price."""

    name: str
    words: str
    """What it is."""
    value: float
    deviation: float
    """Not a number, if it is not known: of what was computed from several answers."""
    spent: Fraction
    total: Measurement | None = None
    """The noisy number of rows, if that is what was bought."""

    @classmethod
    def of(cls, name: str, words: str, noisy: Noisy, spent: Fraction) -> Bought:
        """A single answer of the kernel."""
        return cls(name, words, float(noisy.value), noisy.deviation, spent)

    def __str__(self) -> str:
        around = f" ± {self.deviation:.3g}" if math.isfinite(self.deviation) else ""
        return f"{self.name} = {self.value:.6g}{around}"

    def to_plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "words": self.words,
            "value": self.value,
            "deviation": self.deviation if math.isfinite(self.deviation) else None,
            "epsilon": as_number(self.spent),
        }


class Looks:
    """Looks at features when they are asked for. What is public costs nothing, all else is bought once.

    >>> looks = Looks(lambda name: Bought(name, "rows", 41.0, 14.1, Fraction(1, 10)), {"cells": 8.0})
    >>> looks("cells"), looks("rows"), looks("rows"), looks.spent
    (8.0, 41.0, 41.0, Fraction(1, 10))
    """

    def __init__(self, buy: Callable[[str], Bought], public: Mapping[str, float] | None = None) -> None:
        self._buy = buy
        self._public = {} if public is None else public
        self._bought: dict[str, Bought] = {}

    def __call__(self, name: str) -> float:
        """The value of a feature."""
        if name in self._public:
            return self._public[name]
        if name not in self._bought:
            self._bought[name] = self._buy(name)
        return self._bought[name].value

    @property
    def bought(self) -> tuple[Bought, ...]:
        """All that was bought, in order."""
        return tuple(self._bought.values())

    @property
    def spent(self) -> Fraction:
        """What it cost."""
        return sum((one.spent for one in self.bought), Fraction(0))
