"""The task of queries that are listed one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries import Queries
from adyton.schema import Schema
from adyton.tasks.base import Task
from adyton.tasks.questions import as_queries, to_plain


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
