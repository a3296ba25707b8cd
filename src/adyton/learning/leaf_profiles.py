"""The model of a naive-Bayes tree: a tree whose nodes each have class profiles of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.errors import BadInput
from adyton.learning.model import Model, real_array
from adyton.learning.target import Target
from adyton.learning.tree_model import tree_of
from adyton.learning.tree_text import drawn
from adyton.messages import listing
from adyton.remembered import cached_property
from adyton.schema import RowTree

_SHOWN = 40
_LEAST = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class LeafProfiles(Model):
    """P(class | row) ∝ P(class | leaf) · ∏ P(value of attribute j | class, leaf), over attributes that are no splits.

    A row without a cell where a node asks for one stays at that node, and is predicted from the profiles there.
    """

    kind = "naive-bayes-tree"

    tree: RowTree
    counts: Reals
    """The noisy number of rows of each class in every node."""
    shares: Reals
    """How frequent each class is in every node."""
    profiles: tuple[Reals, ...]
    """For each attribute P(cell | class, node), of shape (nodes, cells, classes); 1 where the path has used it."""

    @property
    def rows(self) -> float:
        """Those of the root."""
        return max(0.0, float(self.counts[0].sum()))

    @cached_property
    def _tables(self) -> list[Reals]:
        """log P(cell | class, node), with a last cell of zeros: it is what the code −1 points at."""
        nodes, classes = self.shares.shape
        nothing = np.zeros((nodes, 1, classes))
        return [np.concatenate([np.log(np.maximum(one, _LEAST)), nothing], axis=1) for one in self.profiles]

    def _probabilities(self, codes: Integers) -> Reals:
        nodes = self.tree.node_of(codes)
        scores = np.log(np.maximum(self.shares[nodes], _LEAST))
        for place, table in enumerate(self._tables):
            scores += table[nodes, codes[:, place]]
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        return np.asarray(scores)

    def learnt(self) -> dict[str, Any]:
        """The splits, and the numbers of every node."""
        return {
            "split": self.tree.split.tolist(),
            "first": self.tree.first.tolist(),
            "counts": self.counts.tolist(),
            "shares": self.shares.tolist(),
            "profiles": [one.tolist() for one in self.profiles],
        }

    @classmethod
    def from_learnt(cls, target: Target, learnt: Any) -> LeafProfiles:
        """With a tree that splits as the attributes do, and a profile for each of them."""
        if learnt.keys() != {"split", "first", "counts", "shares", "profiles"}:
            raise BadInput("a naive-Bayes tree has the keys 'split', 'first', 'counts', 'shares', 'profiles'.")
        if len(learnt["profiles"]) != len(target.schema.names):
            raise BadInput(f"a naive-Bayes tree has a profile for each of {listing(target.schema.names)}.")
        tree = tree_of(target, learnt["split"], learnt["first"])
        shape = (tree.split.size, len(target.classes))
        counts = real_array(learnt["counts"], shape, "counts")
        shares = real_array(learnt["shares"], shape, "shares")
        if (shares < 0).any() or not np.allclose(shares.sum(axis=1), 1, atol=1e-6):
            raise BadInput("shares must be at least 0 and add up to 1 in each node.")
        profiles = tuple(
            real_array(plain, (shape[0], size, shape[1]), "profiles")
            for plain, size in zip(learnt["profiles"], target.schema.shape, strict=True)
        )
        if any((one < 0).any() or (one > 1 + 1e-6).any() for one in profiles):
            raise BadInput("profiles must be from 0 to 1.")
        return cls(target=target, tree=tree, counts=counts, shares=shares, profiles=profiles)

    def explain(self) -> str:
        """The tree, by the most frequent class of its nodes."""
        used = [self.tree.attributes[place] for place in np.unique(self.tree.split[self.tree.split >= 0])]
        what = f"splits on {listing(used)}" if used else "nothing was split"
        leaves = len(self.tree.leaves)
        return (
            f"Naive-Bayes tree: {self.label!r} by {leaves:,} {'leaf' if leaves == 1 else 'leaves'} of depth "
            f"{self.tree.depth}; {what}. Every leaf has class profiles of the other attributes. Counts are noisy.\n"
            f"{self.draw(most=_SHOWN)}"
        )

    def draw(self, *, most: int | None = None) -> str:
        """The tree as a text, a line for each node, with its most frequent class before the profiles are asked."""
        return drawn(self, most)
