"""Options of plans: a field's type says what may be given for it. All are read once, when a plan is made.

``partition_share: Share = Fraction(1, 4)`` takes ``0.25``, ``"1/4"`` or ``Decimal("0.25")`` and is a fraction from then
on; ``longest: Whole | None = None`` may be left out. What is no such number is refused, with the option's name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache, partial
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np

from adyton.errors import BadInput
from adyton.exact import positive, share
from adyton.messages import shorten
from adyton.whole import whole

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Reader: TypeAlias = Callable[[object, str], Any]
"""From what was given, and the name of the option, to its value; or an error."""


@dataclass(frozen=True)
class Within:
    """Reads a number by *read* and refuses it below *least*, or above *most* if there is such a bound."""

    read: Reader
    least: Fraction | int
    most: Fraction | int | None = None

    def __call__(self, given: object, name: str) -> Any:
        """The number, or an error."""
        value = self.read(given, name)
        if value < self.least or (self.most is not None and value > self.most):
            bounds = f"at least {self.least}" if self.most is None else f"from {self.least} to {self.most:,}"
            raise BadInput(f"{name} must be {bounds}, given {shorten(given)}.")
        return value


def whole_number(given: object, name: str) -> int:
    """A whole number of at least 0."""
    return whole(given, name, 0)


Share: TypeAlias = Annotated[Fraction, share]
"""A part of a budget: greater than 0 and less than 1."""
Positive: TypeAlias = Annotated[Fraction, positive]
"""A number greater than 0."""
Whole: TypeAlias = Annotated[int, Within(whole_number, 1)]
"""A whole number of at least 1."""


def read_options(plan: DataclassInstance) -> None:
    """Put the value of each option in the place of what was given for it, or of its default."""
    readers = _readers(type(plan))
    for field in fields(plan):
        given = getattr(plan, field.name)
        if getattr(type(given), "__hash__", None) is None:
            raise BadInput(f"{field.name} must be a single value, given {shorten(given)}.")
        if field.name in readers:
            object.__setattr__(plan, field.name, readers[field.name](given, field.name))


@lru_cache(maxsize=256)
def _readers(plan: type[DataclassInstance]) -> dict[str, Reader]:
    """How options are read, by name, where their types say it."""
    found = {name: _reader(hint) for name, hint in _hints(plan).items()}
    return {name: reader for name, reader in found.items() if reader is not None}


def _hints(plan: type) -> dict[str, Any]:
    """The types of all fields; of those above a class whose own types only a type checker knows."""
    try:
        return get_type_hints(plan, include_extras=True)
    except NameError:
        return _hints(plan.__mro__[1])


def _reader(kind: Any) -> Reader | None:
    """By the type of a field: a flag, one of some words, a type that says how it is read, or such a type or None."""
    if kind is bool:
        return _flag
    if get_origin(kind) is Literal:
        return partial(_one_of, get_args(kind))
    if NoneType in get_args(kind):
        inner = _reader(next(one for one in get_args(kind) if one is not NoneType))
        return inner and (lambda given, name: None if given is None else inner(given, name))
    return next(filter(callable, getattr(kind, "__metadata__", ())), None)


def _flag(given: object, name: str) -> bool:
    if not isinstance(given, bool | np.bool_):
        raise BadInput(f"{name} is true or false, given {shorten(given)}.")
    return bool(given)


def _one_of(words: tuple[object, ...], given: object, name: str) -> object:
    if given not in words:
        raise BadInput(f"{name} must be {' or '.join(map(repr, words))}, given {shorten(given)}.")
    return given
