"""Published private trees and forests, with the parameters that their authors or later studies used.

Their scores have global sensitivities here (entropy with a public cap instead of the number of rows), are monotone and
are chosen from by permute-and-flip; trees on the same rows share ε, stopping included; and wherever an algorithm asks
for the number of rows, a noisy one is bought, or a public one is given. What a level leaves over goes to the leaves.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal

import numpy as np

from adyton.kernel.mechanisms.split_scores import LARGEST_CAP
from adyton.kernel.sources import TableSource
from adyton.learning.forest_model import MOST_TREES, ForestModel
from adyton.learning.learner import Learner
from adyton.learning.pruning import pruned
from adyton.learning.public_randomness import PublicRandomness
from adyton.learning.stopping import AtDepth, ByExpectedSize, BySize
from adyton.learning.target import Target
from adyton.learning.tree_counts import plain_shares, summed
from adyton.learning.tree_growing import Recipe, Way, grow, leaf_counts
from adyton.learning.tree_limits import check_depth_of, check_share, most_leaves
from adyton.learning.tree_model import TreeModel
from adyton.plans.options import Share, Whole, Within, whole_number

Trees = Annotated[int, Within(whole_number, 1, MOST_TREES)]
Seed = Annotated[int, Within(whole_number, 0)]
Cap = Annotated[int, Within(whole_number, 2, LARGEST_CAP)]
_ROWS = 1 << 14
"""The public cap of the entropy: beyond, a row more tells no less than at the cap."""
_FEWEST = 10.0
"""A noisy number of rows counts as so many at least."""


@dataclass(frozen=True, kw_only=True)
class PublishedTrees(Learner):
    """What the published algorithms have in common: one tree or several in sequence, and plain frequencies."""

    seed: Seed | None = None
    """For random attributes, which are public; without one the operating system draws them."""

    @abstractmethod
    def recipe(self, target: Target, epsilon: Fraction, rows: float, random: PublicRandomness) -> Recipe:
        """How one tree is grown with this budget, which its leaves' counts share."""

    @abstractmethod
    def least(self, target: Target, epsilon: Fraction) -> Fraction:
        """The smallest ε that a measurement gets."""

    def deepest(self, target: Target) -> int | None:
        """A depth that its trees can reach whatever the rows; None if the number of rows limits it."""
        return None

    def how_many(self, target: Target) -> int:
        """How many trees share the budget."""
        return 1

    def counting(self, target: Target, epsilon: Fraction) -> Fraction:
        """What a noisy number of rows costs; 0 where nobody asks for it."""
        return Fraction(0)

    def way(self) -> Way:
        """How attributes are chosen."""
        return "random"

    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """Not too many leaves, and not too many trees."""
        check_share(self.least(target, epsilon), self.how_many(target))
        depth = self.deepest(target)
        if depth is not None:
            check_depth_of(target, depth, scored=self.way() != "random")

    def learn(self, source: TableSource, label: str, epsilon: Fraction) -> TreeModel | ForestModel:
        """One tree after the other: every tree has an equal part of the budget for all that it does."""
        target, random = Target.of(source.schema, label), PublicRandomness.of(self.seed)
        counting, trees = self.counting(target, epsilon), self.how_many(target)
        rows = max(float(source.count(counting).value), _FEWEST) if counting else self.known_rows()
        each = (epsilon - counting) / trees
        grown = tuple(self._tree(source, target, each, rows, random.part(number)) for number in range(trees))
        return grown[0] if trees == 1 else ForestModel(target=target, trees=grown)

    def known_rows(self) -> float:
        """A public number of rows, where none is bought."""
        return _FEWEST

    def finish(self, target: Target, model: TreeModel) -> TreeModel:
        """What is done with a tree in the end."""
        return model

    def _tree(
        self, source: TableSource, target: Target, epsilon: Fraction, rows: float, random: PublicRandomness
    ) -> TreeModel:
        grown = grow(source, target, self.recipe(target, epsilon, rows, random), random)
        counts = summed(grown.tree, leaf_counts(source, target, grown.tree, epsilon - grown.spent))
        shares = plain_shares(grown.tree, counts)
        return self.finish(target, TreeModel(target=target, tree=grown.tree, counts=counts, shares=shares))


@dataclass(frozen=True, kw_only=True)
class FriedmanSchuster(PublishedTrees):
    """A tree of a fixed depth; half of every level buys sizes to stop by, half the splits; pruned at the end.

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
        )

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
        return float(self.rows or _FEWEST)


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
