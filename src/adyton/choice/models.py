"""Models: from features to the expected regret of every option. A model reads only the features that it needs.

Models are fitted to lessons: the scores of the options on public data, at one place where a program chooses.
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
    LEAST_REGRET,
    Leaf,
    Split,
    Tree,
    all_features,
    check_tree,
    from_plain,
    grow,
    in_words,
    most_features,
    prune,
    to_plain,
    walk,
)
from adyton.compiling import cached_property
from adyton.errors import BadInput

Look: TypeAlias = Callable[[str], float]
"""From the name of a feature to its value."""


class OutsideError(Exception):
    """A feature is outside the range that a model was trained on, or a formula is undefined there."""


class Model(ABC):
    """Predicts the regret of each option, in a unit of its own."""

    kind: ClassVar[str]

    @abstractmethod
    def regrets(self, look: Look) -> dict[str, float]:
        """The expected regret of each option. Only the features that are read are bought."""

    @property
    @abstractmethod
    def asked(self) -> frozenset[str]:
        """The features that it may read."""

    def most(self, free: frozenset[str] = frozenset()) -> int:
        """The largest number of different features that it reads in one decision, not counting *free* ones."""
        return len(self.asked - free)

    @abstractmethod
    def learnt(self) -> Any:
        """What was learnt, as plain values for JSON."""

    @classmethod
    @abstractmethod
    def from_learnt(cls, learnt: Any, options: tuple[str, ...]) -> Model:
        """The model that :meth:`learnt` describes. Nothing in a file is trusted: all of it is checked."""

    @abstractmethod
    def in_words(self) -> str:
        """What was learnt, for people."""


@dataclass(frozen=True, eq=False)
class Lessons:
    """Rows of features with the score that every option had there; a higher score is better."""

    features: tuple[str, ...]
    options: tuple[str, ...]
    values: Reals
    """rows × features, as noisy as they are in use."""
    scores: Reals
    """rows × options, with the whole budget."""
    dear: Reals
    """rows × options, with what is left after the whole share for features was spent; the scores themselves where
    features cost nothing."""
    sources: tuple[str, ...]
    """The data set that each row comes from."""
    weights: Reals
    places: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The places of these rows among all lessons."""

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
        """The names of the data sets, without repetition."""
        return tuple(dict.fromkeys(self.sources))

    @property
    def regrets(self) -> Reals:
        """rows × options: by how much the score is below the best one."""
        return np.asarray(self.scores.max(axis=1, keepdims=True) - self.scores)

    @property
    def advantages(self) -> Reals:
        """rows × options: by how much the score is above the mean of all options. What is the same for all options of
        a row cancels out."""
        return np.asarray(self.scores - self.scores.mean(axis=1, keepdims=True))

    def of(self, source: str) -> Flags:
        """Which rows come from a data set."""
        return np.array([name == source for name in self.sources])

    def where(self, rows: Flags) -> Lessons:
        """The lessons of these rows only."""
        sources = tuple(name for name, stays in zip(self.sources, rows, strict=True) if stays)
        if not sources:
            raise BadInput("there is nothing to learn from: no public input is left.")
        values, scores, dear = (column[rows] for column in (self.values, self.scores, self.dear))
        weights, places = self.weights[rows], self.places[rows]
        return Lessons(self.features, self.options, values, scores, dear, sources, weights, places)

    def gained(self, chosen: Reals, looked: Reals) -> Reals:
        """For each row, the score of the chosen option if a fraction *looked* of the share was spent on features.

        Between the two budgets that were tried, the score is interpolated.
        """
        rows, places = np.arange(len(self.sources)), chosen.astype(np.int64)
        full, less = self.scores[rows, places], self.dear[rows, places]
        return np.asarray(full + looked * (less - full))

    def ranges(self) -> dict[str, tuple[float, float]]:
        """The least and the largest value of each feature in these rows."""
        low, high = self.values.min(axis=0), self.values.max(axis=0)
        return {name: (float(a), float(b)) for name, a, b in zip(self.features, low, high, strict=True)}


@dataclass(frozen=True, eq=False)
class Fixed(Model):
    """The option that was best on average, whatever the features are."""

    kind = "fixed"

    means: Mapping[str, float]
    """The mean regret of each option."""

    @classmethod
    def fit(cls, lessons: Lessons) -> Fixed:
        """Fitted to the mean regrets."""
        means = np.average(lessons.regrets, axis=0, weights=lessons.weights)
        return cls(dict(zip(lessons.options, means.tolist(), strict=True)))

    def regrets(self, look: Look) -> dict[str, float]:
        """The mean regrets; no feature is read."""
        return dict(self.means)

    @property
    def asked(self) -> frozenset[str]:
        """No features."""
        return frozenset()

    def learnt(self) -> Any:
        """The means."""
        return dict(self.means)

    @classmethod
    def from_learnt(cls, learnt: Any, options: tuple[str, ...]) -> Fixed:
        """From the means of these options."""
        return cls(_real_values(learnt, options))

    def in_words(self) -> str:
        """The best option."""
        return f"always {min(self.means, key=self.means.__getitem__)}"


_DEPTH = 2
_MARGIN = 0.01
"""The fraction of the mean regret that a question must save on the training rows."""


@dataclass(frozen=True, eq=False)
class TreeModel(Model):
    """A small decision tree like Pythia's: :mod:`adyton.choice.decision_tree`."""

    kind = "tree"

    tree: Tree

    @classmethod
    def fit(cls, lessons: Lessons) -> TreeModel:
        """Grown by least regret, and pruned where a question hardly saves anything."""
        unit = float(lessons.regrets.mean()) or 1.0  # trees are grown for regrets of about 1
        grown = grow(
            lessons.values,
            1 + lessons.regrets / unit,
            lessons.features,
            lessons.options,
            criterion=LEAST_REGRET,
            depth=_DEPTH,
            least=min(LEAST, max(1, len(lessons.sources) // 4)),
            weights=lessons.weights,
        )
        return cls(_in_units(prune(grown, 0.0, frozenset(), _MARGIN), unit))

    def regrets(self, look: Look) -> dict[str, float]:
        """The regrets of the leaf that the features lead to."""
        return dict(walk(self.tree, look)[0].regrets)

    @property
    def asked(self) -> frozenset[str]:
        """The features on all paths."""
        return all_features(self.tree)

    def most(self, free: frozenset[str] = frozenset()) -> int:
        """The number of features on the path that has the most."""
        return most_features(self.tree, free)

    def learnt(self) -> Any:
        """The tree."""
        return to_plain(self.tree)

    @classmethod
    def from_learnt(cls, learnt: Any, options: tuple[str, ...]) -> TreeModel:
        """A tree whose leaves have these options."""
        tree = from_plain(learnt)
        check_tree(tree, lambda leaf: _real_values(leaf.regrets, options), str)
        return cls(tree)

    def in_words(self) -> str:
        """One question per line."""
        return in_words(self.tree, lambda leaf: leaf.algorithm)


def _in_units(tree: Tree, unit: float) -> Tree:
    """The tree with regrets from 0 on, in the unit of the score."""
    if isinstance(tree, Leaf):
        regrets = {name: (regret - 1) * unit for name, regret in tree.regrets.items()}
        return Leaf(tree.algorithm, regrets, tree.inputs)
    return Split(tree.feature, tree.threshold, _in_units(tree.left, unit), _in_units(tree.right, unit))


def _real_values(given: Any, options: tuple[str, ...]) -> dict[str, float]:
    """A finite number for each option, or an error."""
    if not isinstance(given, Mapping) or given.keys() != set(options):
        raise BadInput("a model must have a value for each of its options, and for no others.")
    values = {name: given[name] for name in options}
    if not all(type(value) in (int, float) and np.isfinite(value) for value in values.values()):
        raise BadInput("a model must have a finite number for each of its options.")
    return {name: float(value) for name, value in values.items()}


_WIDTH = 0.25
"""How far apart the features of similar rows are, in standard deviations of the feature over all rows."""
_COLUMNS = ("values", "known", "sources", "weights")


@dataclass(frozen=True, eq=False)
class SimilarRows(Model):
    """Expects each option to do as it did on rows with similar features, which vote like the inputs of Pythia's
    selector. It reads all features."""

    kind = "similar"

    features: tuple[str, ...]
    options: tuple[str, ...]
    values: Reals
    known: Reals
    """rows × options: the regrets."""
    sources: Reals
    """The number of the data set of each row."""
    weights: Reals

    @classmethod
    def fit(cls, lessons: Lessons) -> SimilarRows:
        """A model that keeps all rows."""
        names = lessons.names
        sources = np.array([names.index(name) for name in lessons.sources], dtype=np.float64)
        return cls(lessons.features, lessons.options, lessons.values, lessons.regrets, sources, lessons.weights)

    def regrets(self, look: Look) -> dict[str, float]:
        """The regrets by the votes of similar rows."""
        widths, usual, data_sets = self._spread
        here = np.array([look(name) for name in self.features])
        distances = np.sqrt(np.square((self.values - here) / widths).sum(axis=1))
        weights = self.weights * nearness(distances)
        strength = usual_strength(weights, data_sets)
        expected = shrunk(weights @ self.known, weights.sum(), usual, strength)
        return dict(zip(self.options, expected.tolist(), strict=True))

    @cached_property
    def _spread(self) -> tuple[Reals, Reals, int]:
        """The width of similarity for each feature, the usual regrets, and the number of data sets."""
        widths = _WIDTH * np.maximum(self.values.std(axis=0), 1e-12)
        return widths, np.average(self.known, axis=0, weights=self.weights), np.unique(self.sources).size

    @property
    def asked(self) -> frozenset[str]:
        """All features."""
        return frozenset(self.features)

    def learnt(self) -> Any:
        """The table of rows."""
        return {"features": list(self.features), **{name: getattr(self, name).tolist() for name in _COLUMNS}}

    @classmethod
    def from_learnt(cls, learnt: Any, options: tuple[str, ...]) -> SimilarRows:
        """A table of numbers whose columns have the same length."""
        features = tuple(learnt["features"])
        columns = [np.asarray(learnt[name], dtype=np.float64) for name in _COLUMNS]
        values, known, sources, weights = columns
        rows = len(weights)
        if not all(isinstance(name, str) for name in features) or len(set(features)) != len(features):
            raise BadInput("the features of a model must have names, no two the same.")
        if (values.shape, known.shape, sources.shape) != ((rows, len(features)), (rows, len(options)), (rows,)):
            raise BadInput("this is not a model of similar rows: its columns do not have the same length.")
        if not rows or not all(np.isfinite(column).all() for column in columns):
            raise BadInput("this is not a model of similar rows: not all of its entries are numbers.")
        if weights.min() <= 0 or sources.min() < 0:
            raise BadInput("the weights of similar rows must be greater than 0, and their data sets numbers from 0 on.")
        return cls(features, options, *columns)

    def in_words(self) -> str:
        """How many rows vote."""
        return f"{len(self.weights)} public rows vote, by how alike their {' and '.join(self.features)} are"


_USUAL, _USUAL_PART = 8.0, 0.2
HARDLY = 1e-9
"""The weight of the usual regret where it should not count."""


def nearness(distances: Reals) -> Reals:
    """Weights from 1 for the nearest down to nearly 0."""
    squares = np.square(distances)
    return np.asarray(np.exp((squares.min() - squares) / 2))


def usual_strength(weights: Reals, data_sets: int) -> float:
    """The number of inputs that the usual regret counts for: eight, or a fifth of all inputs if they are few, because
    data sets differ and single inputs are measured with noise. If all come from one data set, it does not count."""
    return float(max(min(_USUAL, _USUAL_PART * weights.sum()) * (1 - 1 / data_sets), HARDLY))


def shrunk(sums: Reals, votes: Reals, usual: Reals, strength: float) -> Reals:
    """The mean regret of the votes, shrunk towards the usual regret."""
    return np.asarray((sums + strength * usual) / (np.asarray(votes) + strength)[..., None])
