"""Decision trees and forests with the manners of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adyton.errors import BadInput
from adyton.learning.estimator import PrivateEstimator
from adyton.learning.learner import Learner
from adyton.learning.registry import learner_named
from adyton.messages import no_such

TREES = ("chosen", "friedman-schuster", "mohammed", "naive-bayes-tree")
FORESTS = ("fletcher-islam", "jagannathan", "patil-singh")


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateDecisionTreeClassifier(PrivateEstimator):
    """A decision tree that learns from noisy counts: each fit is ε-differentially private.

    *schema* declares the attributes and the *label*, which is categorical or boolean; *epsilon* is what a fit spends at
    most. *preset* is the ``chosen`` tree, which grows as deep as the noise allows, a published algorithm
    (``friedman-schuster``, ``mohammed``) or ``naive-bayes-tree``. *depth* is for those that have a fixed one. With a
    *ledger*, what is spent is written there, and must be left there.

    >>> import adyton as ad
    >>> schema = ad.Schema({"age": ad.Integer(0, 119, step=40), "smoker": ad.Boolean(), "ill": ad.Boolean()})
    >>> rows = {"age": [34, 51, 97] * 400, "smoker": [False, True, True] * 400}
    >>> model = ad.learning.PrivateDecisionTreeClassifier(schema=schema, label="ill", epsilon=1)
    >>> model = model.fit(rows, [False, False, True] * 400)
    >>> model.predict({"age": [30, 90], "smoker": [False, True]}).tolist()
    [False, True]
    """

    preset: str = "chosen"
    depth: int | None = None

    def _learner(self) -> Learner:
        if not isinstance(self.preset, str) or self.preset not in TREES:
            raise BadInput(no_such("preset of a tree", self.preset, TREES))
        return learner_named(self.preset, **_given(depth=self.depth))

    def draw(self) -> str:
        """The tree as a text, a line for each node, with noisy counts."""
        text: str = self._model().draw()  # type: ignore[attr-defined]
        return text


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateRandomForestClassifier(PrivateEstimator):
    """A forest of decision trees that learns from noisy counts: each fit is ε-differentially private.

    *preset* is ``fletcher-islam`` or ``jagannathan`` (random trees), or ``patil-singh`` (trees with private splits);
    *trees* is how many there are, *depth* is for presets that have a fixed one. All trees learn from the same rows and
    share ε, unless *divided_by* names an attribute that divides the rows among them. *random_state* is a seed for the
    random attributes, which are public; the noise has none.

    >>> import adyton as ad
    >>> schema = ad.Schema({"age": ad.Integer(0, 119, step=40), "smoker": ad.Boolean(), "ill": ad.Boolean()})
    >>> rows = {"age": [34, 51, 97] * 900, "smoker": [False, True, True] * 900}
    >>> model = ad.learning.PrivateRandomForestClassifier(schema=schema, label="ill", epsilon=2, trees=4)
    >>> model = model.fit(rows, [False, False, True] * 900)
    >>> len(model.model_.trees)
    4
    """

    preset: str = "fletcher-islam"
    trees: int | None = None
    depth: int | None = None
    divided_by: str | None = None
    random_state: int | None = None

    def _learner(self) -> Learner:
        if not isinstance(self.preset, str) or self.preset not in FORESTS:
            raise BadInput(no_such("preset of a forest", self.preset, FORESTS))
        options = _given(trees=self.trees, depth=self.depth, divided_by=self.divided_by, seed=self.random_state)
        return learner_named(self.preset, **options)


def _given(**options: Any) -> dict[str, Any]:
    """The options that were given: the preset says what the others are."""
    return {name: value for name, value in options.items() if value is not None}
