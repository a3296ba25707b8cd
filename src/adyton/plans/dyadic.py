"""Even blocks of a tree, chosen privately; then one noisy count for each."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.exact import Rational, share
from adyton.inference.empirical_bayes import empirical_bayes
from adyton.kernel.mechanisms import DyadicPartition
from adyton.kernel.sources import VectorSource
from adyton.partitions import lift
from adyton.plans.base import Plan, Tasks
from adyton.plans.registry import register
from adyton.queries import Identity, Queries
from adyton.queries.base import Reals


@register
@dataclass(frozen=True, kw_only=True)
class Dyadic(Plan):
    """Halves of halves (quarters of quarters on a plane) that are nearly even are chosen by the exponential
    mechanism and counted with noise; blocks of the same size share what is known about their counts.

    The first stage of Li et al., "A data- and workload-aware algorithm for range queries under differential privacy",
    PVLDB 2014, made private on a tree; after McSherry and Talwar, "Mechanism design via differential privacy", 2007.
    """

    name = "dyadic"
    serves = Tasks(dimensions=(1, 2), data_dependent=True)
    simulates_many = False

    partition_share: Rational = Fraction(1, 5)
    """The part of the budget that chooses the blocks."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Choose, count, empirical Bayes, spread evenly."""
        part = share(self.partition_share, "partition_share")
        left = (1 - part) * epsilon
        blocks = x.select(DyadicPartition(x.shape, min(1 / (2 * left), Fraction(1 << 40))), part * epsilon)
        counts = x.reduce(blocks).measure(Identity(blocks.groups), left)
        sizes = np.unique(np.frexp(blocks.sizes)[1], return_inverse=True)[1]
        return lift(empirical_bayes(counts.answers, float(left), sizes), blocks)
