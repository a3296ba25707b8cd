"""Pythia's decision: which algorithm, what it cost to choose it, and why."""

from __future__ import annotations

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
