"""Questions in the words of a table, "age from 20 to 29", as queries about its cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.messages import listing, no_such, shorten
from adyton.queries import Explicit, Queries, Ranges
from adyton.schema import Categorical, Integer, Numeric, Schema
from adyton.schema.attributes import Attribute
from adyton.schema.times import Times
from adyton.tasks.number_questions import border_at
from adyton.tasks.time_questions import cell_at, written

Cells: TypeAlias = npt.NDArray[np.int64]

MOST_QUERIES, _MOST_COEFFICIENTS = 1_000_000, 1 << 25
_LARGEST, _LARGEST_EXACT = 2**200, 2**53
_ENDS = ("from", "to")
_HOW = (
    "A query maps attributes to what is counted: a value, a list of values, or (from, to) with both ends included and "
    'None for an open end, as in {"age": (20, 29), "sex": "F"}.'
)


def as_queries(schema: Schema, asked: object) -> Queries:
    """The queries that somebody asks about the cells of a schema's attributes, in the order asked.

    A list holds several queries; anything else is one. A query names what is counted of each attribute, and counts all
    of those that it leaves out. Where there is one attribute only, its name may be left out. Queries that are written
    as a query set are taken as they are.

    >>> from adyton.schema import Categorical, Integer
    >>> schema = Schema({"age": Integer(0, 119), "sex": Categorical(["F", "M"])})
    >>> print(as_queries(schema, [{"age": (20, 29)}, {"age": (65, None), "sex": "F"}]))
    2 ranges on 120 × 2 cells
    """
    if isinstance(asked, Queries):
        if asked.domain != schema.shape:
            raise BadInput(f"these queries ask about a domain of shape {asked.domain}, the release has {schema.shape}.")
        return asked
    asked = _without_numpy(asked)
    given = asked if isinstance(asked, list) else [asked]
    if not given or len(given) > MOST_QUERIES:
        raise BadInput(f"ask at least one query and at most {MOST_QUERIES:,}, given {len(given):,}. {_HOW}")
    return _boxes(schema, [_box(schema, query) for query in given])


def as_boxes(schema: Schema, asked: object) -> list[dict[str, Cells]]:
    """The same questions, each as the cells that are counted of the attributes which it names: nothing as large as the
    domain is made.

    >>> from adyton.schema import Categorical, Integer
    >>> schema = Schema({"age": Integer(0, 119), "sex": Categorical(["F", "M"])})
    >>> as_boxes(schema, {"sex": "M"})
    [{'sex': array([1])}]
    """
    asked = _without_numpy(asked)
    given = asked if isinstance(asked, list) else [asked]
    if not given or len(given) > MOST_QUERIES:
        raise BadInput(f"ask at least one query and at most {MOST_QUERIES:,}, given {len(given):,}. {_HOW}")
    return [
        {name: _cells(name, schema.attributes[name], part) for name, part in _asked(schema, query).items()}
        for query in given
    ]


def to_plain(query: Mapping[Any, Any]) -> dict[str, Any]:
    """A query as it is written in JSON, where a pair is no tuple; refused where it holds what cannot be asked.

    >>> to_plain({"age": (20, None), "sex": ["F", "M"]})
    {'age': {'from': 20}, 'sex': ['F', 'M']}
    """
    for name in query:
        if not isinstance(name, str):
            raise BadInput(f"the name of an attribute must be a text, given {shorten(name)}. {_HOW}")
    return {str.__str__(name): _plain_part(name, part) for name, part in query.items()}


def _plain_part(name: str, asked: object) -> Any:
    """What is counted of an attribute: a value, a list of values, or a mapping with from and to."""
    match _without_numpy(asked):
        case Mapping() as ends:
            if not _is_range(ends):
                raise BadInput(f"a range is written from and to, given {shorten(dict(ends))} for {name}.")
            pair: Sequence[object] = [ends.get(end) for end in _ENDS]
        case tuple() as pair:
            if len(pair) != 2:
                raise BadInput(f"a range is written (from, to), given {shorten(pair)} for {name}.")
        case list() | set() | frozenset() as values:
            if not values:
                raise BadInput(f"no value of {name} is asked for. Leave {name} out to count all.")
            plain = [_plain_value(name, value) for value in values]
            return plain if isinstance(values, list) else sorted(plain, key=lambda one: (isinstance(one, str), one))
        case value:
            return _plain_value(name, value)
    closed = {key: _plain_value(name, end) for key, end in zip(_ENDS, pair, strict=True) if end is not None}
    return closed or dict.fromkeys(_ENDS)


def _plain_value(name: str, given: object) -> Any:
    """A text, a boolean or a number as Python's own: whole numbers without a point, so that 20.0 is 20."""
    match value := _without_numpy(given):
        case date():
            return written(value)
        case bool():
            return value
        case str():
            return str.__str__(value)
        case int() if abs(value) <= _LARGEST:
            return int(value)
        case float() | np.floating() if abs(float(value)) <= _LARGEST:
            number = float(value)
            return int(number) if number.is_integer() and abs(number) <= _LARGEST_EXACT else number
    raise BadInput(
        f"what is asked of {name} must be a text, a boolean, a date or a number between −2^200 and 2^200, "
        f"given {shorten(value)}."
    )


def _without_numpy(given: object) -> Any:
    """An array as the list of its values, and a number of numpy as Python's."""
    if not isinstance(given, np.ndarray | np.generic) or given.dtype.kind not in "biufUO":
        return given
    if given.ndim > 1:
        raise BadInput(
            f"an array of shape {given.shape} may mean values or ranges. Give a list of values, or of (from, to)."
        )
    return given.tolist()


def _box(schema: Schema, query: object) -> list[Cells]:
    """For each attribute the cells that are counted."""
    plain = _asked(schema, query)
    return [
        _cells(name, attribute, plain[name]) if name in plain else np.arange(attribute.size)
        for name, attribute in schema.attributes.items()
    ]


def _asked(schema: Schema, query: object) -> dict[str, Any]:
    """What is counted of the attributes that are named. Their names come before the words of a range."""
    named = isinstance(query, Mapping) and not (_is_range(query) and set(query).isdisjoint(schema.names))
    if not named and len(schema.names) != 1:
        raise BadInput(f"{shorten(query)} does not say which of {listing(schema.names)} it asks about. {_HOW}")
    asked = query if isinstance(query, Mapping) and named else {schema.names[0]: query}
    for name in asked:
        if name not in schema.names:
            raise BadInput(no_such("attribute", name, schema.names))
    return to_plain(asked)


def _is_range(query: Mapping[Any, Any]) -> bool:
    return bool(query) and set(query) <= set(_ENDS)


def _cells(name: str, attribute: Attribute, part: Any) -> Cells:
    if isinstance(part, dict):
        return _range(name, attribute, part.get("from"), part.get("to"))
    values = [level for value in (part if isinstance(part, list) else [part]) for level in _levels(attribute, value)]
    return np.unique(np.array([_cell(name, attribute, value) for value in values], dtype=np.int64))


def _levels(attribute: Attribute, value: Any) -> tuple[Any, ...]:
    """The levels of a group of them; a value that is no group stands for itself."""
    grouped = isinstance(attribute, Categorical) and isinstance(value, str) and value in dict(attribute.groups)
    return attribute.members(value) if grouped and isinstance(attribute, Categorical) else (value,)


def _cell(name: str, attribute: Attribute, value: Any) -> int:
    """The cell of one value, or of one label such as ``(null)``."""
    known = attribute.labels.count(value)
    if known > 1:
        raise BadInput(f"{known} cells of {name} are called {shorten(value)}. Ask for a range (from, to).")
    place = attribute.labels.index(value) if known else None
    if place is not None and isinstance(attribute.labels[place], bool) == isinstance(value, bool):
        return place
    if isinstance(attribute, Times):
        first, last = (cell_at(name, attribute, value, word) for word in ("begins", "ends"))
        if first == last:
            return first
    if isinstance(attribute, Integer | Numeric | Times):
        raise BadInput(
            f"{shorten(value)} is no single cell of {name}, whose cells are {listing(attribute.labels, 6)}. Ask for a "
            "range (from, to), or for one of these."
        )
    raise BadInput(no_such(f"value of {name}", value, attribute.labels))


def _range(name: str, attribute: Attribute, begin: Any, end: Any) -> Cells:
    if isinstance(attribute, Times):
        first = 0 if begin is None else cell_at(name, attribute, begin, "begins")
        last = attribute.base_size - 1 if end is None else cell_at(name, attribute, end, "ends")
    elif isinstance(attribute, Integer | Numeric):
        first = 0 if begin is None else border_at(name, attribute, begin, "begins")
        last = attribute.base_size - 1 if end is None else border_at(name, attribute, end, "ends")
    else:
        raise BadInput(f"{name} has no order. Ask for a list of values, for example {list(attribute.labels[:2])}.")
    if first > last:
        raise BadInput(f"the range {shorten((begin, end))} of {name} ends before it begins. Swap its ends.")
    return np.arange(first, last + 1)


def _boxes(schema: Schema, boxes: Sequence[Sequence[Cells]]) -> Queries:
    """Ranges, where all are; else the coefficients one by one."""
    shape = schema.shape
    if all(axis.size == axis[-1] - axis[0] + 1 for box in boxes for axis in box):
        lower, upper = ([[int(axis[end]) for axis in box] for box in boxes] for end in (0, -1))
        return Ranges(shape, lower, upper)
    sizes = [math.prod(axis.size for axis in box) for box in boxes]
    if sum(sizes) > _MOST_COEFFICIENTS:
        raise BadInput(f"these queries count {sum(sizes):,} cells, allowed are {_MOST_COEFFICIENTS:,}. Ask for fewer.")
    columns = [np.ravel_multi_index(np.ix_(*box), shape).reshape(-1) for box in boxes]
    places = np.repeat(np.arange(len(boxes)), sizes)
    return Explicit(shape, places, np.concatenate(columns), np.ones(sum(sizes), dtype=np.int64), len(boxes))
