"""The one builder of trees: level by level, one private choice of splits a level, and one count of the leaves."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from adyton.arrays import Flags, Places, Reals
from adyton.kernel.mechanisms import SplitChoice
from adyton.kernel.sources import TableSource
from adyton.learning.frontier import Frontier
from adyton.learning.public_randomness import PublicRandomness
from adyton.learning.stopping import Stop
from adyton.learning.target import Target
from adyton.queries import Identity
from adyton.schema import RowTree

Way: TypeAlias = Literal["random", "max", "gini", "entropy"]
"""How an attribute is chosen: at random, or privately by a score."""
WAYS: tuple[Way, ...] = ("max", "gini", "entropy", "random")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How one tree is grown, and what every level of it costs."""

    depth: int
    stop: Stop
    way: Way
    split_epsilon: Fraction = Fraction(0)
    """For the choice of splits, a level."""
    size_epsilon: Fraction = Fraction(0)
    """For the sizes of leaves, a level; 0 where nobody asks for them."""
    cap: int = 0
    """The public cap of the entropy."""
    among: tuple[int, ...] | None = None
    """The attributes that the tree may use, None for all."""
    sizes_at_end: bool = False
    """Whether sizes are bought for the last level too, where nothing can be split any more."""

    def way_at(self, frontier: Frontier, allowed: Flags) -> Way:
        """How the attributes of a level are chosen."""
        return self.way


@dataclass(frozen=True, eq=False)
class Grown:
    """A tree, and what it has cost."""

    tree: RowTree
    spent: Fraction


def grow(source: TableSource, target: Target, recipe: Recipe, random: PublicRandomness) -> Grown:
    """Grow a tree as the recipe says. Levels are paid one after the other; the leaves of a level are disjoint."""
    among = None if recipe.among is None else np.array(recipe.among, dtype=np.int64)
    frontier, spent = Frontier.start(target, among), Fraction(0)
    for _ in range(recipe.depth):
        if not frontier.within(np.inf).any():
            break  # every attribute is used up
        sizes = None
        if recipe.size_epsilon:
            sizes = leaf_sizes(source, frontier.tree, recipe.size_epsilon)
            spent += recipe.size_epsilon
        allowed = recipe.stop.allowed(frontier, sizes)
        if not allowed.any():
            break
        way = recipe.way_at(frontier, allowed)
        picks = _picks(source, target, frontier, allowed, way, recipe, random)
        spent += recipe.split_epsilon if way != "random" else 0
        frontier = frontier.split(picks)
    if recipe.sizes_at_end and frontier.depth == recipe.depth:
        leaf_sizes(source, frontier.tree, recipe.size_epsilon)
        spent += recipe.size_epsilon
    return Grown(frontier.tree, spent)


def _picks(
    source: TableSource,
    target: Target,
    frontier: Frontier,
    allowed: Flags,
    way: Way,
    recipe: Recipe,
    random: PublicRandomness,
) -> Places:
    """For every leaf the number of the attribute that it splits on, −1 where it stops."""
    if way == "random":
        return random.picks(frontier.tree.places, allowed)
    choice = SplitChoice(frontier.tree, allowed, target.label, way, recipe.cap)
    return np.array(source.choose_splits(choice, recipe.split_epsilon), dtype=np.int64)


def leaf_sizes(source: TableSource, tree: RowTree, epsilon: Fraction) -> Reals:
    """A noisy number of rows for each leaf."""
    vector = source.leaves(tree)
    return vector.measure(Identity(vector.shape), epsilon).answers.astype(np.float64).reshape(-1)


def leaf_counts(source: TableSource, target: Target, tree: RowTree, epsilon: Fraction) -> Reals:
    """A noisy number of rows for each leaf and class: discrete Laplace noise of scale 1/ε, all for one ε."""
    vector = source.leaves(tree, target.label)
    return vector.measure(Identity(vector.shape), epsilon).answers.astype(np.float64).reshape(vector.shape)
