"""Models made of decision trees: one tree, a forest, a tree with profiles in its leaves; and how a tree is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.arrays import Integers, Reals
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.learning.model import Model, Target, real_array
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


_SHOWN_PROFILES = 40
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
            f"{self.draw(most=_SHOWN_PROFILES)}"
        )

    def draw(self, *, most: int | None = None) -> str:
        """The tree as a text, a line for each node, with its most frequent class before the profiles are asked."""
        return drawn(self, most)


def drawn(model: TreeModel | LeafProfiles, most: int | None = None) -> str:
    """Every node below the one that it was split from; at most so many lines, those near the root first.

    A line says the noisy number of rows, the most probable class, and how probable it is.
    """
    tree = model.tree
    shown = shown_nodes(model, most)
    above, sizes = tree.parents(), tree.sizes
    lines: list[str] = []
    stack = [(0, "", "")]
    while stack:
        node, head, indent = stack.pop()
        lines.append(head + _line(model, node, int(above[node])))
        children = [
            child for child in range(int(tree.first[node]), int(tree.first[node] + sizes[node])) if shown[child]
        ]
        if sizes[node] and not children:
            lines[-1] += f" … {int(sizes[node])} branches by {tree.attributes[tree.split[node]]}"
        for child in reversed(children):
            last = child == children[-1]
            stack.append((child, indent + ("└─ " if last else "├─ "), indent + ("   " if last else "│  ")))
    return "\n".join(lines)


def shown_nodes(model: TreeModel | LeafProfiles, most: int | None) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which nodes are shown: whole families, from the root down."""
    tree = model.tree
    shown = np.zeros(tree.split.size, dtype=bool)
    shown[0], left = True, tree.split.size if most is None else most - 1
    sizes = tree.sizes
    for level in tree.levels():
        for node in level[(tree.split[level] >= 0) & shown[level]]:
            if sizes[node] <= left:
                shown[tree.first[node] : tree.first[node] + sizes[node]] = True
                left -= int(sizes[node])
    return shown


def _line(model: TreeModel | LeafProfiles, node: int, above: int) -> str:
    tree = model.tree
    what = "all rows"
    if node:
        name = tree.attributes[tree.split[above]]
        what = f"{name} = {model.schema.attributes[name].labels[node - tree.first[above]]}"
    place = int(model.shares[node].argmax())
    rows = round(float(model.counts[node].sum()))
    return f"{what}: {model.classes[place]} ({model.shares[node, place]:.0%}; about {max(rows, 0):,} rows)"


def tree_of(target: Target, split: Any, first: Any) -> RowTree:
    """A stranger's tree over the attributes of a target."""
    lists = [split, first]
    if not all(isinstance(one, list) and all(type(number) is int for number in one) for one in lists):
        raise BadInput("the nodes of a tree are lists of whole numbers.")
    tree = RowTree(target.schema.names, np.array(split, dtype=np.int64), np.array(first, dtype=np.int64))
    tree.check_schema(target.schema)
    return tree
