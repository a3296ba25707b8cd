"""A classifier that was learnt: the model, why it was learnt in this way, what it cost, and predictions for nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.arrays import Array, Reals
from adyton.choice.decision import Decision
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.exact import as_number, display
from adyton.learning.classifier import Classifier
from adyton.learning.coding import code_batches
from adyton.learning.look_alikes import LookAlikes, look_alikes
from adyton.learning.model import Model, class_array
from adyton.learning.registry import AUTO, DEFAULT, WHY_DEFAULT
from adyton.messages import listing
from adyton.result.receipt import read_bought, read_figures
from adyton.result.result import Result
from adyton.result.sheets import AS_IT_IS, CONFIDENCE, Column, Look, Sheet, Sheets
from adyton.schema.numbers import axes_of
from adyton.schema.plain_values import as_amount, as_text, of_kind, part_of

if TYPE_CHECKING:
    from adyton.report.page import View
    from adyton.report.pictures import Drawing


FILE = "classes.csv"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FittedClassifier(Result):
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

    kind = "classifier"
    noun = "model"
    holds = "a classifier"
    bulky = ("model",)
    checks_values = False

    task: Classifier
    model: Model
    decisions: tuple[Decision, ...] = ()
    """Why the method was taken, in files of earlier versions."""
    asked: Fraction | None = None
    """What was asked for, where the method needed less; None where all of it was charged."""

    @property
    def classifier(self) -> Classifier:
        """What was asked for."""
        return self.task

    @property
    def learner(self) -> str:
        """The name of what was run."""
        return self.algorithm

    @property
    def method(self) -> str:
        """The method that learnt the model."""
        return self.decisions[0].chosen if self.decisions else self.learner

    @property
    def reason(self) -> str:
        """Why this method was taken."""
        if self.classifier.method != AUTO:
            return "as asked"
        return WHY_DEFAULT if self.method == DEFAULT else "which auto took when it was learnt"

    @property
    def classes(self) -> Array:
        """What can be predicted, in the order of the probabilities."""
        return class_array(self.model.classes)

    @cached_property
    def look_alikes(self) -> LookAlikes | None:
        """How the method did on public tables like this one; None where none are."""
        return look_alikes(self.method, self.model, self.epsilon / self.rows_per_unit)

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

    # ---- what it shows and keeps ------------------------------------------------------------------------------------

    def asked_in_words(self) -> str:
        """What was learnt from what."""
        where = f", of rows where {self.where}" if self.where else ""
        names = listing(self.model.schema.names)
        return f"Learnt: {self.model.label!r} from {names}{where}; {len(self.model.classes)} classes."

    def paragraphs(self) -> tuple[str, ...]:
        """What was learnt, by which method and why, what quality to expect, what was spent, and the model itself."""
        *told, paid = super().paragraphs()
        if self.asked is not None:
            paid += f" ε = {display(self.asked)} was asked for; {self.learner} needed less, and the rest is not spent."
        return (*told, paid, self.model.explain())

    def own_paragraphs(self) -> tuple[str, ...]:
        """Which method and why, and what quality to expect."""
        quality = () if self.look_alikes is None else (f"Quality: {self.look_alikes.in_words()}",)
        return f"Method: {self.method}, {self.reason}.", *quality

    def sheets(self, look: Look = AS_IT_IS, confidence: float | None = CONFIDENCE) -> Sheets:
        """How probable each class is for a row of which nothing is known."""
        nothing = np.full((1, len(self.model.schema.names)), -1)
        column = Column(
            "probability",
            self.model.probabilities(nothing)[0],
            words="probability, for a row of which nothing is known",
        )
        sheet = Sheet(
            {self.model.label: [str(one) for one in self.model.classes]}, (column,), counted=self.counted_rows
        )
        return Sheets(FILE, (sheet,))

    def shown(self, *, quiet: bool = False) -> tuple[str, ...]:
        """Which rows it was learnt from, where that is not all of them, and the model."""
        first = self.counted.first(self.where)
        return (*((first,) if first else ()), self.model.explain())

    def drawings(self, most: int | None = None) -> list[Drawing]:
        """The trees with noisy counts, or the profiles of the classes."""
        from adyton.report.models import model_drawings  # pictures are loaded when somebody looks at one

        return model_drawings(self.model, most)

    def view(self) -> View:
        """With the model in words, and what quality to expect."""
        from adyton.report.models import model_view  # pages are loaded when one is made

        return model_view(self)

    def own_dict(self, *, complete: bool) -> dict[str, Any]:
        """The model, how it came about, and what quality to expect."""
        alike = self.look_alikes if complete else None
        return {
            "method": self.method,
            "reason": self.reason,
            "public_tables": None if alike is None else alike.to_plain(),
            "asked": None if self.asked is None else as_number(self.asked),
            "decisions": [one.to_plain() for one in self.decisions],
            "model": self.model.to_plain(),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], common: Mapping[str, Any]) -> FittedClassifier:
        """With a model that predicts what was asked for."""
        return cls(**common, **own_parts(plain, common))

    @classmethod
    def of(cls, parts: Mapping[str, Any], asked: Fraction) -> FittedClassifier:
        """With what was asked for, where less was needed."""
        return cls(**parts, asked=None if parts["epsilon"] == asked else asked)


def own_parts(plain: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, Any]:
    """The parts that a classifier has beside those of every result, by name."""
    model, classifier, epsilon = Model.from_plain(part_of(plain, "model")), common["task"], common["epsilon"]
    known = model.schema.attributes
    if not isinstance(classifier, Classifier):
        raise BadInput("the task is no classifier.")
    asked = {axis for name in classifier.attributes or () for axis in axes_of(name, known)}
    if common["schema"] != model.target.whole:
        raise BadInput("the model is about another schema than the record.")
    if classifier.label != model.label or not asked <= known.keys():
        raise BadInput("the model predicts something else than what was asked for.")
    more = plain.get("asked")  # older files have none
    return {
        "asked": None if more is None else as_amount(more, "what was asked for", most=common["receipt"].total),
        "model": model,
        "decisions": tuple(_decision(one, epsilon) for one in of_kind(list, part_of(plain, "decisions"), "decisions")),
    }


def _decision(plain: object, epsilon: Fraction) -> Decision:
    return Decision(
        as_text(part_of(plain, "chosen"), "what was chosen"),
        as_amount(part_of(plain, "left"), "what was left", zero=True, most=epsilon),
        tuple(read_bought(one, epsilon) for one in of_kind(list, part_of(plain, "bought"), "bought")),
        read_figures(part_of(plain, "regrets"), "regrets"),
        tuple(as_text(note, "a note") for note in of_kind(list, part_of(plain, "notes"), "notes")),
    )
