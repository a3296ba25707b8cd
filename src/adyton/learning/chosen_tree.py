"""The chosen tree: greedy, as deep as the noise allows; learned conditionals decide whether and how a node splits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import as_file, files

import numpy as np

from adyton.arrays import Array, Flags, Reals
from adyton.choice.policy import LearnedChoices, choose
from adyton.kernel.mechanisms.split_choice import LARGEST_CAP
from adyton.kernel.sources import TableSource
from adyton.learning.model import Target
from adyton.learning.registry import Learner
from adyton.learning.tree_growing import (
    WAYS,
    Frontier,
    Grown,
    PublicRandomness,
    Recipe,
    Seed,
    Way,
    check_share,
    counts_and_shares,
    grow,
    most_leaves,
    rows_bought,
)
from adyton.learning.tree_model import TreeModel
from adyton.plans.algorithm import Positive, Share, Whole
from adyton.schema import RowTree

FILE = "tree_choices.json"
STOP_OR_SPLIT, HOW_TO_SPLIT = "stop or split", "how to split"
"""The labels of the two learned conditionals."""
_BY_SUPPORT, _STOP, _SPLIT = "by support", "stop", "split"


@dataclass(frozen=True)
class BySupport:
    """A leaf splits on an attribute while its children can be expected to stand out from noise: rows·ε/(cells·L·C) ≥ s.

    rows·ε/(cells·C) is the support of a node: the rows that each class could have there, in units of the noise. A rule
    on public numbers cannot distinguish leaves of the same support, so a single choice decides for all of them: follow
    the rule, stop, or split with less support, down to a third.
    """

    signal: float
    """rows·ε/C: the support of the root."""
    least: float
    """s: the support that is required."""
    most_leaves: float

    @property
    def finest(self) -> float:
        """The most parts into which the rule may split the rows."""
        return min(self.signal / self.least, self.most_leaves)

    def allowed(self, frontier: Frontier, sizes: Reals | None) -> Flags:
        """Decided by the support of the children, unless another choice was learnt."""
        limits = np.zeros(len(frontier.cells))
        free = frontier.within(self.most_leaves)
        for cells in np.unique(frontier.cells[free.any(axis=1)]).tolist():
            alike = (frontier.cells == cells) & free.any(axis=1)
            levels = frontier.levels[free[alike].any(axis=0)]
            chosen = choose(
                STOP_OR_SPLIT,
                (_BY_SUPPORT, _STOP, _SPLIT),
                support=self.signal / cells,
                depth=frontier.depth,
                classes=frontier.classes,
                fewest_levels=int(levels.min()),
                mean_levels=float(levels.mean()),
            )
            limits[alike] = {_BY_SUPPORT: self.finest, _STOP: 0.0, _SPLIT: 3 * self.finest}[chosen]
        fine: Array = frontier.cells[:, None] * frontier.levels
        return np.asarray(free & (fine <= limits[:, None]))


@dataclass(frozen=True, kw_only=True)
class ChosenRecipe(Recipe):
    """A recipe in which a learned conditional decides, level by level, how attributes are chosen."""

    signal: float

    def way_at(self, frontier: Frontier, allowed: Flags) -> Way:
        """The max score, unless another way was learnt."""
        candidates = allowed.sum(axis=1)
        way: Way = choose(
            HOW_TO_SPLIT,
            WAYS,
            support=self.signal / float(frontier.cells[candidates > 0].mean()),
            selection=self.signal * frontier.classes * float(self.split_epsilon) / len(frontier.cells),
            depth=frontier.depth,
            levels_left=self.depth - frontier.depth,
            candidates=float(candidates[candidates > 0].mean()),
            classes=frontier.classes,
        )
        return way


@dataclass(frozen=True, kw_only=True)
class ChosenTree(Learner):
    """A greedy tree. A small part of ε buys a noisy number of rows; three tenths of the rest choose the splits, divided
    evenly among all possible levels; what remains counts the classes in the leaves.

    Whether a node stops or splits, and how a level's attributes are chosen, are learned conditionals on dimensionless
    public and measured numbers. Where nothing was learnt, a node splits on an attribute while its children have
    support, by permute-and-flip on the max score. Afterwards, the difference between a node and its parent is shrunk by
    the part that noise explains.
    """

    name = "chosen"

    rows: Whole | None = None
    """The number of rows, if it is public; otherwise a noisy number is bought."""
    rows_share: Share = Fraction(1, 20)
    """The part of ε that the number of rows may cost."""
    split_share: Share = Fraction(3, 10)
    """The part of the rest that chooses splits."""
    support: Positive = Fraction(3, 2)
    """The support that the children of a node must have: rows of a class, in units of the noise."""
    seed: Seed | None = None
    """For random attributes, where a learned conditional chooses them."""

    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """Refuse a budget whose smallest possible part is too small."""
        levels = sum(size > 1 for size in target.schema.shape)
        parts = [self.rows_share, self.split_share / (2 * max(levels, 1)), (1 - self.split_share) / 2]
        check_share(epsilon * min(parts), 1)
        shipped_choices()  # read before anything is spent

    def run(self, source: TableSource, label: str, epsilon: Fraction) -> TreeModel:
        """Measure the number of rows, choose the splits, count the leaves."""
        target = Target.of(source.schema, label)
        rows, left = rows_bought(source, self.rows, self.rows_share, epsilon)
        with shipped_choices().followed(yields=True):
            grown = self._grown(source, target, rows, left)
        counts, shares = counts_and_shares(source, target, grown.tree, left - grown.spent)
        return TreeModel(target=target, tree=grown.tree, counts=counts, shares=shares)

    def _grown(self, source: TableSource, target: Target, rows: float, epsilon: Fraction) -> Grown:
        """A tree as deep as the smallest attributes allow."""
        splitting = self.split_share * epsilon
        signal = rows * float(epsilon - splitting) / len(target.classes)
        stop = BySupport(signal, float(self.support), most_leaves(target, scored=True))
        depth = max(1, deepest(target, stop.finest))
        recipe = ChosenRecipe(
            depth=depth,
            stop=stop,
            way="max",
            split_epsilon=splitting / depth,
            cap=min(max(math.ceil(2 * rows), 2), LARGEST_CAP),
            signal=signal,
        )
        return grow(source, target, recipe, PublicRandomness.of(self.seed))


def deepest(target: Target, most: float) -> int:
    """How many levels a tree can have if it divides rows into at most *most* parts: the smallest attributes first."""
    sizes = np.sort([size for size in target.schema.shape if size > 1]).astype(np.float64)
    return int((np.cumprod(sizes) <= most).sum())


@dataclass(frozen=True, kw_only=True)
class Majority(Learner):
    """Counts the classes with the whole ε, without splits."""

    name = "majority"

    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """Refuse a budget that is too small for one count of each class."""
        check_share(epsilon, 1)

    def run(self, source: TableSource, label: str, epsilon: Fraction) -> TreeModel:
        """A tree that is a single leaf."""
        target = Target.of(source.schema, label)
        tree = RowTree.stump(target.schema)
        counts, shares = counts_and_shares(source, target, tree, epsilon)
        return TreeModel(target=target, tree=tree, counts=counts, shares=shares)


@cache
def shipped_choices() -> LearnedChoices:
    """The learned choices of ``adyton train-classifiers --conditionals``."""
    with as_file(files("adyton.learning") / "trained" / FILE) as path:
        return LearnedChoices.load(path)
