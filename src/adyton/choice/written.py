"""The model that the programmer wrote: what each option says of itself, by the features that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.arrays import Reals
from adyton.choice.formula_model import below_best
from adyton.choice.formulas import names_in, parsed
from adyton.choice.lessons import Lessons
from adyton.choice.model import Look, Model, OutsideError
from adyton.choice.options import Option
from adyton.errors import BadInput


@dataclass(frozen=True, eq=False)
class Written(Model):
    """Takes the option of the largest valuation. Features are looked at as the functions read them."""

    kind = "written"

    options: tuple[Option, ...]
    features: tuple[str, ...]
    """All that a function could read."""

    @classmethod
    def of(cls, options: Sequence[Option], features: Sequence[str]) -> Written | None:
        """The model of these options, if each of them predicts."""
        if not all(one.predict is not None for one in options):
            return None
        return cls(tuple(options), tuple(features))

    def regrets(self, look: Look) -> dict[str, float]:
        """How far each valuation is below the largest. What cannot be computed is no valuation."""
        try:
            return below_best({one.name: one.valuation(look) for one in self.options})
        except ArithmeticError:
            raise OutsideError("a prediction cannot be computed here") from None

    def most(self, free: frozenset[str] = frozenset()) -> int:
        """What formulas name, or all that a function could read."""
        return len(self.asked - free)

    @property
    def asked(self) -> frozenset[str]:
        """What formulas name, or all that a function could read."""
        if all(isinstance(one.predict, str) for one in self.options):
            return frozenset().union(*(names_in(parsed(str(one.predict))) for one in self.options))
        return frozenset(self.features)

    def learnt(self) -> Any:
        """Nothing: it stands in the program."""
        return None

    @classmethod
    def from_learnt(cls, learnt: Any, options: tuple[str, ...]) -> Written:
        """Not from a file."""
        raise BadInput("predictions that were written in a program are not in a file. Give the options that predict.")

    def in_words(self) -> str:
        """As they were written."""
        return "\n".join(f"  {one.name}: {one.predicts}" for one in self.options)


def valuations(option: Option, lessons: Lessons) -> Reals | None:
    """What an option's programmer predicts on each row, if anything."""
    if option.predict is None:
        return None
    rows = (dict(zip(lessons.features, row, strict=True)) for row in lessons.values.tolist())
    found = []
    for row in rows:
        try:
            found.append(option.valuation(row.__getitem__))
        except ArithmeticError:
            found.append(np.nan)
    return np.array(found)
