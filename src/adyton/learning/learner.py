"""A learner: from a private table to a model, as a short program of operators. It holds a handle, never a row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from adyton.exact import Rational, positive
from adyton.kernel.limits import check_depth
from adyton.kernel.sources import TableSource
from adyton.learning.model import Model
from adyton.learning.target import Target
from adyton.plans.limits import STEPS_INSIDE, check_reach
from adyton.plans.options import read_options


@dataclass(frozen=True, kw_only=True)
class Learner(ABC):
    """A way to learn. Subclasses are frozen values: their fields are the options, :meth:`learn` is the program.

    It cannot tell whether the table is private, with exact noise, or public, with simulated noise: one text serves for
    both. *epsilon* is for one row, as everywhere below a session; a source of stability s is charged s times as much.
    """

    name: ClassVar[str]

    def __post_init__(self) -> None:
        read_options(self)  # a subclass that checks more does so after this

    def fit(self, source: TableSource, label: str, epsilon: Rational) -> Model:
        """Learn to predict a label from all other attributes, spending *epsilon*."""
        amount = positive(epsilon, "epsilon", computed=True)
        self.admit(source, label, amount)
        return self.learn(source, label, amount)

    def admit(self, source: TableSource, label: str, epsilon: Fraction) -> None:
        """Make sure that :meth:`learn` can be carried out to its end with this budget: else nothing is spent."""
        check_reach(epsilon)
        target = Target.of(source.schema, label)
        source.kernel.afford(source, epsilon)
        check_depth(source.lineage, STEPS_INSIDE)
        self.check(source, target, epsilon)

    @abstractmethod
    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """Refuse what this learner cannot do. Sources may be derived for it, and nothing may be measured."""

    @abstractmethod
    def learn(self, source: TableSource, label: str, epsilon: Fraction) -> Model:
        """The program, once it was admitted: spends *epsilon*, or less if it says so, and never more."""
