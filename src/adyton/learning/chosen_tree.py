"""The chosen tree: greedy, as deep as the noise allows; whether a node splits and how are learned conditionals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Flags, Reals
from adyton.kernel.sources import TableSource
from adyton.learning.frontier import Frontier
from adyton.learning.learner import Learner
from adyton.learning.public_randomness import PublicRandomness
from adyton.learning.target import Target
from adyton.learning.tree_counts import pooled_shares, summed
from adyton.learning.tree_growing import Recipe, grow, leaf_counts
from adyton.learning.tree_limits import check_share, most_leaves
from adyton.learning.tree_model import TreeModel
from adyton.plans.options import Positive, Share, Whole


@dataclass(frozen=True)
class BySupport:
    """A leaf splits on an attribute while its children can be expected to stand out of noise: cells·L ≤ rows·ε/(s·C).

    rows·ε/(cells·C) is the support of a node: the rows that each class could have there, in units of the noise. At
    least s of it is asked for.
    """

    most_leaves: float
    signal: float
    """rows·ε/C: the support of the root."""
    least: float

    def allowed(self, frontier: Frontier, sizes: Reals | None) -> Flags:
        """Whatever leaves enough support."""
        return frontier.within(min(self.signal / self.least, self.most_leaves))


@dataclass(frozen=True, kw_only=True)
class ChosenTree(Learner):
    name = "chosen"

    rows: Whole | None = None
    rows_share: Share = Fraction(1, 20)
    split_share: Share = Fraction(3, 10)
    support: Positive = Fraction(3)

    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        check_share(epsilon * self.rows_share, 1)

    def learn(self, source: TableSource, label: str, epsilon: Fraction) -> TreeModel:
        target = Target.of(source.schema, label)
        counting = Fraction(0) if self.rows else self.rows_share * epsilon
        rows = float(self.rows or max(source.count(counting).value, 1))
        left = epsilon - counting
        splitting = self.split_share * left
        signal = rows * float(left - splitting) / len(target.classes)
        stop = BySupport(most_leaves(target, scored=True), signal, float(self.support))
        depth = deepest(target, min(stop.signal / stop.least, stop.most_leaves))
        recipe = Recipe(depth=depth, stop=stop, way="max", split_epsilon=splitting / max(depth, 1))
        grown = grow(source, target, recipe, PublicRandomness(0))
        last = left - grown.spent
        counts = summed(grown.tree, leaf_counts(source, target, grown.tree, last))
        shares = pooled_shares(grown.tree, counts, 1 / float(last))
        return TreeModel(target=target, tree=grown.tree, counts=counts, shares=shares)


def deepest(target: Target, most: float) -> int:
    """How many levels a tree can have whose leaves are so fine at most: the smallest attributes first."""
    sizes = np.sort([size for size in target.schema.shape if size > 1]).astype(float)
    return int((np.cumprod(sizes) <= most).sum())
