"""A model: what was learnt. It is public, computed from noisy answers only, and can be saved in a file."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adyton.arrays import Array, Integers, Reals
from adyton.choice.checked_file import FileKind
from adyton.errors import BadInput, SchemaError
from adyton.messages import listing, no_such, shorten
from adyton.plans.registry import Registry
from adyton.result.sheets import free_name
from adyton.schema import Schema
from adyton.schema.attributes import Boolean, Categorical, Identifier, Label

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Target:
    """A label, and the attributes that predict it.

    >>> from adyton.schema import Integer
    >>> schema = Schema({"age": Integer(0, 119), "smoker": Boolean(), "ill": Categorical(["no", "yes"])})
    >>> target = Target.of(schema, "ill")
    >>> target.classes, target.schema.names
    (('no', 'yes'), ('age', 'smoker'))
    """

    schema: Schema
    """The attributes that predict, in order; without identifiers, which have no cells."""
    label: str
    """The name of the label."""
    attribute: Categorical | Boolean
    """The declared values of the label."""

    @classmethod
    def of(cls, schema: Schema, label: object) -> Target:
        """The label of this name, predicted from all other attributes that have cells."""
        if not isinstance(label, str):
            raise SchemaError(f"label is the name of an attribute, given {shorten(label)}.")
        if label not in schema.attributes:
            raise SchemaError(no_such("attribute", label, schema.names))
        attribute = schema.attributes[label]
        if not isinstance(attribute, Categorical | Boolean):
            raise SchemaError(
                f"the label {label!r} is {attribute.kind}, but a classifier predicts classes. Declare it as "
                "Categorical with its levels, or as Boolean."
            )
        if attribute.size < 2:
            raise SchemaError(
                f"the label {label!r} has the single class {attribute.labels[0]!r}: there is nothing to predict. "
                "List every class among its levels."
            )
        others = ((name, other) for name, other in schema.attributes.items() if name != label)
        names = [name for name, other in others if not isinstance(other, Identifier)]
        if not names:
            raise SchemaError(f"the schema has nothing to predict {label!r} from. Declare other attributes too.")
        return cls(schema.select(names), label, attribute)

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes in the order of the label's cells: its levels, then ``(other)`` and ``(null)`` if declared."""
        return self.attribute.labels

    @property
    def whole(self) -> Schema:
        """The attributes that predict, then the label."""
        attributes = {**self.schema.attributes, self.label: self.attribute}
        return self.schema.with_attributes(attributes)


KIND = FileKind("adyton model", 1, "a model", "model.save writes models.", "Learn it again.", ("schema", "learnt"))
_EMBEDDED = replace(KIND, unsigned=True)
"""A model inside another file, which has the digest."""
_LEAST = 1e-9
_KEYS = {"format", "version", "kind", "schema", "label", "learnt"}


def _model_of(plain: dict[str, Any], name: str) -> Model:
    """The model that plain values describe; *name* says in messages where they come from."""
    if plain.keys() != _KEYS:
        raise BadInput(f"{name} is not a model: its keys are {listing(plain)}, and must be {listing(sorted(_KEYS))}.")
    try:
        target = Target.of(Schema.from_dict(plain["schema"]), plain["label"])
        return MODELS[plain["kind"]].from_learnt(target, plain["learnt"])
    except BadInput as problem:
        raise BadInput(f"{name} is not a model that can be read: {problem}") from None


@dataclass(frozen=True, kw_only=True, eq=False)
class Model(ABC):
    """A fitted classifier. Subclasses say what was learnt; all are saved, loaded and used in the same way.

    Rows are given as codes: the number of each attribute's cell, −1 where a value has no cell.
    :func:`adyton.learning.coding.codes_of` makes them from tables.
    """

    kind: ClassVar[str]

    target: Target

    @property
    def schema(self) -> Schema:
        """The attributes that it predicts from, in the order of the codes."""
        return self.target.schema

    @property
    def label(self) -> str:
        """The name of the label."""
        return self.target.label

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes that it can predict, in the order of the probabilities."""
        return self.target.classes

    @property
    def rows(self) -> float | None:
        """About how many rows it was learnt from, by its noisy answers; None if unknown."""
        return None

    @property
    def prior_of_classes(self) -> Reals:
        """How probable each class is for a row of which nothing is known; never 0."""
        nothing = np.full((1, len(self.schema.names)), -1)
        return np.asarray(np.maximum(self.probabilities(nothing)[0], _LEAST))

    @abstractmethod
    def _probabilities(self, codes: Integers) -> Reals:
        """One row of probabilities for each row of checked codes."""

    def probabilities(self, codes: Integers) -> Reals:
        """How probable each class is, for each row of codes; every row adds up to 1."""
        return self._probabilities(self.checked(codes))

    def places(self, codes: Integers) -> Integers:
        """The number of the most probable class, for each row of codes; the first, if several are equally probable."""
        return np.asarray(self.probabilities(codes).argmax(axis=1), dtype=np.int64)

    def checked(self, codes: Integers) -> Integers:
        """The codes, if each is −1 or the number of a cell."""
        given, shape = np.asarray(codes), self.schema.shape
        if given.ndim != 2 or given.shape[1] != len(shape) or given.dtype.kind not in "iu":
            raise BadInput(
                f"codes must be whole numbers in a column for each of the {len(shape)} attributes, given an array of "
                f"{given.dtype} of shape {given.shape}."
            )
        if given.size and ((given < -1) | (given >= np.array(shape))).any():
            raise BadInput("codes are −1, or numbers of cells below the size of their attribute. Use codes_of.")
        return given

    # ---- in files ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def learnt(self) -> dict[str, Any]:
        """What was learnt, as plain values."""

    @classmethod
    @abstractmethod
    def from_learnt(cls, target: Target, learnt: Any) -> Model:
        """The model that :meth:`learnt` describes; an error if it does not match the target."""

    def to_plain(self) -> dict[str, Any]:
        """Everything as plain values for JSON; :meth:`from_plain` reads it back."""
        return {
            **KIND.head,
            "kind": self.kind,
            "schema": self.target.whole.to_dict(),
            "label": self.label,
            "learnt": self.learnt(),
        }

    @staticmethod
    def from_plain(plain: Any) -> Model:
        """The model that :meth:`to_plain` wrote. Nothing in the values is trusted."""
        return _EMBEDDED.made(plain, "this", lambda body: _model_of(body, "this"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file: JSON, with a digest that shows later changes."""
        KIND.write(self.to_plain(), path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Model:
        """The model in a file that :meth:`save` wrote."""
        return KIND.read(path, lambda body: _model_of(body, str(path)))

    # ---- in words and pictures --------------------------------------------------------------------------------------

    @abstractmethod
    def explain(self) -> str:
        """What was learnt, for people."""

    def __str__(self) -> str:
        return self.explain()

    def __repr__(self) -> str:
        return (
            f"<{self.kind} model of {self.label!r}: {len(self.classes)} classes, {len(self.schema.names)} attributes>"
        )


def normalised(scores: Reals) -> Reals:
    """Probabilities in proportion to exp(scores), row by row; the scores are overwritten."""
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


def real_array(given: Any, shape: tuple[int, ...], name: str) -> Reals:
    """Finite numbers of this shape, from a file; or an error. The result is read-only.

    >>> real_array([[0.5, 0.5]], (1, 2), "priors")
    array([[0.5, 0.5]])
    """
    if not _all_numbers(given):
        raise BadInput(f"{name} must be numbers.")
    values = np.array(given, dtype=np.float64)
    if values.shape != shape or not np.isfinite(values).all():
        raise BadInput(f"{name} must be finite numbers of shape {shape}, given shape {values.shape}.")
    values.flags.writeable = False
    return values


def _all_numbers(given: Any) -> bool:
    """Whether nested lists hold numbers only: NumPy would read texts and booleans as numbers too."""
    if isinstance(given, list | tuple):
        return all(map(_all_numbers, given))
    return isinstance(given, int | float) and not isinstance(given, bool)


def class_array(classes: tuple[Any, ...]) -> Array:
    """The classes as an array: of texts, whole numbers or booleans, or of objects where they are mixed."""
    return np.array(classes, dtype=object if _mixed(classes) else None)


def _mixed(classes: tuple[Any, ...]) -> bool:
    return len({type(name) for name in classes}) > 1


class Predictions:
    """Makes tables of predictions, batch by batch, and counts the predicted classes."""

    def __init__(
        self, model: Model, *, probabilities: bool, beside: Sequence[str] = (), weights: Reals | None = None
    ) -> None:
        self.model, self.probabilities, self.beside = model, probabilities, tuple(beside)
        self.weights = np.ones(len(model.classes)) if weights is None else weights
        own = [f"predicted_{model.label}", *(f"probability_{name}" for name in model.classes if probabilities)]
        self.names = [free_name(name, beside) for name in own]
        """The columns of predictions, the label first. Their names differ from those of the kept columns."""
        self._counts = np.zeros(len(model.classes), dtype=np.int64)

    @property
    def rows(self) -> int:
        """How many rows were predicted so far."""
        return int(self._counts.sum())

    @property
    def counted(self) -> dict[str, int]:
        """How often each class was predicted so far."""
        return {str(name): count for name, count in zip(self.model.classes, self._counts.tolist(), strict=True)}

    def of(self, codes: Integers, kept: pa.Table | None = None) -> pa.Table:
        """The predictions for some rows, after the columns that are kept."""
        import pyarrow as pa

        probabilities = self.model.probabilities(codes)
        places = (probabilities * self.weights).argmax(axis=1)
        self._counts += np.bincount(places, minlength=len(self._counts))
        columns: list[Any] = [_classes(self.model.classes).take(pa.array(places))]
        if self.probabilities:
            columns += [pa.array(np.ascontiguousarray(column)) for column in probabilities.T]
        if kept is None:
            return pa.Table.from_arrays(columns, names=self.names)
        return pa.Table.from_arrays([*kept.columns, *columns], names=[*kept.column_names, *self.names])

    def none(self) -> pa.Table:
        """An empty table of predictions."""
        import pyarrow as pa

        kept = pa.Table.from_arrays([pa.nulls(0, pa.string())] * len(self.beside), names=list(self.beside))
        return self.of(np.empty((0, len(self.model.schema.names)), dtype=np.int64), kept if self.beside else None)


def _classes(classes: tuple[Any, ...]) -> pa.Array:
    """The classes in their own type; as texts where types are mixed, such as numbers and (other)."""
    import pyarrow as pa

    return pa.array([str(name) for name in classes] if _mixed(classes) else list(classes))


MODELS: Registry[Model] = Registry(
    "kind of model",
    {
        "forest": "learning.tree_model:ForestModel",
        "naive-bayes": "learning.class_profiles:ClassProfiles",
        "naive-bayes-tree": "learning.tree_model:LeafProfiles",
        "profiled-tree": "learning.tree_model:ProfiledTreeModel",
        "tree": "learning.tree_model:TreeModel",
    },
    key="kind",
)
