"""A classifier as a task (the label, the attributes, the method) and as a result (the model and its cost)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from adyton.arrays import Array, Reals
from adyton.choice.decision import Decision
from adyton.compiling import cached_property
from adyton.errors import BadInput, SchemaError
from adyton.exact import as_number, display
from adyton.learning.coding import code_batches
from adyton.learning.model import Model, Target, class_array
from adyton.learning.registry import AUTO, DEFAULT, WHY_DEFAULT, Learner, LookAlikes, learner_named, look_alikes
from adyton.messages import listing, shorten
from adyton.queries import Queries
from adyton.result.coverage import Audience, Coverage
from adyton.result.receipt import read_bought, read_figures
from adyton.result.result import Result
from adyton.result.sheets import AS_IT_IS, CONFIDENCE, Column, Look, Sheet, Sheets
from adyton.schema import Schema
from adyton.schema.numbers import axes_of
from adyton.schema.plain_values import as_amount, as_plain, as_text, of_kind, part_of
from adyton.tasks.request import Task

if TYPE_CHECKING:
    from adyton.report.page import View
    from adyton.report.pictures import Drawing


ACCURACY, AUC, BALANCED = METRICS = ("accuracy", "auc", "balanced accuracy")
"""What predictions are to be good at: to be right, to rank rows, or to be right in every class alike."""


@dataclass(frozen=True, init=False, repr=False)
class Classifier(Task):
    """A classifier to be learnt: what to predict, from which attributes, by which method and with which options.

    ``session.fit`` learns it. The label is a categorical or boolean attribute of the schema. Without *attributes*, all
    others predict; with ``method="auto"``, the method is ``profiled-tree``, which was the most accurate on average over
    60 public tables, and cells are merged first, so that they can bear the noise. ``cells=8`` allows eight groups of
    cells for each attribute, ``cells=None`` keeps those of the schema. ``ad.learning.learners()`` lists the methods.

    *metric* is ``accuracy``, ``auc`` or ``balanced accuracy``. With the last, a class is predicted where it is more
    probable than it is frequent, so that rare classes are found, too; more rows are then wrong.

    >>> Classifier("department", ["age", "sex"], method="naive-bayes", model="gaussian")
    Classifier('department', ['age', 'sex'], method='naive-bayes', model='gaussian')
    """

    kind = "classifier"
    answered_by = "adyton.programs.classifier:Learning"

    label: str
    attributes: tuple[str, ...] | None
    """The attributes to predict from; None for all others in the schema."""
    method: str
    metric: str
    """What predictions are to be good at."""
    given: tuple[tuple[str, Any], ...]
    """The options of the method that were given, by name."""

    def __init__(
        self,
        label: str,
        attributes: str | Sequence[str] | None = None,
        method: str = AUTO,
        *,
        metric: str = ACCURACY,
        **options: Any,
    ) -> None:
        names = (attributes,) if isinstance(attributes, str) else attributes
        if not isinstance(label, str) or not label:
            raise BadInput(f'Classifier takes the name of a label, like "department", given {shorten(label)}.')
        if names is not None and not (isinstance(names, Sequence) and all(isinstance(name, str) for name in names)):
            raise BadInput(f"attributes are names of attributes in a list, given {shorten(attributes)}.")
        if not isinstance(metric, str) or metric not in METRICS:
            raise BadInput(f"metric is one of {listing(METRICS)}, given {shorten(metric)}.")
        object.__setattr__(self, "label", label)
        object.__setattr__(self, "metric", metric)
        object.__setattr__(self, "attributes", None if names is None else tuple(names))
        object.__setattr__(self, "method", method)
        object.__setattr__(self, "given", tuple(options.items()))
        self.learner()  # an unknown method is refused here

    @property
    def options(self) -> dict[str, Any]:
        """The options of the method that were given."""
        return dict(self.given)

    def learner(self) -> Learner:
        """The method, with its options."""
        return learner_named(self.method, **self.options)

    def target(self, schema: Schema) -> Target:
        """The label and the attributes in a table with this schema; or an error."""
        whole = Target.of(schema, self.label)
        if self.attributes is None:
            return whole
        if self.label in self.attributes:
            raise SchemaError(f"{self.label!r} is the label: it cannot be among the attributes that predict it.")
        chosen = schema.select(self.attributes)
        _ = chosen.shape  # identifiers have none
        return Target(chosen, whole.label, whole.attribute)

    def select(self, schema: Schema) -> Schema:
        """The attributes that predict, and the label."""
        return self.target(schema).whole

    def workload(self, schema: Schema) -> Queries:
        """Refused: a model is not a count of cells."""
        raise BadInput(f"{self}: a model is not a count of cells. session.fit learns it.")

    def to_dict(self) -> dict[str, Any]:
        """The label, the attributes, the method and its options; and the metric, unless it is the accuracy."""
        names = None if self.attributes is None else list(self.attributes)
        metric = {} if self.metric == ACCURACY else {"metric": self.metric}
        return {
            "task": self.kind,
            "label": self.label,
            "attributes": names,
            "method": self.method,
            "options": as_plain(self.options),
            **metric,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Classifier:
        """The classifier that :meth:`to_dict` describes."""
        names, options = plain.get("attributes"), of_kind(dict, plain.get("options", {}), "options")
        if names is not None:
            names = [as_text(name, "an attribute") for name in of_kind(list, names, "attributes")]
        texts = {as_text(name, "the name of an option"): value for name, value in options.items()}
        if texts.keys() & {"label", "attributes", "method", "metric"}:
            raise BadInput(f"options cannot be named label, attributes, method or metric, given {listing(texts)}.")
        method, metric = (
            as_text(plain.get(key, usual), key) for key, usual in (("method", AUTO), ("metric", ACCURACY))
        )
        return cls(as_text(part_of(plain, "label"), "label"), names, method, metric=metric, **texts)

    def __str__(self) -> str:
        return f"classifier of {self.label}"

    def __repr__(self) -> str:
        names = [] if self.attributes is None else [repr(list(self.attributes))]
        metric = [] if self.metric == ACCURACY else [f"metric={self.metric!r}"]
        options = metric + [f"{name}={value!r}" for name, value in self.given]
        return f"Classifier({', '.join([repr(self.label), *names, f'method={self.method!r}', *options])})"


def as_classifier(given: object) -> Classifier:
    """The classifier, or an error that says what is needed."""
    if isinstance(given, Classifier):
        return given
    raise BadInput(f'fit takes an ad.Classifier, such as ad.Classifier("department"), given {shorten(given)}.')


FILE = "classes.csv"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FittedClassifier(Result):
    """A model with its record and its receipt. It is public: predicting costs nothing, and no row is in it.

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
    place = "were learnt from"

    task: Classifier
    model: Model
    decisions: tuple[Decision, ...] = ()
    """What was decided before the method ran: which cells were merged. In files of earlier versions, why the method was
    chosen."""
    asked: Fraction | None = None
    """The requested ε, if the method needed less; None if all of it was charged."""

    @property
    def classifier(self) -> Classifier:
        """The task."""
        return self.task

    @property
    def learner(self) -> str:
        """The name of the method that was run."""
        return self.algorithm

    @property
    def method(self) -> str:
        """The method that learnt the model."""
        return self.decisions[0].chosen if self.decisions else self.learner

    @property
    def reason(self) -> str:
        """Why this method was chosen."""
        if self.classifier.method != AUTO:
            return "as asked"
        return WHY_DEFAULT if self.method == DEFAULT else "which auto took when it was learnt"

    @property
    def classes(self) -> Array:
        """The classes that can be predicted, in the order of the probabilities."""
        return class_array(self.model.classes)

    @cached_property
    def look_alikes(self) -> LookAlikes | None:
        """How the method did on public tables like this one; None if there are too few, or for balanced accuracy, which
        was not measured on them."""
        if self.classifier.metric == BALANCED:
            return None
        return look_alikes(self.method, self.model, self.epsilon / self.rows_per_unit)

    # ---- predicting -------------------------------------------------------------------------------------------------

    @cached_property
    def weights(self) -> Reals | None:
        """What the probabilities of the classes are multiplied by before the largest is taken: for balanced accuracy, 1
        over how frequent each class is, by the model; otherwise None."""
        return 1 / self.model.prior_of_classes if self.classifier.metric == BALANCED else None

    def predict(self, rows: Any) -> Array:
        """The most probable class of each row; for balanced accuracy, the one that is most probable for how frequent it
        is.

        *rows* are a frame, an Arrow table, a dict of columns, the path of a file, or an array whose columns are the
        attributes in the model's order. Other columns are ignored. A prediction depends only on its row: what you do
        with it is not protected by the budget.
        """
        probabilities = self.predict_proba(rows)
        weighted = probabilities if self.weights is None else probabilities * self.weights
        return np.asarray(self.classes[weighted.argmax(axis=1)])

    def predict_proba(self, rows: Any) -> Reals:
        """How probable each class is, in the order of ``classes``. A value without a cell in the schema is ignored."""
        batches = list(self.probability_batches(rows))
        return np.concatenate(batches) if batches else np.empty((0, len(self.model.classes)))

    def probability_batches(self, rows: Any) -> Iterator[Reals]:
        """The same in batches, in the order of the rows: for files that do not fit into memory."""
        return (self.model.probabilities(codes) for codes in code_batches(rows, self.model.schema))

    # ---- what it shows and keeps ------------------------------------------------------------------------------------

    def asked_in_words(self) -> str:
        """The label, the attributes and the rows that were used."""
        where = f", of rows where {self.where}" if self.where else ""
        names = listing(self.model.schema.names)
        return f"Learnt: {self.model.label!r} from {names}{where}; {len(self.model.classes)} classes."

    @property
    def coverage(self) -> Coverage:
        """Which rows it was learnt from: those whose values are known in all of its attributes."""
        return self._covered(self.schema)

    def paragraphs(self, audience: Audience = "reader") -> tuple[str, ...]:
        """What was learnt, by which method and why, the expected quality, what was spent, and the model itself."""
        *first, paid = super().paragraphs(audience)
        if self.asked is not None:
            paid += f" ε = {display(self.asked)} was asked for; {self.learner} needed less, and the rest is not spent."
        return (*first, paid, self.model.explain())

    def own_paragraphs(self) -> tuple[str, ...]:
        """The method and why it was chosen, the cells, what is predicted, and the expected quality."""
        quality = () if self.look_alikes is None else (f"Quality: {self.look_alikes.in_words()}",)
        return f"Method: {self.method}, {self.reason}.", *self.cells_in_words(), *self.predicts(), *quality

    def cells_in_words(self) -> tuple[str, ...]:
        """Which cells were merged, and what that was decided by; empty if none were."""
        if not self.merged:
            return ()
        bought = [f"{part.words} (about {round(part.value):,}, noisy)" for part in self.merged.bought]
        by = " and ".join([*bought, "noisy counts of each attribute"])
        return (f"Cells were merged, so that they can bear the noise, by {by}: {'; '.join(self.merged.notes)}.",)

    @property
    def merged(self) -> Decision | None:
        """Which cells were merged, and what that was decided by; None if all are as in the schema."""
        return next((decision for decision in self.decisions if decision.chosen == self.learner), None)

    def predicts(self) -> tuple[str, ...]:
        """How a class is chosen, if not as the most probable one."""
        if self.classifier.metric != BALANCED:
            return ()
        words = (
            "A class is predicted where it is most probable for how frequent it is (balanced accuracy): rare classes"
        )
        return (f"{words} are found more often, and more rows are wrong. The probabilities stay as they are.",)

    def sheets(self, look: Look = AS_IT_IS, confidence: float | None = CONFIDENCE) -> Sheets:
        """How probable each class is for a row about which nothing is known."""
        nothing = np.full((1, len(self.model.schema.names)), -1)
        words = "probability, for a row of which nothing is known"
        column = Column("probability", self.model.probabilities(nothing)[0], words=words)
        axis = {self.model.label: list(map(str, self.model.classes))}
        return Sheets(FILE, (Sheet(axis, (column,), counted=self.counted_rows),))

    def shown(self, *, quiet: bool = False) -> tuple[str, ...]:
        """Which rows it was learnt from, and the model."""
        return self.which_rows, self.model.explain()

    def drawings(self, most: int | None = None) -> list[Drawing]:
        """The trees with noisy counts, or the profiles of the classes."""
        from adyton.report.models import model_drawings  # pages are above results: loaded when one is asked for

        return model_drawings(self.model, most)

    def view(self) -> View:
        """The page, with the model in words and the expected quality."""
        from adyton.report.models import model_view  # as above

        return model_view(self)

    def own_dict(self, *, complete: bool) -> dict[str, Any]:
        """The model, how it was learnt, and the expected quality."""
        alike = self.look_alikes if complete else None
        return {
            "method": self.method,
            "reason": self.reason,
            "public_tables": None if alike is None else alike.to_plain(),
            "asked": None if self.asked is None else as_number(self.asked),
            "decisions": [decision.to_plain() for decision in self.decisions],
            "model": self.model.to_plain(),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], common: Mapping[str, Any]) -> FittedClassifier:
        """Read from a file; the model must predict the label of the task."""
        return cls(**common, **_own_parts(plain, common))

    @classmethod
    def of(cls, parts: Mapping[str, Any], asked: Fraction) -> FittedClassifier:
        """The result, with the requested ε if less was needed."""
        return cls(**parts, asked=None if parts["epsilon"] == asked else asked)


def _own_parts(plain: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, Any]:
    """The parts that a classifier has besides those of every result, by name."""
    model, classifier, epsilon = Model.from_plain(part_of(plain, "model")), common["task"], common["epsilon"]
    known = model.schema.attributes
    if not isinstance(classifier, Classifier):
        raise BadInput("the task is not a classifier.")
    asked = {axis for name in classifier.attributes or () for axis in axes_of(name, known)}
    if common["schema"] != model.target.whole:
        raise BadInput("the model and the record have different schemas.")
    if classifier.label != model.label or not asked <= known.keys():
        raise BadInput("the model predicts something other than the task asks for.")
    more, decisions = plain.get("asked"), of_kind(list, part_of(plain, "decisions"), "decisions")  # "asked" is newer
    return {
        "asked": None if more is None else as_amount(more, "the requested ε", most=common["receipt"].total),
        "model": model,
        "decisions": tuple(_decision(entry, epsilon) for entry in decisions),
    }


def _decision(plain: object, epsilon: Fraction) -> Decision:
    return Decision(
        as_text(part_of(plain, "chosen"), "what was chosen"),
        as_amount(part_of(plain, "left"), "what was left", zero=True, most=epsilon),
        tuple(read_bought(feature, epsilon) for feature in of_kind(list, part_of(plain, "bought"), "bought")),
        read_figures(part_of(plain, "regrets"), "regrets"),
        tuple(as_text(note, "a note") for note in of_kind(list, part_of(plain, "notes"), "notes")),
    )
