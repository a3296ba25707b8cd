"""The classifier that chooses its own method, with the manners of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.learning.estimator import PrivateEstimator
from adyton.learning.learner import Learner
from adyton.learning.registry import learner_named


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateClassifier(PrivateEstimator):
    """A classifier that chooses among trees, forests and naive Bayes by what public tables have taught: each fit is
    ε-differentially private, the choice included.

    *schema* declares the attributes and the *label*, which is categorical or boolean; *epsilon* is what a fit spends at
    most. With a *ledger*, what is spent is written there, and must be left there.

    >>> import adyton as ad
    >>> schema = ad.Schema({"age": ad.Integer(0, 119, step=40), "smoker": ad.Boolean(), "ill": ad.Boolean()})
    >>> rows = {"age": [34, 51, 97] * 400, "smoker": [False, True, True] * 400}
    >>> model = ad.learning.PrivateClassifier(schema=schema, label="ill", epsilon=1)
    >>> model = model.fit(rows, [False, False, True] * 400)
    >>> model.predict({"age": [30, 90], "smoker": [False, True]}).tolist()
    [False, True]
    """

    def _learner(self) -> Learner:
        return learner_named("auto")
