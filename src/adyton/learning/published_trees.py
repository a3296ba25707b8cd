"""Published private trees and forests, and what they have in common.

Their scores have global sensitivities here (entropy with a public cap instead of the number of rows), are monotone and
are the input of permute-and-flip; trees on the same rows share ε, stopping included; and wherever an algorithm needs
the number of rows, a noisy number is bought, or a public number is given.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal, TypeAlias

import numpy as np

from adyton.arrays import Flags, Places, Reals
from adyton.errors import BadInput, SchemaError
from adyton.kernel.mechanisms.split_choice import LARGEST_CAP
from adyton.kernel.sources import TableSource
from adyton.learning.model import Target
from adyton.learning.registry import Learner
from adyton.learning.tree_growing import (
    AtDepth,
    ByExpectedSize,
    BySize,
    PublicRandomness,
    Recipe,
    Seed,
    Way,
    check_depth_of,
    check_share,
    grow,
    leaf_counts,
    most_leaves,
    plain_shares,
    summed,
)
from adyton.learning.tree_model import MOST_TREES, ForestModel, TreeModel
from adyton.messages import no_such
from adyton.plans.algorithm import Share, Whole, Within, whole_number
from adyton.queries import Partition
from adyton.schema import RowTree

_NORMAL = 0.6745
"""The upper quartile of the normal distribution: C4.5 judges by error counts that are exceeded one time in four."""
_SLACK = 0.1
"""A leaf is preferred if it makes at most this many more errors than the branches, in rows."""


Trees: TypeAlias = Annotated[int, Within(whole_number, 1, MOST_TREES)]
"""How many trees a forest has."""
FEWEST = 10.0
"""A noisy number of rows counts as at least this many."""


@dataclass(frozen=True, kw_only=True)
class PublishedTrees(Learner):
    """What the published algorithms have in common: one tree or several in sequence, and plain frequencies."""

    seed: Seed | None = None
    """For random attributes, which are public; without a seed the operating system draws them."""
    divided_by: str | None = None
    """An attribute that divides the rows among the trees of a forest: each tree learns from different rows, with all of
    ε. It should be independent of the label, such as a number drawn at random for each row; no tree splits on it."""

    @abstractmethod
    def recipe(self, target: Target, epsilon: Fraction, rows: float, random: PublicRandomness) -> Recipe:
        """How one tree is grown with this budget, which also pays for the counts of its leaves."""

    @abstractmethod
    def least(self, target: Target, epsilon: Fraction) -> Fraction:
        """The smallest ε of any measurement."""

    def deepest(self, target: Target) -> int | None:
        """The depth that its trees can reach for any rows; None if the number of rows limits it."""
        return None

    def how_many(self, target: Target) -> int:
        """How many trees share the budget."""
        return 1

    def counting(self, target: Target, epsilon: Fraction) -> Fraction:
        """What a noisy number of rows costs; 0 where it is not needed."""
        return Fraction(0)

    def way(self) -> Way:
        """How attributes are chosen."""
        return "random"

    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """Refuse too many leaves, and too many trees."""
        trees = self.how_many(target)
        if self.divided_by is not None:
            target = check_division(source, target, self.divided_by, trees)
            epsilon *= trees
        check_share(self.least(target, epsilon), trees)
        depth = self.deepest(target)
        if depth is not None:
            check_depth_of(target, depth, scored=self.way() != "random")

    def run(self, source: TableSource, label: str, epsilon: Fraction) -> TreeModel | ForestModel:
        """Grow one tree after another: every tree has an equal part of the budget.

        Trees that learn from different rows each have the whole budget: the kernel charges it once.
        """
        target, random = Target.of(source.schema, label), PublicRandomness.of(self.seed)
        counting, trees = self.counting(target, epsilon), self.how_many(target)
        rows = max(float(source.count(counting).value), FEWEST) if counting else self.known_rows()
        if self.divided_by is None:
            own, sources = (epsilon - counting) / trees, (source,) * trees
        else:
            own, rows = epsilon - counting, max(rows / trees, FEWEST)
            sources = divided(source, self.divided_by, trees)
            target = Target.of(sources[0].schema, label)
        grown = tuple(self._tree(part, target, own, rows, random.part(number)) for number, part in enumerate(sources))
        return grown[0] if trees == 1 else ForestModel(target=target, trees=grown)

    def known_rows(self) -> float:
        """The public number of rows, if no noisy number is bought."""
        return FEWEST

    def leaves(self, epsilon: Fraction, spent: Fraction) -> Fraction:
        """The ε for counting the classes in the leaves of a tree: all that is left."""
        return epsilon - spent

    def finish(self, target: Target, model: TreeModel) -> TreeModel:
        """The tree after post-processing."""
        return model

    def _tree(
        self, source: TableSource, target: Target, epsilon: Fraction, rows: float, random: PublicRandomness
    ) -> TreeModel:
        grown = grow(source, target, self.recipe(target, epsilon, rows, random), random)
        counts = summed(grown.tree, leaf_counts(source, target, grown.tree, self.leaves(epsilon, grown.spent)))
        shares = plain_shares(grown.tree, counts)
        return self.finish(target, TreeModel(target=target, tree=grown.tree, counts=counts, shares=shares))


@dataclass(frozen=True, kw_only=True)
class RandomTrees(PublishedTrees):
    """Forests of random trees: the whole budget goes to the number of rows and to the leaves."""

    rows: Whole | None = None
    """The number of rows, if it is public; otherwise a noisy number is bought."""
    rows_share: Share = Fraction(1, 20)
    """The part of ε that the number of rows may cost."""

    def least(self, target: Target, epsilon: Fraction) -> Fraction:
        """The ε of the leaves of a tree."""
        return (epsilon - self.counting(target, epsilon)) / self.how_many(target)

    def counting(self, target: Target, epsilon: Fraction) -> Fraction:
        """What a noisy number of rows costs; nothing if the number is public."""
        return Fraction(0) if self.rows is not None else self.rows_share * epsilon

    def known_rows(self) -> float:
        """The number of rows as given."""
        return float(self.rows or FEWEST)


@dataclass(frozen=True, kw_only=True)
class Jagannathan(RandomTrees):
    """Random trees of depth min(k/2, log_b(rows) − 1), for k attributes of b levels on average.

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
        """The given number of *trees*."""
        return self.trees


@dataclass(frozen=True, kw_only=True)
class FletcherIslam(RandomTrees):
    """As many random trees as there are attributes, each as deep as its leaves can be expected to stand out from noise.

    Fletcher and Islam, "A differentially private decision forest", AusDM 2015.
    """

    name = "fletcher-islam"

    trees: Trees | None = None

    def recipe(self, target: Target, epsilon: Fraction, rows: float, random: PublicRandomness) -> Recipe:
        """Leaves stop by their expected size."""
        stop = ByExpectedSize(most_leaves(target, scored=False), rows, float(epsilon))
        return Recipe(depth=len(target.schema.names), stop=stop, way="random")

    def how_many(self, target: Target) -> int:
        """One for each attribute, unless *trees* is given."""
        return self.trees or min(len(target.schema.names), MOST_TREES)


Cap: TypeAlias = Annotated[int, Within(whole_number, 2, LARGEST_CAP)]
"""A public cap on the number of rows, for the entropy."""
_ROWS = 1 << 14
"""The default cap. With more rows, a further row weighs as much as at the cap."""


@dataclass(frozen=True, kw_only=True)
class FriedmanSchuster(PublishedTrees):
    """A tree of a fixed depth; half of every level's budget buys sizes to stop by, half the splits; pruned at the end.

    Leaves are counted with half a level's budget, wherever they stopped. So a tree whose branches all stop early costs
    less than ε: the rest is not spent.

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
        """The ε of the leaves: half a level's."""
        return epsilon / (2 * (self.depth + 1))

    def among(self, target: Target, random: PublicRandomness) -> tuple[int, ...] | None:
        """The attributes that a tree may split on; None for all."""
        return None

    def least(self, target: Target, epsilon: Fraction) -> Fraction:
        """The ε of half a level."""
        return epsilon / (2 * self.how_many(target) * (self.depth + 1))

    def deepest(self, target: Target) -> int:
        """The full depth."""
        return self.depth

    def way(self) -> Way:
        """Attributes are chosen by *score*."""
        return self.score

    def finish(self, target: Target, model: TreeModel) -> TreeModel:
        """The tree pruned by its noisy counts, if *prune* says so."""
        if not self.prune:
            return model
        tree, counts = pruned(model.tree, model.counts)
        return TreeModel(target=target, tree=tree, counts=counts, shares=plain_shares(tree, counts))


@dataclass(frozen=True, kw_only=True)
class PatilSingh(FriedmanSchuster):
    """A forest of Friedman and Schuster's trees, each on a few attributes drawn at random.

    Patil and Singh, "Differential private random forest", ICACCI 2014.
    """

    name = "patil-singh"

    trees: Trees = 10
    score: Literal["max", "gini", "entropy"] = "entropy"

    def how_many(self, target: Target) -> int:
        """The given number of *trees*."""
        return self.trees

    def among(self, target: Target, random: PublicRandomness) -> tuple[int, ...]:
        """⌈√k⌉ + 1 of k attributes, at random."""
        attributes = len(target.schema.names)
        few = max(2, math.ceil(math.sqrt(attributes)) + 1)
        return tuple(random.order(attributes)[:few].tolist())


@dataclass(frozen=True, kw_only=True)
class Mohammed(PublishedTrees):
    """A full tree of a fixed depth with private splits and counted leaves; ε/(depth + 1) per level and for the leaves.

    Mohammed, Chen, Fung and Yu, "Differentially private data release for data mining", KDD 2011.
    """

    name = "mohammed"

    depth: Whole = 4
    score: Literal["max", "gini", "entropy"] = "entropy"
    cap: Cap = _ROWS

    def recipe(self, target: Target, epsilon: Fraction, rows: float, random: PublicRandomness) -> Recipe:
        """Grow to the full depth."""
        level = epsilon / (self.depth + 1)
        return Recipe(depth=self.depth, stop=AtDepth(math.inf), way=self.score, split_epsilon=level, cap=self.cap)

    def least(self, target: Target, epsilon: Fraction) -> Fraction:
        """The ε of a level."""
        return epsilon / (self.depth + 1)

    def deepest(self, target: Target) -> int:
        """The full depth."""
        return self.depth

    def way(self) -> Way:
        """Attributes are chosen by *score*."""
        return self.score


def check_division(source: TableSource, target: Target, attribute: str, trees: int) -> Target:
    """The label and the attributes that remain once the rows are divided; or an error."""
    if attribute not in target.schema.attributes:
        raise SchemaError(no_such("attribute to divide rows by", attribute, target.schema.names))
    if not source.steady:
        raise BadInput(
            "rows that may change between two counts cannot be divided among trees: a row that moves would be in "
            "several. Open a copy in a file, or a PostgreSQL table by its address; or leave the attribute out."
        )
    cells = target.schema.attributes[attribute].size
    if not 1 < trees <= cells:
        raise BadInput(
            f"{attribute!r} has {cells} cells to divide rows among trees by, given {trees} trees. Grow 2 to {cells}."
        )
    return Target.of(source.schema.select(_others(source, attribute)), target.label)


def divided(source: TableSource, attribute: str, trees: int) -> tuple[TableSource, ...]:
    """A disjoint table for each tree, without the attribute. Measuring all of them costs as much as one."""
    cells = source.schema.attributes[attribute].size
    parts = source.split(attribute, Partition(np.arange(cells) % trees))
    return tuple(part.select(_others(source, attribute)) for part in parts)


def _others(source: TableSource, attribute: str) -> list[str]:
    return [name for name in source.schema.names if name != attribute]


def pruned(tree: RowTree, counts: Reals) -> tuple[RowTree, Reals]:
    """The tree pruned by its noisy counts, as C4.5 does, with the counts of its nodes: post-processing, at no cost.

    Quinlan, "C4.5: programs for machine learning", 1993, Section 4.2.
    """
    smaller, old = cut(tree, worth_keeping(tree, counts))
    return smaller, counts[old]


def worth_keeping(tree: RowTree, counts: Reals) -> Flags:
    """For every node, whether its branches promise fewer errors than it would make as a leaf; bottom-up."""
    alone, kept = expected_errors(counts), tree.split >= 0
    errors, above = alone.copy(), tree.parents()
    for level in reversed(tree.levels()):
        inner = level[tree.split[level] >= 0]
        if inner.size:
            below = np.zeros(tree.split.size)
            children = np.flatnonzero(np.isin(above, inner))
            np.add.at(below, above[children], errors[children])
            kept[inner] = alone[inner] > below[inner] + _SLACK
            errors[inner] = np.where(kept[inner], below[inner], alone[inner])
    return kept


def cut(tree: RowTree, kept: Flags) -> tuple[RowTree, Places]:
    """The tree in which nodes that are not kept become leaves; and the former number of each of its nodes."""
    sizes, old = tree.sizes, [0]
    split: list[int] = []
    first: list[int] = []
    for node in old:  # grows while it is read: breadth first
        if kept[node]:
            split.append(int(tree.split[node]))
            first.append(len(old))
            old.extend(range(int(tree.first[node]), int(tree.first[node] + sizes[node])))
        else:
            split.append(-1)
            first.append(-1)
    return RowTree(tree.attributes, np.array(split), np.array(first)), np.array(old, dtype=np.int64)


def expected_errors(counts: Reals) -> Reals:
    """How many rows the most frequent class of each node would get wrong, at the upper end of what is likely.

    Wilson's bound for a frequency f of errors among N rows, times N.
    """
    positive = np.maximum(counts, 0.0)
    rows = positive.sum(axis=1)
    safe = np.maximum(rows, 1e-12)
    part = (rows - positive.max(axis=1)) / safe
    spread = np.sqrt(part / safe - part * part / safe + _NORMAL**2 / (4 * safe * safe))
    bound = (part + _NORMAL**2 / (2 * safe) + _NORMAL * spread) / (1 + _NORMAL**2 / safe)
    return np.where(rows > 0, rows * bound, 0.0)
