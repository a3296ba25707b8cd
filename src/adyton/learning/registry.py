"""What a learner is, and all learners by their names. One is imported when it is asked for, and no other is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from adyton.exact import Rational
from adyton.kernel.sources import TableSource
from adyton.learning.model import Model, Target
from adyton.plans.algorithm import Algorithm
from adyton.plans.registry import Registry

if TYPE_CHECKING:
    from adyton.learning.model import Model


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


AUTO, DEFAULT = "auto", "profiled-tree"
"""Where no method is named, the default is taken."""
WHY_DEFAULT = "which was the most accurate on average over 60 public tables (name another with method=…)"
"""By the public results that come with the package."""

LEARNERS: Registry[Learner] = Registry(
    "method",
    {
        "chosen": "learning.chosen_tree:ChosenTree",
        "contingency": "learning.consistent_tables:Contingency",
        "fletcher-islam": "learning.published_trees:FletcherIslam",
        "friedman-schuster": "learning.published_trees:FriedmanSchuster",
        "jagannathan": "learning.published_trees:Jagannathan",
        "majority": "learning.chosen_tree:Majority",
        "mohammed": "learning.published_trees:Mohammed",
        "naive-bayes": "learning.naive_bayes:NaiveBayes",
        "naive-bayes-tree": "learning.naive_bayes_tree:NaiveBayesTree",
        "patil-singh": "learning.published_trees:PatilSingh",
        "profiled-tree": "learning.profiled_tree:ProfiledTree",
        "select-ls": "learning.consistent_tables:SelectLs",
        "workload": "learning.consistent_tables:Workload",
        "workload-ls": "learning.consistent_tables:WorkloadLs",
    },
)


def learners() -> list[str]:
    """The names of all learners.

    >>> "naive-bayes" in learners()
    True
    """
    return LEARNERS.names()


def learner_named(name: object, **options: Any) -> Learner:
    """The learner of this name, with these options; ``auto`` is the default.

    >>> learner_named("auto").name
    'profiled-tree'
    """
    return LEARNERS.named(DEFAULT if isinstance(name, str) and name == AUTO else name, **options)
