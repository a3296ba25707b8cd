"""The majority: the most frequent class for every row. What cannot be predicted is best predicted like this."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from adyton.kernel.sources import TableSource
from adyton.learning.frontier import Frontier
from adyton.learning.learner import Learner
from adyton.learning.target import Target
from adyton.learning.tree_counts import shrunk_shares, summed
from adyton.learning.tree_growing import leaf_counts
from adyton.learning.tree_limits import check_share
from adyton.learning.tree_model import TreeModel


@dataclass(frozen=True, kw_only=True)
class Majority(Learner):
    """Counts the classes with the whole of ε, and splits nothing."""

    name = "majority"

    def check(self, source: TableSource, target: Target, epsilon: Fraction) -> None:
        """A single count for each class."""
        check_share(epsilon, 1)

    def run(self, source: TableSource, label: str, epsilon: Fraction) -> TreeModel:
        """A tree that is a single leaf."""
        target = Target.of(source.schema, label)
        tree = Frontier.start(target, None).tree
        counts = summed(tree, leaf_counts(source, target, tree, epsilon))
        shares = shrunk_shares(tree, counts, 1 / float(epsilon))
        return TreeModel(target=target, tree=tree, counts=counts, shares=shares)
