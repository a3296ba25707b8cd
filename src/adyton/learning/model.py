"""A model: what was learnt. It is public, made of noisy answers alone, and can be kept in a file."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from adyton.arrays import Array, Integers, Reals
from adyton.errors import BadInput
from adyton.learning import model_file
from adyton.learning.target import Target
from adyton.schema import Schema
from adyton.schema.attributes import Label


@dataclass(frozen=True, kw_only=True, eq=False)
class Model(ABC):
    """A fitted classifier. Subclasses say what is kept; all are saved, loaded and asked in the same way.

    Rows are given as codes: the number of each attribute's cell, −1 where a value has none.
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
        """The name of what it predicts."""
        return self.target.label

    @property
    def classes(self) -> tuple[Label, ...]:
        """What it can predict, in the order of the probabilities."""
        return self.target.classes

    @property
    def rows(self) -> float | None:
        """About how many rows it was learnt from, as far as its noisy answers tell; None if they do not."""
        return None

    @abstractmethod
    def _probabilities(self, codes: Integers) -> Reals:
        """Of checked codes; one row of probabilities for each."""

    def probabilities(self, codes: Integers) -> Reals:
        """How probable each class is, for each row of codes; every row adds up to 1."""
        return self._probabilities(self.checked(codes))

    def places(self, codes: Integers) -> Integers:
        """The number of the most probable class, for each row of codes; among equals, the first."""
        return np.asarray(self.probabilities(codes).argmax(axis=1), dtype=np.int64)

    def checked(self, codes: Integers) -> Integers:
        """The codes, if each is −1 or the number of a cell."""
        given, shape = np.asarray(codes), self.schema.shape
        if given.ndim != 2 or given.shape[1] != len(shape) or given.dtype.kind not in "iu":
            raise BadInput(
                f"codes are whole numbers in a column for each of the {len(shape)} attributes, given an array of "
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
        """The model that :meth:`learnt` describes; what does not fit the target is an error."""

    def to_plain(self) -> dict[str, Any]:
        """Everything as plain values for JSON; :meth:`from_plain` reads it back."""
        return model_file.body_of(self)

    @staticmethod
    def from_plain(plain: Any) -> Model:
        """The model that :meth:`to_plain` wrote. It is checked as a stranger's would be."""
        return model_file.model_of(plain, "this")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file: JSON, with a digest that shows later changes."""
        model_file.write(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Model:
        """The model in a file that :meth:`save` wrote."""
        return model_file.read(path)

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


def real_array(given: Any, shape: tuple[int, ...], name: str) -> Reals:
    """Finite numbers of a certain shape, from a file; or an error. The result cannot be changed.

    >>> real_array([[0.5, 0.5]], (1, 2), "priors")
    array([[0.5, 0.5]])
    """
    if not _all_numbers(given):
        raise BadInput(f"{name} must be numbers.")
    found = np.array(given, dtype=np.float64)
    if found.shape != shape or not np.isfinite(found).all():
        raise BadInput(f"{name} must be finite numbers of shape {shape}, given shape {found.shape}.")
    found.flags.writeable = False
    return found


def _all_numbers(given: Any) -> bool:
    """Whether nested lists hold numbers only: NumPy would read texts and booleans as numbers too."""
    if isinstance(given, list | tuple):
        return all(map(_all_numbers, given))
    return isinstance(given, int | float) and not isinstance(given, bool)


def class_array(classes: tuple[Any, ...]) -> Array:
    """The classes as an array: of texts, whole numbers or booleans, or of objects where they are mixed."""
    mixed = len({type(one) for one in classes}) > 1
    return np.array(classes, dtype=object if mixed else None)
