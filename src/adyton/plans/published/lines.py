"""Published plans for a line: buckets chosen before any measurement (StructureFirst), private hierarchical partitioning
(P-HP), and a histogram approximated by its slowest cosine waves (EFPA).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from adyton.arrays import Reals
from adyton.kernel.mechanisms.published.bisections import Bisections
from adyton.kernel.mechanisms.published.bucket_boundaries import BucketBoundaries
from adyton.kernel.mechanisms.published.resolution import CoefficientCount
from adyton.kernel.operators import check_request
from adyton.kernel.shapes import VectorShape
from adyton.kernel.sources import VectorSource
from adyton.plans.algorithm import Positive, Share, Whole
from adyton.plans.base import CountsRows, Plan, Tasks
from adyton.plans.published.groups import boundaries
from adyton.queries import Hierarchy, Queries
from adyton.queries.cosines import Cosines
from adyton.queries.hierarchy import block_sums, spread
from adyton.solving.solvers import least_squares, solver
from adyton.strategies.base import Strategy
from adyton.strategies.greedy_h import greedy_h

_CELLS_A_BUCKET = 20
_MOST_PLACES = 1 << 13
"""In longer lines, buckets can begin only at every second cell, every third, and so on."""
_LONGER = 4
"""By default a bucket has at most four times the average number of cells."""
_CLIP = 4
"""By default counts are clipped at four times the mean count."""
_BUCKET_PARTS = (0.125, 0.25, 0.5, 0.75)
_FEWEST = 4
"""In buckets of fewer cells, shrinking can do harm."""


@dataclass(frozen=True, kw_only=True)
class StructureFirst(CountsRows):
    """Choose the boundaries of ⌈n/20⌉ buckets of similar counts, then measure a tree of buckets with the cells below.

    Xu, Zhang, Xiao, Yang, Yu and Winslett, "Differentially private histogram publication", VLDB Journal 2013. The
    number of rows, which determines the clip of the counts, is measured or public; all boundaries are drawn at once,
    for which a small share of the budget suffices; the lengths of buckets are bounded; the differences inside a bucket
    are shrunk where they are no larger than their noise (James and Stein, 1961).
    """

    name = "structure-first"
    serves = Tasks(dimensions=(1,), data_dependent=True, ordered=True)
    simulates_many = False

    buckets: Whole | None = None
    """The number of buckets; ⌈n/20⌉ if None, in the paper ⌈n/10⌉."""
    longest: Whole | None = None
    """The most cells of a bucket; four times the average if None. The paper has no bound."""
    clip: Whole | None = None
    """The public bound to which counts are clipped while boundaries are chosen; from the total if None."""
    structure_share: Share = Fraction(1, 50)
    """The share of the budget that chooses the boundaries."""
    total_share: Share = Fraction(1, 100)
    """The share of the budget for the total, if neither it nor the clip is public."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Total, boundaries, tree, least squares, shrinkage."""
        structure, selection = self.structure_share, self._selection(x)
        bounds, rest = np.array([0, x.cells]), epsilon
        if selection.buckets > 1:
            if self.clip is None:
                rows = self.count_rows(x, epsilon)
                selection, rest = replace(selection, clip=_clip(rows.number, x.cells)), rows.left
            bounds, rest = boundaries(x.select(selection, structure * rest)), (1 - structure) * rest
        tree = _strategy(workload, bounds, _bucket_part(workload, bounds.size - 1)).measure(x, rest)
        cells = solver(tree.queries, tree.variances).solve(tree.answers)
        return _shrink(cells, bounds, float(tree.variances[-1]))

    def check_size(self, workload: Queries, epsilon: Fraction) -> None:
        """Also check the choice of boundaries, which fills a table of all buckets."""
        super().check_size(workload, epsilon)
        self._selection(VectorShape(workload.domain))

    def _selection(self, x: VectorSource | VectorShape) -> BucketBoundaries:
        """The mechanism that chooses the boundaries, with its options checked; a clip is set later."""
        step = -(-x.cells // _MOST_PLACES)
        places = -(-x.cells // step)
        longest = self.longest and -(-self.longest // step)
        buckets = self.buckets or max(-(-places // _CELLS_A_BUCKET), -(-places // (longest or places)))
        longest = longest or min(places, _LONGER * -(-places // buckets))
        chosen = BucketBoundaries(buckets, self.clip or 1, longest, step)
        check_request(chosen, VectorShape(x.shape), Fraction(1))
        return chosen


def _clip(rows: float, cells: int) -> int:
    return int(min(max(1.0, _CLIP * rows / cells), BucketBoundaries.largest_clip(cells)))


def _strategy(workload: Queries, bounds: npt.NDArray[np.int64], part: float) -> Strategy:
    """Greedy-H on the buckets with this part of the weight, and every cell with the rest."""
    upper = greedy_h(workload, buckets=bounds)
    assert isinstance(upper.queries, Hierarchy)
    assert upper.weights is not None
    blocks, cells = upper.queries.blocks, workload.cells
    measured = np.arange(blocks) if upper.queries.measured is None else upper.queries.measured
    below = np.arange(blocks, blocks + cells)
    tree = Hierarchy(
        workload.domain, [*upper.queries.boundaries, np.arange(cells + 1)], measured=np.concatenate([measured, below])
    )
    return Strategy(tree, np.concatenate([part * upper.weights, np.full(cells, 1 - part)]))


@lru_cache(maxsize=16)
def _bucket_part(workload: Queries, buckets: int) -> float:
    """The part of the weight with which the workload's error would be least if the buckets had equal lengths."""
    even = np.arange(buckets + 1) * workload.cells // buckets
    strategies = [_strategy(workload, even, part) for part in _BUCKET_PARTS]
    errors = [
        solver(strategy.queries, strategy.variances(Fraction(1))).total_variance(workload) for strategy in strategies
    ]
    return _BUCKET_PARTS[int(np.argmin(errors))]


def _shrink(cells: Reals, bounds: npt.NDArray[np.int64], variance: float) -> Reals:
    """Inside a bucket of m ≥ 4 cells, the differences d from its mean, which contain only the noise of single cells,
    become d·max(0, 1 − (m − 3)σ²/‖d‖²); the sum of the bucket does not change."""
    sizes = np.diff(bounds)
    means = spread(block_sums(cells, bounds) / sizes, bounds)
    apart = cells - means
    surplus = np.maximum(0, sizes - (_FEWEST - 1)) * variance
    norms = block_sums(np.square(apart), bounds)
    kept = 1 - surplus / np.maximum(norms, surplus + np.finfo(float).tiny)
    return np.asarray(means + spread(kept, bounds) * apart)


@dataclass(frozen=True, kw_only=True)
class Php(Plan):
    """Cut the line repeatedly in two where the halves are most even; stop where more cuts cost more noise than they
    save; measure the clusters, weighted for the workload.

    Ács, Castelluccia and Chen, "Differentially private histogram publishing through lossy compression", ICDM 2012.
    The paper makes ⌊log₂ n⌋ levels of private cuts with half of the budget and measures plain counts. The error is
    lower with a third of those levels, followed by halving at no cost, a quarter of the budget, and a weighted tree of
    clusters.
    """

    name = "php"
    serves = Tasks(dimensions=(1,), data_dependent=True, ordered=True)
    simulates_many = False

    partition_share: Share = Fraction(1, 4)
    """The share of the budget that chooses the clusters."""
    pick_share: Share = Fraction(1, 3)
    """The part of that share which chooses how fine the clusters are."""
    levels: Whole | None = None
    """How often clusters are cut privately; ⌊log₂ n⌋/3 if None."""
    price: Positive = Fraction(1, 4)
    """By how many rows one more cluster must reduce the deviation, in units of 1/ε of the measurement."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Clusters, then their counts."""
        levels = self.levels or max(1, (x.cells.bit_length() - 1) // 3)
        rest = (1 - self.partition_share) * epsilon
        bisections = Bisections(min(levels, x.cells), self.price / rest, self.pick_share)
        clusters = x.select(bisections, self.partition_share * epsilon)
        return least_squares(greedy_h(workload, buckets=boundaries(clusters)).measure(x, rest), local=True)


@dataclass(frozen=True, kw_only=True)
class Efpa(Plan):
    """Choose how many of the slowest cosine waves to keep, measure those, and leave the others out.

    Ács, Castelluccia and Chen, "Differentially private histogram publishing through lossy compression", ICDM 2012. Here
    on an orthonormal basis of real waves, so that no phase is published without noise; and with the noise that the
    coefficients need, which for k waves of n cells is about k·√(2/n), not √k.
    """

    name = "efpa"
    serves = Tasks(dimensions=(1,), data_dependent=True, ordered=True)
    simulates_many = False
    minds_workload = False

    selection_share: Share = Fraction(1, 8)
    """The share of the budget that chooses how many waves are kept. In the paper it is half, which pays only if a few
    waves suffice."""

    def check_size(self, workload: Queries, epsilon: Fraction) -> None:
        """Also check the choice among all waves, which takes cells² steps."""
        super().check_size(workload, epsilon)
        check_request(CoefficientCount(epsilon), VectorShape(workload.domain), epsilon)

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Choose, measure, invert."""
        remaining = (1 - self.selection_share) * epsilon
        waves = Cosines(x.shape, x.select(CoefficientCount(remaining), self.selection_share * epsilon))
        return waves.inverse(x.measure(waves, remaining).answers)
