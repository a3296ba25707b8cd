"""The model of a decision tree: which attribute every node splits on, and how frequent each class is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.errors import BadInput
from adyton.learning.model import Model, real_array
from adyton.learning.target import Target
from adyton.learning.tree_text import drawn
from adyton.messages import listing
from adyton.schema import RowTree

_SHOWN = 60
"""How many lines of a tree are shown where nobody asked for more."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeModel(Model):
    """P(class | row) is that of the leaf that the row reaches.

    A row without a cell where a node asks for one stays at that node, and is predicted from all rows there.
    """

    kind = "tree"

    tree: RowTree
    counts: Reals
    """The noisy number of rows of each class in every node: of an inner one, the sum of its leaves."""
    shares: Reals
    """How probable each class is in every node."""

    @property
    def rows(self) -> float:
        """Those of the root."""
        return max(0.0, float(self.counts[0].sum()))

    def _probabilities(self, codes: Integers) -> Reals:
        return np.asarray(self.shares[self.tree.node_of(codes)])

    def learnt(self) -> dict[str, Any]:
        """The splits, and the numbers of every node."""
        return {
            "split": self.tree.split.tolist(),
            "first": self.tree.first.tolist(),
            "counts": self.counts.tolist(),
            "shares": self.shares.tolist(),
        }

    @classmethod
    def from_learnt(cls, target: Target, learnt: Any) -> TreeModel:
        """With a tree that splits as the attributes do."""
        if learnt.keys() != {"split", "first", "counts", "shares"}:
            raise BadInput("a tree has the keys 'split', 'first', 'counts', 'shares'.")
        tree = tree_of(target, learnt["split"], learnt["first"])
        shape = (tree.split.size, len(target.classes))
        counts = real_array(learnt["counts"], shape, "counts")
        shares = real_array(learnt["shares"], shape, "shares")
        if (shares < 0).any() or not np.allclose(shares.sum(axis=1), 1, atol=1e-6):
            raise BadInput("shares must be at least 0 and add up to 1 in each node.")
        return cls(target=target, tree=tree, counts=counts, shares=shares)

    def explain(self) -> str:
        """How large the tree is, and its upper part."""
        used = [self.tree.attributes[place] for place in np.unique(self.tree.split[self.tree.split >= 0])]
        what = f"splits on {listing(used)}" if used else "nothing was split"
        leaves = len(self.tree.leaves)
        return (
            f"Decision tree: {self.label!r} by {leaves:,} {'leaf' if leaves == 1 else 'leaves'} of depth "
            f"{self.tree.depth}; {what}. Counts are noisy.\n{self.draw(most=_SHOWN)}"
        )

    def draw(self, *, most: int | None = None) -> str:
        """The tree as a text, a line for each node: its noisy count, its most probable class and how probable it is.

        Of a large tree, the *most* important lines: nodes near the root first.
        """
        return drawn(self, most)


def tree_of(target: Target, split: Any, first: Any) -> RowTree:
    """A stranger's tree over the attributes of a target."""
    lists = [split, first]
    if not all(isinstance(one, list) and all(type(number) is int for number in one) for one in lists):
        raise BadInput("the nodes of a tree are lists of whole numbers.")
    tree = RowTree(target.schema.names, np.array(split, dtype=np.int64), np.array(first, dtype=np.int64))
    tree.check_schema(target.schema)
    return tree
