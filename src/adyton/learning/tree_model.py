"""Models made of decision trees: a single tree, a tree with class profiles, a forest; and how a tree is drawn."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from adyton.arrays import Flags, Integers, Places, Reals
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.learning.model import Model, Target, normalised, real_array
from adyton.messages import listing
from adyton.schema import RowTree

NO_ROWS = "too few rows to tell"
"""What is said of a node whose noisy number of rows is not above 0."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeModel(Model):
    """P(class | row) is the distribution of the leaf that the row reaches.

    A row whose value has no cell at a split stays at that node, and is predicted from all rows there.
    """

    kind = "tree"
    noun: ClassVar[str] = "tree"
    heading: ClassVar[str] = "Decision tree"
    _PARTS: ClassVar[tuple[str, ...]] = ("split", "first", "counts", "shares")
    _SHOWN: ClassVar[int] = 60
    """How many lines of the tree are shown by default."""

    tree: RowTree
    counts: Reals
    """The noisy number of rows of each class in every node; for an inner node, the sum over its leaves."""
    shares: Reals
    """How probable each class is in every node."""

    @property
    def rows(self) -> float:
        """The noisy number of rows at the root."""
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
        """Read from plain values; the tree must match the attributes."""
        return cls(**cls._parts(target, learnt))

    @classmethod
    def _parts(cls, target: Target, learnt: Any) -> dict[str, Any]:
        """The fields by name, from plain values; nothing in these is trusted."""
        if learnt.keys() != set(cls._PARTS):
            raise BadInput(f"a {cls.noun} has the keys {listing(cls._PARTS)}.")
        tree = _tree_of(target, learnt["split"], learnt["first"])
        shape = (tree.split.size, len(target.classes))
        counts, shares = (real_array(learnt[name], shape, name) for name in ("counts", "shares"))
        if (shares < 0).any() or not np.allclose(shares.sum(axis=1), 1, atol=1e-6):
            raise BadInput("shares must be at least 0 and add up to 1 in each node.")
        return {"target": target, "tree": tree, "counts": counts, "shares": shares}

    def explain(self) -> str:
        """How large the tree is, and its upper part."""
        used = [self.tree.attributes[place] for place in np.unique(self.tree.split[self.tree.split >= 0])]
        what = f"splits on {listing(used)}" if used else "nothing was split"
        leaves = len(self.tree.leaves)
        return (
            f"{self.heading}: {self.label!r} by {leaves:,} {'leaf' if leaves == 1 else 'leaves'} of depth "
            f"{self.tree.depth}; {what}. {self._remark()}Counts are noisy.\n{self.draw(most=self._SHOWN)}"
        )

    def _remark(self) -> str:
        """A sentence on what else the leaves hold."""
        return ""

    def draw(self, *, most: int | None = None) -> str:
        """The tree as text, one line for each node: its noisy count, its most probable class and how probable it is.

        With *most*, at most this many nodes of a large tree: those near the root first.
        """
        tree = self.tree
        shown = shown_nodes(self, most)
        above, sizes = tree.parents(), tree.sizes
        lines: list[str] = []
        stack = [(0, "", "")]
        while stack:
            node, head, indent = stack.pop()
            lines.append(head + self._line(node, int(above[node])))
            children = [
                child for child in range(int(tree.first[node]), int(tree.first[node] + sizes[node])) if shown[child]
            ]
            if sizes[node] and not children:
                lines[-1] += f" … {int(sizes[node])} branches by {tree.attributes[tree.split[node]]}"
            for child in reversed(children):
                last = child == children[-1]
                stack.append((child, indent + ("└─ " if last else "├─ "), indent + ("   " if last else "│  ")))
        return "\n".join(lines)

    def _line(self, node: int, above: int) -> str:
        """The noisy number of rows of a node, its most probable class, and how probable it is."""
        tree, what = self.tree, "all rows"
        if node:
            name = tree.attributes[tree.split[above]]
            what = f"{name} = {self.schema.attributes[name].labels[node - tree.first[above]]}"
        place = int(self.shares[node].argmax())
        rows = round(float(self.counts[node].sum()))
        if rows <= 0:
            return f"{what}: {NO_ROWS}; predicted is {self.classes[place]}"
        return f"{what}: {self.classes[place]} ({self.shares[node, place]:.0%}; about {rows:,} rows)"


def shown_nodes(model: TreeModel, most: int | None) -> Flags:
    """Which nodes are shown: all children of a node or none, from the root down, at most *most* in total."""
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


def _tree_of(target: Target, split: Any, first: Any) -> RowTree:
    """A tree over the attributes of a target, from plain values."""
    lists = [split, first]
    if not all(isinstance(nodes, list) and all(type(number) is int for number in nodes) for nodes in lists):
        raise BadInput("the nodes of a tree are lists of whole numbers.")
    tree = RowTree(target.schema.names, np.array(split, dtype=np.int64), np.array(first, dtype=np.int64))
    tree.check_schema(target.schema)
    return tree


_LEAST = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class _TreeWithProfiles(TreeModel):
    """A tree in which further attributes have a profile: what each of their cells says about the classes."""

    _PARTS = (*TreeModel._PARTS, "profiles")

    profiles: tuple[Reals, ...]

    @cached_property
    def _tables(self) -> list[Reals]:
        """The logarithms of the profiles, with a last cell of zeros, for the code −1."""
        logarithms = [np.log(np.maximum(profile, _LEAST)) for profile in self.profiles]
        return [np.concatenate([table, np.zeros_like(table[..., :1, :])], axis=-2) for table in logarithms]

    def _probabilities(self, codes: Integers) -> Reals:
        nodes = self.tree.node_of(codes)
        scores = np.log(np.maximum(self.shares[nodes], _LEAST))
        for place, table in enumerate(self._tables):
            self._add_evidence(scores, table, place, nodes, codes[:, place])
        return normalised(scores)

    @abstractmethod
    def _add_evidence(self, scores: Reals, table: Reals, place: int, nodes: Places, codes: Integers) -> None:
        """Add what the profile of an attribute says to the scores of the classes, row by row."""

    def learnt(self) -> dict[str, Any]:
        """The tree, and the profiles."""
        return {**super().learnt(), "profiles": [profile.tolist() for profile in self.profiles]}

    @classmethod
    def _parts(cls, target: Target, learnt: Any) -> dict[str, Any]:
        """The fields by name; there must be a profile for each attribute."""
        parts = super()._parts(target, learnt)
        if len(learnt["profiles"]) != len(target.schema.names):
            raise BadInput(f"a {cls.noun} has a profile for each of {listing(target.schema.names)}.")
        profiles = tuple(
            real_array(plain, (*cls._profile_axes(parts["tree"]), size, len(target.classes)), "profiles")
            for plain, size in zip(learnt["profiles"], target.schema.shape, strict=True)
        )
        if any((profile < 0).any() or (profile > 1 + 1e-6).any() for profile in profiles):
            raise BadInput("profiles must be from 0 to 1.")
        return {**parts, "profiles": profiles}

    @classmethod
    @abstractmethod
    def _profile_axes(cls, tree: RowTree) -> tuple[int, ...]:
        """The axes of a profile before those of the cells and the classes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LeafProfiles(_TreeWithProfiles):
    """P(class | row) ∝ P(class | leaf) · ∏ P(value of attribute j | class, leaf), over attributes not split on.

    A row whose value has no cell at a split stays at that node, and is predicted from the profiles there. A
    profile is P(cell | class, node), of shape (nodes, cells, classes); 1 where the path has used the attribute.
    """

    kind = "naive-bayes-tree"
    noun = "naive-Bayes tree"
    heading = "Naive-Bayes tree"
    _SHOWN = 40

    def _add_evidence(self, scores: Reals, table: Reals, place: int, nodes: Places, codes: Integers) -> None:
        scores += table[nodes, codes]

    @classmethod
    def _profile_axes(cls, tree: RowTree) -> tuple[int, ...]:
        return (tree.split.size,)

    def _remark(self) -> str:
        return "Every leaf has class profiles of the other attributes. "


@dataclass(frozen=True, kw_only=True, eq=False)
class ProfiledTreeModel(_TreeWithProfiles):
    """P(class | row) ∝ P(class | leaf) · ∏ P(value of attribute j | class)^w_j, over attributes that the path to the
    leaf has not split on. The powers w_j, at most 1, are part of the profiles.

    A row whose value has no cell at a split stays at that node; a value without a cell in a profile has no factor. A
    profile has the factors P(cell | class)^w, of shape (cells, classes); 1 where nothing was measured.
    """

    kind = "profiled-tree"
    noun = "profiled tree"

    @cached_property
    def _unused(self) -> Flags:
        return unused(self.tree)

    def _add_evidence(self, scores: Reals, table: Reals, place: int, nodes: Places, codes: Integers) -> None:
        if table.any():
            scores += table[codes] * self._unused[nodes, place, None]

    @classmethod
    def _profile_axes(cls, tree: RowTree) -> tuple[int, ...]:
        return ()

    def explain(self) -> str:
        """The tree, and which attributes have profiles."""
        names = [name for name, table in zip(self.schema.names, self._tables, strict=True) if table.any()]
        words = f"Profiles of {listing(names)} add evidence in its leaves." if names else "No attribute has a profile."
        return f"{words} {super().explain()}"


def unused(tree: RowTree) -> Flags:
    """For every node and attribute, whether the path to the node has not split on it."""
    free = np.ones((tree.split.size, len(tree.attributes)), dtype=bool)
    above = tree.parents()
    for level in tree.levels()[1:]:
        free[level] = free[above[level]]
        free[level, tree.split[above[level]]] = False
    return free


MOST_TREES = 1000
_DRAWN = 12
"""How many lines of the first tree are shown."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ForestModel(Model):
    """P(class | row) is the mean over the trees."""

    kind = "forest"

    trees: tuple[TreeModel, ...]

    @property
    def rows(self) -> float:
        """The mean of the trees' noisy numbers of rows."""
        return sum(tree.rows for tree in self.trees) / len(self.trees)

    def _probabilities(self, codes: Integers) -> Reals:
        total = np.zeros((len(codes), len(self.classes)))
        for tree in self.trees:
            total += tree._probabilities(codes)
        return np.asarray(total / len(self.trees))

    def learnt(self) -> dict[str, Any]:
        """The trees, one after another."""
        return {"trees": [tree.learnt() for tree in self.trees]}

    @classmethod
    def from_learnt(cls, target: Target, learnt: Any) -> ForestModel:
        """Read from plain values; there must be at least one tree."""
        if learnt.keys() != {"trees"} or not isinstance(learnt["trees"], list):
            raise BadInput("a forest has a list of 'trees'.")
        if not 0 < len(learnt["trees"]) <= MOST_TREES:
            raise BadInput(f"a forest has 1 to {MOST_TREES:,} trees, given {len(learnt['trees']):,}.")
        return cls(target=target, trees=tuple(TreeModel.from_learnt(target, tree) for tree in learnt["trees"]))

    def explain(self) -> str:
        """How many trees there are, how many leaves they have, and the upper part of the first."""
        leaves = [len(tree.tree.leaves) for tree in self.trees]
        return (
            f"Forest: {self.label!r} by the mean of {len(self.trees)} trees with {min(leaves):,} to {max(leaves):,} "
            f"leaves each. Counts are noisy. The first tree:\n{self.draw(most=_DRAWN)}"
        )

    def draw(self, tree: int = 0, *, most: int | None = None) -> str:
        """One of its trees as text, by its number."""
        if tree not in range(len(self.trees)):
            raise BadInput(f"there are {len(self.trees)} trees, numbered from 0. Ask for one of them.")
        return self.trees[tree].draw(most=most)
