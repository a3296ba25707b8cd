"""Training a choice maker: every option on every public input, by the same programs and with simulated noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.arrays import Reals
from adyton.choice.lessons import Lessons
from adyton.choice.metafeatures import DeclaredMetafeature, Metafeature
from adyton.choice.options import Option
from adyton.choice.public_data import PublicData
from adyton.choice.replaying import Score, finite_score
from adyton.errors import BadInput
from adyton.exact import display
from adyton.kernel.kernel import Kernel

_ROUNDING = Fraction(1, 10**60)
"""What the kernel's grid of budgets may take away."""


@dataclass(frozen=True, eq=False)
class Trainer:
    """Measures options and metafeatures on public inputs, each at each budget, so many times."""

    options: Sequence[Option]
    metafeatures: Sequence[Metafeature]
    share: Fraction
    score: Score
    inputs: Sequence[PublicData]
    epsilons: Sequence[Fraction]
    trials: int
    seed: int

    def scores(self, part: Fraction) -> Reals:
        """(inputs · budgets) × options: the mean score with this part of the budget."""
        found = [
            [self._mean_score(public, epsilon, option, part) for option in self.options]
            for public in self.inputs
            for epsilon in self.epsilons
        ]
        return np.array(found)

    def lessons(self, most: int, full: Reals, dear: Reals) -> Lessons:
        """With features that cost a *most*-th of the share each, as they will; the scores are known."""
        cases = [(public, epsilon) for public in self.inputs for epsilon in self.epsilons]
        rows = [(place, trial) for place in range(len(cases)) for trial in range(self.trials)]
        values = [
            [self._feature(*cases[place], one, most, trial) for one in self.metafeatures] for place, trial in rows
        ]
        places = [place for place, _ in rows]
        return Lessons(
            tuple(one.name for one in self.metafeatures),
            tuple(option.name for option in self.options),
            np.array(values, dtype=np.float64).reshape(len(rows), len(self.metafeatures)),
            full[places],
            dear[places],
            tuple(cases[place][0].source for place in places),
            np.ones(len(rows)),
        )

    def _mean_score(self, public: PublicData, epsilon: Fraction, option: Option, part: Fraction) -> float:
        found = []
        for trial in range(self.trials):
            kernel = self._opened(public, part * epsilon, trial)
            answer = option(kernel.root, *public.arguments, epsilon=part * epsilon)
            check_spent(kernel, part * epsilon, f"the option {option.name!r}")
            found.append(finite_score(self.score, answer, public))
        return float(np.mean(found))

    def _feature(self, public: PublicData, epsilon: Fraction, one: Metafeature, most: int, trial: int) -> float:
        price = self.share * epsilon / most
        return tried(one, lambda amount: self._opened(public, amount, trial + self.trials), epsilon, price)

    def _opened(self, public: PublicData, amount: Fraction, trial: int) -> Kernel[Any]:
        """With noise that belongs to this input and trial, whatever is run."""
        place = [id(one) for one in self.inputs].index(id(public))
        seed = int(np.random.SeedSequence([self.seed, place, trial]).generate_state(1)[0])
        return public.opened(amount, seed, trusted=trusted_among(self.metafeatures))


def trusted_among(metafeatures: Sequence[Metafeature]) -> list[DeclaredMetafeature]:
    """Those that a kernel has to be opened with."""
    return [one for one in metafeatures if isinstance(one, DeclaredMetafeature)]


def tried(one: Metafeature, opened: Callable[[Fraction], Kernel[Any]], epsilon: Fraction, price: Fraction) -> float:
    """The value of a metafeature on a simulated kernel; it must spend what it was given, no more and no less."""
    kernel = opened(epsilon if one.free else price)
    found = one.buy(kernel.root, epsilon if one.free else price)
    check_spent(kernel, Fraction(0) if one.free else price, f"the metafeature {one.name!r}")
    return found.value


def check_spent(kernel: Kernel[Any], asked: Fraction, what: str) -> None:
    """Refuse what spends something else than it was given; too much was refused by the kernel already."""
    if not 0 <= asked - kernel.spent < _ROUNDING:
        raise BadInput(
            f"{what} was given ε = {display(asked)} and spent {display(kernel.spent)} on public data. It must spend "
            "exactly what it is given."
        )
