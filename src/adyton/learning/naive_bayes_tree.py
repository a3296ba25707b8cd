"""Naive-Bayes trees: a few private splits, and naive Bayes below them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from adyton.errors import BadInput
from adyton.kernel.sources import TableSource
from adyton.learning.class_profiles import check_tables
from adyton.learning.model import Target
from adyton.learning.profiled_tree import measured_profiles
from adyton.learning.public_randomness import PublicRandomness
from adyton.learning.registry import Learner
from adyton.learning.tree_growing import AtDepth, Recipe, check_depth_of, check_share, grow
from adyton.learning.tree_model import LeafProfiles
from adyton.plans.algorithm import MOST_CELLS, Share, Within, whole_number


@dataclass(frozen=True, kw_only=True)
class NaiveBayesTree(Learner):
    """A part of ε chooses splits by permute-and-flip on the max score; the rest measures a table of each attribute by
    leaf and class. Leaves borrow pseudo-counts from the nodes above them, and at the root from all rows.

    It is good where there are many rows: attributes may then depend on one another within a class. Without splits it is
    naive Bayes.
    """

    name = "naive-bayes-tree"

    depth: Annotated[int, Within(whole_number, 1, 20)] = 1
    """How many levels are split."""
    split_share: Share = Fraction(1, 5)
    """The part of ε that chooses splits."""

    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """Not too many leaves, and not too many numbers in them."""
        check_tables(target)
        check_depth_of(target, self.depth, scored=True)
        sizes = sorted((size for size in target.schema.shape if size > 1), reverse=True)
        cells = 2 * math.prod(sizes[: self.depth]) * sum(target.schema.shape) * len(target.classes)
        if cells > MOST_CELLS:
            raise BadInput(
                f"profiles in the leaves of a tree of depth {self.depth} can have {cells:,} numbers here, allowed are "
                f"{MOST_CELLS:,}. Choose a smaller depth, or declare fewer levels or bins."
            )
        parts = [self.split_share / self.depth, (1 - self.split_share) / len(target.schema.names)]
        check_share(epsilon * min(parts), 1)

    def run(self, source: TableSource, label: str, epsilon: Fraction) -> LeafProfiles:
        """The splits, then the tables."""
        target = Target.of(source.schema, label)
        recipe = Recipe(
            depth=self.depth,
            stop=AtDepth(math.inf),
            way="max",
            split_epsilon=self.split_share * epsilon / self.depth,
        )
        grown = grow(source, target, recipe, PublicRandomness(0))
        return measured_profiles(source, target, grown.tree, epsilon - grown.spent)
