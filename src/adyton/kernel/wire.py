"""What may come to the kernel, and what passes between a plan and a kernel as text: operators on the way in, results
and public facts on the way out.

A frozen dataclass such as an operator declares what each of its fields holds: a plain value, an array, a tuple of such
things, or a value of a *listed* class, which is checked in the same way. From that declaration follow both the check at
the kernel's door and the encoding on the wire, so that a new operator has to describe itself once. A value is written
field by field and rebuilt through its own constructor, which checks it again: whoever wrote the text may be a stranger.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Any, NamedTuple, NoReturn, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np

from adyton import queries
from adyton.arrays import Array, Reals
from adyton.errors import BadInput
from adyton.kernel.counts import GuessedTables, NoisyTables
from adyton.kernel.mechanisms import MECHANISMS, Mechanism
from adyton.kernel.shapes import Facts, InstancesShape, TableShape, TablesShape, VectorShape
from adyton.kernel.transforms import TRANSFORMS, Transform
from adyton.messages import shorten
from adyton.queries import Measurement, NoisyValue, Partition, Queries
from adyton.queries.base import Size
from adyton.schema import RowTree, Schema
from adyton.whole import IntegerArray, is_frozen, whole, whole_array

QUERIES: tuple[type[Queries], ...] = (
    queries.Identity,
    queries.Total,
    queries.Prefix,
    queries.AllRange,
    queries.Ranges,
    queries.Haar,
    queries.Cosines,
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
OPERATORS: tuple[type[Transform] | type[Mechanism], ...] = (*TRANSFORMS, *MECHANISMS)
_SHAPES = (TableShape, VectorShape, TablesShape, InstancesShape)
PARTS: tuple[type[Any], ...] = (*QUERIES, queries.Partition, RowTree, GuessedTables, *_SHAPES)
"""The classes whose values can be part of another value. Subclasses of them cannot: they could lie."""
_PLAIN = (bool, int, float, str, Fraction, Schema, Size)
_NOTHING = type(None)
_DEEPEST = 20
MOST_BITS = 2048
"""How long a number can be."""


def admit(operator: Any) -> Any:
    """Let through operators of the fixed list, made of parts of the fixed list; subclasses are strangers too."""
    if not is_one_of(operator, OPERATORS):
        names = ", ".join(cls.__name__ for cls in OPERATORS)
        raise BadInput(f"the kernel does not know the operator {type(operator).__name__}. It knows {names}.")
    check_fields(operator)
    return operator


class Kind(NamedTuple):
    """What a field may hold."""

    classes: tuple[type, ...]
    """The value is of one of these classes exactly."""
    items: Kind | None = None
    """What each item of a tuple is."""
    numbers: frozenset[np.dtype[Any]] = frozenset()
    """What an array may hold."""

    def __str__(self) -> str:
        return ", ".join("None" if cls is _NOTHING else cls.__name__ for cls in self.classes)


@cache
def fields_of(cls: type[Any]) -> dict[str, Kind]:
    """What each field of a dataclass may hold, from its annotations.

    >>> fields_of(queries.Partition)["groups"].classes
    (<class 'int'>,)
    """
    hints = get_type_hints(cls)
    return {field.name: _kind(hints[field.name]) for field in dataclasses.fields(cls)}


def _kind(annotation: Any) -> Kind:
    """The kind that an annotation stands for. A class stands for those of the listed classes that derive from it."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (types.UnionType, Union):
        kinds = [_kind(argument) for argument in arguments]
        items = next((kind.items for kind in kinds if kind.items is not None), None)
        numbers = frozenset().union(*(kind.numbers for kind in kinds))
        return Kind(tuple(cls for kind in kinds for cls in kind.classes), items, numbers)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return Kind((tuple,), _kind(arguments[0]))
    if origin is np.ndarray:
        (number,) = get_args(arguments[1])
        return Kind((np.ndarray,), numbers=frozenset(map(np.dtype, (np.int64, object) if number is Any else (number,))))
    if annotation in (*_PLAIN, _NOTHING):
        return Kind((annotation,))
    listed = tuple(cls for cls in PARTS if isinstance(annotation, type) and issubclass(cls, annotation))
    if not listed:
        raise TypeError(f"a field of the type {annotation} cannot come to the kernel.")
    return Kind(listed)


def is_one_of(value: Any, classes: Iterable[type]) -> bool:
    """Whether the value is of one of the classes exactly. (``in`` would ask the value's own metaclass.)"""
    kind = type(value)
    for known in classes:  # noqa: SIM110  (a generator takes twice as long, and this is asked for every part)
        if kind is known:
            return True
    return False


def check_fields(value: Any, depth: int = 0) -> None:
    """Refuse a value whose fields hold anything else than they declare, however deep, or that was changed by force."""
    if depth > _DEEPEST:
        raise BadInput(f"these queries are made of queries more than {_DEEPEST} deep. Write them out.")
    fields = fields_of(type(value))  # type: ignore[arg-type]  # mypy: type[Any] is not Hashable
    if vars(value).keys() - fields.keys():  # attributes could hide its own methods
        raise BadInput(f"this {type(value).__name__} was changed after it was made. Make a new one.")
    for name, kind in fields.items():
        _check(getattr(value, name), kind, value, name, depth)


def _check(part: Any, kind: Kind, owner: Any, name: str, depth: int) -> None:
    cls = type(part)
    if not is_one_of(part, kind.classes):
        raise BadInput(f"{type(owner).__name__} does not know the {name} {cls.__name__}. It knows {kind}.")
    if cls is tuple:
        assert kind.items is not None
        for item in part:
            _check(item, kind.items, owner, name, depth)
    elif cls is np.ndarray:
        if part.dtype not in kind.numbers:
            known = ", ".join(map(str, kind.numbers))
            raise BadInput(f"{type(owner).__name__} does not know the {name} of {part.dtype}. It knows {known}.")
        if not part.dtype.hasobject and not is_frozen(part):  # as those of copies made by force are not
            raise BadInput(f"this {type(owner).__name__} was copied, not made by its constructor. Make a new one.")
    elif cls is int or cls is Fraction:
        if max(abs(part.numerator), part.denominator).bit_length() > MOST_BITS:
            raise BadInput(f"the {name} of {type(owner).__name__} has too many digits. Write it with fewer.")
    elif is_one_of(part, PARTS):
        check_fields(part, depth + 1)


Result: TypeAlias = Measurement | NoisyTables | Partition | NoisyValue | int | tuple[int, ...]
"""What comes out of a kernel: noisy answers or tables, a chosen partition, a noisy number, or the number of what was
chosen, or several."""


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
    """What came out of a kernel, as JSON.

    >>> encode_result(NoisyValue(2.0, 1.5, private=True))
    '{"NoisyValue": {"value": 2.0, "deviation": 1.5, "private": true}}'
    """
    return json.dumps(_pack(_Answers.of(result) if isinstance(result, Measurement) else result))


def decode_result(text: str) -> Result:
    """The result that :func:`encode_result` wrote."""
    found = _read(text, "a result of a kernel")
    if type(found) is int and found.bit_length() <= MOST_BITS:
        return found
    if type(found) is tuple:
        return tuple(_whole_numbers(found))
    if not is_one_of(found, (_Answers, NoisyTables, Partition, NoisyValue)):
        raise BadInput("a result of a kernel is a measurement, tables, a partition, a noisy value or numbers.")
    check_fields(found)
    if isinstance(found, _Answers):
        return found.measurement()
    if isinstance(found, NoisyTables):
        return found.check()
    if isinstance(found, NoisyValue) and not (np.isfinite(found.value) and 0 <= found.deviation < np.inf):
        raise BadInput("a noisy value and its deviation are finite numbers.")
    result: Partition | NoisyValue = found
    return result


def encode_facts(facts: Facts) -> str:
    """What is public about a source, as JSON."""
    return json.dumps(_pack(facts))


def decode_facts(text: str) -> Facts:
    """The facts that :func:`encode_facts` wrote."""
    found = _read(text, "a source of a kernel")
    if type(found) is not Facts:
        raise BadInput("a kernel says of a source its number, its shape, its lineage and its stability.")
    check_fields(found)
    whole(found.node, "the number of a source", 0)
    whole(found.stability, "the stability of a source", 0)
    return found


@dataclass(frozen=True, eq=False)
class _Answers:
    """A measurement on its way: the variances of the noise stand for how they are computed."""

    queries: Queries
    answers: IntegerArray
    variances: Reals
    epsilon: Fraction
    private: bool
    mapping: Queries | None

    @classmethod
    def of(cls, found: Measurement) -> _Answers:
        return cls(found.queries, found.answers, found.variances, found.epsilon, found.private, found.mapping)

    def measurement(self) -> Measurement:
        """The measurement, once it is sure that its parts fit together."""
        count = self.queries.count
        if self.answers.ndim not in (1, 2) or self.answers.shape[-1] != count or self.variances.shape != (count,):
            raise BadInput(f"a measurement of {count} queries has as many answers and variances.")
        if not np.isfinite(self.variances).all() or self.variances.min() < 0 or self.epsilon <= 0:
            raise BadInput("the variances and the ε of a measurement are positive numbers.")
        if self.mapping is not None and self.mapping.count != self.queries.cells:
            raise BadInput(
                f"the queries of a measurement ask about {self.queries.cells} cells; its mapping has others."
            )
        variances = partial(np.asarray, self.variances)
        return Measurement(self.queries, self.answers, variances, self.epsilon, self.private, self.mapping)


_CLASSES: dict[str, type[Any]] = {cls.__name__: cls for cls in (*OPERATORS, *PARTS, NoisyValue, NoisyTables, Facts)}
_CLASSES["Measurement"] = _Answers
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
    raise BadInput(f"{constant} is no number.")


def _pack(value: Any) -> Any:
    if value is None or is_one_of(value, (bool, int, float, str)):
        return value
    if type(value) is tuple:
        return [_pack(item) for item in value]
    for name, (cls, write, _) in _LEAVES.items():
        if type(value) is cls:
            return {name: write(value)}
    if type(value) not in _NAMES:
        raise BadInput(f"a {type(value).__name__} cannot be sent to a kernel.")
    fields = [field for field in dataclasses.fields(value) if field.init]
    return {_NAMES[type(value)]: {field.name: _pack(getattr(value, field.name)) for field in fields}}


def _unpack(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_unpack(item) for item in value)
    if not isinstance(value, dict):
        return value
    ((name, content),) = value.items()
    if name in _LEAVES:
        return _LEAVES[name][2](content)
    return _CLASSES[name](**{field: _unpack(part) for field, part in content.items()})


def _pack_array(values: Array) -> list[Any]:
    """The bytes of 64-bit numbers; longer ones as they are."""
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
        raise BadInput("there is something that is no whole number, or one of too many digits.")
    return list(plain)


_LEAVES: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "fraction": (Fraction, Fraction.as_integer_ratio, lambda plain: Fraction(*_whole_numbers(plain))),
    "size": (Size, list, lambda plain: Size(*_whole_numbers(plain))),
    "schema": (Schema, Schema.to_dict, Schema.from_dict),
    "array": (np.ndarray, _pack_array, _unpack_array),
}
"""Values that are written in a way of their own: how, and how they are read again."""
