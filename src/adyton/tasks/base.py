"""A task: what a curator can ask for, in the words of the table; and a request: a task with its budget."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from adyton.queries import Queries
from adyton.schema import Schema
from adyton.schema.attributes import Label


@dataclass(frozen=True)
class Option:
    """An option of the command line, with which a task is asked for, or described more closely."""

    name: str
    """As it is written, without the dashes before it: ``with-ranges``."""
    help: str
    metavar: str | None = None
    reads: type = str
    """What it takes: ``str``, ``int``, ``Path``, ``list[str]`` where it can be given again, ``bool`` for a flag."""
    asks: bool = True
    """Whether it asks for the task by itself; else it goes with one that does."""

    @property
    def key(self) -> str:
        """Its name as Python writes it."""
        return self.name.replace("-", "_")

    def __str__(self) -> str:
        return f"--{self.name}"


def names_of(text: str | None) -> list[str]:
    """Names that are separated by commas; none where nothing was given."""
    return [] if text is None else [name.strip() for name in text.split(",")]


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
    asked_by: ClassVar[tuple[Option, ...]] = ()
    """How it is asked for on the command line. Each kind of task has its own: they are not inherited."""
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

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> Self:
        """From what was given of its own options, by their keys: here names of attributes, separated by commas."""
        (text,) = given.values()
        return cls(*names_of(text))
