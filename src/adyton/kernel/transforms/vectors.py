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
    """Sum the cells of each group.

    Claim.  Stability 1 in L1.
    Proof.  A cell counts in one group at most, so that Σ_g |Σ_{i in g} (x_i − x′_i)| ≤ Σ_i |x_i − x′_i|.  ∎
    """

    takes = VectorShape
    partition: Partition

    def plan(self, source: VectorShape) -> Outcome:
        """One cell per group."""
        source.check_cells("a partition", self.partition.cells)
        sums = source.derive(Reduction(self.partition, source.shape))
        return Outcome(f"reduce({self.partition.groups} groups)", (sums,), lambda x: [x.reduce(self.partition)])


@dataclass(frozen=True, eq=False)
class SplitVector(Transform):
    """Disjoint vectors, one per group.

    Claim.  Stability 1 in L1 into all parts together.
    Proof.  A cell goes to one part or to none: the L1 distances of the parts add up to that of the vectors at most, and
    one row changes one cell.  ∎
    """

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
    """Replace the vector x by M·x.

    Claim.  Stability max_i ‖column i of M‖₁ in L1.
    Proof.  ‖M·x − M·x′‖₁ ≤ Σ_i |x_i − x′_i| · ‖column i of M‖₁ ≤ max_i ‖column i of M‖₁ · ‖x − x′‖₁. The norm is
    computed by the kernel, in whole numbers, from the coefficients that are applied; nobody declares it.  ∎
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
