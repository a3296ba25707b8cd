"""Models: from features to the regret to expect of every option. Each asks only for the features that it needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from adyton.choice.criteria import criterion_named
from adyton.choice.decision_tree import Leaf, Split, Tree, all_features, from_plain, most_features, to_plain, walk
from adyton.choice.growing import LEAST, grow, prune
from adyton.choice.lessons import Lessons
from adyton.errors import BadInput

Look: TypeAlias = Callable[[str], float]
"""From the name of a feature to its value."""
_DEPTH = 2
_MARGIN = 0.01
"""How much of the spread of scores a question must save on the training rows."""


class OutsideError(Exception):
    """A feature lies outside what a model was trained on, or a formula has no value there."""


class Model(ABC):
    """Says of each option what regret to expect, in a unit of its own."""

    kind: ClassVar[str]

    @abstractmethod
    def regrets(self, look: Look) -> dict[str, float]:
        """The regret to expect of each option. Only what is looked at is bought."""

    @abstractmethod
    def most(self, free: frozenset[str] = frozenset()) -> int:
        """The most different features that any path looks at, those that are *free* not counted."""

    @property
    @abstractmethod
    def asked(self) -> frozenset[str]:
        """The features that some path looks at."""

    @abstractmethod
    def learnt(self) -> Any:
        """What was learnt, as plain values for JSON."""

    @classmethod
    @abstractmethod
    def from_learnt(cls, learnt: Any, options: tuple[str, ...]) -> Model:
        """The model that :meth:`learnt` describes, checked as a stranger's."""

    @abstractmethod
    def in_words(self) -> str:
        """What was learnt, for people."""


@dataclass(frozen=True, eq=False)
class Fixed(Model):
    """The option that was best on average, whatever the features are."""

    kind = "fixed"

    means: Mapping[str, float]
    """The mean regret of each option."""

    @classmethod
    def fit(cls, lessons: Lessons) -> Fixed:
        """By the mean scores."""
        means = np.average(lessons.regrets, axis=0, weights=lessons.weights)
        return cls(dict(zip(lessons.options, means.tolist(), strict=True)))

    def regrets(self, look: Look) -> dict[str, float]:
        """Nothing is looked at."""
        return dict(self.means)

    def most(self, free: frozenset[str] = frozenset()) -> int:
        """None."""
        return 0

    @property
    def asked(self) -> frozenset[str]:
        """None."""
        return frozenset()

    def learnt(self) -> Any:
        """The means."""
        return dict(self.means)

    @classmethod
    def from_learnt(cls, learnt: Any, options: tuple[str, ...]) -> Fixed:
        """The means, of these options."""
        return cls(real_values(learnt, options))

    def in_words(self) -> str:
        """The best one."""
        return f"always {min(self.means, key=self.means.__getitem__)}"


@dataclass(frozen=True, eq=False)
class TreeModel(Model):
    """A small decision tree, as Pythia's: :mod:`adyton.choice.decision_tree`."""

    kind = "tree"

    tree: Tree

    @classmethod
    def fit(cls, lessons: Lessons) -> TreeModel:
        """Grown by least regret, and pruned where a question hardly saves anything."""
        unit = float(lessons.regrets.mean()) or 1.0  # the criteria are for regrets of about 1
        grown = grow(
            lessons.values,
            1 + lessons.regrets / unit,
            lessons.features,
            lessons.options,
            criterion=criterion_named("least-regret"),
            depth=_DEPTH,
            least=min(LEAST, max(1, len(lessons.sources) // 4)),
            weights=lessons.weights,
        )
        return cls(_in_units(prune(grown, 0.0, frozenset(), _MARGIN), unit))

    def regrets(self, look: Look) -> dict[str, float]:
        """Those of the leaf."""
        return dict(walk(self.tree, look)[0].regrets)

    def most(self, free: frozenset[str] = frozenset()) -> int:
        """On the path with most."""
        return most_features(self.tree, free)

    @property
    def asked(self) -> frozenset[str]:
        """On all paths."""
        return all_features(self.tree)

    def learnt(self) -> Any:
        """The tree."""
        return to_plain(self.tree)

    @classmethod
    def from_learnt(cls, learnt: Any, options: tuple[str, ...]) -> TreeModel:
        """A tree whose leaves know these options."""
        tree = from_plain(learnt)
        _check(tree, options)
        return cls(tree)

    def in_words(self) -> str:
        """One question a line."""
        return _words(self.tree)


def _in_units(tree: Tree, unit: float) -> Tree:
    """Regrets of 0 and more in the unit of the score."""
    if isinstance(tree, Leaf):
        return Leaf(tree.algorithm, {name: (one - 1) * unit for name, one in tree.regrets.items()}, tree.inputs)
    return Split(tree.feature, tree.threshold, _in_units(tree.left, unit), _in_units(tree.right, unit))


def _check(tree: Tree, options: tuple[str, ...]) -> None:
    if isinstance(tree, Leaf):
        real_values(tree.regrets, options)
    elif not np.isfinite(tree.threshold):
        raise BadInput(f"a tree asks about {tree.feature} with a threshold that is no number.")
    else:
        _check(tree.left, options)
        _check(tree.right, options)


def _words(tree: Tree, indent: str = "") -> str:
    if isinstance(tree, Leaf):
        return f"{indent}{tree.algorithm}"
    left, right = (_words(side, indent + "  ") for side in (tree.left, tree.right))
    return f"{indent}{tree.feature} at most {tree.threshold:.6g}:\n{left}\n{indent}else:\n{right}"


def real_values(given: Any, options: tuple[str, ...]) -> dict[str, float]:
    """A finite number for each option, or an error."""
    if not isinstance(given, Mapping) or given.keys() != set(options):
        raise BadInput("a model must say something of each of its options, and of no others.")
    values = {name: given[name] for name in options}
    if not all(type(value) in (int, float) and np.isfinite(value) for value in values.values()):
        raise BadInput("a model must say a finite number of each of its options.")
    return {name: float(value) for name, value in values.items()}
