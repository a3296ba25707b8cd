"""Counting units instead of rows."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.errors import BadInput
from adyton.kernel.shapes import TableShape
from adyton.kernel.transforms.base import Outcome, Transform


@dataclass(frozen=True)
class UnitSizes(Transform):
    """One row for each unit that has rows here, with the number of its rows, clamped to 1 … *most*.

    The rows are counted before they are cut to ``rows_per_unit``, so that this tells what the limit cuts off.

    Claim.  Measurements cost their ε once, however many rows a unit has.
    Proof.  The row of a unit is a function of that unit's rows, and there is at most one: neighbours, which differ by
    one unit with all of its rows, differ by at most one row here. That holds without any limit on the rows. After a
    split it would not be enough, because a unit can have rows in every part: there it is refused.  ∎
    """

    takes = TableShape
    count: str
    most: int

    def plan(self, source: TableShape) -> Outcome:
        """The number of rows, and nothing that names a unit."""
        schema = source.schema.per_unit(self.count, self.most).select(self.count)
        if not source.by_unit or source.divided:
            raise BadInput("units are counted before rows are split or grouped. Start from the root of the kernel.")
        step = f"units({self.count} ≤ {self.most})"
        return Outcome(
            step,
            (TableShape(schema, steady=source.steady),),
            lambda table: [table.by_unit(self.count, self.most).select(self.count)],
            per_unit=True,
        )
