"""The values that the kernel accepts.

A frozen dataclass such as an operator declares the type of each field: a plain value, an array, a tuple of such values,
or a value of a *listed* class, which is checked in the same way. Both the check at the kernel's door and the encoding
of :mod:`adyton.session.wire` follow from the declaration, so a new operator has to declare its fields only once.
"""

from __future__ import annotations

import dataclasses
import sys
import types
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

from adyton import queries
from adyton.errors import BadInput
from adyton.kernel.mechanisms import CORE, PLACES, is_mechanism
from adyton.kernel.mechanisms.guessed_tables import GuessedTables
from adyton.kernel.shapes import InstancesShape, TableShape, TablesShape, VectorShape
from adyton.kernel.transforms import TRANSFORMS
from adyton.queries import Queries
from adyton.queries.base import Size
from adyton.schema import RowTree, Schema
from adyton.whole import is_frozen

QUERIES: tuple[type[Queries], ...] = (
    queries.Identity,
    queries.Total,
    queries.Prefix,
    queries.AllRange,
    queries.Ranges,
    queries.Haar,
    queries.Hierarchy,
    queries.Marginals,
    queries.Grid,
    queries.Kronecker,
    queries.Stack,
    queries.Product,
    queries.Reduction,
    queries.Cells,
    queries.OnGroups,
    queries.Explicit,
)
_SHAPES = (TableShape, VectorShape, TablesShape, InstancesShape)
PARTS: tuple[type[Any], ...] = (*QUERIES, queries.Partition, RowTree, GuessedTables, *_SHAPES)
"""The classes whose values can be part of another value. Their subclasses cannot: they could override any method."""
_PLAIN = (bool, int, float, str, Fraction, Schema, Size)
_NOTHING = type(None)
_DEEPEST = 20
MOST_BITS = 2048
"""The longest number that is accepted."""


def admit(operator: Any) -> Any:
    """Accept only operators from the fixed list, made of parts from the fixed list; subclasses are refused."""
    if not is_one_of(operator, TRANSFORMS) and not is_mechanism(type(operator)):
        names = ", ".join([*(cls.__name__ for cls in (*TRANSFORMS, *CORE)), *PLACES])
        raise BadInput(f"the kernel does not accept the operator {type(operator).__name__}. It accepts {names}.")
    check_fields(operator)
    return operator


class Kind(NamedTuple):
    """The values that a field may hold."""

    classes: tuple[type, ...]
    """The value's class must be exactly one of these."""
    items: Kind | None = None
    """The kind of each item of a tuple."""
    numbers: frozenset[np.dtype[Any]] = frozenset()
    """The types that an array may have."""

    def __str__(self) -> str:
        return ", ".join("None" if cls is _NOTHING else cls.__name__ for cls in self.classes)


def parts() -> tuple[type[Any], ...]:
    """The listed classes, including query sets that only published algorithms use, once those are loaded."""
    cosines = sys.modules.get("adyton.queries.cosines")
    return PARTS if cosines is None else (*PARTS, cosines.Cosines)


@cache
def fields_of(cls: type[Any], listed: tuple[type[Any], ...]) -> dict[str, Kind]:
    """The kind of each field of a dataclass, from its annotations.

    >>> fields_of(queries.Partition, parts())["groups"].classes
    (<class 'int'>,)
    """
    hints = get_type_hints(cls)
    return {field.name: _kind(hints[field.name], listed) for field in dataclasses.fields(cls)}


def _kind(annotation: Any, listed: tuple[type[Any], ...]) -> Kind:
    """The kind that an annotation stands for. A class stands for the listed classes that derive from it."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (types.UnionType, Union):
        kinds = [_kind(argument, listed) for argument in arguments]
        items = next((kind.items for kind in kinds if kind.items is not None), None)
        numbers = frozenset().union(*(kind.numbers for kind in kinds))
        return Kind(tuple(cls for kind in kinds for cls in kind.classes), items, numbers)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return Kind((tuple,), _kind(arguments[0], listed))
    if origin is np.ndarray:
        (number,) = get_args(arguments[1])
        return Kind((np.ndarray,), numbers=frozenset(map(np.dtype, (np.int64, object) if number is Any else (number,))))
    if annotation in (*_PLAIN, _NOTHING):
        return Kind((annotation,))
    classes = tuple(cls for cls in listed if isinstance(annotation, type) and issubclass(cls, annotation))
    if not classes:
        raise TypeError(f"a field of the type {annotation} cannot be sent to the kernel.")
    return Kind(classes)


def is_one_of(value: Any, classes: Iterable[type]) -> bool:
    """Whether the value's class is exactly one of these. (``in`` would call the metaclass of the value's class.)"""
    kind = type(value)
    for known in classes:  # noqa: SIM110  (a generator takes twice as long, and this is called for every part)
        if kind is known:
            return True
    return False


def check_fields(value: Any, depth: int = 0) -> None:
    """Refuse a value with a field, at any depth, that differs from its declaration, or that was changed by force."""
    if depth > _DEEPEST:
        raise BadInput(f"these queries are nested more than {_DEEPEST} deep. Write them out.")
    fields = fields_of(type(value), parts())  # type: ignore[arg-type]  # mypy: type[Any] is not Hashable
    if vars(value).keys() - fields.keys():  # extra attributes could shadow its methods
        raise BadInput(f"this {type(value).__name__} was changed after it was made. Make a new one.")
    for name, kind in fields.items():
        _check(getattr(value, name), kind, value, name, depth)


def _check(part: Any, kind: Kind, owner: Any, name: str, depth: int) -> None:
    cls = type(part)
    if not is_one_of(part, kind.classes):
        raise BadInput(f"{type(owner).__name__} does not accept {name} of type {cls.__name__}. It accepts {kind}.")
    if cls is tuple:
        assert kind.items is not None
        for item in part:
            _check(item, kind.items, owner, name, depth)
    elif cls is np.ndarray:
        if part.dtype not in kind.numbers:
            known = ", ".join(map(str, kind.numbers))
            raise BadInput(f"{type(owner).__name__} does not accept {name} of {part.dtype}. It accepts {known}.")
        if not part.dtype.hasobject and not is_frozen(part):  # arrays of copies made by force are not frozen
            raise BadInput(f"this {type(owner).__name__} was copied, not made by its constructor. Make a new one.")
    elif cls is int or cls is Fraction:
        if max(abs(part.numerator), part.denominator).bit_length() > MOST_BITS:
            raise BadInput(f"the {name} of {type(owner).__name__} has too many digits. Write it with fewer.")
    elif is_one_of(part, parts()):
        check_fields(part, depth + 1)
