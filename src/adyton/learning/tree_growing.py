"""The builder of all trees: level by level, with one choice of splits per level, then one count of the leaves."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal, Protocol, TypeAlias

import numpy as np

from adyton.arrays import Flags, Integers, Places, Reals
from adyton.errors import BadInput
from adyton.exact import display
from adyton.kernel.mechanisms import SplitChoice
from adyton.kernel.sources import TableSource
from adyton.learning.model import Target
from adyton.plans.algorithm import Within, whole_number
from adyton.queries import Identity
from adyton.schema import RowTree

Seed: TypeAlias = Annotated[int, Within(whole_number, 0)]
"""A whole number, for random choices that can be repeated."""

_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


_AGAIN: ContextVar[Callable[[], int] | None] = ContextVar("again", default=None)


@contextmanager
def repeated(keys: list[int]) -> Iterator[None]:
    """Within the block, the keys in the list are used in their order, and new keys, drawn by the operating system, are
    added to it: a second run with the same list makes the same choices."""
    before = iter(tuple(keys))

    def draw() -> int:
        key = next(before, None)
        if key is None:
            key = secrets.randbits(64)
            keys.append(key)
        return key

    token = _AGAIN.set(draw)
    try:
        yield
    finally:
        _AGAIN.reset(token)


@dataclass(frozen=True)
class PublicRandomness:
    """Random choices that have nothing to do with rows: which attribute a node of a random tree splits on.

    Draws depend on a key and a place alone: a node of a tree, which has a number of its own, draws the same whatever
    happens elsewhere. The draws are public and protect nobody.

    >>> random = PublicRandomness(7)
    >>> allowed = np.array([[True, False, True], [False, False, False]])
    >>> random.picks(np.array([11, 12]), allowed)[1]
    np.int64(-1)
    """

    key: int

    @classmethod
    def of(cls, seed: int | None) -> PublicRandomness:
        """With this seed; without one, with a key from the operating system, or one that :func:`repeated` kept."""
        if seed is None:
            again = _AGAIN.get()
            seed = secrets.randbits(64) if again is None else again()
        return cls(seed)

    def part(self, number: int) -> PublicRandomness:
        """Randomness of its own for one of several parts, such as a tree of a forest."""
        return PublicRandomness(int(self._mixed(np.array([number]))[0]))

    def picks(self, places: Places, allowed: Flags) -> Places:
        """For every place one of the columns that are allowed there, all equally likely; −1 where none is."""
        options = allowed.sum(axis=1)
        number = (self._mixed(places) >> np.uint64(11)).astype(np.float64) / 2.0**53 * options
        wanted = np.minimum(number.astype(np.int64), options - 1)
        picked = (np.cumsum(allowed, axis=1) > wanted[:, None]).argmax(axis=1)
        return np.where(options > 0, picked, -1)

    def order(self, count: int) -> Places:
        """The numbers below *count*, in random order."""
        return np.argsort(self._mixed(np.arange(count)), kind="stable")

    def _mixed(self, places: Places) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
        """64 bits for each place, by Steele, Lea and Flood's SplitMix64 (OOPSLA 2014), twice."""
        with np.errstate(over="ignore"):
            state = np.asarray(places).astype(np.uint64) + np.uint64(self.key * _GOLDEN % 2**64)
            for _ in range(2):
                state = state + np.uint64(_GOLDEN)
                state = (state ^ (state >> np.uint64(30))) * np.uint64(_FIRST)
                state = (state ^ (state >> np.uint64(27))) * np.uint64(_SECOND)
                state = state ^ (state >> np.uint64(31))
        return state


@dataclass(frozen=True, eq=False)
class Frontier:
    """The leaves of a growing tree, in their order. All of it is public."""

    tree: RowTree
    levels: Places
    """The number of cells of every attribute."""
    classes: int
    depth: int
    """How many levels have been split."""
    cells: Reals
    """For every leaf, the product of the sizes of the splits on its path: it is one of so many parts."""
    free: Flags
    """For every leaf and attribute, whether the leaf may still split on it."""
    growing: Flags
    """For every leaf, whether the last splits made it. The other leaves have stopped."""

    @classmethod
    def start(cls, target: Target, among: tuple[int, ...] | None = None) -> Frontier:
        """A single leaf. It may split on these attributes, or on all, but not on attributes of a single cell."""
        levels = np.array(target.schema.shape, dtype=np.int64)
        free = levels > 1
        if among is not None:
            free &= np.isin(np.arange(levels.size), among)
        stump, classes = RowTree.stump(target.schema), len(target.classes)
        return cls(stump, levels, classes, 0, np.ones(1), free[None], np.ones(1, dtype=bool))

    def within(self, most: float) -> Flags:
        """For every leaf and attribute, whether the leaf may split on it into children with ``cells`` ≤ *most*.

        A tree has no more leaves than its largest ``cells``, because its leaves' shares 1/cells add up to 1.
        """
        return np.asarray(self.free & self.growing[:, None] & (self.cells[:, None] * self.levels <= most))

    def split(self, picks: Places) -> Frontier:
        """The leaves once those with a picked attribute have split; −1 is for those that stop."""
        leaves, names = self.tree.leaves, self.tree.attributes
        splitting = np.flatnonzero(picks >= 0)
        grown = self.tree.grow(
            {int(leaves[leaf]): names[picks[leaf]] for leaf in splitting}, dict(zip(names, self.levels, strict=True))
        )
        staying, chosen = picks < 0, picks[splitting]
        sizes = self.levels[chosen]
        free = self.free[splitting].copy()
        free[np.arange(len(splitting)), chosen] = False
        children = int(sizes.sum())
        return Frontier(
            grown,
            self.levels,
            self.classes,
            self.depth + 1,
            np.concatenate([self.cells[staying], np.repeat(self.cells[splitting] * sizes, sizes)]),
            np.concatenate([self.free[staying], np.repeat(free, sizes, axis=0)]),
            np.concatenate([np.zeros(int(staying.sum()), dtype=bool), np.ones(children, dtype=bool)]),
        )


class Stop(Protocol):
    """Says what every leaf may split on; a leaf that may split on nothing has stopped."""

    def allowed(self, frontier: Frontier, sizes: Reals | None) -> Flags:
        """For every leaf and attribute, whether the leaf may split on it; *sizes* are noisy; None if not bought."""


@dataclass(frozen=True)
class AtDepth:
    """Leaves stop when the tree is deep enough, or finer than can be handled."""

    most_leaves: float

    def allowed(self, frontier: Frontier, sizes: Reals | None) -> Flags:
        """Whatever is free."""
        return frontier.within(self.most_leaves)


@dataclass(frozen=True)
class BelowRoot:
    """The root may split on anything; other leaves only into children no finer than *finest*."""

    finest: float
    most_leaves: float

    def allowed(self, frontier: Frontier, sizes: Reals | None) -> Flags:
        """By how finely the rows are split."""
        return frontier.within(min(self.finest, self.most_leaves) if frontier.depth else self.most_leaves)


@dataclass(frozen=True)
class BySize:
    """A leaf stops where its noisy size, divided by the classes and the levels of its largest attribute, is lost in
    noise: size/(t·C) < √2/ε.

    Friedman and Schuster, "Data mining with differential privacy", KDD 2010, Algorithm 2.
    """

    most_leaves: float
    epsilon: float

    def allowed(self, frontier: Frontier, sizes: Reals | None) -> Flags:
        """By the sizes of the leaves."""
        assert sizes is not None
        largest = np.where(frontier.free, frontier.levels, 1).max(axis=1)
        enough = sizes / (largest * frontier.classes) >= math.sqrt(2) / self.epsilon
        return np.asarray(frontier.within(self.most_leaves) & enough[:, None])


@dataclass(frozen=True)
class ByExpectedSize:
    """A leaf stops where its children, if all are equally large, are lost in noise: rows/(cells·L) < √2·C/ε, with L the
    mean number of levels of free attributes.

    Fletcher and Islam, "A differentially private decision forest", AusDM 2015.
    """

    most_leaves: float
    rows: float
    epsilon: float

    def allowed(self, frontier: Frontier, sizes: Reals | None) -> Flags:
        """By the number of all rows."""
        left = np.maximum(frontier.free.sum(axis=1), 1)
        mean = np.where(frontier.free, frontier.levels, 0).sum(axis=1) / left
        expected = self.rows / (frontier.cells * np.maximum(mean, 1))
        enough = expected >= math.sqrt(2) * frontier.classes / self.epsilon
        return np.asarray(frontier.within(self.most_leaves) & enough[:, None])


_MOST_COUNTS = 1 << 22
"""How many counts the leaves of a tree may have in all."""
_MOST_SCORED = 1 << 25
"""How many counts may be looked at to choose the splits of a level."""
_MOST_CHOICES = 1 << 20
"""How many candidates the leaves of a level may have in all."""
LEAST_EPSILON = Fraction(1, 10**6)
"""Below this, the noise of a count exceeds a million rows."""


_LITTLE = 1e-9


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
    """For the choice of splits, for each level."""
    size_epsilon: Fraction = Fraction(0)
    """For the sizes of leaves, for each level; 0 where they are not needed."""
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
    """Grow a tree as the recipe says. The costs of levels add up; the leaves of a level are disjoint."""
    frontier, spent = Frontier.start(target, recipe.among), Fraction(0)
    for _ in range(recipe.depth):
        if not frontier.within(np.inf).any():
            break
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
    """A noisy number of rows for each leaf and class: discrete Laplace noise of scale 1/ε, for ε in all."""
    vector = source.leaves(tree, target.label)
    return vector.measure(Identity(vector.shape), epsilon).answers.astype(np.float64).reshape(vector.shape)


def counts_and_shares(source: TableSource, target: Target, tree: RowTree, epsilon: Fraction) -> tuple[Reals, Reals]:
    """The noisy number of rows of each class in every node, and how frequent each class is, shrunk against noise."""
    counts = summed(tree, leaf_counts(source, target, tree, epsilon))
    return counts, shrunk_shares(tree, counts, 1 / float(epsilon))


def rows_bought(source: TableSource, public: int | None, share: Fraction, epsilon: Fraction) -> tuple[float, Fraction]:
    """The public number of rows, or a noisy one for a share of ε; and what is left of ε."""
    if public is not None:
        return float(max(public, 1)), epsilon
    return float(max(source.count(share * epsilon).value, 1)), epsilon - share * epsilon


def summed(tree: RowTree, leaf_values: Integers | Reals) -> Reals:
    """For every node the sum of its leaves' values, which may have further axes."""
    values = np.zeros((tree.split.size, *leaf_values.shape[1:]))
    values[tree.leaves] = leaf_values
    above = tree.parents()
    for level in reversed(tree.levels()[1:]):
        np.add.at(values, above[level], values[level])
    return values


def leaves_below(tree: RowTree) -> Places:
    """For every node how many leaves it has; 1 for a leaf."""
    return summed(tree, np.ones(len(tree.leaves))).astype(np.int64)


def plain_shares(tree: RowTree, counts: Reals) -> Reals:
    """How frequent each class is in every node, by positive counts; where there are none, as in the node above."""
    positive = np.maximum(counts, 0.0)
    rows = positive.sum(axis=1)
    shares = np.full(counts.shape, 1 / counts.shape[1])
    above = tree.parents()
    for level in tree.levels():
        known = rows[level] > 0
        shares[level] = np.where(
            known[:, None], positive[level] / np.where(known, rows[level], 1)[:, None], shares[above[level]]
        )
    return shares


def shrunk_shares(tree: RowTree, counts: Reals, scale: float) -> Reals:
    """How frequent each class is in every node: as in the node above, plus the difference from it, shrunk.

    A node of z_c noisy rows differs from the one above by r_c = z_c − z·P_c(above), z = Σ z_c. Over all children of one
    node let S be the sum of r², and V what it would be by noise and chance alone: each count has noise of variance
    2b²·(leaves), where b is *scale*, and a sampling variance of z·P_c·(1 − P_c). The part f = max(0, 1 − V/S) of r is
    kept (James and Stein, 1961), and ½·b·√(leaves) rows like those of the node above are added.
    So a split that shows nothing but noise has no effect, and an informative split is hardly smoothed.
    """
    positive, below = np.maximum(counts, 0.0), leaves_below(tree)
    shares = np.empty(counts.shape)
    shares[0] = (positive[0] + 1) / (positive[0] + 1).sum()
    above = tree.parents()
    for level in tree.levels()[1:]:
        parents = above[level]
        expected, rows = shares[parents], positive[level].sum(axis=1, keepdims=True)
        differs = counts[level] - counts[level].sum(axis=1, keepdims=True) * expected
        kept = _kept(differs, expected, rows, np.asarray(2 * scale**2 * below[level, None], dtype=np.float64), parents)
        pseudo = 0.5 * scale * np.sqrt(below[level, None]) + _LITTLE
        q = np.maximum(rows * expected + kept * differs, 0.0) + pseudo * expected
        shares[level] = q / q.sum(axis=1, keepdims=True)
    return shares


def _kept(differs: Reals, expected: Reals, rows: Reals, variance: Reals, parents: Places) -> Reals:
    """For each node the part of its differences that noise and chance do not explain; the same for all its siblings.

    The noise of r_c is that of (1 − P_c)·z_c − P_c·Σ z_d, over the other classes d.
    """
    classes = differs.shape[1]
    noise = variance * ((1 - expected) ** 2 + expected**2 * (classes - 1)) + rows * expected * (1 - expected)
    observed = np.bincount(parents, (differs**2).sum(axis=1))
    likely = np.bincount(parents, noise.sum(axis=1))
    kept = np.maximum(1 - likely / np.maximum(observed, _LITTLE), 0.0)
    return np.asarray(kept[parents, None])


def most_leaves(target: Target, *, scored: bool) -> int:
    """How many leaves a tree may have; fewer if splits are scored, for all leaves at once."""
    classes, sizes = len(target.classes), target.schema.shape
    most = _MOST_COUNTS // classes
    if scored:
        most = min(most, _MOST_SCORED // (classes * sum(size + 1 for size in sizes)), _MOST_CHOICES // len(sizes))
    return max(most, 1)


def check_depth_of(target: Target, depth: int, *, scored: bool) -> None:
    """Refuse a depth at which a tree without any other limit could have too many leaves."""
    largest = sorted((size for size in target.schema.shape if size > 1), reverse=True)[:depth]
    leaves, splitting = math.prod(largest), math.prod(largest[:-1])
    if leaves > most_leaves(target, scored=False) or (scored and splitting > most_leaves(target, scored=True)):
        raise BadInput(
            f"a tree of depth {depth} can have {leaves:,} leaves with {len(target.classes)} classes here; the limit is "
            f"{most_leaves(target, scored=False):,}. Choose a smaller depth, or declare fewer levels or bins."
        )


def check_share(epsilon: Fraction, trees: int) -> None:
    """Refuse trees whose counts would be nothing but noise for any number of rows."""
    if epsilon < LEAST_EPSILON:
        what = "a tree" if trees == 1 else f"one of {trees:,} trees"
        raise BadInput(
            f"{what} would measure with ε = {display(epsilon)}, which is noise of more than a million rows in every "
            f"count. {'Give more' if trees == 1 else 'Grow fewer trees, or give more'} budget."
        )
