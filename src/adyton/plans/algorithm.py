"""An algorithm: whatever can be run on a source of the kernel. Plans, programs for many tables and for numbers, and
learners are its kinds: they differ in what they are asked for and in what comes out, not in how they are admitted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeVar

from adyton.exact import Rational, positive
from adyton.kernel.limits import check_depth
from adyton.kernel.sources import Source
from adyton.plans.limits import STEPS_INSIDE, check_reach
from adyton.plans.options import read_options

Input = TypeVar("Input", bound=Source)
Question = TypeVar("Question")


@dataclass(frozen=True, kw_only=True)
class Algorithm(ABC, Generic[Input, Question]):
    """A frozen value: its fields are the options. What it does, :meth:`check_run` returns.

    It cannot tell whether a source is private, with exact noise, or public, with simulated noise: one text serves for
    both. *epsilon* is for one row, as everywhere below a session; a source of stability s is charged s times as much.
    """

    name: ClassVar[str]

    def __post_init__(self) -> None:
        read_options(self)  # a subclass that checks more does so after this

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        """What can be said of it: of what a choice was told, the algorithm that it decides for may know only a part."""
        return tuple(option.name for option in fields(cls))

    def prepared(self, source: Input, asked: Question, epsilon: Fraction, /) -> Callable[[], Any]:
        """Make sure that it can be run to its end with this budget: else nothing is spent.

        Returns what runs then, and again in a replay: it does not look at what is left of a budget.
        """
        self.check_asked(source, asked)
        check_source(source, epsilon)
        return self.check_run(source, asked, epsilon)

    def admit(self, source: Input, asked: Question, epsilon: Fraction, /) -> None:
        """Make sure that it can be run to its end with this budget: else nothing is spent."""
        self.prepared(source, asked, epsilon)

    def admitted(self, source: Input, asked: Question, epsilon: Rational, /) -> Fraction:
        """The budget as an exact number, once it was admitted."""
        amount = positive(epsilon, "epsilon", computed=True)
        self.admit(source, asked, amount)
        return amount

    @abstractmethod
    def check_asked(self, source: Input, asked: Question, /) -> None:
        """Refuse what does not fit the source, or is not served, whatever the budget."""

    @abstractmethod
    def check_run(self, source: Input, asked: Question, epsilon: Fraction, /) -> Callable[[], Any]:
        """Refuse what could not be carried out to its end. Sources may be derived for it, and nothing is measured.

        Returns what runs then.
        """


def check_source(source: Source, epsilon: Fraction, steps: int = STEPS_INSIDE) -> None:
    """Refuse a budget that is too small or not left, and a source from which so many steps are too many."""
    check_reach(epsilon)
    source.kernel.afford(source, epsilon)
    check_depth(source.lineage, steps)
