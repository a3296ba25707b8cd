"""P-HP: private hierarchical partitioning of a line."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from adyton.arrays import Reals
from adyton.kernel.mechanisms import Bisections
from adyton.kernel.sources import VectorSource
from adyton.plans.base import Plan, Tasks
from adyton.plans.options import Positive, Share, Whole
from adyton.plans.steps import boundaries
from adyton.queries import Queries
from adyton.solving.least_squares import least_squares
from adyton.strategies.greedy_h import greedy_h


@dataclass(frozen=True, kw_only=True)
class Php(Plan):
    """Cut the line in two where the halves are most even, again and again; stop where more cuts cost more noise than
    they save; measure the clusters, weighted for the workload.

    Ács, Castelluccia and Chen, "Differentially private histogram publishing through lossy compression", ICDM 2012.
    They make ⌊log₂ n⌋ levels of private cuts with half of the budget and measure plain counts. A third of those levels
    followed by free halving, a quarter of the budget and a weighted tree of clusters have a lower error.
    """

    name = "php"
    serves = Tasks(dimensions=(1,), data_dependent=True, ordered=True)
    simulates_many = False

    partition_share: Share = Fraction(1, 4)
    """The part of the budget that chooses the clusters."""
    pick_share: Share = Fraction(1, 3)
    """The part of that which chooses how fine they are."""
    levels: Whole | None = None
    """How often clusters are cut privately; ⌊log₂ n⌋/3 if None."""
    price: Positive = Fraction(1, 4)
    """How many rows of deviation one more cluster must save, in units of 1/ε of the measurement."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Clusters, then their counts."""
        levels = self.levels or max(1, (x.cells.bit_length() - 1) // 3)
        rest = (1 - self.partition_share) * epsilon
        bisections = Bisections(min(levels, x.cells), self.price / rest, self.pick_share)
        clusters = x.select(bisections, self.partition_share * epsilon)
        return least_squares(greedy_h(workload, buckets=boundaries(clusters)).measure(x, rest), local=True)
