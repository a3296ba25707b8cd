"""P-HP: private hierarchical partitioning of a line."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Reals
from adyton.exact import Rational, positive, share
from adyton.kernel.mechanisms.bisections import Bisections
from adyton.kernel.sources import VectorSource
from adyton.plans.base import Plan, Tasks
from adyton.plans.registry import register
from adyton.queries import Queries
from adyton.solving.solvers import solver
from adyton.strategies.greedy_h import greedy_h
from adyton.whole import whole


@register
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

    partition_share: Rational = Fraction(1, 4)
    """The part of the budget that chooses the clusters."""
    pick_share: Rational = Fraction(1, 3)
    """The part of that which chooses how fine they are."""
    levels: int | None = None
    """How often clusters are cut privately; ⌊log₂ n⌋/3 if None."""
    price: Rational = Fraction(1, 4)
    """How many rows of deviation one more cluster must save, in units of 1/ε of the measurement."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Clusters, then their counts."""
        part, price = share(self.partition_share, "partition_share"), positive(self.price, "price")
        levels = max(1, (x.cells.bit_length() - 1) // 3) if self.levels is None else whole(self.levels, "levels", 1)
        rest = (1 - part) * epsilon
        bisections = Bisections(min(levels, x.cells), price / rest, share(self.pick_share, "pick_share"))
        clusters = x.select(bisections, part * epsilon)
        starts = np.flatnonzero(np.diff(clusters.labels, prepend=-1))
        strategy = greedy_h(workload, buckets=np.append(starts, x.cells))
        counts = strategy.measure(x, rest)
        return solver(counts.queries, counts.variances).solve(counts.answers)
