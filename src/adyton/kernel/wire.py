"""Operators as text: what a client would send to a kernel in another process.

Only the classes listed here can be sent, and each is rebuilt through its own constructor, which checks it again.
"""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.mechanisms import MECHANISMS, Mechanism
from adyton.kernel.transforms import TRANSFORMS, Transform
from adyton.queries import (
    AllRange,
    Cells,
    Cosines,
    Explicit,
    Grid,
    Haar,
    Hierarchy,
    Identity,
    Kronecker,
    Marginals,
    OnGroups,
    Partition,
    Prefix,
    Product,
    Queries,
    Ranges,
    Reduction,
    Stack,
    Total,
)
from adyton.whole import is_frozen

QUERIES: tuple[type[Queries], ...] = (
    Identity,
    Total,
    Prefix,
    AllRange,
    Ranges,
    Haar,
    Cosines,
    Hierarchy,
    Marginals,
    Grid,
    Kronecker,
    Stack,
    Product,
    Reduction,
    Cells,
    OnGroups,
    Explicit,
)
OPERATORS: tuple[type[Transform] | type[Mechanism], ...] = (*TRANSFORMS, *MECHANISMS)
_CLASSES: dict[str, type[Any]] = {cls.__name__: cls for cls in (*OPERATORS, *QUERIES, Partition)}
_FIELDS = {cls: frozenset(field.name for field in dataclasses.fields(cls)) for cls in _CLASSES.values()}


def encode(operator: Transform | Mechanism) -> str:
    """An operator as JSON.

    >>> from adyton.kernel.transforms import Where
    >>> encode(Where("age > 64"))
    '{"Where": {"predicate": "age > 64"}}'
    """
    admit(operator)
    return json.dumps(_pack(operator))


def decode(text: str) -> Any:
    """The operator that :func:`encode` wrote."""
    try:
        return admit(_unpack(json.loads(text)))
    except BadInput:
        raise
    except (TypeError, KeyError, ValueError, AttributeError, RecursionError, MemoryError, ArithmeticError) as error:
        problem = type(error).__name__
    raise BadInput(f"this is not an operator of the kernel ({problem}).")


def admit(operator: Any) -> Any:
    """Let through operators of the fixed list, made of parts of the fixed list; subclasses are strangers too."""
    if not _is_one_of(operator, OPERATORS):
        names = ", ".join(cls.__name__ for cls in OPERATORS)
        raise BadInput(f"the kernel does not know the operator {type(operator).__name__}. It knows {names}.")
    _check_untouched(operator)
    for name in _FIELDS[type(operator)]:
        part, allowed = getattr(operator, name), _PARTS[name]
        if not _is_one_of(part, allowed) or (type(part) is tuple and not _is_plain(part)):
            names = ", ".join("None" if cls is _NOTHING else cls.__name__ for cls in allowed)
            raise BadInput(
                f"{type(operator).__name__} does not know the {name} {type(part).__name__}. It knows {names}."
            )
        for item in part if type(part) is tuple else (part,):
            if type(item) in (int, Fraction) and max(item.numerator, item.denominator).bit_length() > _MOST_BITS:
                raise BadInput(f"the {name} of {type(operator).__name__} has too many digits. Write it with fewer.")
        if isinstance(part, Queries | Partition):
            _check_parts(part, 0)
        _check_frozen(part, operator)
    return operator


def _is_one_of(value: Any, classes: Iterable[type]) -> bool:
    """Whether the value is of one of the classes exactly. (``in`` would ask the value's own metaclass.)"""
    kind = type(value)
    for known in classes:  # noqa: SIM110  (a generator takes twice as long, and this is asked for every part)
        if kind is known:
            return True
    return False


def _is_plain(items: tuple[Any, ...]) -> bool:
    """Texts only, or whole numbers only."""
    return any(all(type(item) is kind for item in items) for kind in (str, int))


def _check_frozen(part: Any, whole: Any) -> None:
    """Refuse arrays that can still be changed, as those of copies made by force can."""
    if type(part) is np.ndarray and not is_frozen(part):
        raise BadInput(f"this {type(whole).__name__} was copied, not made by its constructor. Make a new one.")


def _check_parts(value: Any, depth: int) -> None:
    """The fields of a query set, and of the sets that it is made of, hold plain values and nothing else."""
    if depth > _DEEPEST:
        raise BadInput(f"these queries are made of queries more than {_DEEPEST} deep. Write them out.")
    _check_untouched(value)
    for name in _FIELDS[type(value)]:
        part = getattr(value, name)
        for item in part if type(part) is tuple else (part,):
            _check_frozen(item, value)
            if _is_one_of(item, _CLASSES.values()):
                _check_parts(item, depth + 1)
            elif type(item) is tuple:
                if not all(type(number) is int for number in item):
                    raise BadInput(f"{type(value).__name__} holds a {name} that the kernel does not know.")
            elif not _is_one_of(item, (int, np.ndarray, _NOTHING)):
                raise BadInput(
                    f"{type(value).__name__} is made of {type(item).__name__}, which the kernel does not know."
                )


def _check_untouched(value: Any) -> None:
    """Refuse a value on which somebody has set attributes that would hide its own methods."""
    if vars(value).keys() - _FIELDS[type(value)]:
        raise BadInput(f"this {type(value).__name__} was changed after it was made. Make a new one.")


_NOTHING = type(None)
_DEEPEST = 20
_MOST_BITS = 2048
_PARTS: dict[str, tuple[type, ...]] = {
    "attribute": (str,),
    "attributes": (tuple,),
    "bucket_cost": (Fraction,),
    "buckets": (int,),
    "centre": (str,),
    "chances": (tuple,),
    "clip": (int,),
    "costs": (tuple,),
    "count": (str,),
    "domain": (tuple,),
    "denominator": (int,),
    "groups": (Partition, _NOTHING),
    "guess": (np.ndarray,),
    "keys": (tuple,),
    "lengths": (str,),
    "levels": (int,),
    "longest": (int, _NOTHING),
    "max_count": (int,),
    "partition": (Partition,),
    "pick_share": (Fraction,),
    "predicate": (str,),
    "price": (Fraction,),
    "queries": QUERIES,
    "remaining": (Fraction,),
    "sizes": (tuple,),
    "step": (int,),
    "tested": (tuple,),
    "weights": (np.ndarray, _NOTHING),
}
"""What each field of an operator may hold; tuples hold texts, or whole numbers."""


def _pack(value: Any) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case tuple():
            return [_pack(item) for item in value]
        case np.ndarray():
            return {"array": base64.b64encode(value.tobytes()).decode("ascii"), "shape": list(value.shape)}
        case _ if type(value) is Fraction:
            return {"fraction": [value.numerator, value.denominator]}
        case _ if type(value) is _CLASSES.get(type(value).__name__):
            fields = [field for field in dataclasses.fields(value) if field.init]
            return {type(value).__name__: {field.name: _pack(getattr(value, field.name)) for field in fields}}
        case _:
            raise BadInput(f"a {type(value).__name__} cannot be sent to a kernel.")


def _unpack(value: Any) -> Any:
    match value:
        case {"array": str(text), "shape": list(shape)}:
            return np.frombuffer(base64.b64decode(text, validate=True), dtype=np.int64).reshape(shape)
        case {"fraction": [int(numerator), int(denominator)]}:
            return Fraction(numerator, denominator)
        case dict():
            ((name, fields),) = value.items()
            return _CLASSES[name](**{field: _unpack(part) for field, part in fields.items()})
        case list():
            return tuple(_unpack(item) for item in value)
        case _:
            return value
