"""Engines outside this process: they cannot call functions of ours, and rows would be slow to come from them.

What such a function would read in a value is computed in the engine's own arithmetic, step by step, each step once.
"""

from __future__ import annotations

import hashlib
import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from adyton.kernel.engines.engine import Engine

_STEP = re.compile(r"\bstep_[0-9a-f]{16}\b")


class Server(Engine):
    """A connection to an engine outside this process."""

    few_levels = 4

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self._steps = Steps()

    @abstractmethod
    def passed(self, value: Any, places: Sequence[int]) -> Any:
        """How many of these whole numbers, which are in order, lie at or below a value."""

    @abstractmethod
    def seconds(self, column: Any) -> Any:
        """The whole seconds since 1970 of a date or a time from the year 1 to 9999; null for every other."""


class Steps:
    """Queries that others are built on, by name: each is written once, however many are built on it."""

    def __init__(self) -> None:
        self._queries: dict[str, str] = {}

    def add(self, query: str) -> str:
        """The name of a query."""
        name = f"step_{hashlib.sha256(query.encode()).hexdigest()[:16]}"
        self._queries[name] = query
        return name

    def before(self, query: str) -> str:
        """A query with those before it that it is built on."""
        needed: dict[str, str] = {}

        def need(text: str) -> None:
            for name in _STEP.findall(text):
                if name in self._queries and name not in needed:
                    need(self._queries[name])
                    needed[name] = self._queries[name]

        need(query)
        steps = ", ".join(f"{name} as ({own})" for name, own in needed.items())
        return f"with {steps} select * from ({query}) as whole_query" if needed else query
