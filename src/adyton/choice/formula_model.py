"""The model of formulas: one for each option, which says how good it is; the option of the largest value is taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.choice.formulas import Formula, names_in, parsed, shown, value_of
from adyton.choice.model import Look, Model, OutsideError
from adyton.errors import BadInput


@dataclass(frozen=True, eq=False)
class FormulaModel(Model):
    """Expects of each option what its formula says; the regret is how far that is below the largest."""

    kind = "formula"

    formulas: Mapping[str, Formula]

    def regrets(self, look: Look) -> dict[str, float]:
        """All features of the formulas are looked at."""
        values = {name: float(value_of(formula, look)) for name, formula in self.formulas.items()}
        return below_best(values)

    def most(self, free: frozenset[str] = frozenset()) -> int:
        """All of them."""
        return len(self.asked - free)

    @property
    def asked(self) -> frozenset[str]:
        """Those of all formulas."""
        return frozenset().union(*map(names_in, self.formulas.values()))

    def learnt(self) -> Any:
        """The texts."""
        return {name: shown(formula) for name, formula in self.formulas.items()}

    @classmethod
    def from_learnt(cls, learnt: Any, options: tuple[str, ...]) -> FormulaModel:
        """From the texts."""
        if not isinstance(learnt, Mapping) or learnt.keys() != set(options):
            raise BadInput("a model of formulas has one formula for each option.")
        return cls({name: parsed(learnt[name]) for name in options})

    def in_words(self) -> str:
        """One formula a line."""
        return "\n".join(f"  {name}: {shown(formula)}" for name, formula in self.formulas.items())


def below_best(values: Mapping[str, float]) -> dict[str, float]:
    """How far each value is below the largest."""
    if not all(np.isfinite(value) for value in values.values()):
        raise OutsideError("a formula has no value here")
    best = max(values.values())
    return {name: best - value for name, value in values.items()}
