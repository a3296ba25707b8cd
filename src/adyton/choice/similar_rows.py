"""The model of similar rows: public inputs whose features are alike vote, as those of Pythia's selector do.

Votes are what similar training inputs say of every algorithm, before and after a noisy look at the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.choice.model import Lessons, Look, Model
from adyton.compiling import cached_property
from adyton.errors import BadInput

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


_SIGNAL_WIDTH = 0.5
"""How far apart the signals of similar inputs are, as a part of the signal."""
_QUANTILES = np.log([[0.25], [0.75]]) * [1.0, -1.0]  # of the Laplace law at 1/8, 3/8, 5/8 and 7/8, in scales
_LEAST = 1e-4
_USUAL, _USUAL_PART = 8.0, 0.2
HARDLY = 1e-9
"""How much what is usual counts where it is not to count."""


def nearness(distances: Reals) -> Reals:
    """From 1 for the nearest down to nearly 0."""
    squares = np.square(distances)
    return np.asarray(np.exp((squares.min() - squares) / 2))


def usual_strength(weights: Reals, data_sets: int) -> float:
    """How many inputs what is usual counts as much as: eight, or a fifth of all if they are few, because data sets
    differ, and single inputs are measured with noise. If all come from one data set, it does not count."""
    return float(max(min(_USUAL, _USUAL_PART * weights.sum()) * (1 - 1 / data_sets), HARDLY))


def shrunk(sums: Reals, votes: Reals, usual: Reals, strength: float) -> Reals:
    """The mean regret of so many votes, towards what is usual."""
    return np.asarray((sums + strength * usual) / (np.asarray(votes) + strength)[..., None])


@dataclass(frozen=True, eq=False)
class Votes:
    """Training inputs that are alike as far as public facts go, in cells of equal signal and equal data set.

    A signal is ε·rows. What is known of it decides how much each cell counts.
    """

    signals: Reals
    """The different signals."""
    weights: Reals
    """signals × data sets: how many inputs there are, each counted by how alike it is."""
    regrets: Reals
    """signals × data sets × algorithms: the sum of their regrets, counted likewise."""
    usual: Reals
    """What to expect of each algorithm if no input were alike."""
    strength: float
    """How many inputs what is usual counts as much as."""

    @classmethod
    def of(
        cls,
        weights: Reals,
        signals: Reals,
        sources: npt.NDArray[np.int64],
        regrets: Reals,
        usual: Reals,
        strength: float,
    ) -> Votes:
        """From single inputs, of which those that hardly count are left out."""
        near = np.flatnonzero(weights > _LEAST * weights.max())
        levels, place = np.unique(signals[near], return_inverse=True)
        sets, held = np.unique(sources[near], return_inverse=True)
        counts = np.zeros((levels.size, sets.size))
        sums = np.zeros((levels.size, sets.size, regrets.shape[1]))
        np.add.at(counts, (place, held), weights[near])
        np.add.at(sums, (place, held), weights[near, None] * regrets[near])
        return cls(levels, counts, sums, usual, strength)

    def shares(self, noisy: npt.ArrayLike, noise: float) -> Reals:
        """noisy values × signals: how much each signal counts, if a count with Laplace noise of this scale has that
        value: the likelihood of it, for a signal that is similar."""
        scale = np.sqrt(noise**2 + np.square(_SIGNAL_WIDTH * self.signals)) + 1e-9
        exponent = -np.abs(np.asarray(noisy)[..., None] - self.signals) / scale - np.log(scale)
        return np.asarray(np.exp(exponent - exponent.max(axis=-1, keepdims=True)))

    def expected(self, shares: Reals | None = None) -> Reals:
        """(noisy values ×) algorithms: the regret to expect, over all signals or by how much each counts."""
        counts = np.ones(self.signals.size) if shares is None else shares
        votes = counts @ self.weights.sum(axis=1)
        return self._mean(counts @ self.regrets.sum(axis=1), votes)

    def pays(self, noise: float, prices: Reals) -> bool:
        """Whether looking at a noisy count lowers the regret by more than it costs.

        Judged on the training inputs, each of which is voted on by the other data sets only (if there are others), at
        four typical values of the noise. *prices* are what the error of each algorithm is multiplied by after a look.
        """
        alone = self.weights.shape[1] == 1
        others = self.weights if alone else self.weights.sum(axis=1, keepdims=True) - self.weights
        others_regrets = self.regrets if alone else self.regrets.sum(axis=1, keepdims=True) - self.regrets
        shares = self.shares(self.signals[:, None] + noise * _QUANTILES.ravel(), noise)
        told = self._mean(np.einsum("uqv,vsa->uqsa", shares, others_regrets), np.einsum("uqv,vs->uqs", shares, others))
        blind = self._mean(others_regrets.sum(axis=0), others.sum(axis=0))
        own = self.regrets[:, None]
        after = np.take_along_axis(
            np.broadcast_to(own * prices, told.shape), np.argmin(told, axis=-1)[..., None], axis=-1
        )
        before = np.take_along_axis(self.regrets.sum(axis=0), np.argmin(blind, axis=-1)[:, None], axis=-1)
        return float(after.mean(axis=1).sum()) < float(before.sum())

    def _mean(self, sums: Reals, votes: Reals) -> Reals:
        return shrunk(sums, votes, self.usual, self.strength)
