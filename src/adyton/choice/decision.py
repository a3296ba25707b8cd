"""A decision: which option was chosen, what choosing it cost, and why. Every choice leaves one, Pythia's too.

A choice depends on noisy numbers. Each number is bought when it is first read, and at most once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from adyton.exact import as_number
from adyton.queries import Measurement, Noisy


@dataclass(frozen=True, eq=False)
class Decision:
    """Which option was chosen, what that cost, and why."""

    chosen: str
    left: Fraction
    """What is left of the budget for the option."""
    bought: tuple[Bought, ...]
    """The features that were read, with their noisy values. No others were measured."""
    regrets: dict[str, float]
    """The expected regret of each option that could be chosen, in the model's own unit: smaller is better. Empty if no
    model was used."""
    notes: tuple[str, ...] = ()
    """Further remarks on the choice, such as why the default is used."""

    @property
    def spent(self) -> Fraction:
        """What was spent on features."""
        return sum((feature.spent for feature in self.bought), Fraction(0))

    @property
    def measured(self) -> dict[str, float]:
        """The noisy values that were read, by name."""
        return {feature.name: feature.value for feature in self.bought}

    @property
    def alternatives(self) -> dict[str, float]:
        """The expected regrets of the options that were not chosen."""
        return {name: regret for name, regret in self.regrets.items() if name != self.chosen}

    def compared(self) -> dict[str, float]:
        """The regrets in the unit in which they are shown: the model's own."""
        return self.regrets

    def ranked(self) -> list[tuple[str, str]]:
        """The options that could be chosen with their regrets as text, the best first."""
        pairs = sorted(self.compared().items(), key=lambda pair: pair[1])
        return [(name, f"{regret:.2f}" if math.isfinite(regret) else "unknown") for name, regret in pairs]

    def to_plain(self) -> dict[str, Any]:
        """The decision as plain values, for JSON: budgets as exact fractions, and as floats for programs."""
        return {
            "chosen": self.chosen,
            "left": as_number(self.left),
            "bought": [feature.to_plain() for feature in self.bought],
            "regrets": _finite(self.regrets),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        source = f"after buying {', '.join(map(str, self.bought))}" if self.bought else "from public information alone"
        ranked = sorted(self.regrets.items(), key=lambda pair: pair[1])[:4]
        beside = ", ".join(f"{name} {regret:.3f}" for name, regret in ranked)
        expected = f"; expected regrets: {beside}" if ranked else ""
        return " ".join([f"{self.chosen}, chosen {source}{expected}.", *self._remarks()])

    def _remarks(self) -> list[str]:
        """The sentences after the choice itself."""
        return [f"{note[:1].upper()}{note[1:]}" for note in self.notes]


@dataclass(frozen=True, eq=False)
class Choice(Decision):
    """Which algorithm a selector chose, what that cost, and why. A regret is the expected error divided by that of the
    best algorithm; notes name algorithms that only the selector or only the library knows.
    """

    errors: dict[str, float] = field(default_factory=dict)
    """The expected error of each algorithm, where the selector predicts it: ‖W·x̂ − W·x‖₂."""
    finished: bool = False
    """Whether the selector post-processes the estimate with the bought features: its noise then depends on the data."""

    @property
    def algorithm(self) -> str:
        """The algorithm that was chosen."""
        return self.chosen

    @property
    def total(self) -> Measurement | None:
        """The noisy number of rows, if it was bought: the chosen algorithm need not buy it again."""
        return next((feature.total for feature in self.bought if feature.total is not None), None)

    def compared(self) -> dict[str, float]:
        """The expected error of each algorithm, relative to the best of them (1 = best).

        A regret compares an algorithm with the best one for each of many tables, so no algorithm has a mean of 1.
        """
        least = min(self.regrets.values(), default=1.0)
        return {name: regret / least for name, regret in self.regrets.items()} if 0 < least < math.inf else self.regrets

    def to_plain(self) -> dict[str, Any]:
        """The choice as plain values, with the errors."""
        plain = super().to_plain()
        return {
            "algorithm": plain["chosen"],
            "left": plain["left"],
            "bought": plain["bought"],
            "regrets": plain["regrets"],
            "errors": _finite(self.errors),
            "notes": plain["notes"],
            "finished": self.finished,
        }

    def _remarks(self) -> list[str]:
        """None: notes on the library are left out of the sentence."""
        return []


def _finite(values: dict[str, float]) -> dict[str, float | None]:
    """The values for JSON, which has no infinity: None replaces it."""
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


@dataclass(frozen=True, eq=False)
class Bought:
    """A feature that was bought: its noisy value, the standard deviation of the noise, and its price."""

    name: str
    words: str
    """What the feature is, in words."""
    value: float
    deviation: float
    """NaN where it is unknown: for a value computed from several answers."""
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
        """The feature as plain values, for JSON."""
        return {
            "name": self.name,
            "words": self.words,
            "value": self.value,
            "deviation": self.deviation if math.isfinite(self.deviation) else None,
            "epsilon": as_number(self.spent),
        }


class Looks:
    """Reads features on request. Public features cost nothing; every other feature is bought once.

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
        """The features that were bought, in order."""
        return tuple(self._bought.values())

    @property
    def spent(self) -> Fraction:
        """What they cost."""
        return sum((feature.spent for feature in self.bought), Fraction(0))
