"""What published private trees and forests have in common.

Their scores have global sensitivities here (entropy with a public cap instead of the number of rows), are monotone and
are chosen from by permute-and-flip; trees on the same rows share ε, stopping included; and wherever an algorithm asks
for the number of rows, a noisy one is bought, or a public one is given.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, TypeAlias

from adyton.kernel.sources import TableSource
from adyton.learning.divided_rows import check_division, divided
from adyton.learning.forest_model import MOST_TREES, ForestModel
from adyton.learning.learner import Learner
from adyton.learning.public_randomness import PublicRandomness, Seed
from adyton.learning.target import Target
from adyton.learning.tree_counts import plain_shares, summed
from adyton.learning.tree_growing import Recipe, Way, grow, leaf_counts
from adyton.learning.tree_limits import check_depth_of, check_share
from adyton.learning.tree_model import TreeModel
from adyton.plans.algorithm import Within, whole_number

Trees: TypeAlias = Annotated[int, Within(whole_number, 1, MOST_TREES)]
"""How many trees a forest has."""
FEWEST = 10.0
"""A noisy number of rows counts as so many at least."""


@dataclass(frozen=True, kw_only=True)
class PublishedTrees(Learner):
    """What the published algorithms have in common: one tree or several in sequence, and plain frequencies."""

    seed: Seed | None = None
    """For random attributes, which are public; without one the operating system draws them."""
    divided_by: str | None = None
    """An attribute that divides the rows among the trees of a forest: each tree learns from other rows, with all of ε.
    It should have nothing to do with the label, such as a lot that was drawn for each row; it is no split itself."""

    @abstractmethod
    def recipe(self, target: Target, epsilon: Fraction, rows: float, random: PublicRandomness) -> Recipe:
        """How one tree is grown with this budget, which its leaves' counts share."""

    @abstractmethod
    def least(self, target: Target, epsilon: Fraction) -> Fraction:
        """The smallest ε that a measurement gets."""

    def deepest(self, target: Target) -> int | None:
        """A depth that its trees can reach whatever the rows; None if the number of rows limits it."""
        return None

    def how_many(self, target: Target) -> int:
        """How many trees share the budget."""
        return 1

    def counting(self, target: Target, epsilon: Fraction) -> Fraction:
        """What a noisy number of rows costs; 0 where nobody asks for it."""
        return Fraction(0)

    def way(self) -> Way:
        """How attributes are chosen."""
        return "random"

    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """Not too many leaves, and not too many trees."""
        trees = self.how_many(target)
        if self.divided_by is not None:
            target = check_division(source, target, self.divided_by, trees)
            epsilon *= trees
        check_share(self.least(target, epsilon), trees)
        depth = self.deepest(target)
        if depth is not None:
            check_depth_of(target, depth, scored=self.way() != "random")

    def run(self, source: TableSource, label: str, epsilon: Fraction) -> TreeModel | ForestModel:
        """One tree after the other: every tree has an equal part of the budget for all that it does.

        Trees on rows that are divided have all of it each: the kernel charges them as one.
        """
        target, random = Target.of(source.schema, label), PublicRandomness.of(self.seed)
        counting, trees = self.counting(target, epsilon), self.how_many(target)
        rows = max(float(source.count(counting).value), FEWEST) if counting else self.known_rows()
        if self.divided_by is None:
            each, sources = (epsilon - counting) / trees, (source,) * trees
        else:
            each, rows = epsilon - counting, max(rows / trees, FEWEST)
            sources = divided(source, self.divided_by, trees)
            target = Target.of(sources[0].schema, label)
        grown = tuple(self._tree(part, target, each, rows, random.part(number)) for number, part in enumerate(sources))
        return grown[0] if trees == 1 else ForestModel(target=target, trees=grown)

    def known_rows(self) -> float:
        """A public number of rows, where none is bought."""
        return FEWEST

    def leaves(self, epsilon: Fraction, spent: Fraction) -> Fraction:
        """What the classes in the leaves of a tree are counted with: all that is left."""
        return epsilon - spent

    def finish(self, target: Target, model: TreeModel) -> TreeModel:
        """What is done with a tree in the end."""
        return model

    def _tree(
        self, source: TableSource, target: Target, epsilon: Fraction, rows: float, random: PublicRandomness
    ) -> TreeModel:
        grown = grow(source, target, self.recipe(target, epsilon, rows, random), random)
        counts = summed(grown.tree, leaf_counts(source, target, grown.tree, self.leaves(epsilon, grown.spent)))
        shares = plain_shares(grown.tree, counts)
        return self.finish(target, TreeModel(target=target, tree=grown.tree, counts=counts, shares=shares))
