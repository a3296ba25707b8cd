"""Classifiers that learn from private tables: naive Bayes and decision trees, with the manners of scikit-learn.

Names are looked up in their files when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_FILES = {
    "Classifier": "adyton.learning.classifier",
    "FittedClassifier": "adyton.learning.fitted_classifier",
    "Learner": "adyton.learning.learner",
    "Model": "adyton.learning.model",
    "PrivateClassifier": "adyton.learning.private_classifier",
    "PrivateDecisionTreeClassifier": "adyton.learning.private_trees",
    "PrivateNaiveBayes": "adyton.learning.private_naive_bayes",
    "PrivateRandomForestClassifier": "adyton.learning.private_trees",
    "learners": "adyton.learning.registry",
}

__all__ = [
    "Classifier",
    "FittedClassifier",
    "Learner",
    "Model",
    "PrivateClassifier",
    "PrivateDecisionTreeClassifier",
    "PrivateNaiveBayes",
    "PrivateRandomForestClassifier",
    "learners",
]

if TYPE_CHECKING:
    from adyton.learning.classifier import Classifier as Classifier
    from adyton.learning.fitted_classifier import FittedClassifier as FittedClassifier
    from adyton.learning.learner import Learner as Learner
    from adyton.learning.model import Model as Model
    from adyton.learning.private_classifier import PrivateClassifier as PrivateClassifier
    from adyton.learning.private_naive_bayes import PrivateNaiveBayes as PrivateNaiveBayes
    from adyton.learning.private_trees import PrivateDecisionTreeClassifier as PrivateDecisionTreeClassifier
    from adyton.learning.private_trees import PrivateRandomForestClassifier as PrivateRandomForestClassifier
    from adyton.learning.registry import learners as learners


def __getattr__(name: str) -> Any:
    if name in _FILES:
        return getattr(import_module(_FILES[name]), name)
    raise AttributeError(f"module 'adyton.learning' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
