"""Questions in terms of a table's attributes, "age from 20 to 29", as queries about its cells."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from adyton.errors import BadInput, SchemaError
from adyton.messages import listing, no_such, shorten
from adyton.queries import AllRange, Explicit, Identity, Prefix, Queries, RandomRanges, Ranges, Stack, Total
from adyton.schema import Categorical, Integer, Numeric, Schema
from adyton.schema.attributes import Attribute
from adyton.schema.calendar import written_at
from adyton.schema.times import Times

AlongKind: TypeAlias = Literal["cells", "prefixes", "ranges"]
"""The kinds of queries along an attribute."""
Cells: TypeAlias = npt.NDArray[np.int64]
"""The numbers of some cells of an attribute."""
_MOST_LISTED = 1024
_SAMPLE, RANGES_SEED = 2000, 1
"""Where there are too many ranges to list, a random sample of this size represents all: always the same one."""
_ROUNDING = 4
"""The largest error of a computed edge, in units in the last place."""
MOST_QUERIES, _MOST_COEFFICIENTS = 1_000_000, 1 << 25
_LARGEST, _LARGEST_EXACT = 2**200, 2**53
_ENDS, _OPEN_END = ("from", "to"), "Write None (null in JSON) for an open end."
_HOW = (
    "A query maps attributes to what is counted: a value, a list of values, or (from, to) with both ends included and "
    'None for an open end, as in {"age": (20, 29), "sex": "F"}.'
)


def as_queries(schema: Schema, asked: object) -> Queries:
    """Questions about the attributes of a schema as queries about its cells, in the same order.

    A list holds several questions; anything else is one question. A question names the values to count of some
    attributes, and counts all values of the others. Where there is only one attribute, its name may be left out. A
    query set is returned as it is.

    >>> from adyton.schema import Categorical, Integer
    >>> schema = Schema({"age": Integer(0, 119), "sex": Categorical(["F", "M"])})
    >>> print(as_queries(schema, [{"age": (20, 29)}, {"age": (65, None), "sex": "F"}]))
    2 ranges on 120 × 2 cells
    """
    if isinstance(asked, Queries):
        if asked.domain != schema.shape:
            raise BadInput(
                f"these queries are about a domain of shape {asked.domain}, but the release has {schema.shape}."
            )
        return asked
    every = {name: np.arange(attribute.size) for name, attribute in schema.attributes.items()}
    return _boxes(schema.shape, [list((every | box).values()) for box in as_boxes(schema, asked)])


def as_boxes(schema: Schema, asked: object) -> list[dict[str, Cells]]:
    """The same questions, each as the cells to count of the attributes that it names; no array is as large as the
    domain.

    >>> from adyton.schema import Categorical, Integer
    >>> schema = Schema({"age": Integer(0, 119), "sex": Categorical(["F", "M"])})
    >>> as_boxes(schema, {"sex": "M"})
    [{'sex': array([1])}]
    """
    plain = _without_numpy(asked)
    given = plain if isinstance(plain, list) else [plain]
    if not given or len(given) > MOST_QUERIES:
        raise BadInput(f"ask at least one query and at most {MOST_QUERIES:,}, given {len(given):,}. {_HOW}")
    return [
        {name: _cells(name, schema.attributes[name], part) for name, part in _by_name(schema, query).items()}
        for query in given
    ]


def one_question(schema: Schema, asked: object) -> dict[str, Any]:
    """A single question, in which a list of values is one group; None asks for all rows.

    >>> from adyton.schema import Categorical
    >>> one_question(Schema({"ward": Categorical(["a", "b", "c"])}), ["a", "b"])
    {'ward': ['a', 'b']}
    """
    return _by_name(schema, {} if asked is None else _without_numpy(asked))


def to_plain(query: Mapping[Any, Any]) -> dict[str, Any]:
    """A query as it is written in JSON, which has no tuples; refused where it holds something that cannot be counted.

    >>> to_plain({"age": (20, None), "sex": ["F", "M"]})
    {'age': {'from': 20}, 'sex': ['F', 'M']}
    """
    for name in query:
        if not isinstance(name, str):
            raise BadInput(f"the name of an attribute must be a text, given {shorten(name)}. {_HOW}")
    return {str.__str__(name): _plain_part(name, part) for name, part in query.items()}


def _plain_part(name: str, asked: object) -> Any:
    """The values to count of an attribute: a value, a list of values, or a mapping with from and to."""
    match _without_numpy(asked):
        case Mapping() as ends:
            if not _is_range(ends):
                raise BadInput(f"a range is written with from and to, given {shorten(dict(ends))} for {name}.")
            pair: Sequence[object] = [ends.get(end) for end in _ENDS]
        case tuple() as pair:
            if len(pair) != 2:
                raise BadInput(f"a range is written (from, to), given {shorten(pair)} for {name}.")
        case list() | set() | frozenset() as values:
            if not values:
                raise BadInput(f"the list of values of {name} is empty. Leave {name} out to count all.")
            plain = [_plain_value(name, value) for value in values]
            return (
                plain if isinstance(values, list) else sorted(plain, key=lambda value: (isinstance(value, str), value))
            )
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
        f"a value of {name} must be a text, a boolean, a date or a number between −2^200 and 2^200, "
        f"given {shorten(value)}."
    )


def _without_numpy(given: object) -> Any:
    """An array as the list of its values, and a NumPy number as Python's."""
    if not isinstance(given, np.ndarray | np.generic) or given.dtype.kind not in "biufUO":
        return given
    if given.ndim > 1:
        raise BadInput(
            f"an array of shape {given.shape} may mean values or ranges. Give a list of values, or of (from, to)."
        )
    return given.tolist()


def _by_name(schema: Schema, query: object) -> dict[str, Any]:
    """The values to count of each named attribute. An attribute called ``from`` or ``to`` is not mistaken for a
    range."""
    named = isinstance(query, Mapping) and not (_is_range(query) and set(query).isdisjoint(schema.names))
    if not named and len(schema.names) != 1:
        raise BadInput(f"{shorten(query)} does not say which of {listing(schema.names)} it asks about. {_HOW}")
    parts = query if isinstance(query, Mapping) and named else {schema.names[0]: query}
    for name in parts:
        if name not in schema.names:
            raise BadInput(no_such("attribute", name, schema.names))
    return to_plain(parts)


def _is_range(query: Mapping[Any, Any]) -> bool:
    return bool(query) and set(query) <= set(_ENDS)


def _cells(name: str, attribute: Attribute, part: Any) -> Cells:
    if isinstance(part, dict):
        return _range(name, attribute, part.get("from"), part.get("to"))
    values = [level for value in (part if isinstance(part, list) else [part]) for level in _levels(attribute, value)]
    return np.unique(np.array([_cell(name, attribute, value) for value in values], dtype=np.int64))


def _levels(attribute: Attribute, value: Any) -> tuple[Any, ...]:
    """The levels of a group; a value that is not a group is its own level."""
    if isinstance(attribute, Categorical) and isinstance(value, str) and value in dict(attribute.groups):
        return attribute.members(value)
    return (value,)


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
            f"{shorten(value)} is not a single cell of {name}, whose cells are {listing(attribute.labels, 6)}. Ask for "
            "a range (from, to), or for one of these."
        )
    raise BadInput(no_such(f"value of {name}", value, attribute.labels))


def _range(name: str, attribute: Attribute, begin: Any, end: Any) -> Cells:
    if not isinstance(attribute, Times | Integer | Numeric):
        raise BadInput(f"{name} has no order. Ask for a list of values, for example {list(attribute.labels[:2])}.")

    def cell(value: Any, word: str) -> int:
        if isinstance(attribute, Times):
            return cell_at(name, attribute, value, word)
        return border_at(name, attribute, value, word)

    first = 0 if begin is None else cell(begin, "begins")
    last = attribute.base_size - 1 if end is None else cell(end, "ends")
    if first > last:
        raise BadInput(f"the range {shorten((begin, end))} of {name} ends before it begins. Swap its ends.")
    return np.arange(first, last + 1)


def _boxes(shape: tuple[int, ...], boxes: Sequence[Sequence[Cells]]) -> Queries:
    """Queries as ranges, where all of them are ranges; else by their coefficients."""
    if all(axis.size == axis[-1] - axis[0] + 1 for box in boxes for axis in box):
        lower, upper = ([[int(axis[end]) for axis in box] for box in boxes] for end in (0, -1))
        return Ranges(shape, lower, upper)
    sizes = [math.prod(axis.size for axis in box) for box in boxes]
    if sum(sizes) > _MOST_COEFFICIENTS:
        raise BadInput(
            f"these queries count {sum(sizes):,} cells; at most {_MOST_COEFFICIENTS:,} are allowed. Ask for fewer."
        )
    columns = [np.ravel_multi_index(np.ix_(*box), shape).reshape(-1) for box in boxes]
    places = np.repeat(np.arange(len(boxes)), sizes)
    return Explicit(shape, places, np.concatenate(columns), np.ones(sum(sizes), dtype=np.int64), len(boxes))


def question_in_words(query: Mapping[str, Any]) -> str:
    """A query in words.

    >>> question_in_words({"age": (20, 29), "sex": "F"}), question_in_words({"age": {"from": 65, "to": None}})
    ('age 20 to 29, sex F', 'age from 65')
    """
    return ", ".join(f"{name} {_in_words(part)}".rstrip() for name, part in to_plain(query).items()) or "all rows"


def _in_words(part: Any) -> str:
    if not isinstance(part, dict):
        return " or ".join(map(str, part)) if isinstance(part, list) else str(part)
    first, last = (part.get(end) for end in _ENDS)
    if first is None or last is None:
        return "at all" if first is last else f"up to {last}" if first is None else f"from {first}"
    return f"{first} to {last}"


def cell_at(name: str, attribute: Times, value: object, word: str) -> int:
    """The cell that begins (or ends) with the given value: a label, or a period such as ``2024-03``.

    >>> from adyton.schema import Date
    >>> month = Date("2024-01-01", "2024-12-31", by="month")
    >>> cell_at("day", month, "2024-Q2", "begins"), cell_at("day", month, "2024-Q2", "ends")
    (3, 5)
    """
    if value in attribute.labels[: attribute.base_size]:
        return attribute.labels.index(value)
    try:
        span = attribute.literal(value, f"what a range of {name} {word} with")
    except SchemaError as problem:
        raise BadInput(f"{problem} {_OPEN_END}") from None
    first, last = attribute.span
    end = word == "ends"
    second = span.last if end else span.first
    if not first <= second <= last:
        raise BadInput(
            f"{name} goes from {attribute.min} to {attribute.max}, given a range that {word} with {shorten(value)}. "
            f"{_OPEN_END}"
        )
    cell = bisect_right(attribute.starts, second) - 1
    if second != (attribute.ends(cell) if end else int(attribute.starts[cell])):
        near = written_at(attribute.ends(cell), last=True) if end else written_at(int(attribute.starts[cell]))
        raise BadInput(f"no cell of {name} {word} with {shorten(value)}: ranges are made of whole cells. Try {near}.")
    return cell


def written(when: date) -> str:
    """A date, or a date and time, as a text.

    >>> written(date(2024, 3, 1)), written(datetime(2024, 3, 1, 12, 30))
    ('2024-03-01', '2024-03-01 12:30:00')
    """
    if not isinstance(when, datetime):
        return when.isoformat()
    if when.tzinfo is not None:
        raise BadInput(f"{shorten(when)} has a time zone. Write the time on the attribute's own clock, without one.")
    return when.isoformat(sep=" ", timespec="seconds")


def border_at(name: str, attribute: Integer | Numeric, end: Any, word: str) -> int:
    """The cell that begins (or ends) at a value; refused where no cell does."""
    if isinstance(end, bool | str):
        raise BadInput(
            f"a range of {name} {word} at a number, or is open with None (null in JSON), given {shorten(end)}."
        )
    size, after = attribute.base_size, word == "ends"

    def border(place: int) -> float:
        return _last(attribute, place) if after else _first(attribute, place)

    nearest = bisect_left(range(size), end, key=border)
    for place in (nearest, nearest - 1):
        if 0 <= place < size:
            slack = _slack(attribute, place + after)
            if border(place) - slack <= end <= border(place) + slack:
                return place
    if not border(0) <= end <= border(size - 1):
        raise BadInput(
            f"a range of {name} {word} between {_text(border(0))} and {_text(border(size - 1))}, given {shorten(end)}. "
            f"{_OPEN_END}"
        )
    near = ", ".join(_text(border(place)) for place in range(max(0, nearest - 2), min(size, nearest + 2)))
    raise BadInput(f"no cell of {name} {word} at {shorten(end)}: ranges are made of whole cells. Try one of {near}.")


def _first(attribute: Integer | Numeric, place: int) -> float:
    """Where a cell begins; the cell after the last begins where the last ends."""
    if isinstance(attribute, Integer):
        return attribute.min + attribute.step * place
    if attribute.edges:
        return attribute.edges[place]
    return attribute.max if place == attribute.bins else attribute.min + place * attribute.width


def _last(attribute: Integer | Numeric, place: int) -> float:
    """Where a cell ends: its last whole number, or the right edge of a bin."""
    if isinstance(attribute, Integer):
        return min(_first(attribute, place + 1) - 1, attribute.max)
    return _first(attribute, place + 1)


def _slack(attribute: Integer | Numeric, edge: int) -> float:
    """The largest distance from an edge at which a value still counts as on it: 0 for whole numbers; else the rounding
    error, and in equal bins the tolerance of the schema, but at most a quarter of the way to the next edge."""
    if isinstance(attribute, Integer):
        return 0
    if attribute.edges is None:
        rounding = _ROUNDING * math.ulp(max(abs(attribute.min), abs(attribute.max)))
        return min(max(attribute.tolerance * attribute.width, rounding), attribute.width / 4)
    around = attribute.edges[max(0, edge - 1) : edge + 2]
    narrowest = min(right - left for left, right in pairwise(around))
    return min(_ROUNDING * math.ulp(attribute.edges[edge]), narrowest / 4)


def _text(border: float) -> str:
    return str(border) if isinstance(border, int) else f"{border:.15g}"


def range_queries(shape: tuple[int, ...]) -> AllRange | Ranges:
    """All intervals of a short axis; for a longer axis, or several axes, a sample that represents all."""
    if len(shape) == 1 and shape[0] <= _MOST_LISTED:
        return AllRange(shape)
    return RandomRanges(shape, _SAMPLE, seed=RANGES_SEED)


@dataclass(frozen=True)
class Along:
    """The queries along an attribute of *side* cells; with *total*, "any" is one of them."""

    side: int
    kind: AlongKind = "cells"
    total: bool = False

    def queries(self) -> Queries:
        """The queries about the cells of the attribute."""
        match self.kind:
            case "cells":
                own: Queries = Identity(self.side)
            case "prefixes":
                own = Prefix(self.side)
            case "ranges":
                own = range_queries((self.side,))
        return Stack([own, Total(self.side)]) if self.total else own

    @property
    def count(self) -> int:
        """The number of queries, with all ranges counted."""
        own = self.side * (self.side + 1) // 2 if self.kind == "ranges" else self.side
        return own + self.total

    @property
    def energy(self) -> tuple[float, float]:
        """The means over all queries w of Σ(w_i − mean)² and of mean², which determine their variances.

        >>> Along(4).energy, Along(4, "prefixes").energy
        ((0.75, 0.0625), (0.625, 0.46875))
        """
        lengths = np.arange(1, self.side + 1, dtype=np.float64)
        match self.kind:
            case "cells":
                lengths, times = np.ones(1), np.full(1, float(self.side))
            case "prefixes":
                times = np.ones(self.side)
            case "ranges":
                times = self.side + 1 - lengths
        part = lengths / self.side
        spread, level = float((times * lengths * (1 - part)).sum()), float((times * part**2).sum()) + self.total
        return spread / self.count, level / self.count
