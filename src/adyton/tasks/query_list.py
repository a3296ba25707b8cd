"""The task of queries that are listed one by one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries import Queries
from adyton.remembered import cached_property
from adyton.schema import Schema
from adyton.tasks.base import Option, Task
from adyton.tasks.named import check_axes
from adyton.tasks.questions import MOST_QUERIES, as_queries, to_plain


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
