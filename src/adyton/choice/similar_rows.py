"""The model of similar rows: public inputs whose features are alike vote, as those of Pythia's selector do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.arrays import Reals
from adyton.choice.lessons import Lessons
from adyton.choice.model import Look, Model
from adyton.choice.votes import nearness, shrunk, usual_strength
from adyton.errors import BadInput
from adyton.remembered import cached_property

_WIDTH = 0.25
"""How far apart the features of similar rows are, in standard deviations of the feature over all rows."""


@dataclass(frozen=True, eq=False)
class SimilarRows(Model):
    """Expects of each option what it did on rows with similar features. It looks at all features."""

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
        """All rows are kept."""
        names = lessons.names
        sources = np.array([names.index(one) for one in lessons.sources], dtype=np.float64)
        return cls(lessons.features, lessons.options, lessons.values, lessons.regrets, sources, lessons.weights)

    def regrets(self, look: Look) -> dict[str, float]:
        """By the votes."""
        widths, usual, data_sets = self._spread
        here = np.array([look(name) for name in self.features])
        distances = np.sqrt(np.square((self.values - here) / widths).sum(axis=1))
        weights = self.weights * nearness(distances)
        strength = usual_strength(weights, data_sets)
        expected = shrunk(weights @ self.known, weights.sum(), usual, strength)
        return dict(zip(self.options, expected.tolist(), strict=True))

    @cached_property
    def _spread(self) -> tuple[Reals, Reals, int]:
        """How wide similar is for each feature, the usual regrets, and the number of data sets."""
        widths = _WIDTH * np.maximum(self.values.std(axis=0), 1e-12)
        return widths, np.average(self.known, axis=0, weights=self.weights), np.unique(self.sources).size

    def most(self, free: frozenset[str] = frozenset()) -> int:
        """All of them."""
        return len(self.asked - free)

    @property
    def asked(self) -> frozenset[str]:
        """All of them."""
        return frozenset(self.features)

    def learnt(self) -> Any:
        """The table of rows."""
        columns = {name: getattr(self, name).tolist() for name in ("values", "known", "sources", "weights")}
        return {"features": list(self.features), **columns}

    @classmethod
    def from_learnt(cls, learnt: Any, options: tuple[str, ...]) -> SimilarRows:
        """A table of numbers whose columns are of one length."""
        features = tuple(learnt["features"])
        values, known, sources, weights = (
            np.asarray(learnt[name], dtype=np.float64) for name in ("values", "known", "sources", "weights")
        )
        rows = len(weights)
        if not all(isinstance(name, str) for name in features) or len(set(features)) != len(features):
            raise BadInput("the features of a model have names, each another one.")
        if (values.shape, known.shape, sources.shape) != ((rows, len(features)), (rows, len(options)), (rows,)):
            raise BadInput("this is not a model of similar rows: its columns are not of one length.")
        if not rows or not all(np.isfinite(one).all() for one in (values, known, sources, weights)):
            raise BadInput("this is not a model of similar rows: not all that it knows are numbers.")
        if weights.min() <= 0 or sources.min() < 0:
            raise BadInput("the weights of similar rows are greater than 0, and their data sets have numbers.")
        return cls(features, options, values, known, sources, weights)

    def in_words(self) -> str:
        """How many vote."""
        return f"{len(self.weights)} public rows vote, by how alike their {' and '.join(self.features)} are"
