"""Some cells of one attribute, among rows that are narrowed by others: what sums, means and quantiles are made of."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from adyton.errors import BadInput
from adyton.queries import Cells, Explicit, Kronecker, Product, Queries, Ranges, Total
from adyton.schema import Schema
from adyton.tasks.questions import Cells as Places
from adyton.tasks.questions import as_boxes


@dataclass(frozen=True, eq=False)
class Slice:
    """Neighbouring cells of one attribute; and of other attributes the cells that count."""

    attribute: str
    cells: slice
    others: dict[str, Places] = field(default_factory=dict)

    @classmethod
    def asked(cls, schema: Schema, attribute: str, size: int, among: object) -> Slice:
        """The first *size* cells of an attribute among the rows that a query counts, or among all."""
        if among is None:
            return cls(attribute, slice(0, size))
        box, *more = as_boxes(schema, among)
        if more:
            raise BadInput(f"among takes one query, like {{{schema.names[-1]!r}: …}}, given a list of {len(more) + 1}.")
        own = box.pop(attribute, np.arange(size))
        if own[-1] - own[0] + 1 > own.size or own[-1] >= size:
            raise BadInput(f"among must name a range (from, to) of {attribute}, whose numbers are asked for.")
        return cls(attribute, slice(int(own[0]), int(own[-1]) + 1), box)

    @property
    def group(self) -> tuple[str, ...]:
        """The attributes that it is about, the sliced one first."""
        return (self.attribute, *self.others)

    def whole(self, schema: Schema) -> bool:
        """Whether it is all of a release of one attribute."""
        return len(schema.names) == 1 and self.cells == slice(0, schema.cells)

    def widened(self, queries: Queries, schema: Schema) -> Queries:
        """Queries about these cells as queries about all cells of the schema; ranges stay ranges where they can."""
        if self.whole(schema):
            return queries
        sides = dict(zip(schema.names, schema.shape, strict=True))
        if isinstance(queries, Ranges) and all(np.ptp(cells) + 1 == cells.size for cells in self.others.values()):
            ends = {name: (int(cells[0]), int(cells[-1])) for name, cells in self.others.items()}
            columns = [
                (queries.lower[:, 0] + self.cells.start, queries.upper[:, 0] + self.cells.start)
                if name == self.attribute
                else tuple(np.full(queries.count, end) for end in ends.get(name, (0, side - 1)))
                for name, side in sides.items()
            ]
            return Ranges(schema.shape, *(np.column_stack([column[end] for column in columns]) for end in (0, 1)))
        along = Product(queries, Cells(sides[self.attribute], np.arange(self.cells.start, self.cells.stop)))
        factors = [along if name == self.attribute else self._counted(name, side) for name, side in sides.items()]
        return factors[0] if len(factors) == 1 else Kronecker(factors)

    def _counted(self, name: str, side: int) -> Queries:
        """One query about another attribute: the sum of its cells that count."""
        if name not in self.others:
            return Total(side)
        cells = self.others[name]
        return Explicit(side, np.zeros(cells.size, dtype=np.int64), cells, np.ones(cells.size, dtype=np.int64), 1)
