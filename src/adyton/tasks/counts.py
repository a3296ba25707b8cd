"""Tasks that count: cells, ranges, cumulative distributions and queries about named attributes; rows; units."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np

from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.messages import joined, shorten
from adyton.queries import AllRange, Identity, Prefix, Queries
from adyton.queries import Ranges as RangeQueries
from adyton.schema import Schema
from adyton.schema.attributes import Label
from adyton.tasks.questions import MOST_QUERIES, RANGES_SEED, as_queries, range_queries, to_plain
from adyton.tasks.request import Option, Task
from adyton.whole import whole

_MOST_AXES = 32
"""Arrays have at most 64 axes, and in a table that fits in memory at most 27 axes have more than one cell."""
_LARGEST = 100_000
"""The largest number of rows of a unit that has a class of its own."""


_NO_ORDER = "{name} has no order, so it has no {what}. Ask for a histogram of it."


def check_axes(schema: Schema) -> Schema:
    """The schema; refused where its table has too many axes, before anything is spent."""
    axes = len(schema.shape)
    if axes > _MOST_AXES:
        raise BadInput(
            f"{axes} attributes are too many for one table: at most {_MOST_AXES} fit. Name fewer, or ask for tables of "
            "two attributes each, which are measured one by one: --marginals 2 (in Python ad.Marginals(way=2))."
        )
    return schema


class _Named(Task):
    """A task whose attributes are given by name."""

    attributes: tuple[str, ...]

    def __init__(self, *attributes: str | Sequence[str]) -> None:
        if len(attributes) == 1 and isinstance(attributes[0], list | tuple):
            attributes = tuple(attributes[0])  # a list of names means the same as the names
        if not attributes or not all(isinstance(name, str) for name in attributes):
            given = ", ".join(shorten(name) for name in attributes) or "nothing"
            raise BadInput(f'{type(self).__name__} takes names of attributes, like "age", given {given}.')
        object.__setattr__(self, "attributes", tuple(str.__str__(name) for name in attributes))

    def select(self, schema: Schema) -> Schema:
        """These attributes, in the order given."""
        return check_axes(schema.select(self.attributes))

    def to_dict(self) -> dict[str, Any]:
        """The names."""
        return {"task": self.kind, "attributes": list(self.attributes)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The task from its names."""
        names = plain.get("attributes")
        if not isinstance(names, list) or not names:
            raise BadInput(f"the task {cls.kind!r} needs a list of attributes, given {shorten(names)}.")
        return cls(*names)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(repr(name) for name in self.attributes)})"


@dataclass(frozen=True, init=False, repr=False)
class Histogram(_Named):
    """The count of every cell: one attribute, or a table of several.

    >>> print(Histogram("age", "sex"))
    histogram of age × sex
    >>> Histogram(["age", "sex"])  # the same
    Histogram('age', 'sex')
    """

    kind = "histogram"
    command_options = (Option("histogram", "Count the rows of every cell.", "A[,B…]"),)
    attributes: tuple[str, ...]

    def workload(self, schema: Schema) -> Queries:
        """One query for each cell."""
        return Identity(schema.shape)

    def __str__(self) -> str:
        return f"histogram of {' × '.join(self.attributes)}"

    @property
    def title(self) -> str:
        """By which attributes rows are counted."""
        return f"Rows by {joined(self.attributes)}"


@dataclass(frozen=True, init=False, repr=False)
class Ranges(_Named):
    """Counts between two bounds: all intervals of one attribute, or boxes of several.

    Along attributes without an order a box has one value or all of them.

    >>> print(Ranges("age"))
    ranges of age
    """

    kind = "ranges"
    command_options = (Option("ranges", "Counts between any two bounds.", "A[,B…]"),)
    attributes: tuple[str, ...]

    def select(self, schema: Schema) -> Schema:
        """These attributes; at least one of them must have an order."""
        selected = super().select(schema)
        if not any(_ordered(selected)):
            raise BadInput(_NO_ORDER.format(name=selected.names[0], what="ranges"))
        return selected

    def workload(self, schema: Schema) -> Queries:
        """All intervals of a short axis; for a longer axis, or several axes, a sample that represents all."""
        ranges = range_queries(schema.shape)
        if isinstance(ranges, AllRange):
            return ranges
        lower, upper = ranges.lower.copy(), ranges.upper.copy()
        random = np.random.default_rng(RANGES_SEED)
        for axis, ordered in enumerate(_ordered(schema)):
            if not ordered:
                every = random.random(len(lower)) < 0.5
                lower[every, axis], upper[every, axis] = 0, schema.shape[axis] - 1
                upper[~every, axis] = lower[~every, axis]
        return RangeQueries(schema.shape, lower, upper)

    def __str__(self) -> str:
        return f"ranges of {' × '.join(self.attributes)}"

    @property
    def title(self) -> str:
        """Between which values rows are counted."""
        return f"Rows between any two values of {joined(self.attributes)}"


@dataclass(frozen=True, init=False, repr=False)
class Cdf(_Named):
    """The counts up to every value of one attribute with an order.

    >>> print(Cdf("age"))
    cumulative distribution of age
    """

    kind = "cdf"
    cumulative = True
    command_options = (Option("cdf", "Counts up to every value.", "A"),)
    attributes: tuple[str, ...]

    def __init__(self, attribute: str) -> None:
        super().__init__(attribute)

    def select(self, schema: Schema) -> Schema:
        """The attribute, which must have an order."""
        selected = super().select(schema)
        if not all(_ordered(selected)):
            raise BadInput(_NO_ORDER.format(name=selected.names[0], what="cumulative distribution"))
        return selected

    def workload(self, schema: Schema) -> Queries:
        """One query for each prefix."""
        return Prefix(schema.shape)

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> Self:
        """The task from the name of an attribute."""
        return cls(given["cdf"].strip())

    def __str__(self) -> str:
        return f"cumulative distribution of {self.attributes[0]}"

    @property
    def title(self) -> str:
        """Up to which values rows are counted."""
        return f"Rows up to each value of {self.attributes[0]}"


@dataclass(frozen=True, init=False, repr=False)
class QueryList(Task):
    """A list of queries, each a mapping from attributes to the values to count.

    The whole budget is spent on these queries: cells that all of them treat alike are merged, so that other queries
    about the release are answered as if the rows of merged cells were spread evenly.

    >>> print(QueryList([{"age": (20, 29), "sex": "F"}, {"age": (65, None)}]))
    2 queries about age × sex
    """

    kind = "queries"
    command_options = (Option("queries", "A JSON list of queries, one by one.", "FILE", Path),)
    merges = True
    written: tuple[str, ...]
    """Each query as JSON: texts cannot be changed later, and tasks are equal when these are."""

    def __init__(self, queries: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> None:
        several = isinstance(queries, Iterable) and not isinstance(queries, str | Mapping)
        given: list[Any] = list(islice(queries, MOST_QUERIES + 1)) if several else [queries]
        if not given or not all(isinstance(query, Mapping) for query in given):
            raise BadInput(f"queries must be a list of mappings, like [{{'age': (20, 29)}}], given {shorten(queries)}.")
        object.__setattr__(self, "written", tuple(json.dumps(to_plain(query)) for query in given))

    @property
    def queries(self) -> tuple[dict[str, Any], ...]:
        """The queries, in new mappings: a value, a list of values or a pair of ends for each attribute."""
        return tuple(
            {
                name: (part.get("from"), part.get("to")) if isinstance(part, dict) else part
                for name, part in query.items()
            }
            for query in map(json.loads, self.written)
        )

    def questions(self) -> tuple[Mapping[str, Any], ...]:
        """All queries."""
        return self.queries

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The attributes in the queries, in the order in which they first occur."""
        return tuple(dict.fromkeys(name for query in self.queries for name in query))

    def select(self, schema: Schema) -> Schema:
        """The attributes in the queries; refused where a query does not match the schema."""
        selected = check_axes(schema.select(self.attributes))
        as_queries(selected, list(self.queries))
        return selected

    def workload(self, schema: Schema) -> Queries:
        """The queries as they are."""
        return as_queries(schema, list(self.queries))

    def to_dict(self) -> dict[str, Any]:
        """The queries, as in JSON."""
        return {"task": self.kind, "queries": [json.loads(query) for query in self.written]}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> QueryList:
        """The task from its queries."""
        return cls(plain.get("queries", ()))

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> QueryList:
        """The task from a JSON file."""
        path, problem = given["queries"], "cannot be read"
        try:
            return cls(json.loads(path.read_text(encoding="utf-8")))
        except BadInput:
            raise
        except FileNotFoundError:
            problem = "does not exist"
        except (ValueError, RecursionError):
            problem = "is not JSON"
        except OSError:
            pass
        raise BadInput(f'{path} {problem}. Give a JSON list of queries, like [{{"age": {{"from": 20, "to": 29}}}}].')

    def __str__(self) -> str:
        number = f"{len(self.written):,} quer{'y' if len(self.written) == 1 else 'ies'}"
        return f"{number} about {' × '.join(self.attributes) or 'all rows'}"

    def __repr__(self) -> str:
        return f"QueryList({list(self.queries)!r})"


def _ordered(schema: Schema) -> list[bool]:
    return [attribute.ordered for attribute in schema.attributes.values()]


@dataclass(frozen=True, init=False, repr=False)
class RowsPerUnit(Histogram):
    """How many units have one row, two rows and so on up to *most* or more: people by number of visits.

    The rows are counted before any are left out, and ε is charged once, however many rows a unit has.

    >>> print(RowsPerUnit(20))
    units by number of rows, from 1 to 20 or more
    """

    kind = "rows per unit"
    command_options = (
        Option("rows-per-unit", "Units by their number of rows, up to M or more: what a limit cuts off.", "M", int),
    )
    per_unit = True
    attributes: tuple[str, ...]
    most: int

    def __init__(self, most: int = 20, name: str = "rows") -> None:
        """*name* names the number of rows, such as ``visits``."""
        super().__init__(name)
        number = whole(most, "most", 1)
        if number > _LARGEST:
            raise BadInput(
                f"most must be at most {_LARGEST:,}, given {number:,}. Units with more rows are in the last class."
            )
        object.__setattr__(self, "most", number)

    @property
    def title(self) -> str:
        """That units are counted, and up to which class."""
        words = str(self)
        return words[:1].upper() + words[1:]

    def select(self, schema: Schema) -> Schema:
        """The schema of the number of rows, with one row per unit."""
        (name,) = self.attributes
        return schema.per_unit(name, self.most).select(name)

    def axes(self, schema: Schema) -> dict[str, tuple[Label, ...]]:
        """Numbers of rows; the last class holds all units with that many rows or more.

        >>> from adyton.schema import Integer
        >>> task = RowsPerUnit(3)
        >>> task.axes(task.select(Schema({"age": Integer(0, 9)}, unit="person")))
        {'rows': (1, 2, '3 or more')}
        """
        ((name, labels),) = super().axes(schema).items()
        return {name: (*labels[:-1], f"{self.most} or more")}

    def to_dict(self) -> dict[str, Any]:
        """The limit and the name."""
        return {**super().to_dict(), "most": self.most}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The task from the limit and the name."""
        names, most = plain.get("attributes"), plain.get("most")
        if not isinstance(names, list) or len(names) != 1:
            raise BadInput(f"the task {cls.kind!r} needs one name, given {shorten(names)}.")
        return cls(most, *names)  # type: ignore[arg-type]

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> Self:
        """The task from the limit."""
        return cls(*given.values())

    @property
    def last_class(self) -> int:  # type: ignore[override]
        """The largest class."""
        return self.most

    def __repr__(self) -> str:
        return f"RowsPerUnit({self.most}, {self.attributes[0]!r})"

    def __str__(self) -> str:
        return f"units by number of {self.attributes[0]}, from 1 to {self.most} or more"


@dataclass(frozen=True)
class Count(Task):
    """The number of rows; where the schema names a unit, of the rows kept of each unit.

    >>> print(Count())
    number of rows
    """

    kind = "count"
    command_options = (Option("count", "Count all rows.", reads=bool),)
    answered_by = "adyton.programs.counts:Single"

    def select(self, schema: Schema) -> Schema:
        """The whole schema: rows are counted whatever their values are."""
        return schema

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> Self:
        """The task from its flag, or from the number that a subclass takes."""
        return cls(*(value for value in given.values() if value is not True))

    def __str__(self) -> str:
        return "number of rows"


@dataclass(frozen=True)
class Units(Count):
    """The number of units that have rows: how many people there are. The schema must name a unit.

    >>> print(Units())
    number of units
    """

    kind = "units"
    command_options = (Option("units", "Count the units, such as people, that the schema names.", reads=bool),)
    per_unit = True

    def select(self, schema: Schema) -> Schema:
        """One row per unit; refused where the schema names no unit."""
        return schema.per_unit("rows", 1).select("rows")

    def __str__(self) -> str:
        return "number of units"


@dataclass(frozen=True)
class RowsLeftOut(Units):
    """The units and rows that the limit on rows per unit leaves out, counting at most *most* rows of each unit.

    >>> print(RowsLeftOut(100))
    units and rows that the limit leaves out, up to 100 rows of each
    """

    kind = "rows left out"
    command_options = (
        Option("cut-off", "Units and rows that the limit on rows leaves out, up to M rows of each unit.", "M", int),
    )
    answered_by = "adyton.programs.counts:LeftOut"
    most: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", RowsPerUnit(self.most).most)

    def to_dict(self) -> dict[str, Any]:
        """The largest number of rows of a unit."""
        return {**super().to_dict(), "most": self.most}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The task from the largest number of rows of a unit."""
        return cls(plain.get("most"))  # type: ignore[arg-type]

    def __str__(self) -> str:
        return f"units and rows that the limit leaves out, up to {self.most:,} rows of each"
