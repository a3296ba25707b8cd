"""Transformations of vectors: all linear, so that inference can map measurements back to the original domain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.limits import check_parts, check_queries
from adyton.kernel.shapes import VectorShape
from adyton.kernel.transforms.base import Outcome, Transform
from adyton.queries import Cells, Partition, Queries, Reduction


@dataclass(frozen=True, eq=False)
class Reduce(Transform):
    """Sum the cells of each group. A cell counts in one group at most: stability 1."""

    takes = VectorShape
    partition: Partition

    def plan(self, source: VectorShape) -> Outcome:
        """One cell per group."""
        source.check_cells("a partition", self.partition.cells)
        sums = source.derive(Reduction(self.partition, source.shape))
        return Outcome(f"reduce({self.partition.groups} groups)", (sums,), lambda x: [x.reduce(self.partition)])


@dataclass(frozen=True, eq=False)
class SplitVector(Transform):
    """Disjoint vectors, one per group. A cell goes to one of them or to none: stability 1."""

    takes = VectorShape
    partition: Partition

    def plan(self, source: VectorShape) -> Outcome:
        """One vector per group; every group needs a cell."""
        source.check_cells("a partition", self.partition.cells)
        check_parts(self.partition.groups)
        sizes = self.partition.sizes
        if not sizes.all():
            empty = int(np.flatnonzero(sizes == 0)[0])
            raise BadInput(f"group {empty} of the partition has no cells. Number the groups without gaps.")
        shapes = tuple(source.derive(Cells(source.shape, part)) for part in self.partition.parts())
        step = f"split({self.partition.groups} groups)"
        return Outcome(step, shapes, lambda x: x.split(self.partition), disjoint=True)


@dataclass(frozen=True, eq=False)
class LinearMap(Transform):
    """Replace the vector x by M·x. ‖M·x − M·x′‖₁ ≤ max_i ‖column i of M‖₁ · ‖x − x′‖₁: that norm is the stability.

    The norm is computed here, exactly, from the coefficients that are applied; nobody declares it.
    """

    takes = VectorShape
    queries: Queries

    def plan(self, source: VectorShape) -> Outcome:
        """One cell per query."""
        source.check_cells("queries", self.queries.cells)
        check_queries(self.queries)
        return Outcome(
            f"map({self.queries})",
            (source.derive(self.queries),),
            lambda x: [x.map(self.queries)],
            stability=self.queries.sensitivity(),
        )
