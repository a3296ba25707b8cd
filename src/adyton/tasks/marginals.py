"""The task of several tables at once: marginals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from adyton.errors import BadInput
from adyton.messages import listing, shorten
from adyton.queries import Marginals as MarginalQueries
from adyton.queries import Queries
from adyton.schema import Identifier, Schema
from adyton.tasks.base import Task
from adyton.tasks.named import check_axes
from adyton.whole import whole


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
        object.__setattr__(self, "way", whole(self.way, "way", 1))
        if self.attrs is None:
            return
        names = tuple(self.attrs) if isinstance(self.attrs, Iterable) and not isinstance(self.attrs, str) else (None,)
        if not all(isinstance(name, str) for name in names):
            raise BadInput(f'attrs must be a list of names, like ["age", "sex"], given {shorten(self.attrs)}.')
        object.__setattr__(self, "attrs", tuple(str.__str__(name) for name in names))

    def select(self, schema: Schema) -> Schema:
        """The attributes named, or all that have cells."""
        celled = [name for name, one in schema.attributes.items() if not isinstance(one, Identifier)]
        selected = check_axes(schema.select(celled if self.attrs is None else tuple(self.attrs)))
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
