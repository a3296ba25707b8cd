"""A task: what a curator can ask for, in the words of the table; and a request: a task with its budget."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from adyton.queries import Queries
from adyton.schema import Schema
from adyton.schema.attributes import Label


class Task(ABC):
    """Something to release. Most tasks are about the cells of some attributes, and queries that should be accurate.

    Any other query can be asked of such a release too; the task says for which ones the algorithm is chosen.
    """

    kind: ClassVar[str]
    answered_by: ClassVar[str | type] = "adyton.programs.counts:Counts"
    """The program that answers it, or where that stands: see :class:`adyton.programs.Program`."""
    merges: ClassVar[bool] = False
    """Whether only these queries count, so that cells which none of them tells apart may be merged."""

    cumulative: ClassVar[bool] = False
    """Whether counts up to each cell are asked for, and not those of the cells."""
    per_unit: ClassVar[bool] = False
    """Whether units are counted instead of rows."""
    last_class: int | None = None
    """The number of rows from which on units are in one class, where units are counted by their number of rows."""

    @abstractmethod
    def select(self, schema: Schema) -> Schema:
        """The schema of the attributes that the task is about, out of those of a table."""

    @abstractmethod
    def workload(self, schema: Schema) -> Queries:
        """The queries, given the schema of these attributes."""

    def axes(self, schema: Schema) -> dict[str, tuple[Label, ...]]:
        """The labels of the cells along each axis, given the schema of these attributes."""
        return {name: attribute.labels for name, attribute in schema.attributes.items()}

    def tables(self, schema: Schema) -> tuple[tuple[str, ...], ...]:
        """The attributes of each table that is asked for; none where the cells of all attributes are."""
        return ()

    def questions(self) -> tuple[Mapping[str, Any], ...]:
        """The queries, where they are listed one by one."""
        return ()

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The task as plain values; :func:`task_from_dict` reads them back."""

    @classmethod
    @abstractmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """What :meth:`to_dict` says, from a stranger."""
