"""A learner: from a private table to a model, as a short program of operators. It holds a handle, never a row."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from adyton.exact import Rational
from adyton.kernel.sources import TableSource
from adyton.learning.model import Model
from adyton.learning.target import Target
from adyton.plans.algorithm import Algorithm


@dataclass(frozen=True, kw_only=True)
class Learner(Algorithm[TableSource, str]):
    """A way to learn: it is asked for a label, which it predicts from all other attributes."""

    def fit(self, source: TableSource, label: str, epsilon: Rational) -> Model:
        """Learn to predict a label from all other attributes, spending *epsilon*."""
        return self.run(source, label, self.admitted(source, label, epsilon))

    def check_asked(self, source: TableSource, label: str) -> None:
        """One of the attributes, with two classes at least."""
        Target.of(source.schema, label)

    def check_run(self, source: TableSource, label: str, epsilon: Fraction) -> Callable[[], Model]:
        """By what the learner itself says."""
        self.check(source, Target.of(source.schema, label), epsilon)
        return partial(self.run, source, label, epsilon)

    @abstractmethod
    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """Refuse what this learner cannot do. Sources may be derived for it, and nothing may be measured."""

    @abstractmethod
    def run(self, source: TableSource, label: str, epsilon: Fraction) -> Model:
        """The program, once it was admitted: spends *epsilon*, or less if it says so, and never more."""
