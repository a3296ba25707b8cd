"""The selector of the Pythia paper: one decision tree for each representative workload, under a public root."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from adyton.arrays import Reals
from adyton.choice.decision import Looks
from adyton.choice.decision_tree import Leaf, Split, Tree, all_features, from_plain, most_features, to_plain, walk
from adyton.errors import BadInput
from adyton.exact import Rational
from adyton.exact import share as part_of_budget
from adyton.kernel.sources import VectorSource
from adyton.queries import Queries
from adyton.selection.selector import CELLS, Choice, Selector, Training, feature_named
from adyton.selection.workload_kinds import cheapest, kind_of
from adyton.solving.nonnegative import project_to_ball


@dataclass(frozen=True, eq=False)
class TreeSelector(Selector):
    """Walks down a tree and buys each feature when the tree asks for it, never twice, and no others.

    Each costs share·ε / d, where d is the most private features on any path of the tree: no path can cost more than
    share·ε, and what a path does not spend goes to the algorithm.

    Kotsogiannis, Machanavajjhala, Hay and Miklau, "Pythia: data dependent differentially private algorithm selection",
    SIGMOD 2017, Algorithm 3.
    """

    kind = "tree"
    usual_share: ClassVar[Fraction] = Fraction(1, 100)

    training: Training
    share: Fraction
    trees: dict[str, Tree]
    """By the representative workload."""

    def choose(
        self, x: VectorSource, workload: Queries, epsilon: Fraction, total: int | None = None, *, ordered: bool = True
    ) -> Choice:
        """Walk down the tree of the workload's kind."""
        self.check(workload, epsilon)
        usable, notes = self.available(workload, ordered=ordered)
        tree = self.trees[kind_of(workload, self.trees)]
        public = {CELLS: float(x.cells)} | ({} if total is None else {"scale": float(epsilon) * total})
        price = self.share * epsilon / max(1, most_features(tree, frozenset(public)))
        looks = Looks(lambda feature: feature_named(feature).buy(x, epsilon, price), public)
        leaf, _ = walk(tree, looks)
        name = leaf.algorithm if leaf.algorithm in usable else cheapest(leaf.regrets.items(), usable)
        choice = Choice(name, epsilon - looks.spent, looks.bought, leaf.regrets, notes)
        single = len(workload.domain) == 1 and kind_of(workload, self.trees) == "identity"
        return replace(choice, finished=single and choice.total is not None)

    def features(self) -> frozenset[str]:
        """All that some tree asks for."""
        return frozenset[str]().union(*map(all_features, self.trees.values())) - {CELLS}

    def finish(self, cells: Reals, choice: Choice, workload: Queries) -> Reals:
        """On a line, where single cells are asked about: the nearest estimate whose cells add up, without their signs,
        to no more than the noisy number of rows and a slack of the scale of its noise."""
        if choice.total is None or not choice.finished:
            return cells
        most = float(choice.total.value) + float(1 / choice.total.epsilon)
        return project_to_ball(cells, np.maximum(0.0, most))

    def learnt(self) -> dict[str, Any]:
        """The trees."""
        return {name: to_plain(tree) for name, tree in self.trees.items()}

    @classmethod
    def from_learnt(cls, training: Training, share: Rational, learnt: Any) -> TreeSelector:
        """The selector with these trees."""
        if not isinstance(learnt, dict) or not learnt or training.dimensions > 2:
            raise BadInput("this is not a tree selector for one or two dimensions: it has no trees.")
        trees = {str(name): from_plain(tree) for name, tree in learnt.items()}
        for tree in trees.values():
            _check(tree, training)
        return cls(training, part_of_budget(share, "share"), trees)

    def in_words(self) -> str:
        """The trees, one question a line."""
        return "\n\n".join(f"{name}:\n{_words(tree)}" for name, tree in self.trees.items())


def _check(tree: Tree, training: Training) -> None:
    """Refuse a tree that asks for what cannot be bought, or ends in what cannot be compared."""
    if isinstance(tree, Split):
        if tree.feature != CELLS:
            feature_named(tree.feature)
        if not np.isfinite(tree.threshold):
            raise BadInput(f"a tree asks about {tree.feature} with a threshold that is no number.")
        for side in (tree.left, tree.right):
            _check(side, training)
    elif tree.algorithm not in training.algorithms or tree.regrets.keys() != set(training.algorithms):
        raise BadInput("a tree ends in algorithms that are not those of the selector.")
    elif not np.isfinite(list(tree.regrets.values())).all():
        raise BadInput("a tree ends in regrets that are no numbers.")


def _words(tree: Tree, indent: int = 1) -> str:
    space = "  " * indent
    if isinstance(tree, Leaf):
        return f"{space}{tree.algorithm} (expected regret {tree.regrets[tree.algorithm]:.3f})"
    return (
        f"{space}{tree.feature} at most {tree.threshold:.6g}:\n{_words(tree.left, indent + 1)}\n"
        f"{space}else:\n{_words(tree.right, indent + 1)}"
    )
