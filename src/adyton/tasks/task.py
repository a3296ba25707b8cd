"""Tasks: what a curator can ask for, in the words of the table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from adyton.errors import BadInput
from adyton.messages import listing, no_such, shorten
from adyton.queries import AllRange, Identity, Prefix, Queries, RandomRanges
from adyton.queries import Marginals as MarginalQueries
from adyton.queries import Ranges as RangeQueries
from adyton.schema import Identifier, Integer, Numeric, Schema
from adyton.tasks.questions import as_queries, to_plain
from adyton.whole import whole

_MOST_CELLS_FOR_ALL = 1024
_SAMPLE, _SEED = 2000, 1
"""Where there are too many ranges to list, so many drawn at random stand for them: the same ones for everybody."""


class Task(ABC):
    """Something to release: attributes, and the queries about them that should be accurate.

    Any other query can be asked of the release too; the task says for which ones the algorithm is chosen.
    """

    kind: ClassVar[str]
    merges: ClassVar[bool] = False
    """Whether only these queries count, so that cells which none of them tells apart may be merged."""

    @abstractmethod
    def select(self, schema: Schema) -> Schema:
        """The schema of the attributes that the task is about, out of those of a table."""

    @abstractmethod
    def workload(self, schema: Schema) -> Queries:
        """The queries, given the schema of these attributes."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The task as plain values; :func:`task_from_dict` reads them back."""


class _Named(Task):
    """A task whose attributes are given by name."""

    attributes: tuple[str, ...]

    def __init__(self, *attributes: str) -> None:
        object.__setattr__(self, "attributes", attributes)
        if not attributes or not all(isinstance(name, str) for name in attributes):
            given = ", ".join(shorten(name) for name in attributes) or "nothing"
            raise BadInput(f'{type(self).__name__} takes names of attributes, like "age", given {given}.')

    def select(self, schema: Schema) -> Schema:
        """These attributes, in the order given."""
        selected = schema.select(self.attributes)
        assert selected.shape  # refuses identifiers
        return selected

    def to_dict(self) -> dict[str, Any]:
        """The names."""
        return {"task": self.kind, "attributes": list(self.attributes)}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(repr(name) for name in self.attributes)})"


@dataclass(frozen=True, init=False, repr=False)
class Histogram(_Named):
    """The count of every cell: one attribute, or a table of several.

    >>> print(Histogram("age", "sex"))
    histogram of age × sex
    """

    kind = "histogram"
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

    def __str__(self) -> str:
        return f"cumulative distribution of {self.attributes[0]}"


@dataclass(frozen=True, kw_only=True)
class Marginals(Task):
    """All tables of *way* attributes, out of some or all attributes, summed over the others.

    >>> print(Marginals(way=2, attrs=["age", "sex", "department"]))
    2-way marginals of age × sex × department
    """

    kind = "marginals"
    way: int
    attrs: Sequence[str] | None = None

    def __post_init__(self) -> None:
        whole(self.way, "way", 1)
        if self.attrs is None:
            return
        if isinstance(self.attrs, str) or not all(isinstance(name, str) for name in self.attrs):
            raise BadInput(f'attrs must be a list of names, like ["age", "sex"], given {shorten(self.attrs)}.')
        object.__setattr__(self, "attrs", tuple(self.attrs))

    def select(self, schema: Schema) -> Schema:
        """The attributes named, or all that have cells."""
        celled = [name for name, one in schema.attributes.items() if not isinstance(one, Identifier)]
        selected = schema.select(celled if self.attrs is None else tuple(self.attrs))
        if self.way > len(selected.shape):
            raise BadInput(f"there are {len(selected.shape)} attributes, {listing(selected.names)}: way is {self.way}.")
        return selected

    def workload(self, schema: Schema) -> Queries:
        """The cells of all these tables."""
        return MarginalQueries(schema.shape, way=self.way)

    def to_dict(self) -> dict[str, Any]:
        """The order, and the names if some are named."""
        names = {} if self.attrs is None else {"attributes": list(self.attrs)}
        return {"task": self.kind, "way": self.way, **names}

    def __str__(self) -> str:
        of = "all attributes" if self.attrs is None else " × ".join(self.attrs)
        return f"{self.way}-way marginals of {of}"


@dataclass(frozen=True)
class QueryList(Task):
    """Queries one by one, each a mapping from attributes to what is counted of them.

    The whole budget goes to them: cells that none of them tells apart are merged, so that other queries about the
    release are answered as if the rows of merged cells were spread evenly.

    >>> print(QueryList([{"age": (20, 29), "sex": "F"}, {"age": (65, None)}]))
    2 queries about age × sex
    """

    kind = "queries"
    merges = True
    queries: Sequence[Mapping[str, Any]]

    def __post_init__(self) -> None:
        given = [self.queries] if isinstance(self.queries, Mapping) else self.queries
        if isinstance(given, str) or not given or not all(isinstance(query, Mapping) for query in given):
            raise BadInput(
                f"queries must be a list of mappings, like [{{'age': (20, 29)}}], given {shorten(self.queries)}."
            )
        object.__setattr__(self, "queries", tuple(dict(query) for query in given))

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that are asked about, in the order in which they first occur."""
        return tuple(dict.fromkeys(name for query in self.queries for name in query))

    def select(self, schema: Schema) -> Schema:
        """The attributes that are asked about."""
        selected = schema.select(self.attributes)
        as_queries(selected, list(self.queries))
        return selected

    def workload(self, schema: Schema) -> Queries:
        """The queries as they are."""
        return as_queries(schema, list(self.queries))

    def to_dict(self) -> dict[str, Any]:
        """The queries, as in JSON."""
        return {"task": self.kind, "queries": [to_plain(query) for query in self.queries]}

    def __str__(self) -> str:
        number = f"{len(self.queries):,} quer{'y' if len(self.queries) == 1 else 'ies'}"
        return f"{number} about {' × '.join(self.attributes) or 'all rows'}"

    def __hash__(self) -> int:
        return hash(repr(self.queries))


def task_from_dict(plain: object) -> Task:
    """The task that :meth:`Task.to_dict` describes."""
    if not isinstance(plain, Mapping):
        raise BadInput(f"a task must be a mapping, given {shorten(plain)}.")
    kind, names = plain.get("task"), plain.get("attributes")
    named = {one.kind: one for one in (Histogram, Ranges, Cdf)}
    if kind in named:
        if not isinstance(names, list) or not names:
            raise BadInput(f"the task {kind!r} needs a list of attributes, given {shorten(names)}.")
        return named[kind](*names)
    if kind == Marginals.kind:
        return Marginals(way=plain.get("way", 0), attrs=names)
    if kind == QueryList.kind:
        return QueryList(plain.get("queries", ()))
    raise BadInput(no_such("task", kind, [*named, Marginals.kind, QueryList.kind]))


def as_task(given: object) -> Task:
    """The task, or an error that says what one is."""
    if isinstance(given, Task):
        return given
    raise BadInput(
        f'a task is ad.Histogram("age"), ad.Ranges("age"), ad.Cdf("age"), ad.Marginals(way=2) or ad.QueryList([…]), '
        f"given {shorten(given)}."
    )


def _ordered(schema: Schema) -> list[bool]:
    return [isinstance(attribute, Integer | Numeric) for attribute in schema.attributes.values()]


def _refuse_order(name: str, what: str) -> None:
    raise BadInput(f'{name} has no order, so that it has no {what.removeprefix("a ")}. Ask for ad.Histogram("{name}").')
