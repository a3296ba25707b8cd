"""When a node of a tree stops splitting: public rules, on public numbers and noisy answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from adyton.arrays import Flags, Reals
from adyton.learning.frontier import Frontier


class Stop(Protocol):
    """Says what every leaf may split on; a leaf that may split on nothing has stopped."""

    def allowed(self, frontier: Frontier, sizes: Reals | None) -> Flags:
        """For every leaf and attribute, whether the leaf may split on it; *sizes* are noisy, where they were bought."""


@dataclass(frozen=True)
class AtDepth:
    """Leaves stop when the tree is deep enough, or finer than can be handled."""

    most_leaves: float

    def allowed(self, frontier: Frontier, sizes: Reals | None) -> Flags:
        """Whatever is free."""
        return frontier.within(self.most_leaves)


@dataclass(frozen=True)
class BelowRoot:
    """The root may split on anything; further leaves while their children are no finer than *finest*."""

    finest: float
    most_leaves: float

    def allowed(self, frontier: Frontier, sizes: Reals | None) -> Flags:
        """By how finely the rows are split."""
        return frontier.within(min(self.finest, self.most_leaves) if frontier.depth else self.most_leaves)


@dataclass(frozen=True)
class BySize:
    """A leaf stops where its noisy size, divided by the classes and the levels of its largest attribute, is lost in
    noise: size/(t·C) < √2/ε.

    Friedman and Schuster, "Data mining with differential privacy", KDD 2010, Algorithm 2.
    """

    most_leaves: float
    epsilon: float

    def allowed(self, frontier: Frontier, sizes: Reals | None) -> Flags:
        """By the sizes of the leaves."""
        assert sizes is not None
        largest = np.where(frontier.free, frontier.levels, 1).max(axis=1)
        enough = sizes / (largest * frontier.classes) >= math.sqrt(2) / self.epsilon
        return np.asarray(frontier.within(self.most_leaves) & enough[:, None])


@dataclass(frozen=True)
class ByExpectedSize:
    """A leaf stops where its children, were all equally large, would be lost in noise: rows/(cells·L) < √2·C/ε, with L
    the mean of the levels that are left.

    Fletcher and Islam, "A differentially private decision forest", AusDM 2015.
    """

    most_leaves: float
    rows: float
    epsilon: float

    def allowed(self, frontier: Frontier, sizes: Reals | None) -> Flags:
        """By a noisy number of all rows."""
        left = np.maximum(frontier.free.sum(axis=1), 1)
        mean = np.where(frontier.free, frontier.levels, 0).sum(axis=1) / left
        expected = self.rows / (frontier.cells * np.maximum(mean, 1))
        enough = expected >= math.sqrt(2) * frontier.classes / self.epsilon
        return np.asarray(frontier.within(self.most_leaves) & enough[:, None])
