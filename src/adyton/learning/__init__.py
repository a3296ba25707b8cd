"""Classifiers that learn from private tables: naive Bayes and decision trees, with the manners of scikit-learn.

Names are looked up in their files when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_FILES = {
    "Classifier": "adyton.learning.classifier",
    "FittedClassifier": "adyton.learning.fitted_classifier",
    "Learner": "adyton.learning.registry",
    "Model": "adyton.learning.model",
    "PrivateClassifier": "adyton.learning.estimator",
    "PrivateDecisionTreeClassifier": "adyton.learning.estimator",
    "PrivateNaiveBayes": "adyton.learning.estimator",
    "PrivateRandomForestClassifier": "adyton.learning.estimator",
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
    from adyton.learning.estimator import PrivateClassifier as PrivateClassifier
    from adyton.learning.estimator import PrivateDecisionTreeClassifier as PrivateDecisionTreeClassifier
    from adyton.learning.estimator import PrivateNaiveBayes as PrivateNaiveBayes
    from adyton.learning.estimator import PrivateRandomForestClassifier as PrivateRandomForestClassifier
    from adyton.learning.fitted_classifier import FittedClassifier as FittedClassifier
    from adyton.learning.model import Model as Model
    from adyton.learning.registry import Learner as Learner
    from adyton.learning.registry import learners as learners


def __getattr__(name: str) -> Any:
    if name in _FILES:
        return getattr(import_module(_FILES[name]), name)
    raise AttributeError(f"module 'adyton.learning' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
