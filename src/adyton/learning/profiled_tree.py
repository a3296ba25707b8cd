"""A small tree of private splits, and beside it profiles of attributes that the tree has no room for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from adyton.arrays import Flags, Reals
from adyton.kernel.mechanisms import SplitChoice
from adyton.kernel.sources import TableSource
from adyton.learning.chosen_tree import deepest
from adyton.learning.class_tables import check_tables, class_vectors, measured_table
from adyton.learning.learner import Learner
from adyton.learning.node_profiles import unused
from adyton.learning.profiled_tree_model import ProfiledTreeModel, weighed_profile
from adyton.learning.public_randomness import PublicRandomness
from adyton.learning.stopping import BelowRoot
from adyton.learning.target import Target
from adyton.learning.tree_counts import shrunk_shares, summed
from adyton.learning.tree_growing import Grown, Recipe, grow, leaf_counts
from adyton.learning.tree_limits import check_share, most_leaves
from adyton.plans.algorithm import Positive, Share, Whole, Within, whole_number
from adyton.schema import RowTree


@dataclass(frozen=True, kw_only=True)
class ProfiledTree(Learner):
    """A tree of few levels, whose root may split on any attribute. Further nodes split while their children stand out
    of noise. Where rows and ε suffice, a part of ε is for profiles of further attributes: as many as can be measured
    well, chosen privately, one table by class each. In a leaf, their evidence is added to that of the tree.

    Evidence is not added at its face value: what noise and chance explain of a table is taken away, and half of the
    rest counts, since attributes repeat what others have told. A tree alone has too few levels where many attributes
    each tell a little; naive Bayes alone spends on attributes that tell nothing, and counts twice what two repeat.
    """

    name = "profiled-tree"

    rows: Whole | None = None
    """A public number of rows, if there is one; else a noisy one is bought."""
    rows_share: Share = Fraction(1, 20)
    """The part of ε that it may cost."""
    split_share: Share = Fraction(3, 10)
    """The part of the tree's budget that chooses splits."""
    depth: Annotated[int, Within(whole_number, 1, 20)] = 3
    """How many levels the tree has at most."""
    support: Positive = Fraction(3)
    """How much support the children of a node below the root must have: rows of a class, in units of the noise."""
    profile_share: Share = Fraction(3, 10)
    """The part of the budget that is for profiles, if there are any."""
    choice_share: Share = Fraction(1, 4)
    """The part of that which chooses attributes, if not all have room."""
    profile_support: Positive = Fraction(2)
    """How much support the cells of a profile must have."""
    weight: Share = Fraction(1, 2)
    """How much the evidence of a profile counts."""

    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """However many profiles there are in the end, no part of the budget is too small for a count."""
        check_tables(target)
        left = (1 - self.rows_share) * epsilon
        tree, profiles = (1 - self.profile_share) * left, self.profile_share * left / len(target.schema.names)
        parts = [self.rows_share * epsilon, self.split_share * tree / self.depth, (1 - self.split_share) * tree]
        check_share(min([*parts, self.choice_share * profiles, (1 - self.choice_share) * profiles]), 1)

    def run(self, source: TableSource, label: str, epsilon: Fraction) -> ProfiledTreeModel:
        """The number of rows, the splits, the leaves; then the profiles."""
        target = Target.of(source.schema, label)
        counting = Fraction(0) if self.rows is not None else self.rows_share * epsilon
        rows = float(max(source.count(counting).value if self.rows is None else self.rows, 1))
        left = epsilon - counting
        most = self._room(target, rows, left)
        grown = self._grown(source, target, rows, left if not most else (1 - self.profile_share) * left)
        free = unused(grown.tree)[grown.tree.leaves].any(axis=0) & (np.array(target.schema.shape) > 1)
        profiling = self.profile_share * left if most and free.any() else Fraction(0)
        leaf_epsilon = left - profiling - grown.spent
        counts = summed(grown.tree, leaf_counts(source, target, grown.tree, leaf_epsilon))
        shares = shrunk_shares(grown.tree, counts, 1 / float(leaf_epsilon))
        profiles = [np.ones((size, len(target.classes))) for size in target.schema.shape]
        if profiling:
            for place, table in self._profiles(source, target, free, most, profiling, shares[0]).items():
                profiles[place] = table
        return ProfiledTreeModel(target=target, tree=grown.tree, counts=counts, shares=shares, profiles=tuple(profiles))

    def _room(self, target: Target, rows: float, epsilon: Fraction) -> int:
        """How many profiles can be measured well: of m, a cell has rows·ε/(m·L·C) rows a class in units of its noise,
        if the attributes have L cells (the median) and there are C classes."""
        sizes = sorted(target.schema.shape)
        cells = sizes[len(sizes) // 2] * len(target.classes)
        measuring = (1 - self.choice_share) * self.profile_share * epsilon
        return min(int(rows * float(measuring / self.profile_support) / cells), len(sizes))

    def _grown(self, source: TableSource, target: Target, rows: float, epsilon: Fraction) -> Grown:
        """The tree; its levels share what chooses splits."""
        splitting = self.split_share * epsilon
        finest = rows * float((epsilon - splitting) / self.support) / len(target.classes)
        most = most_leaves(target, scored=True)
        depth = min(self.depth, max(1, deepest(target, min(finest, most))))
        stop = BelowRoot(finest, most)
        recipe = Recipe(depth=depth, stop=stop, way="max", split_epsilon=splitting / depth)
        return grow(source, target, recipe, PublicRandomness(0))

    def _profiles(
        self, source: TableSource, target: Target, free: Flags, most: int, epsilon: Fraction, prior: Reals
    ) -> dict[int, Reals]:
        """The weighed profiles by attribute: of all that are free, or of those that predict best alone."""
        places, left = np.flatnonzero(free).tolist(), epsilon
        if most < len(places):
            choosing = self.choice_share * epsilon
            places, left = _best(source, target, free, most, choosing / most), epsilon - choosing
        each = left / len(places)
        vectors = class_vectors(source, [target.schema.names[place] for place in places], target.label).values()
        tables = [measured_table(vector, each) for vector in vectors]
        weight, scale = float(self.weight), 1 / float(each)
        return {
            place: weighed_profile(table, prior, scale, weight) for place, table in zip(places, tables, strict=True)
        }


def _best(source: TableSource, target: Target, free: Flags, most: int, each: Fraction) -> list[int]:
    """So many attributes that predict best alone, one private choice after the other."""
    stump, candidates, found = RowTree.stump(target.schema), free.copy(), []
    for _ in range(most):
        (best,) = source.choose_splits(SplitChoice(stump, candidates[None], target.label, "max"), each)
        candidates[best] = False
        found.append(int(best))
    return found
