"""Tasks that count units instead of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from adyton.errors import BadInput
from adyton.messages import shorten
from adyton.queries import Queries
from adyton.schema import Schema
from adyton.schema.attributes import Label
from adyton.tasks.base import Option, Task
from adyton.tasks.named import Histogram
from adyton.whole import whole

_LARGEST = 100_000


@dataclass(frozen=True, init=False, repr=False)
class RowsPerUnit(Histogram):
    """How many units have one row, two rows and so on up to *most* or more: people by number of visits.

    The rows are counted before any are cut, and each ε counts once, however many rows a unit has.

    >>> print(RowsPerUnit(20))
    units by number of rows, from 1 to 20 or more
    """

    kind = "rows per unit"
    asked_by = (
        Option("rows-per-unit", "Units by their number of rows, up to M or more: what a limit cuts off.", "M", int),
    )
    per_unit = True
    attributes: tuple[str, ...]
    most: int

    def __init__(self, most: int = 20, name: str = "rows") -> None:
        """*name* is what the number of rows is called, such as ``visits``."""
        super().__init__(name)
        number = whole(most, "most", 1)
        if number > _LARGEST:
            raise BadInput(f"most must be at most {_LARGEST:,}, given {number:,}. Units with more rows count as that.")
        object.__setattr__(self, "most", number)

    def select(self, schema: Schema) -> Schema:
        """The number of rows, of which a unit has one."""
        (name,) = self.attributes
        return schema.per_unit(name, self.most).select(name)

    def axes(self, schema: Schema) -> dict[str, tuple[Label, ...]]:
        """Numbers of rows; the last class holds all units that have as many or more.

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
        """By the limit and the name."""
        names, most = plain.get("attributes"), plain.get("most")
        if not isinstance(names, list) or len(names) != 1:
            raise BadInput(f"the task {cls.kind!r} needs one name, given {shorten(names)}.")
        return cls(most, *names)  # type: ignore[arg-type]

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> Self:
        """By the limit."""
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
    """The number of rows; where the schema names a unit, of those that are kept of each.

    >>> print(Count())
    number of rows
    """

    kind = "count"
    asked_by = (Option("count", "Count all rows.", reads=bool),)
    answered_by = "adyton.programs.single:Single"

    def select(self, schema: Schema) -> Schema:
        """All of it: rows are counted whatever they say."""
        return schema

    def workload(self, schema: Schema) -> Queries:
        """None: there are no cells."""
        raise BadInput(f"{self}: this is one number. Leave the algorithm to auto.")

    def to_dict(self) -> dict[str, Any]:
        """Nothing but its kind."""
        return {"task": self.kind}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Nothing but its kind."""
        return cls()

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> Self:
        """The same."""
        return cls()

    def __str__(self) -> str:
        return "number of rows"


@dataclass(frozen=True)
class Units(Count):
    """The number of units that have rows: how many people there are. The schema must name a unit.

    >>> print(Units())
    number of units
    """

    kind = "units"
    asked_by = (Option("units", "Count the units, such as people, that the schema names.", reads=bool),)
    per_unit = True

    def select(self, schema: Schema) -> Schema:
        """One row per unit; refused where the schema names none."""
        return schema.per_unit("rows", 1).select("rows")

    def __str__(self) -> str:
        return "number of units"


@dataclass(frozen=True)
class RowsLeftOut(Units):
    """What the limit on the rows of a unit leaves out, counting *most* rows of each at the most.

    >>> print(RowsLeftOut(100))
    units and rows that the limit leaves out, up to 100 rows of each
    """

    kind = "rows left out"
    asked_by = (
        Option("cut-off", "What the limit on rows leaves out: of how many units, and rows up to M a unit.", "M", int),
    )
    answered_by = "adyton.programs.single:LeftOut"
    most: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", RowsPerUnit(self.most).most)

    def to_dict(self) -> dict[str, Any]:
        """The number of rows that are looked at."""
        return {"task": self.kind, "most": self.most}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """By that number."""
        return cls(plain.get("most"))  # type: ignore[arg-type]

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> Self:
        """The same."""
        return cls(*given.values())

    def __str__(self) -> str:
        return f"units and rows that the limit leaves out, up to {self.most:,} rows of each"
