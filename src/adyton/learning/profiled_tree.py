"""Trees with class profiles: a small tree with profiles of further attributes, the default method; and naive-Bayes
trees, which are a few private splits with naive Bayes below them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from adyton.arrays import Flags, Places, Reals
from adyton.errors import BadInput
from adyton.kernel.mechanisms import SplitChoice
from adyton.kernel.sources import TableSource
from adyton.learning.chosen_tree import deepest
from adyton.learning.class_profiles import check_tables, class_vectors, measured_table
from adyton.learning.evidence import USUAL, Evidence, others, repetition
from adyton.learning.model import Target
from adyton.learning.registry import Learner
from adyton.learning.tree_growing import (
    AtDepth,
    BelowRoot,
    Grown,
    PublicRandomness,
    Recipe,
    check_depth_of,
    check_share,
    counts_and_shares,
    grow,
    leaf_counts,
    leaves_below,
    most_leaves,
    rows_bought,
    summed,
)
from adyton.learning.tree_model import LeafProfiles, ProfiledTreeModel, unused
from adyton.plans.algorithm import MOST_CELLS, Positive, Share, Whole, Within, whole_number
from adyton.queries import Identity
from adyton.schema import RowTree

_LITTLE = 0.01
"""A pseudo-count, in rows: no class is impossible."""
_SEEN = 280
"""How many rows, in units of the noise and times the other attributes, are enough to see a correlation of 0.1."""
_MOST_COMPARED = 100
"""With more classes, it is not computed how much attributes repeat one another."""


@dataclass(frozen=True, kw_only=True)
class ProfiledTree(Learner):
    """A tree of few levels, whose root may split on any attribute. Further nodes split while their children stand out
    from noise. Where rows and ε suffice, a part of ε is for profiles of further attributes: as many attributes as can
    be measured well, chosen privately, each with a table by class. In a leaf, their evidence is added to that of the
    tree.

    Evidence does not count in full: the part of a table that noise and chance explain is removed, and the rest counts
    the less, the more the attributes repeat one another. A small part of ε measures how much they do (see
    :func:`repetition`); where it would not suffice, what is usual on public tables is assumed. A tree alone has too few
    levels where many attributes are each weakly informative; naive Bayes alone spends on uninformative attributes, and
    counts twice what two attributes repeat.
    """

    name = "profiled-tree"

    rows: Whole | None = None
    """The number of rows, if it is public; otherwise a noisy number is bought."""
    rows_share: Share = Fraction(1, 20)
    """The part of ε that the number of rows may cost."""
    split_share: Share = Fraction(3, 10)
    """The part of the tree's budget that chooses splits."""
    depth: Annotated[int, Within(whole_number, 1, 20)] = 3
    """The most levels that the tree may have."""
    support: Positive = Fraction(3)
    """The support that the children of a node below the root must have: rows of a class, in units of the noise."""
    profile_share: Share = Fraction(1, 4)
    """The part of the budget for profiles, if there are any."""
    choice_share: Share = Fraction(1, 4)
    """The part of the profiles' budget that chooses attributes, if not all can be measured."""
    profile_support: Positive = Fraction(2)
    """The support that the cells of a profile must have."""
    repetition_share: Share = Fraction(1, 5)
    """The part of the profiles' budget that measures how much attributes repeat one another, if that can be seen."""
    weight: Share = Fraction(3, 5)
    """The weight of a profile's evidence, if no attribute repeats another."""

    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """Refuse a budget of which some part would be too small for a count, however many profiles there are."""
        check_tables(target)
        left = (1 - self.rows_share) * epsilon
        tree, profiles = (1 - self.profile_share) * left, self.profile_share * left / len(target.schema.names)
        parts = [self.rows_share * epsilon, self.split_share * tree / self.depth, (1 - self.split_share) * tree]
        measuring = (1 - self.choice_share) * profiles
        tables = [self.repetition_share * measuring, (1 - self.repetition_share) * measuring]
        check_share(min([*parts, self.choice_share * profiles, *tables]), 1)

    def run(self, source: TableSource, label: str, epsilon: Fraction) -> ProfiledTreeModel:
        """Measure the number of rows, choose the splits, count the leaves; then measure the profiles."""
        target = Target.of(source.schema, label)
        rows, left = rows_bought(source, self.rows, self.rows_share, epsilon)
        most = self._room(target, rows, left)
        grown = self._grown(source, target, rows, left if not most else (1 - self.profile_share) * left)
        free = unused(grown.tree)[grown.tree.leaves].any(axis=0) & (np.array(target.schema.shape) > 1)
        profiling = self.profile_share * left if most and free.any() else Fraction(0)
        leaf_epsilon = left - profiling - grown.spent
        counts, shares = counts_and_shares(source, target, grown.tree, leaf_epsilon)
        profiles = [np.ones((size, len(target.classes))) for size in target.schema.shape]
        if profiling:
            for place, table in self._profiles(source, target, free, most, profiling, shares[0], rows).items():
                profiles[place] = table
        return ProfiledTreeModel(target=target, tree=grown.tree, counts=counts, shares=shares, profiles=tuple(profiles))

    def _room(self, target: Target, rows: float, epsilon: Fraction) -> int:
        """How many profiles can be measured well: with m profiles, L cells in an attribute (the median) and C classes,
        a cell has rows·ε/(m·L·C) rows of a class, in units of its noise."""
        sizes = sorted(target.schema.shape)
        cells = sizes[len(sizes) // 2] * len(target.classes)
        measuring = (1 - self.choice_share) * self.profile_share * epsilon
        return min(int(rows * float(measuring / self.profile_support) / cells), len(sizes))

    def _grown(self, source: TableSource, target: Target, rows: float, epsilon: Fraction) -> Grown:
        """The tree; its levels share the budget for splits."""
        splitting = self.split_share * epsilon
        finest = rows * float((epsilon - splitting) / self.support) / len(target.classes)
        most = most_leaves(target, scored=True)
        depth = min(self.depth, max(1, deepest(target, min(finest, most))))
        stop = BelowRoot(finest, most)
        recipe = Recipe(depth=depth, stop=stop, way="max", split_epsilon=splitting / depth)
        return grow(source, target, recipe, PublicRandomness(0))

    def _profiles(
        self, source: TableSource, target: Target, free: Flags, most: int, epsilon: Fraction, prior: Reals, rows: float
    ) -> dict[int, Reals]:
        """The weighted profiles by attribute: of all free attributes, or of those that predict best alone."""
        places, left = np.flatnonzero(free).tolist(), epsilon
        if most < len(places):
            choosing = self.choice_share * epsilon
            places, left = _best(source, target, free, most, choosing / most), epsilon - choosing
        comparing, few = self.repetition_share * left, len(target.classes) <= _MOST_COMPARED
        if not few or rows * float(comparing) * (len(places) - 1) < _SEEN:
            comparing = Fraction(0)
        part = (left - comparing) / len(places)
        vectors = class_vectors(source, [target.schema.names[place] for place in places], target.label).values()
        tables = [measured_table(vector, part) for vector in vectors]
        evidence = [Evidence.of(table, prior, 1 / float(part)) for table in tables]
        repeats = repetition(source, target, places, evidence, prior, comparing) if comparing else USUAL
        weight = float(self.weight) / (1 + repeats * (others(evidence) if few else len(evidence) - 1))
        return {place: one.profile(weight) for place, one in zip(places, evidence, strict=True)}


def _best(source: TableSource, target: Target, free: Flags, most: int, epsilon: Fraction) -> list[int]:
    """The *most* attributes that predict best alone, by one private choice with ε after another."""
    stump, candidates, chosen = RowTree.stump(target.schema), free.copy(), []
    for _ in range(most):
        (best,) = source.choose_splits(SplitChoice(stump, candidates[None], target.label, "max"), epsilon)
        candidates[best] = False
        chosen.append(int(best))
    return chosen


@dataclass(frozen=True, kw_only=True)
class NaiveBayesTree(Learner):
    """A part of ε chooses splits by permute-and-flip on the max score; the rest measures a table of each attribute by
    leaf and class. Leaves borrow pseudo-counts from the nodes above them, and at the root from all rows.

    It is good where there are many rows: attributes may then depend on one another within a class. Without splits it is
    naive Bayes.
    """

    name = "naive-bayes-tree"

    depth: Annotated[int, Within(whole_number, 1, 20)] = 1
    """The number of levels that are split."""
    split_share: Share = Fraction(1, 5)
    """The part of ε that chooses splits."""

    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """Refuse trees with too many leaves, or too many numbers in them."""
        check_tables(target)
        check_depth_of(target, self.depth, scored=True)
        sizes = sorted((size for size in target.schema.shape if size > 1), reverse=True)
        cells = 2 * math.prod(sizes[: self.depth]) * sum(target.schema.shape) * len(target.classes)
        if cells > MOST_CELLS:
            raise BadInput(
                f"profiles in the leaves of a tree of depth {self.depth} can have {cells:,} numbers here; at most "
                f"{MOST_CELLS:,} are allowed. Choose a smaller depth, or declare fewer levels or bins."
            )
        parts = [self.split_share / self.depth, (1 - self.split_share) / len(target.schema.names)]
        check_share(epsilon * min(parts), 1)

    def run(self, source: TableSource, label: str, epsilon: Fraction) -> LeafProfiles:
        """Choose the splits, then measure the tables."""
        target = Target.of(source.schema, label)
        splitting = self.split_share * epsilon / self.depth
        recipe = Recipe(depth=self.depth, stop=AtDepth(math.inf), way="max", split_epsilon=splitting)
        grown = grow(source, target, recipe, PublicRandomness(0))
        return measured_profiles(source, target, grown.tree, epsilon - grown.spent)


def measured_profiles(source: TableSource, target: Target, tree: RowTree, epsilon: Fraction) -> LeafProfiles:
    """A table of each attribute that some leaf's path has not split on, each with an equal part of ε; all leaves at
    once.

    Pseudo-counts come from the node above: q = max(z, 0) + (b·π_c + ½)·L·P(v | c, above), for noise of scale b and L
    cells. Those of the root come from a uniform distribution, so that a tree without splits is the naive Bayes of the
    recipe.
    """
    nodes, free = tree.split.size, unused(tree)
    measured = np.flatnonzero(free[tree.leaves].any(axis=0))
    sizes = target.schema.shape
    if not measured.size:
        return _plain(source, target, tree, epsilon)
    part = epsilon / len(measured)
    scale = 1 / float(part)
    tables: dict[int, Reals] = {}
    for place in measured.tolist():
        vector = source.leaves(tree, target.schema.names[place], target.label)
        answers = vector.measure(Identity(vector.shape), part).answers
        tables[place] = summed(tree, answers.astype(np.float64).reshape(vector.shape))
    counts, weight = _totals(tree, tables, free, sizes)
    shares = _shares(tree, counts, scale * np.sqrt(2 * leaves_below(tree) / weight))
    profiles = []
    for place, size in enumerate(sizes):
        if place in tables:
            profiles.append(_profile(tree, tables[place], free[:, place], shares, scale))
        else:
            profiles.append(np.ones((nodes, size, len(target.classes))))
    return LeafProfiles(target=target, tree=tree, counts=counts, shares=shares, profiles=tuple(profiles))


def _totals(tree: RowTree, tables: dict[int, Reals], free: Flags, sizes: tuple[int, ...]) -> tuple[Reals, Reals]:
    """The rows of each class in every leaf, by the inverse-variance average of the tables' sums; and its precision.

    The sum of L cells has L times the variance of one. An attribute that the path has split on has a single cell
    there: the others are empty, whatever the rows. Nodes above are sums of their leaves.
    """
    leaves = tree.leaves
    weights = np.zeros(len(leaves))
    total = np.zeros((len(leaves), next(iter(tables.values())).shape[2]))
    for place, table in tables.items():
        inside = table[leaves]
        alone = ~free[leaves, place]
        own = np.zeros(inside.shape[0], dtype=np.int64)
        if alone.any():
            own = _cell_on_path(tree, place)[leaves]
        sums = np.where(alone[:, None], inside[np.arange(len(leaves)), own], inside.sum(axis=1))
        weight = np.where(alone, 1.0, 1 / sizes[place])
        weights += weight
        total += weight[:, None] * sums
    counts = summed(tree, total / weights[:, None])
    precision = leaves_below(tree) / summed(tree, 1 / weights)
    return counts, precision


def _cell_on_path(tree: RowTree, place: int) -> Places:
    """For every node, the cell of an attribute that its path goes through; 0 where the path has not split on it."""
    cells, above = np.zeros(tree.split.size, dtype=np.int64), tree.parents()
    for level in tree.levels()[1:]:
        parents = above[level]
        cells[level] = np.where(tree.split[parents] == place, level - tree.first[parents], cells[parents])
    return cells


def _shares(tree: RowTree, counts: Reals, deviation: Reals) -> Reals:
    """How frequent each class is: negative counts count as 0, and pseudo-counts come from the node above."""
    shares, above = np.empty(counts.shape), tree.parents()
    rows = max(float(counts[0].sum()), 1.0)
    shares[0] = np.maximum(counts[0] / rows, 0.5 / max(rows, 20.0))
    shares[0] /= shares[0].sum()
    for level in tree.levels()[1:]:
        q = np.maximum(counts[level], 0) + deviation[level, None] * shares[above[level]] + _LITTLE
        shares[level] = q / q.sum(axis=1, keepdims=True)
    return shares


def _profile(tree: RowTree, table: Reals, free: Flags, shares: Reals, scale: float) -> Reals:
    """P(cell | class, node) for one attribute; 1 where the path has used it."""
    profile, above = np.ones(table.shape), tree.parents()
    size = table.shape[1]
    noise = scale * np.sqrt(leaves_below(tree))
    for level in tree.levels():
        nodes = level[free[level]]
        prior = np.full((len(nodes), *table.shape[1:]), 1 / size) if not level[0] else profile[above[nodes]]
        pseudo = (noise[nodes, None] * shares[nodes] + 0.5)[:, None, :] * size * prior
        q = np.maximum(table[nodes], 0) + pseudo
        profile[nodes] = q / q.sum(axis=1, keepdims=True)
    return profile


def _plain(source: TableSource, target: Target, tree: RowTree, epsilon: Fraction) -> LeafProfiles:
    """The model where no attribute is left for profiles: only the classes in the leaves are counted."""
    counts = summed(tree, leaf_counts(source, target, tree, epsilon))
    shares = _shares(tree, counts, np.sqrt(2 * leaves_below(tree)) / float(epsilon))
    profiles = tuple(np.ones((tree.split.size, size, len(target.classes))) for size in target.schema.shape)
    return LeafProfiles(target=target, tree=tree, counts=counts, shares=shares, profiles=profiles)
