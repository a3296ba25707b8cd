"""The scikit-learn interface of the learners: ``fit``, ``predict``, ``predict_proba``, parameters, and nothing private.

scikit-learn itself is not required, and is imported only for the tags that it asks for.
"""

from __future__ import annotations

import inspect
import os
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from adyton.arrays import Array, Reals
from adyton.errors import BadInput, Unfinished
from adyton.kernel.checking import schema_of_table
from adyton.learning.classifier import Classifier, FittedClassifier
from adyton.learning.coding import check_columns, check_width, code_batches, columns_of, labelled_table, opened
from adyton.learning.model import Model, Target, class_array
from adyton.learning.registry import AUTO, Learner, learner_named
from adyton.messages import no_such
from adyton.programs.classifier import Learning
from adyton.result.pending import Measurements, Pending
from adyton.schema import Schema
from adyton.session.run import run
from adyton.tasks.request import Request

if TYPE_CHECKING:
    from adyton.exact import Rational
    from adyton.kernel.ledger import Ledger
    from adyton.noise.source import NoiseSource
    from adyton.result.receipt import Receipt


Self = TypeVar("Self", bound="PrivateEstimator")


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateEstimator(ABC):
    """The base of all private classifiers. Fields are parameters; a subclass adds its own, and makes its learner.

    After :meth:`fit` there are ``model_`` (what was learnt), ``classes_``, ``epsilon_`` (what was spent: *epsilon*, or
    less if trees stop early and do not need all of it), ``receipt_`` (the entries that belong to the fit) and
    ``n_features_in_``. No row is kept.
    """

    schema: Schema | str | os.PathLike[str] | None = None
    label: str | None = None
    epsilon: Rational = 1
    ledger: Ledger | str | os.PathLike[str] | None = None
    dataset: str | None = None
    unit: str | None = None
    noise: NoiseSource | None = None

    model_: Model = field(init=False)
    classes_: Array = field(init=False)
    epsilon_: Fraction = field(init=False)
    receipt_: Receipt = field(init=False)
    n_features_in_: int = field(init=False)
    _pending: Pending[Any] | Measurements | None = field(init=False, default=None)
    _names_given: list[str] | None = field(init=False, default=None)

    @abstractmethod
    def _learner(self) -> Learner:
        """The learner that the parameters describe."""

    def _declared(self) -> Schema:
        """The schema that the parameters describe."""
        return Schema.of(self.schema)

    # ---- learning ---------------------------------------------------------------------------------------------------

    def fit(self: Self, X: Any = None, y: Any = None, *, table: Any = None) -> Self:  # noqa: N803
        """Learn from rows *X* and their labels *y*, or from a *table* that has the label among its columns.

        *X* is a frame, an Arrow table, a dict of columns, or an array whose columns are the schema's attributes in
        their order, without the label. A *table* is anything that a session opens, such as the path of a file. Each
        fit opens a kernel of its own, with a budget of *epsilon*, unless a ledger says what is left.
        """
        learner, schema = self._learner(), self._declared()
        if schema.patterns and table is None:
            schema = schema.for_columns([*(columns_of(X) or ()), *([self.label] if self.label else [])])
        elif schema.patterns:
            schema = schema_of_table(table, schema)
        target = Target.of(schema, self.label)
        names = None
        if table is None:
            names = columns_of(X)
            data, schema = labelled_table(X, y, target, type(self).__name__), target.whole
        elif X is not None or y is not None:
            raise BadInput("give either rows X with labels y, or a table that has both; not all of them.")
        else:
            data = table
        self._names_given = names
        request = Request.of(Classifier(target.label), self.epsilon)
        with opened(data, schema, self.epsilon, self.ledger, self.dataset, self.unit, self.noise) as kernel:
            run(kernel, request, self._keep, Learning(request, kernel.root.schema, learner))
        return self

    def finish(self: Self) -> Self:
        """Finish a fit that was interrupted after it was paid for, from its measurements; nothing more is spent."""
        if not isinstance(self._pending, Pending):
            raise BadInput(f"this {type(self).__name__} has no interrupted fit. Call fit.")
        self._keep(self._pending.finish())
        if isinstance(self._pending, Measurements):
            raise Unfinished(f"the fit cannot be finished: {self._pending}")
        return self

    def _keep(self, fitted: FittedClassifier | Pending[Any] | Measurements | None) -> None:
        if not isinstance(fitted, FittedClassifier):
            self._pending = fitted
            return
        model, names, self._pending = fitted.model, self._names_given, None
        self.model_, self.epsilon_, self.receipt_ = model, fitted.epsilon, fitted.receipt
        self.classes_ = class_array(model.classes)
        self.n_features_in_ = len(model.schema.columns)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    # ---- predicting -------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Array:  # noqa: N803
        """The most probable class of each row. *X* may also be the path of a file."""
        places = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[places])

    def predict_proba(self, X: Any) -> Reals:  # noqa: N803
        """How probable each class is, in the order of ``classes_``. A value without a cell is ignored."""
        model = self._model()
        check_columns(X, model.schema, also=(model.label,))
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] != self.n_features_in_:
            check_width(X.shape[1], model.schema.columns, type(self).__name__)
        batches = [model.probabilities(codes) for codes in code_batches(X, model.schema)]
        return np.concatenate(batches) if batches else np.empty((0, len(self.classes_)))

    def predict_log_proba(self, X: Any) -> Reals:  # noqa: N803
        """The logarithms of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """The fraction of rows that are classified correctly. It is computed from these rows, and is not private."""
        hits = np.asarray(self.predict(X) == np.asarray(y), dtype=np.float64)
        return float(np.average(hits, weights=sample_weight))

    def explain(self) -> str:
        """What was learnt, in words."""
        return self._model().explain()

    def _model(self) -> Model:
        if hasattr(self, "model_"):
            return self.model_
        message = f"this {type(self).__name__} is not fitted yet. Call fit first."
        raise getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", BadInput)(message)

    # ---- parameters -------------------------------------------------------------------------------------------------

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self: Self, **parameters: Any) -> Self:
        """Change parameters; the model stays as it is until the next fit."""
        for name in parameters:
            if name not in self._names():
                raise BadInput(no_such("parameter", name, self._names()))
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        inputs = InputTags(two_d_array=True, categorical=True, string=True, allow_nan=True)
        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(poor_score=True),
            input_tags=inputs,
            non_deterministic=True,
        )

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        shown = [
            f"{name}={value!r}" for name, value in self.get_params().items() if value is not defaults[name].default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateNaiveBayes(PrivateEstimator):
    """A naive Bayes classifier that learns from noisy counts: each fit is ε-differentially private.

    *schema* declares the attributes and the *label*, which is categorical or boolean; *epsilon* is what a fit spends.
    *model* is ``multinomial`` or, for attributes that have an order, ``gaussian``. *histograms* says how they are
    estimated: by the ``recipe``, each by an algorithm chosen for it (``auto``), or by the named algorithm; *workload*
    says which queries an algorithm answers (see :class:`adyton.learning.naive_bayes.NaiveBayes`). With a *ledger*, what
    is spent is written there, and must be left there.

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


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateClassifier(PrivateEstimator):
    """A classifier by the default method, ``profiled-tree`` on merged cells, which was the most accurate on average
    over public tables: each fit is ε-differentially private.

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
        return learner_named(AUTO)


TREES = ("chosen", "friedman-schuster", "mohammed", "naive-bayes-tree")
FORESTS = ("fletcher-islam", "jagannathan", "patil-singh")


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateDecisionTreeClassifier(PrivateEstimator):
    """A decision tree that learns from noisy counts: each fit is ε-differentially private.

    *schema* declares the attributes and the *label*, which is categorical or boolean; *epsilon* is what a fit spends at
    most. *preset* is the ``chosen`` tree, which grows as deep as the noise allows, a published algorithm
    (``friedman-schuster``, ``mohammed``) or ``naive-bayes-tree``. *depth* is for presets with a fixed depth. With a
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
        """The tree as text, one line for each node, with noisy counts."""
        text: str = self._model().draw()  # type: ignore[attr-defined]
        return text


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateRandomForestClassifier(PrivateEstimator):
    """A forest of decision trees that learns from noisy counts: each fit is ε-differentially private.

    *preset* is ``fletcher-islam`` or ``jagannathan`` (random trees), or ``patil-singh`` (trees with private splits);
    *trees* is their number, *depth* is for presets with a fixed depth. All trees learn from the same rows and share ε,
    unless *divided_by* names an attribute that divides the rows among them. *random_state* is a seed for the random
    attributes, which are public; the noise has no seed.

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
    """The options that were given; the preset sets the others."""
    return {name: value for name, value in options.items() if value is not None}
