"""What a curator can ask to be learnt: a label, from which attributes, and by which method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adyton.errors import BadInput, SchemaError
from adyton.learning.model import Target
from adyton.learning.registry import AUTO, Learner, learner_named
from adyton.messages import listing, shorten
from adyton.queries import Queries
from adyton.schema import Schema
from adyton.schema.plain_values import as_plain, as_text, of_kind, part_of
from adyton.tasks.request import Task


@dataclass(frozen=True, init=False, repr=False)
class Classifier(Task):
    """A classifier to be learnt: what to predict, from which attributes, by which method with which options.

    ``session.fit`` learns it. The label is a categorical or boolean attribute of the schema. Without *attributes*, all
    others predict; with ``method="auto"``, the method is ``profiled-tree``, which was the most accurate on average over
    60 public tables. ``ad.learning.learners()`` lists the methods.

    >>> Classifier("department", ["age", "sex"], method="naive-bayes", model="gaussian")
    Classifier('department', ['age', 'sex'], method='naive-bayes', model='gaussian')
    """

    kind = "classifier"
    answered_by = "adyton.programs.classifier:Learning"

    label: str
    attributes: tuple[str, ...] | None
    """What it predicts from; None for everything else that the schema has."""
    method: str
    given: tuple[tuple[str, Any], ...]
    """The options of the method that were given, by name."""

    def __init__(
        self, label: str, attributes: str | Sequence[str] | None = None, method: str = AUTO, **options: Any
    ) -> None:
        names = (attributes,) if isinstance(attributes, str) else attributes
        if not isinstance(label, str) or not label:
            raise BadInput(f'Classifier takes the name of a label, like "department", given {shorten(label)}.')
        if names is not None and not (isinstance(names, Sequence) and all(isinstance(one, str) for one in names)):
            raise BadInput(f"attributes are names of attributes in a list, given {shorten(attributes)}.")
        object.__setattr__(self, "label", label)
        object.__setattr__(self, "attributes", None if names is None else tuple(names))
        object.__setattr__(self, "method", method)
        object.__setattr__(self, "given", tuple(options.items()))
        self.learner()  # a method that does not exist is refused here

    @property
    def options(self) -> dict[str, Any]:
        """The options of the method that were given."""
        return dict(self.given)

    def learner(self) -> Learner:
        """The method, with its options."""
        return learner_named(self.method, **self.options)

    def target(self, schema: Schema) -> Target:
        """What is predicted from what, in a table with this schema; or an error."""
        whole = Target.of(schema, self.label)
        if self.attributes is None:
            return whole
        if self.label in self.attributes:
            raise SchemaError(f"{self.label!r} is the label: it cannot be among the attributes that predict it.")
        chosen = schema.select(self.attributes)
        _ = chosen.shape  # identifiers have none
        return Target(chosen, whole.label, whole.attribute)

    def select(self, schema: Schema) -> Schema:
        """What predicts, and the label."""
        return self.target(schema).whole

    def workload(self, schema: Schema) -> Queries:
        """None: a model is no count of cells."""
        raise BadInput(f"{self}: a model is no count of cells. session.fit learns it.")

    def to_dict(self) -> dict[str, Any]:
        """The label, the attributes, the method and its options."""
        names = None if self.attributes is None else list(self.attributes)
        told = {"label": self.label, "attributes": names, "method": self.method, "options": as_plain(self.options)}
        return {"task": self.kind, **told}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Classifier:
        """By the same."""
        names, options = plain.get("attributes"), of_kind(dict, plain.get("options", {}), "options")
        if names is not None:
            names = [as_text(name, "an attribute") for name in of_kind(list, names, "attributes")]
        texts = {as_text(name, "the name of an option"): value for name, value in options.items()}
        if texts.keys() & {"label", "attributes", "method"}:
            raise BadInput(f"options have names of their own, given {listing(texts)}.")
        method = as_text(plain.get("method", AUTO), "method")
        return cls(as_text(part_of(plain, "label"), "label"), names, method, **texts)

    def __str__(self) -> str:
        return f"classifier of {self.label}"

    def __repr__(self) -> str:
        names = [] if self.attributes is None else [repr(list(self.attributes))]
        options = [f"{name}={value!r}" for name, value in self.given]
        return f"Classifier({', '.join([repr(self.label), *names, f'method={self.method!r}', *options])})"


def as_classifier(given: object) -> Classifier:
    """The classifier, or an error that says what one is."""
    if isinstance(given, Classifier):
        return given
    raise BadInput(f'what is learnt is an ad.Classifier, such as ad.Classifier("department"), given {shorten(given)}.')
