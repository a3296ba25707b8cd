"""Tasks that count units instead of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adyton.errors import BadInput
from adyton.schema import Schema
from adyton.schema.attributes import Label
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

    def __repr__(self) -> str:
        return f"RowsPerUnit({self.most}, {self.attributes[0]!r})"

    def __str__(self) -> str:
        return f"units by number of {self.attributes[0]}, from 1 to {self.most} or more"
