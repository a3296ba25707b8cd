"""Published forests of random trees: the whole budget goes to the number of rows and to the leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.learning.forest_model import MOST_TREES
from adyton.learning.public_randomness import PublicRandomness
from adyton.learning.published_trees import FEWEST, PublishedTrees, Trees
from adyton.learning.stopping import AtDepth, ByExpectedSize
from adyton.learning.target import Target
from adyton.learning.tree_growing import Recipe
from adyton.learning.tree_limits import most_leaves
from adyton.plans.algorithm import Share, Whole


@dataclass(frozen=True, kw_only=True)
class RandomTrees(PublishedTrees):
    """Forests of random trees: the whole budget goes to the number of rows and to the leaves."""

    rows: Whole | None = None
    """A public number of rows, if there is one; else a noisy one is bought."""
    rows_share: Share = Fraction(1, 20)
    """The part of ε that it may cost."""

    def least(self, target: Target, epsilon: Fraction) -> Fraction:
        """The leaves of a tree."""
        return (epsilon - self.counting(target, epsilon)) / self.how_many(target)

    def counting(self, target: Target, epsilon: Fraction) -> Fraction:
        """Nothing, where the number is public."""
        return Fraction(0) if self.rows is not None else self.rows_share * epsilon

    def known_rows(self) -> float:
        """As given."""
        return float(self.rows or FEWEST)


@dataclass(frozen=True, kw_only=True)
class Jagannathan(RandomTrees):
    """Random trees of depth min(k/2, log_b(rows) − 1), for k attributes of b levels in the mean.

    Jagannathan, Pillaipakkamnatt and Wright, "A practical differentially private random decision tree classifier",
    Transactions on Data Privacy 5, 2012.
    """

    name = "jagannathan"

    trees: Trees = 10

    def recipe(self, target: Target, epsilon: Fraction, rows: float, random: PublicRandomness) -> Recipe:
        """As deep as a noisy number of rows allows."""
        sizes = target.schema.shape
        branches = max(float(np.mean(sizes)), 1.5)
        depth = max(1, min(len(sizes) // 2, math.floor(math.log(rows) / math.log(branches) - 1)))
        return Recipe(depth=depth, stop=AtDepth(most_leaves(target, scored=False)), way="random")

    def how_many(self, target: Target) -> int:
        """All trees learn from the same rows."""
        return self.trees


@dataclass(frozen=True, kw_only=True)
class FletcherIslam(RandomTrees):
    """As many random trees as there are attributes, each as deep as its leaves can be expected to stand out of noise.

    Fletcher and Islam, "A differentially private decision forest", AusDM 2015.
    """

    name = "fletcher-islam"

    trees: Trees | None = None

    def recipe(self, target: Target, epsilon: Fraction, rows: float, random: PublicRandomness) -> Recipe:
        """The leaves stop by themselves."""
        stop = ByExpectedSize(most_leaves(target, scored=False), rows, float(epsilon))
        return Recipe(depth=len(target.schema.names), stop=stop, way="random")

    def how_many(self, target: Target) -> int:
        """One for each attribute, unless it is said."""
        return self.trees or min(len(target.schema.names), MOST_TREES)
