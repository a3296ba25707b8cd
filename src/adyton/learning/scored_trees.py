"""Published trees whose splits are chosen privately, by a score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal, TypeAlias

from adyton.kernel.mechanisms.split_scores import LARGEST_CAP
from adyton.learning.pruning import pruned
from adyton.learning.public_randomness import PublicRandomness
from adyton.learning.published_trees import PublishedTrees, Trees
from adyton.learning.stopping import AtDepth, BySize
from adyton.learning.target import Target
from adyton.learning.tree_counts import plain_shares
from adyton.learning.tree_growing import Recipe, Way
from adyton.learning.tree_model import TreeModel
from adyton.plans.algorithm import Whole, Within, whole_number

Cap: TypeAlias = Annotated[int, Within(whole_number, 2, LARGEST_CAP)]
"""A public cap on the number of rows, for the entropy."""
_ROWS = 1 << 14
"""Beyond, a row more tells no less than at the cap."""


@dataclass(frozen=True, kw_only=True)
class FriedmanSchuster(PublishedTrees):
    """A tree of a fixed depth; half of every level buys sizes to stop by, half the splits; pruned at the end.

    Leaves are counted with half a level's budget, wherever they have stopped. So a tree of which all branches stop
    early costs less than ε: what it does not need is not spent.

    Friedman and Schuster, "Data mining with differential privacy", KDD 2010.
    """

    name = "friedman-schuster"

    depth: Whole = 4
    score: Literal["max", "gini", "entropy"] = "max"
    prune: bool = True
    cap: Cap = _ROWS

    def recipe(self, target: Target, epsilon: Fraction, rows: float, random: PublicRandomness) -> Recipe:
        """ε/(depth + 1) for each level and for the leaves."""
        level = epsilon / (self.depth + 1)
        stop = BySize(math.inf, float(level))
        return Recipe(
            depth=self.depth,
            stop=stop,
            way=self.score,
            split_epsilon=level / 2,
            size_epsilon=level / 2,
            cap=self.cap,
            among=self.among(target, random),
            sizes_at_end=True,
        )

    def leaves(self, epsilon: Fraction, spent: Fraction) -> Fraction:
        """Half a level."""
        return epsilon / (2 * (self.depth + 1))

    def among(self, target: Target, random: PublicRandomness) -> tuple[int, ...] | None:
        """All attributes."""
        return None

    def least(self, target: Target, epsilon: Fraction) -> Fraction:
        """Half a level."""
        return epsilon / (2 * self.how_many(target) * (self.depth + 1))

    def deepest(self, target: Target) -> int:
        """All levels."""
        return self.depth

    def way(self) -> Way:
        """By the score."""
        return self.score

    def finish(self, target: Target, model: TreeModel) -> TreeModel:
        """Pruned by the noisy counts."""
        if not self.prune:
            return model
        tree, counts = pruned(model.tree, model.counts)
        return TreeModel(target=target, tree=tree, counts=counts, shares=plain_shares(tree, counts))


@dataclass(frozen=True, kw_only=True)
class PatilSingh(FriedmanSchuster):
    """A forest of such trees, each on a few attributes that were drawn at random.

    Patil and Singh, "Differential private random forest", ICACCI 2014.
    """

    name = "patil-singh"

    trees: Trees = 10
    score: Literal["max", "gini", "entropy"] = "entropy"

    def how_many(self, target: Target) -> int:
        """All trees learn from the same rows."""
        return self.trees

    def among(self, target: Target, random: PublicRandomness) -> tuple[int, ...]:
        """⌈√k⌉ + 1 of k attributes."""
        attributes = len(target.schema.names)
        few = max(2, math.ceil(math.sqrt(attributes)) + 1)
        return tuple(random.order(attributes)[:few].tolist())


@dataclass(frozen=True, kw_only=True)
class Mohammed(PublishedTrees):
    """A full tree of a fixed depth, its splits chosen privately, its leaves counted; ε/(depth + 1) for each of these.

    Mohammed, Chen, Fung and Yu, "Differentially private data release for data mining", KDD 2011.
    """

    name = "mohammed"

    depth: Whole = 4
    score: Literal["max", "gini", "entropy"] = "entropy"
    cap: Cap = _ROWS

    def recipe(self, target: Target, epsilon: Fraction, rows: float, random: PublicRandomness) -> Recipe:
        """Nothing stops it."""
        level = epsilon / (self.depth + 1)
        return Recipe(depth=self.depth, stop=AtDepth(math.inf), way=self.score, split_epsilon=level, cap=self.cap)

    def least(self, target: Target, epsilon: Fraction) -> Fraction:
        """A level."""
        return epsilon / (self.depth + 1)

    def deepest(self, target: Target) -> int:
        """All levels."""
        return self.depth

    def way(self) -> Way:
        """By the score."""
        return self.score
