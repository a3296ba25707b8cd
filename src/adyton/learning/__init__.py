"""Classifiers that learn from private tables: naive Bayes and decision trees, as tasks and as scikit-learn estimators.

Start with ``classifier`` (what ``session.fit`` takes and returns) and ``registry`` (all methods by name). Names are
looked up when first used: ``__init__.pyi`` says where they are.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
