"""The model of a forest: several trees, whose probabilities are averaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.errors import BadInput
from adyton.learning.model import Model
from adyton.learning.target import Target
from adyton.learning.tree_model import TreeModel

MOST_TREES = 1000
_DRAWN = 12
"""How many lines of the first tree are shown."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ForestModel(Model):
    """P(class | row) is the mean over the trees of what each says."""

    kind = "forest"

    trees: tuple[TreeModel, ...]

    @property
    def rows(self) -> float:
        """Every tree has counted them: the mean of what they say."""
        return sum(one.rows for one in self.trees) / len(self.trees)

    def _probabilities(self, codes: Integers) -> Reals:
        total = np.zeros((len(codes), len(self.classes)))
        for one in self.trees:
            total += one._probabilities(codes)
        return np.asarray(total / len(self.trees))

    def learnt(self) -> dict[str, Any]:
        """Its trees, one after the other."""
        return {"trees": [one.learnt() for one in self.trees]}

    @classmethod
    def from_learnt(cls, target: Target, learnt: Any) -> ForestModel:
        """With at least one tree."""
        if learnt.keys() != {"trees"} or not isinstance(learnt["trees"], list):
            raise BadInput("a forest has a list of 'trees'.")
        if not 0 < len(learnt["trees"]) <= MOST_TREES:
            raise BadInput(f"a forest has 1 to {MOST_TREES:,} trees, given {len(learnt['trees']):,}.")
        return cls(target=target, trees=tuple(TreeModel.from_learnt(target, one) for one in learnt["trees"]))

    def explain(self) -> str:
        """How many trees there are, what they split on, and the upper part of the first."""
        leaves = [len(one.tree.leaves) for one in self.trees]
        return (
            f"Forest: {self.label!r} by the mean of {len(self.trees)} trees with {min(leaves):,} to {max(leaves):,} "
            f"leaves each. Counts are noisy. The first tree:\n{self.draw(most=_DRAWN)}"
        )

    def draw(self, tree: int = 0, *, most: int | None = None) -> str:
        """One of its trees as a text, by its number."""
        if tree not in range(len(self.trees)):
            raise BadInput(f"there are {len(self.trees)} trees, numbered from 0. Ask for one of them.")
        return self.trees[tree].draw(most=most)
