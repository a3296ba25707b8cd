"""Learners and models by their names. One is imported when it is asked for, and no other is."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from adyton.errors import BadInput
from adyton.messages import no_such
from adyton.plans.options import with_options

if TYPE_CHECKING:
    from adyton.learning.learner import Learner
    from adyton.learning.model import Model

AUTO = "auto"
"""The method that nobody named."""

_LEARNERS: dict[str, tuple[str, str]] = {
    "auto": ("chosen_method", "ChosenMethod"),
    "chosen": ("chosen_tree", "ChosenTree"),
    "contingency": ("consistent_tables", "Contingency"),
    "fletcher-islam": ("random_trees", "FletcherIslam"),
    "friedman-schuster": ("scored_trees", "FriedmanSchuster"),
    "jagannathan": ("random_trees", "Jagannathan"),
    "majority": ("majority", "Majority"),
    "mohammed": ("scored_trees", "Mohammed"),
    "naive-bayes": ("naive_bayes", "NaiveBayes"),
    "naive-bayes-tree": ("naive_bayes_tree", "NaiveBayesTree"),
    "patil-singh": ("scored_trees", "PatilSingh"),
    "profiled-tree": ("profiled_tree", "ProfiledTree"),
    "select-ls": ("consistent_tables", "SelectLs"),
    "workload": ("consistent_tables", "Workload"),
    "workload-ls": ("consistent_tables", "WorkloadLs"),
}
"""The file and the class of every learner."""

_MODELS: dict[str, tuple[str, str]] = {
    "forest": ("forest_model", "ForestModel"),
    "naive-bayes": ("class_profiles", "ClassProfiles"),
    "naive-bayes-tree": ("leaf_profiles", "LeafProfiles"),
    "profiled-tree": ("profiled_tree_model", "ProfiledTreeModel"),
    "tree": ("tree_model", "TreeModel"),
}
"""The file and the class of every kind of model."""


def learners() -> list[str]:
    """The names of all learners.

    >>> "naive-bayes" in learners()
    True
    """
    return sorted(_LEARNERS)


def learner_type(name: str) -> type[Learner]:
    """The class of the learner of this name."""
    if name not in _LEARNERS:
        raise BadInput(no_such("learner", name, learners()))
    found: type[Learner] = _found(*_LEARNERS[name])
    return found


def learner_named(name: str, **options: Any) -> Learner:
    """The learner of this name, with these options."""
    return with_options(learner_type(name), name, options)


def learner_for(method: object, **options: Any) -> Learner:
    """The learner of a method; ``auto`` is one that chooses."""
    if not isinstance(method, str) or method not in _LEARNERS:
        raise BadInput(no_such("method", method, learners()))
    return learner_named(method, **options)


def model_type(kind: str) -> type[Model]:
    """The class of the models of this kind."""
    if kind not in _MODELS:
        raise BadInput(no_such("kind of model", kind, sorted(_MODELS)))
    found: type[Model] = _found(*_MODELS[kind])
    return found


def _found(module: str, name: str) -> Any:
    return getattr(import_module(f"adyton.learning.{module}"), name)
