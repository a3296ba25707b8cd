"""Pythia's decision: which algorithm, what it cost to choose it, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from adyton.choice.decision import Decision, finite_values
from adyton.queries import Measurement


@dataclass(frozen=True, eq=False)
class Choice(Decision):
    """Which algorithm was chosen, what that cost, and why. Regrets are how many times the best algorithm's error to
    expect; notes name algorithms that the selector knows and the library does not have, or the other way around."""

    errors: dict[str, float] = field(default_factory=dict)
    """For each algorithm the error to expect, as far as the selector predicts it: ‖W·x̂ − W·x‖₂."""
    finished: bool = False
    """Whether the selector changes the estimate afterwards, by what was bought: its noise then depends on the data."""

    @property
    def algorithm(self) -> str:
        """The algorithm that was chosen."""
        return self.chosen

    @property
    def total(self) -> Measurement | None:
        """The noisy number of rows, if it was bought: the chosen algorithm need not buy it again."""
        return next((one.total for one in self.bought if one.total is not None), None)

    def compared(self) -> dict[str, float]:
        """The error to expect of each algorithm, relative to the best of them (1 = best).

        A regret compares with whichever algorithm is best on each of many tables, so that nobody's mean is 1.
        """
        least = min(self.regrets.values(), default=1.0)
        return {name: regret / least for name, regret in self.regrets.items()} if 0 < least < math.inf else self.regrets

    def to_plain(self) -> dict[str, Any]:
        """With the errors."""
        plain = super().to_plain()
        return {
            "algorithm": plain["chosen"],
            "left": plain["left"],
            "bought": plain["bought"],
            "regrets": plain["regrets"],
            "errors": finite_values(self.errors),
            "notes": plain["notes"],
            "finished": self.finished,
        }

    def _more(self) -> list[str]:
        """Notes on the library are not part of the sentence."""
        return []
