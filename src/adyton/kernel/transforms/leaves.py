"""Counting rows by the leaves of a public tree."""

from __future__ import annotations

import math
from dataclasses import dataclass

from adyton.errors import BadInput
from adyton.kernel.shapes import TableShape, VectorShape
from adyton.kernel.tables.private_table import LARGEST_DOMAIN
from adyton.kernel.transforms.base import Outcome, Transform
from adyton.kernel.vectors import PrivateVector
from adyton.schema import RowTree


@dataclass(frozen=True)
class CountLeaves(Transform):
    """Count the rows of every leaf of a public tree, by their cells in some attributes.

    Claim.  Stability 1 in L1.
    Proof.  A row lies in at most one leaf, which depends on its own values alone (see
    :mod:`adyton.kernel.tables.leaves`), and has at most one cell in each attribute. So it is counted in one cell of
    leaves × cells if it has all of them, and else in none: one row more adds 1 to one cell, or nothing.  ∎
    """

    takes = TableShape
    tree: RowTree
    attributes: tuple[str, ...]

    def plan(self, source: TableShape) -> Outcome:
        """A vector with an axis for the leaves and one for each attribute."""
        self.tree.check_schema(source.schema)
        sizes = source.schema.select(self.attributes).shape if self.attributes else ()
        shape = (len(self.tree.leaves), *sizes)
        if math.prod(shape) > LARGEST_DOMAIN:
            raise BadInput(
                f"{shape[0]:,} leaves with {math.prod(sizes):,} cells each make more than {LARGEST_DOMAIN:,} cells. "
                "Grow a smaller tree, or ask for fewer attributes."
            )
        step = f"leaves({', '.join(self.attributes)})"
        vector = VectorShape(shape, leaves=self.tree)
        return Outcome(
            step, (vector,), lambda table: [PrivateVector(lambda: table.in_leaves(self.tree, self.attributes))]
        )
