"""How well few intervals of equal counts describe a vector."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.audit_cases import AuditCase
from adyton.kernel.mechanisms.published.dawa_partition import DawaPartition
from adyton.kernel.mechanisms.published.least_cost import LeastCost
from adyton.kernel.mechanisms.published.statistic import Statistic
from adyton.kernel.mechanisms.published.window_means import mean_costs
from adyton.kernel.shapes import VectorShape
from adyton.messages import shorten
from adyton.queries.base import Size
from adyton.whole import IntegerArray, absolute_sum

_LARGEST_COST = Fraction(1 << 40)


@dataclass(frozen=True)
class Partitionality(Statistic):
    """The least Σ_b (dev(b) + c) over partitions of a line into intervals of 1, 2, 4, … cells, plus noise.

    dev(b) = Σ_{i∈b} |x_i − mean of b| and c, the public cost of an interval, are counted in steps of 1/G row, as in
    :class:`~adyton.kernel.mechanisms.published.dawa_partition.DawaPartition`.

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell).
    Proof.  One row changes one interval of every partition, and its cost by at most Δ = ⌈2G(1 − 1/ℓ)⌉ steps, where ℓ is
    the longest interval (see there). So the cost of every partition moves by at most Δ, and the least of them too;
    DLap(Δ/ε) moves by a factor of at most e^ε when it is shifted by Δ. The intervals and c are public.  ∎
    """

    bucket_cost: Fraction = Fraction(1)
    """c, in rows."""

    def check(self, source: VectorShape) -> None:
        """A line, and a cost."""
        if len(source.shape) != 1:
            raise BadInput(f"intervals need cells in a line, the vector has the shape {source.shape}.")
        if not 0 <= self.bucket_cost <= _LARGEST_COST:
            raise BadInput(f"an interval may cost from 0 to 2^40 rows, given {shorten(self.bucket_cost)}.")

    def size(self, source: VectorShape, epsilon: Fraction) -> Size:
        """The costs of all intervals."""
        buckets = source.cells * source.cells.bit_length()
        return Size(3 * buckets, 64 * buckets)

    def steps_in(self, values: IntegerArray) -> int:
        """The least cost, by dynamic programming."""
        sizes = DawaPartition().sizes(values.size)
        grid = DawaPartition().grid(sizes)
        least = LeastCost(
            mean_costs(values, sizes, grid), 2 * grid * absolute_sum(values), round(self.bucket_cost * grid), sizes, 1
        )
        least.grow(np.zeros((1, values.size, sizes.size), dtype=np.int64))
        return least.total()

    def sensitivity(self, cells: int) -> int:
        """⌈2G(1 − 1/ℓ)⌉."""
        return int(DawaPartition().sensitivities(DawaPartition().sizes(cells))[-1])

    def step(self, cells: int) -> Fraction:
        """1/G row."""
        return Fraction(1, DawaPartition().grid(DawaPartition().sizes(cells)))

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """A short line whose best partition is not always the same."""
        return [AuditCase("partitionality", cls(Fraction(3, 2)), (4,), reaches_epsilon=False)]

    def __str__(self) -> str:
        return "cost of the best intervals"
