"""Naive Bayes with the manners of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adyton.learning.estimator import PrivateEstimator
from adyton.learning.learner import Learner
from adyton.learning.registry import learner_named


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateNaiveBayes(PrivateEstimator):
    """A naive Bayes classifier that learns from noisy counts: each fit is ε-differentially private.

    *schema* declares the attributes and the *label*, which is categorical or boolean; *epsilon* is what a fit spends.
    *model* is ``multinomial`` or, for attributes that have an order, ``gaussian``. *histograms* says how they are
    estimated: by the ``recipe``, each by the algorithm that is chosen for it (``auto``), or by the one that is named;
    *workload* what an algorithm is asked for (see :class:`adyton.learning.naive_bayes.NaiveBayes`). With a *ledger*,
    what is spent is written there, and must be left there.

    >>> import adyton as ad
    >>> schema = ad.Schema({"age": ad.Integer(0, 119, step=10), "smoker": ad.Boolean(), "ill": ad.Boolean()})
    >>> rows = {"age": [34, 51, 77] * 400, "smoker": [False, True, True] * 400}
    >>> model = ad.learning.PrivateNaiveBayes(schema=schema, label="ill", epsilon=1)
    >>> model = model.fit(rows, [False, False, True] * 400)
    >>> model.predict({"age": [34, 77], "smoker": [False, True]}).tolist()
    [False, True]
    >>> model.epsilon_
    Fraction(1, 1)
    """

    model: str = "multinomial"
    histograms: str = "recipe"
    workload: str = "auto"

    def _learner(self) -> Learner:
        options: dict[str, Any] = {"model": self.model, "histograms": self.histograms, "workload": self.workload}
        return learner_named("naive-bayes", **options)
