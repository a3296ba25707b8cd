"""Models: from features to the regret to expect of every option. Each asks only for the features that it needs.

They are fitted to lessons: what public data showed at one place where a program chooses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np

from adyton.arrays import Flags, Integers, Reals
from adyton.choice.decision_tree import (
    LEAST,
    Leaf,
    Split,
    Tree,
    all_features,
    criterion_named,
    from_plain,
    grow,
    most_features,
    prune,
    to_plain,
    walk,
)
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


@dataclass(frozen=True, eq=False)
class Lessons:
    """Rows of features with the score that every option had there; the higher a score, the better.

    *dear* are the scores after the whole share of the budget went to features; where looking costs nothing, they are
    the scores themselves.
    """

    features: tuple[str, ...]
    options: tuple[str, ...]
    values: Reals
    """rows × features, as noisy as they will be."""
    scores: Reals
    """rows × options, with the whole budget."""
    dear: Reals
    """rows × options, with what is left after the share for features."""
    sources: tuple[str, ...]
    """The data set that each row comes from."""
    weights: Reals
    places: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Which rows of all lessons these are."""

    def __post_init__(self) -> None:
        rows = len(self.sources)
        if not self.places.size:
            object.__setattr__(self, "places", np.arange(rows))
        if not rows:
            raise BadInput("there is nothing to learn from: no public input reached this choice.")
        for table, width in ((self.values, self.features), (self.scores, self.options), (self.dear, self.options)):
            if table.shape != (rows, len(width)):
                raise BadInput(f"lessons are tables of {rows} rows, given {table.shape}.")
        if not (np.isfinite(self.scores).all() and np.isfinite(self.dear).all()):
            raise BadInput("a score is a finite number: the score function gave something else on public data.")

    @property
    def names(self) -> tuple[str, ...]:
        """The data sets, each once."""
        return tuple(dict.fromkeys(self.sources))

    @property
    def regrets(self) -> Reals:
        """rows × options: by how much the score is below the best one."""
        return np.asarray(self.scores.max(axis=1, keepdims=True) - self.scores)

    @property
    def advantages(self) -> Reals:
        """rows × options: by how much the score is above the mean of all options. What a table is like for all of them
        alike cancels out."""
        return np.asarray(self.scores - self.scores.mean(axis=1, keepdims=True))

    def of(self, source: str) -> Flags:
        """Which rows come from a data set."""
        return np.array([one == source for one in self.sources])

    def where(self, rows: Flags) -> Lessons:
        """Only these rows."""
        sources = tuple(one for one, stays in zip(self.sources, rows, strict=True) if stays)
        values, scores, dear = self.values[rows], self.scores[rows], self.dear[rows]
        places = self.places[rows]
        if not places.size:
            raise BadInput("there is nothing to learn from: no public input is left.")
        return Lessons(self.features, self.options, values, scores, dear, sources, self.weights[rows], places)

    def gained(self, chosen: Reals, looked: Reals) -> Reals:
        """For each row, the score of the chosen options, of which a part *looked* of the share was spent on features.

        Between the two budgets that were tried, the score is interpolated.
        """
        rows, places = np.arange(len(self.sources)), chosen.astype(np.int64)
        full, less = self.scores[rows, places], self.dear[rows, places]
        return np.asarray(full + looked * (less - full))

    def ranges(self) -> dict[str, tuple[float, float]]:
        """The least and the largest value of each feature: what was seen."""
        low, high = self.values.min(axis=0), self.values.max(axis=0)
        return {name: (float(a), float(b)) for name, a, b in zip(self.features, low, high, strict=True)}
