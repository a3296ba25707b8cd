"""Questions in the words of a table, "age from 20 to 29", as queries about its cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput
from adyton.messages import listing, no_such, shorten
from adyton.queries import Explicit, Queries, Ranges
from adyton.schema import Integer, Numeric, Schema
from adyton.schema.attributes import Attribute, CelledAttribute

Cells: TypeAlias = npt.NDArray[np.int64]

_MOST_QUERIES, _MOST_COEFFICIENTS = 1_000_000, 1 << 25
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
    given = asked if isinstance(asked, list) else asked.tolist() if isinstance(asked, np.ndarray) else [asked]
    if not given or len(given) > _MOST_QUERIES:
        raise BadInput(f"ask at least one query and at most {_MOST_QUERIES:,}, given {len(given):,}. {_HOW}")
    return _boxes(schema, [_box(schema, query) for query in given])


def to_plain(query: object) -> Any:
    """A query as it is written in JSON, where a pair is no tuple: ``{"from": 20, "to": 29}``.

    >>> to_plain({"age": (20, None), "sex": ["F", "M"]})
    {'age': {'from': 20, 'to': None}, 'sex': ['F', 'M']}
    """
    match query:
        case Mapping():
            return {str(name): to_plain(part) for name, part in query.items()}
        case tuple():
            return dict(zip(_ENDS, (to_plain(end) for end in query), strict=False))
        case list():
            return [to_plain(part) for part in query]
        case _:
            return query.item() if isinstance(query, np.generic) else query


def _box(schema: Schema, query: object) -> list[Cells]:
    """For each attribute the cells that are counted."""
    if not isinstance(query, Mapping) or _is_range(query):
        if len(schema.names) != 1:
            raise BadInput(f"{shorten(query)} does not say which of {listing(schema.names)} it asks about. {_HOW}")
        query = {schema.names[0]: query}
    for name in query:
        if name not in schema.names:
            raise BadInput(no_such("attribute", name, schema.names))
    return [_cells(name, attribute, query.get(name, ...)) for name, attribute in schema.attributes.items()]


def _is_range(query: Mapping[Any, Any]) -> bool:
    return bool(query) and set(query) <= set(_ENDS)


def _cells(name: str, attribute: Attribute, asked: object) -> Cells:
    if asked is ...:
        return np.arange(attribute.size)
    if isinstance(asked, Mapping):
        if not _is_range(asked):
            raise BadInput(f"a range is written from and to, given {shorten(dict(asked))} for {name}.")
        asked = (asked.get("from"), asked.get("to"))
    if isinstance(asked, tuple):
        return _range(name, attribute, asked)
    values = asked if isinstance(asked, list | set | frozenset) else [asked]
    if not values:
        raise BadInput(f"no value of {name} is asked for. Leave {name} out to count all.")
    return np.unique(np.array([_cell(name, attribute, value) for value in values], dtype=np.int64))


def _cell(name: str, attribute: Attribute, value: object) -> int:
    """The cell of one value, or of one label such as ``(null)``."""
    value = value.item() if isinstance(value, np.generic) else value
    for place in _places(attribute).get(value, ()) if isinstance(value, str | int | float) else ():
        label = attribute.labels[place]
        if isinstance(label, bool) == isinstance(value, bool):
            return place
    if isinstance(attribute, Integer | Numeric):
        raise BadInput(
            f"{shorten(value)} is no single cell of {name}, whose cells are {listing(attribute.labels, 6)}. Ask for a "
            "range (from, to), or for one of these."
        )
    raise BadInput(no_such(f"value of {name}", value, attribute.labels))


def _places(attribute: Attribute) -> dict[object, tuple[int, ...]]:
    """Where each label stands. One and true are equal in Python, so that there may be two places."""
    found: dict[object, tuple[int, ...]] = {}
    for place, label in enumerate(attribute.labels):
        found[label] = (*found.get(label, ()), place)
    return found


def _range(name: str, attribute: Attribute, ends: Sequence[object]) -> Cells:
    if not isinstance(attribute, Integer | Numeric):
        raise BadInput(f"{name} has no order. Ask for a list of values, for example {list(attribute.labels[:2])}.")
    if len(ends) != 2:
        raise BadInput(f"a range is written (from, to), given {shorten(ends)} for {name}.")
    starts, stops = _borders(attribute)
    first = 0 if ends[0] is None else _border(name, ends[0], starts, "begins")
    last = attribute.base_size - 1 if ends[1] is None else _border(name, ends[1], stops, "ends")
    if first > last:
        raise BadInput(f"the range {shorten(tuple(ends))} of {name} ends before it begins. Swap its ends.")
    return np.arange(first, last + 1)


def _borders(attribute: CelledAttribute) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The values at which cells begin and end: the last whole number of a cell, the right edge of a bin."""
    if isinstance(attribute, Integer):
        starts = attribute.min + attribute.step * np.arange(attribute.base_size)
        return starts, np.minimum(starts + attribute.step - 1, attribute.max)
    assert isinstance(attribute, Numeric)
    edges = (
        np.array(attribute.edges) if attribute.edges else np.linspace(attribute.min, attribute.max, attribute.bins + 1)
    )
    return edges[:-1], edges[1:]


def _border(name: str, end: object, borders: npt.NDArray[Any], word: str) -> int:
    """The cell that begins (or ends) at a value; refused where no cell does."""
    if isinstance(end, bool) or not isinstance(end, int | float | np.number) or not math.isfinite(end):
        raise BadInput(f"a range of {name} {word} at a number, or is open with None, given {shorten(end)}.")
    value = float(end)
    place = int(np.abs(borders - value).argmin())
    nearest = borders[place]
    width = float(borders[1] - borders[0]) if borders.size > 1 else 0.0
    if abs(float(nearest) - value) <= max(1e-9 * width, 4 * math.ulp(value)):
        return place
    low, high = borders[0].item(), borders[-1].item()
    if not low <= value <= high:
        raise BadInput(
            f"a range of {name} {word} between {low:.12g} and {high:.12g}, given {shorten(end)}. Write None for an "
            "open end."
        )
    near = ", ".join(f"{border:.12g}" for border in borders[max(0, place - 1) : place + 2].tolist())
    raise BadInput(f"no cell of {name} {word} at {shorten(end)}: ranges are made of whole cells. Near are {near}.")


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
