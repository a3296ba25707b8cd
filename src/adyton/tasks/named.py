"""Tasks about attributes that are named: histograms, ranges and cumulative distributions."""

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
from adyton.messages import shorten
from adyton.queries import AllRange, Identity, Prefix, Queries, RandomRanges
from adyton.queries import Ranges as RangeQueries
from adyton.schema import Schema
from adyton.tasks.base import Option, Task
from adyton.tasks.questions import MOST_QUERIES, as_queries, to_plain

_MOST_CELLS_FOR_ALL = 1024
_SAMPLE, _SEED = 2000, 1
"""Where there are too many ranges to list, so many drawn at random stand for them: the same ones for everybody."""
_MOST_AXES = 32
"""Arrays have at most 64 axes, and of a table that fits in memory at most 27 have more than one cell."""


def check_axes(schema: Schema) -> Schema:
    """The schema, if its table has no more axes than can be worked with; before anything is spent."""
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
            attributes = tuple(attributes[0])  # several names in one list mean the same
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
        """By the names."""
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
    asked_by = (Option("histogram", "Count the rows of every cell.", "A[,B…]"),)
    attributes: tuple[str, ...]

    def workload(self, schema: Schema) -> Queries:
        """Every cell."""
        return Identity(schema.shape)

    def __str__(self) -> str:
        return f"histogram of {' × '.join(self.attributes)}"


@dataclass(frozen=True, init=False, repr=False)
class Ranges(_Named):
    """Counts between two bounds: all intervals of one attribute, or boxes of several.

    Along attributes without an order a box has one value or all of them.

    >>> print(Ranges("age"))
    ranges of age
    """

    kind = "ranges"
    asked_by = (Option("ranges", "Counts between any two bounds.", "A[,B…]"),)
    attributes: tuple[str, ...]

    def select(self, schema: Schema) -> Schema:
        """These attributes; one of them at least must have an order."""
        selected = super().select(schema)
        if not any(_ordered(selected)):
            _refuse_order(selected.names[0], "ranges")
        return selected

    def workload(self, schema: Schema) -> Queries:
        """All intervals of a short axis; of longer ones, and of several axes, a sample that stands for all."""
        if len(schema.shape) == 1 and schema.cells <= _MOST_CELLS_FOR_ALL:
            return AllRange(schema.shape)
        ranges = RandomRanges(schema.shape, _SAMPLE, seed=_SEED)
        lower, upper = ranges.lower.copy(), ranges.upper.copy()
        random = np.random.default_rng(_SEED)
        for axis, ordered in enumerate(_ordered(schema)):
            if not ordered:
                every = random.random(_SAMPLE) < 0.5
                lower[every, axis], upper[every, axis] = 0, schema.shape[axis] - 1
                upper[~every, axis] = lower[~every, axis]
        return RangeQueries(schema.shape, lower, upper)

    def __str__(self) -> str:
        return f"ranges of {' × '.join(self.attributes)}"


@dataclass(frozen=True, init=False, repr=False)
class Cdf(_Named):
    """The counts up to every value of one attribute with an order.

    >>> print(Cdf("age"))
    cumulative distribution of age
    """

    kind = "cdf"
    cumulative = True
    asked_by = (Option("cdf", "Counts up to every value.", "A"),)
    attributes: tuple[str, ...]

    def __init__(self, attribute: str) -> None:
        super().__init__(attribute)

    def select(self, schema: Schema) -> Schema:
        """The attribute, which must have an order."""
        selected = super().select(schema)
        if not all(_ordered(selected)):
            _refuse_order(selected.names[0], "a cumulative distribution")
        return selected

    def workload(self, schema: Schema) -> Queries:
        """All prefixes."""
        return Prefix(schema.shape)

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> Self:
        """One name."""
        return cls(given["cdf"].strip())

    def __str__(self) -> str:
        return f"cumulative distribution of {self.attributes[0]}"


@dataclass(frozen=True, init=False, repr=False)
class QueryList(Task):
    """Queries one by one, each a mapping from attributes to what is counted of them.

    The whole budget goes to them: cells that none of them tells apart are merged, so that other queries about the
    release are answered as if the rows of merged cells were spread evenly.

    >>> print(QueryList([{"age": (20, 29), "sex": "F"}, {"age": (65, None)}]))
    2 queries about age × sex
    """

    kind = "queries"
    asked_by = (Option("queries", "A JSON list of queries, one by one.", "FILE", Path),)
    merges = True
    written: tuple[str, ...]
    """Each query as JSON: nobody can change a text later, and tasks are equal when these are."""

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
        """All of them."""
        return self.queries

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that are asked about, in the order in which they first occur."""
        return tuple(dict.fromkeys(name for query in self.queries for name in query))

    def select(self, schema: Schema) -> Schema:
        """The attributes that are asked about."""
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
        """By the queries."""
        return cls(plain.get("queries", ()))

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> QueryList:
        """Out of a JSON file."""
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


def _refuse_order(name: str, what: str) -> None:
    raise BadInput(f"{name} has no order, so that it has no {what.removeprefix('a ')}. Ask for a histogram of it.")
