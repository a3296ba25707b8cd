"""DAWA: a partition that fits the data, then counts that fit the workload."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal

import numpy as np

from adyton.arrays import Places, Reals
from adyton.exact import exact
from adyton.kernel.mechanisms.published.dawa_partition import DawaPartition
from adyton.kernel.operators import check_request
from adyton.kernel.shapes import VectorShape
from adyton.kernel.sources import VectorSource
from adyton.plans.algorithm import Share, Whole, Within
from adyton.plans.base import Plan, Tasks
from adyton.plans.steps import along_curve, boundaries, curve
from adyton.queries import Identity, Partition, Queries, Ranges, Stack
from adyton.solving.solvers import solver
from adyton.strategies.base import Strategy
from adyton.strategies.greedy_h import greedy_h

_LARGEST_TABLE = 1 << 13
_FEWEST_BOXES = 32
_SWEEPS = 4
_ALLOWANCES = {"mean": 5, "median": 4}


@dataclass(frozen=True, kw_only=True)
class Dawa(Plan):
    """A part of the budget finds intervals of nearly equal cells; the rest counts them, with a tree of counts above
    them that is weighted for the workload. In two dimensions both stand on a Hilbert curve.

    Li, Hay, Miklau and Wang, "A data- and workload-aware algorithm for range queries under differential privacy",
    PVLDB 2014, with as much noise in the choice of the intervals as its Theorem 2 needs, on the one side that it needs.
    """

    name = "dawa"
    serves = Tasks(dimensions=(1, 2), data_dependent=True, ordered=True)
    simulates_many = False

    partition_share: Share = Fraction(1, 4)
    """The part of the budget that chooses the intervals."""
    allowance: Annotated[Fraction, Within(exact, 0)] | None = None
    """Each interval costs 1/ε₂ for the noise of its count, as in the paper, and this many times 1/ε₁: the least of all
    noisy costs is that of many short intervals with lucky noise, unless every interval has to make up for it. Both
    are public. 5 if None, or 4 with the median; 0 is the paper's."""
    lengths: Literal["powers", "all"] = "powers"
    """How many cells an interval may have: ``powers`` of two, or ``all`` numbers."""
    longest: Whole | None = None
    """The most cells of an interval; None for no limit."""
    centre: Literal["mean", "median"] = "mean"
    """What makes cells nearly equal: a small distance from their ``mean``, as in the paper, or from their ``median``,
    whose choice needs about half of the noise."""

    def check_size(self, workload: Queries, epsilon: Fraction) -> None:
        """The costs of all intervals are held."""
        super().check_size(workload, epsilon)
        line = VectorShape((workload.cells,))
        check_request(DawaPartition(lengths=self.lengths, longest=self.longest), line, epsilon)

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Partition, weighted tree, least squares."""
        choosing, counting = self.partition_share * epsilon, (1 - self.partition_share) * epsilon
        allowance = _ALLOWANCES[self.centre] if self.allowance is None else self.allowance
        order = curve(x.shape)
        line = x if order is None else x.reduce(along_curve(x.shape))
        cost = 1 / counting + allowance / choosing
        buckets = line.select(DawaPartition(cost, self.lengths, self.longest, self.centre), choosing)
        counts = bucket_strategy(workload, order, buckets).measure(x, counting)
        return solver(counts.queries, counts.variances).solve(counts.answers)


def bucket_strategy(workload: Queries, order: Places | None, buckets: Partition) -> Strategy:
    """Greedy-H over the buckets, for a workload that is answered as if the cells of a bucket were equal."""
    bounds, sweeps = boundaries(buckets), _SWEEPS if order is None else 0
    return greedy_h(_some(workload, bounds.size - 1), order, buckets=bounds, sweeps=sweeps)


def _some(workload: Queries, leaves: int) -> Queries:
    """Boxes along a curve are written out to weight a tree for them: of many, some at equal distances stand for all.

    The weights decide how large the noise is, never what is estimated.
    """
    most = max(_FEWEST_BOXES, _LARGEST_TABLE // leaves)
    if len(workload.domain) == 1 or not isinstance(workload, Ranges) or workload.count <= most:
        return workload
    chosen = np.linspace(0, workload.count - 1, most).astype(np.int64)
    boxes = Ranges(workload.domain, workload.lower[chosen], workload.upper[chosen])
    return Stack([boxes, Identity(workload.domain)])
