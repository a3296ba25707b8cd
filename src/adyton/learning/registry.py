"""Learners and models by their names. One is imported when it is asked for, and no other is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adyton.plans.registry import Registry

if TYPE_CHECKING:
    from adyton.learning.learner import Learner
    from adyton.learning.model import Model

AUTO = "auto"
"""The method that nobody named."""

LEARNERS: Registry[Learner] = Registry(
    "method",
    {
        "auto": "learning.chosen_method:ChosenMethod",
        "chosen": "learning.chosen_tree:ChosenTree",
        "contingency": "learning.consistent_tables:Contingency",
        "fletcher-islam": "learning.random_trees:FletcherIslam",
        "friedman-schuster": "learning.scored_trees:FriedmanSchuster",
        "jagannathan": "learning.random_trees:Jagannathan",
        "majority": "learning.majority:Majority",
        "mohammed": "learning.scored_trees:Mohammed",
        "naive-bayes": "learning.naive_bayes:NaiveBayes",
        "naive-bayes-tree": "learning.naive_bayes_tree:NaiveBayesTree",
        "patil-singh": "learning.scored_trees:PatilSingh",
        "profiled-tree": "learning.profiled_tree:ProfiledTree",
        "select-ls": "learning.consistent_tables:SelectLs",
        "workload": "learning.consistent_tables:Workload",
        "workload-ls": "learning.consistent_tables:WorkloadLs",
    },
)
MODELS: Registry[Model] = Registry(
    "kind of model",
    {
        "forest": "learning.forest_model:ForestModel",
        "naive-bayes": "learning.class_profiles:ClassProfiles",
        "naive-bayes-tree": "learning.leaf_profiles:LeafProfiles",
        "profiled-tree": "learning.profiled_tree_model:ProfiledTreeModel",
        "tree": "learning.tree_model:TreeModel",
    },
    key="kind",
)


def learners() -> list[str]:
    """The names of all learners.

    >>> "naive-bayes" in learners()
    True
    """
    return LEARNERS.names()


def learner_named(name: object, **options: Any) -> Learner:
    """The learner of this name, with these options; ``auto`` is one that chooses."""
    return LEARNERS.named(name, **options)
