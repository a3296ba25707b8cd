"""A classifier that was learnt: the model, why it was learnt in this way, what it cost, and predictions for nothing."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.arrays import Array, Reals
from adyton.choice.decision import Decision
from adyton.exact import Rational, display
from adyton.kernel.kernel import Kernel
from adyton.kernel.sources import TableSource
from adyton.learning import classifier_file, classifier_saving
from adyton.learning.classifier import Classifier, as_classifier
from adyton.learning.classifier_words import explanation
from adyton.learning.coding import code_batches
from adyton.learning.estimator import class_array
from adyton.learning.fitting import Fitted, fit
from adyton.learning.look_alikes import LookAlikes, look_alikes
from adyton.learning.model import Model
from adyton.remembered import cached_property
from adyton.result.explanation import Explanation
from adyton.result.receipt import Receipt, RowsCounted
from adyton.result.staging import staged

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class FittedClassifier:
    """A model with its story and its receipt. It is public: predicting costs nothing, and no row is in it.

    Made by :meth:`adyton.Session.fit`; kept in a folder by :meth:`save`, and read back by :meth:`load`.

    >>> import pandas, adyton as ad
    >>> table = pandas.DataFrame({"age": [34, 51, 77] * 400, "ill": [False, False, True] * 400})
    >>> schema = ad.Schema({"age": ad.Integer(0, 119, step=10), "ill": ad.Boolean()})
    >>> session = ad.Session(table, schema=schema, epsilon=1)
    >>> fitted = session.fit(ad.Classifier("ill"), epsilon="0.5")
    >>> fitted.predict({"age": [30, 72]}).tolist(), session.remaining
    ([False, True], Fraction(1, 2))
    """

    classifier: Classifier
    """What was asked for."""
    where: str | None
    """Of which rows it was learnt."""
    learner: str
    """The name of what was run."""
    model: Model
    epsilon: Fraction
    """What was charged: a person's whole part in the table is protected by this much."""
    receipt: Receipt
    """What was paid: data set, privacy unit, budget, entries of the ledger, versions, date."""
    decisions: tuple[Decision, ...] = ()
    """What was decided on the way, if anything, and why; the first is about the method."""
    asked: Fraction | None = None
    """What was asked for, where the method needed less; None where all of it was charged."""

    @classmethod
    def of(cls, classifier: Classifier, where: str | None, fitted: Fitted) -> FittedClassifier:
        """What came out of a fit."""
        return cls(
            classifier,
            where,
            fitted.learner.name,
            fitted.model,
            fitted.epsilon,
            fitted.receipt,
            fitted.decisions,
            fitted.asked,
        )

    @property
    def method(self) -> str:
        """The method that learnt the model, named or chosen."""
        return self.decisions[0].chosen if self.decisions else self.learner

    @property
    def classes(self) -> Array:
        """What can be predicted, in the order of the probabilities."""
        return class_array(self.model.classes)

    @property
    def counted(self) -> RowsCounted:
        """Which rows of each unit were counted; nothing is said where no column names a unit."""
        return self.receipt.counted()

    @property
    def rows_per_unit(self) -> int:
        """How many rows one person may have in the table."""
        return self.receipt.rows_per_unit

    @cached_property
    def look_alikes(self) -> LookAlikes | None:
        """How the method did on public tables like this one; None where none are."""
        return look_alikes((self.method, self.learner), self.model, self.epsilon / self.rows_per_unit)

    # ---- predicting -------------------------------------------------------------------------------------------------

    def predict(self, rows: Any) -> Array:
        """The most probable class of each row.

        *rows* are a frame, an Arrow table, a dict of columns, the path of a file, or an array whose columns are the
        attributes in the model's order. Other columns are left aside. Whatever is predicted about a row depends on that
        row alone: what you do with it is not protected by the budget.
        """
        return np.asarray(self.classes[self.predict_proba(rows).argmax(axis=1)])

    def predict_proba(self, rows: Any) -> Reals:
        """How probable each class is, in the order of ``classes``. A value that the schema has no cell for tells
        nothing."""
        found = list(self.probability_batches(rows))
        return np.concatenate(found) if found else np.empty((0, len(self.model.classes)))

    def probability_batches(self, rows: Any) -> Iterator[Reals]:
        """The same in batches, in the order of the rows: for files that do not fit into memory."""
        return (self.model.probabilities(codes) for codes in code_batches(rows, self.model.schema))

    # ---- for people -------------------------------------------------------------------------------------------------

    def explain(self) -> Explanation:
        """What was learnt, by which method and why, what quality to expect, and what was spent, in words."""
        return explanation(self)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """A picture of the model, a tree or the profiles of the classes; written to a file if a path is given."""
        from adyton.report.classifier_plot import plot

        return plot(self, path)

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write ``classifier.json`` (complete) and ``report.html`` into a new folder.

        The model is put in place first. If the report fails, a warning says so. With *overwrite* the folder may hold
        another classifier, which is replaced.
        """
        replaces = classifier_saving.REPLACEABLE if overwrite else ()
        with staged(folder, replaces=replaces, ours=classifier_file.KIND.says_so) as place:
            problems = classifier_saving.save(self, place).finish()
        for problem in problems:
            warnings.warn(f"{folder}: {problem} Everything else is there.", stacklevel=2)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> FittedClassifier:
        """The classifier in a folder that :meth:`save` wrote, or in its ``classifier.json``; the data are not needed.

        The file is checked as a stranger's would be, and nothing in it is run.
        """
        return cls(**classifier_file.read(path))

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values for JSON."""
        return classifier_file.to_dict(self)

    def __repr__(self) -> str:
        where = f" where {self.where}" if self.where else ""
        mark = "" if self.receipt.private else "; simulated, NOT private"
        return f"<{self.classifier}{where}{self.counted.aside}, by {self.method}, ε = {display(self.epsilon)}{mark}>"

    def _repr_html_(self) -> str:
        from adyton.report.classifier_page import to_html

        return to_html(self)


def fit_classifier(
    kernel: Kernel[TableSource],
    classifier: Classifier,
    epsilon: Rational,
    where: str | None,
    keep: Callable[[Any], None],
) -> FittedClassifier:
    """Learn a classifier from a kernel's table; *keep* is as in :func:`~adyton.result.pending.carry_out`."""
    learner = as_classifier(classifier).learner()
    classifier.target(kernel.root.schema)
    made = partial(FittedClassifier.of, classifier, where)
    return fit(
        kernel,
        learner,
        classifier.label,
        epsilon,
        where=where,
        attributes=classifier.attributes,
        made=made,
        keep=keep,
    )
