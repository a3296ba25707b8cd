"""A choice: which algorithm, what it cost to choose it, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from adyton.exact import as_number
from adyton.queries import Measurement
from adyton.selection.features import Bought


@dataclass(frozen=True, eq=False)
class Choice:
    """Which algorithm was chosen, what that cost, and why."""

    algorithm: str
    left: Fraction
    """What is left of the budget for the algorithm."""
    bought: tuple[Bought, ...]
    """The features that were looked at, with their noisy values. No others were measured."""
    regrets: dict[str, float]
    """For each algorithm that could be chosen, how many times the best algorithm's error to expect from it."""
    errors: dict[str, float] = field(default_factory=dict)
    """For each of them the error to expect, as far as the selector predicts it: ‖W·x̂ − W·x‖₂."""
    notes: tuple[str, ...] = ()
    """Algorithms that the selector knows and the library does not have, or the other way around."""
    finished: bool = False
    """Whether the selector changes the estimate afterwards, by what was bought: its noise then depends on the data."""

    @property
    def total(self) -> Measurement | None:
        """The noisy number of rows, if it was bought: the chosen algorithm need not buy it again."""
        return next((one.total for one in self.bought if one.total is not None), None)

    @property
    def spent(self) -> Fraction:
        """What was spent on features."""
        return sum((one.spent for one in self.bought), Fraction(0))

    def ranked(self) -> list[tuple[str, str]]:
        """The algorithms that could be chosen with their regrets as they are shown, the most promising first."""
        pairs = sorted(self.regrets.items(), key=lambda pair: pair[1])
        return [(name, f"{regret:.2f}" if math.isfinite(regret) else "unknown") for name, regret in pairs]

    def to_plain(self) -> dict[str, Any]:
        """The choice as plain values, for JSON: budgets as exact fractions, and as floats for programs."""
        bought = [
            {
                "name": one.name,
                "words": one.words,
                "value": one.value,
                "deviation": one.deviation,
                "epsilon": as_number(one.spent),
            }
            for one in self.bought
        ]
        return {
            "algorithm": self.algorithm,
            "left": as_number(self.left),
            "bought": bought,
            "regrets": {name: _finite(regret) for name, regret in self.regrets.items()},
            "errors": {name: _finite(error) for name, error in self.errors.items()},
            "notes": list(self.notes),
            "finished": self.finished,
        }

    def __str__(self) -> str:
        bought = [f"{one.name} = {one.value:.6g} ± {one.deviation:.3g}" for one in self.bought]
        looked = f"after buying {', '.join(bought)}" if bought else "from public facts alone"
        ranked = sorted(self.regrets.items(), key=lambda pair: pair[1])[:4]
        beside = ", ".join(f"{name} {regret:.3f}" for name, regret in ranked)
        return f"{self.algorithm}, chosen {looked}; expected regrets: {beside}."


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
