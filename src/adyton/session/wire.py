"""What passes between a plan and a kernel as text: operators on the way in, results and public facts on the way out.

A value is written field by field, with the fields that :mod:`adyton.kernel.admission` lists, and rebuilt by its own
constructor, which checks it again: the text may come from anybody.
"""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import zip_longest
from typing import Any, NoReturn, TypeAlias

import numpy as np

from adyton.arrays import Array, Reals
from adyton.errors import BadInput
from adyton.kernel import mechanisms
from adyton.kernel.admission import MOST_BITS, PARTS, admit, check_fields, is_one_of
from adyton.kernel.mechanisms import CORE, PLACES, Mechanism, is_mechanism
from adyton.kernel.operators import Transform
from adyton.kernel.shapes import Facts, TablesShape
from adyton.kernel.transforms import TRANSFORMS
from adyton.messages import shorten
from adyton.queries import Measurement, NoisyValue, Partition, Queries
from adyton.queries.base import Size
from adyton.queries.cosines import Cosines
from adyton.queries.measurement import NoisyTables
from adyton.schema import Schema
from adyton.whole import IntegerArray, whole, whole_array

Result: TypeAlias = Measurement | NoisyTables | Partition | NoisyValue | int | tuple[int, ...]
"""What a kernel returns: noisy answers or tables, a chosen partition, a noisy number, or the numbers of chosen
items."""


def encode(operator: Transform | Mechanism) -> str:
    """An operator as JSON.

    >>> from adyton.kernel.transforms import Where
    >>> encode(Where("age > 64"))
    '{"Where": {"predicate": "age > 64"}}'
    """
    return json.dumps(_pack(admit(operator)))


def decode(text: str) -> Any:
    """The operator that :func:`encode` wrote."""
    return admit(_read(text, "an operator of the kernel"))


def encode_result(result: Result) -> str:
    """A result of a kernel as JSON.

    >>> encode_result(NoisyValue(2.0, 1.5, private=True))
    '{"NoisyValue": {"value": 2.0, "deviation": 1.5, "private": true}}'
    """
    return json.dumps(_pack(_Answers.of(result) if isinstance(result, Measurement) else result))


def decode_result(text: str) -> Result:
    """The result that :func:`encode_result` wrote."""
    value = _read(text, "a result of a kernel")
    if type(value) is int and value.bit_length() <= MOST_BITS:
        return value
    if type(value) is tuple:
        return tuple(_whole_numbers(value))
    if not is_one_of(value, (_Answers, NoisyTables, Partition, NoisyValue)):
        raise BadInput("a result of a kernel is a measurement, tables, a partition, a noisy value or numbers.")
    check_fields(value)
    if isinstance(value, _Answers):
        return value.measurement()
    if isinstance(value, NoisyTables):
        return value.check()
    if isinstance(value, NoisyValue) and not (np.isfinite(value.value) and 0 <= value.deviation < np.inf):
        raise BadInput("a noisy value and its deviation must be finite numbers, the deviation at least 0.")
    result: Partition | NoisyValue = value
    return result


def encode_facts(facts: Facts) -> str:
    """What is public about a source, as JSON."""
    return json.dumps(_pack(facts))


def decode_facts(text: str) -> Facts:
    """The facts that :func:`encode_facts` wrote."""
    facts = _read(text, "a source of a kernel")
    if type(facts) is not Facts:
        raise BadInput("the public facts of a source are its number, its shape, its lineage and its stability.")
    check_fields(facts)
    if isinstance(facts.shape, TablesShape):
        _check_sides(facts.shape)
    whole(facts.node, "the number of a source", 0)
    whole(facts.stability, "the stability of a source", 0)
    return facts


def _check_sides(tables: TablesShape) -> None:
    """Raise an error unless the tables have attributes of their schema, and at most their cells along each axis."""
    cells = dict(zip(tables.schema.names, tables.schema.shape, strict=True))
    for group, sides in zip_longest(tables.groups, tables.sides, fillvalue=()):
        known = len(group) == len(sides) and cells.keys() >= set(group)
        pairs = zip(group, sides, strict=known)
        if not known or not all(side is None or 0 < side <= cells[name] for name, side in pairs):
            raise BadInput("tables have attributes of their schema, and for each at most as many groups as cells.")


@dataclass(frozen=True, eq=False)
class _Answers:
    """A measurement as it is sent: the variances of the noise instead of the function that computes them."""

    queries: Queries
    answers: IntegerArray
    variances: Reals
    epsilon: Fraction
    private: bool
    mapping: Queries | None

    @classmethod
    def of(cls, measurement: Measurement) -> _Answers:
        return cls(*(getattr(measurement, field.name) for field in dataclasses.fields(cls)))

    def measurement(self) -> Measurement:
        """The measurement; refused where its parts do not fit together."""
        count = self.queries.count
        if self.answers.ndim not in (1, 2) or self.answers.shape[-1] != count or self.variances.shape != (count,):
            raise BadInput(f"a measurement of {count} queries must have the same number of answers and variances.")
        if not np.isfinite(self.variances).all() or self.variances.min() < 0 or self.epsilon <= 0:
            raise BadInput("the variances of a measurement must be finite and at least 0, and its ε positive.")
        if self.mapping is not None and self.mapping.count != self.queries.cells:
            raise BadInput(
                f"the queries of a measurement ask about {self.queries.cells} cells; its mapping must have the same."
            )
        variances = partial(np.asarray, self.variances)
        return Measurement(self.queries, self.answers, variances, self.epsilon, self.private, self.mapping)


_LISTED: tuple[type[Any], ...] = (*TRANSFORMS, *CORE, *PARTS, Cosines, NoisyValue, NoisyTables, Facts)
_CLASSES: dict[str, type[Any]] = {cls.__name__: cls for cls in _LISTED} | {"Measurement": _Answers}
_NAMES = {cls: name for name, cls in _CLASSES.items()}
_MALFORMED = (TypeError, KeyError, ValueError, AttributeError, RecursionError, MemoryError, ArithmeticError)


def _read(text: str, what: str) -> Any:
    try:
        return _unpack(json.loads(text, parse_constant=_refuse))
    except BadInput:
        raise
    except _MALFORMED as error:
        problem = type(error).__name__
    raise BadInput(f"this is not {what} ({problem}).")


def _refuse(constant: str) -> NoReturn:
    raise BadInput(f"{constant} is not a number.")


def _pack(value: Any) -> Any:
    if value is None or is_one_of(value, (bool, int, float, str)):
        return value
    if type(value) is tuple:
        return [_pack(item) for item in value]
    for name, (cls, write, _) in _LEAVES.items():
        if type(value) is cls:
            return {name: write(value)}
    kind = type(value)
    if kind not in _NAMES and not is_mechanism(kind):
        raise BadInput(f"a {type(value).__name__} cannot be sent to a kernel.")
    fields = [field for field in dataclasses.fields(value) if field.init]
    return {_NAMES.get(kind, kind.__name__): {field.name: _pack(getattr(value, field.name)) for field in fields}}


def _unpack(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_unpack(item) for item in value)
    if not isinstance(value, dict):
        return value
    ((name, content),) = value.items()
    if name in _LEAVES:
        return _LEAVES[name][2](content)
    kind = getattr(mechanisms, name) if name in PLACES else _CLASSES[name]
    return kind(**{field: _unpack(part) for field, part in content.items()})


def _pack_array(values: Array) -> list[Any]:
    """64-bit numbers as bytes; longer numbers as they are."""
    kind, shape = values.dtype.name, list(values.shape)
    if kind == "object":
        return [kind, shape, values.reshape(-1).tolist()]
    return [kind, shape, base64.b64encode(values.tobytes()).decode("ascii")]


def _unpack_array(packed: Sequence[Any]) -> Array:
    kind, shape, numbers = packed
    sides = tuple(whole(side, "a side of an array", 0) for side in shape)
    if kind == "object":
        return whole_array(_whole_numbers(numbers), sides)
    if kind not in ("int64", "float64"):
        raise BadInput(f"arrays of {shorten(kind)} cannot be sent.")
    return np.frombuffer(base64.b64decode(numbers, validate=True), dtype=kind).reshape(sides)


def _whole_numbers(plain: Any) -> list[int]:
    if not all(type(number) is int and number.bit_length() <= MOST_BITS for number in plain):
        raise BadInput("a value is not a whole number, or has too many digits.")
    return list(plain)


_LEAVES: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "fraction": (Fraction, Fraction.as_integer_ratio, lambda plain: Fraction(*_whole_numbers(plain))),
    "size": (Size, list, lambda plain: Size(*_whole_numbers(plain))),
    "schema": (Schema, Schema.to_dict, Schema.from_dict),
    "array": (np.ndarray, _pack_array, _unpack_array),
}
"""Values with a form of their own: how they are written, and how they are read."""
