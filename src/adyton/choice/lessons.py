"""Lessons: what public data showed at one place where a program chooses."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from adyton.arrays import Flags, Integers, Reals
from adyton.errors import BadInput


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
