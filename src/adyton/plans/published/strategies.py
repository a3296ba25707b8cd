"""Plans that measure trees of counts or the workload itself: H2, the quadtree, Greedy-H and the plain workload; and two
relatives of the plans that ``auto`` chooses, for smooth data and for little data.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from adyton.arrays import Array, Reals
from adyton.denoising.empirical_bayes import with_neighbours
from adyton.denoising.shrinkage import monotone_prefix
from adyton.errors import BadInput
from adyton.kernel import mechanisms
from adyton.kernel.sources import VectorSource
from adyton.partitions import lift, workload_partition
from adyton.plans.algorithm import MOST_PLAIN_CELLS, Positive, Share
from adyton.plans.base import CountsRows, Tasks
from adyton.plans.hierarchies import measure_in_stages, staged_estimate
from adyton.plans.registry import plan_named
from adyton.plans.strategy_plan import DenoisedCellsPlan, FixedStrategyPlan, StrategyPlan
from adyton.queries import Hierarchy, Partition, Prefix, Queries, Weighted
from adyton.queries.domain_trees import boxes_in_boxes, curve
from adyton.strategies.base import Strategy, without_root
from adyton.strategies.greedy_h import greedy_h
from adyton.strategies.optimal_levels import level_energy_of, optimal_levels, prefix_energy

_TALLEST = 10
"""The most times that a quadtree halves every axis."""


@dataclass(frozen=True, kw_only=True)
class H2(FixedStrategyPlan):
    """A binary tree of counts, all levels with equal noise, made consistent by least squares.

    Hay et al., "Boosting the accuracy of differentially private histograms through consistency", PVLDB 2010.
    """

    name = "h2"
    serves = Tasks(dimensions=(1,))

    @staticmethod
    def on(domain: tuple[int, ...]) -> Strategy:
        """The binary tree without its root, which its two halves determine well enough."""
        return Strategy(without_root(boxes_in_boxes(domain)))


@dataclass(frozen=True, kw_only=True)
class Quadtree(FixedStrategyPlan):
    """Counts of squares inside squares, more precise towards the cells, made consistent by least squares.

    Cormode et al., "Differentially private spatial decompositions", ICDE 2012.
    """

    name = "quadtree"
    serves = Tasks(dimensions=(2,))

    @staticmethod
    def on(domain: tuple[int, ...]) -> Strategy:
        """Every axis is halved down to cells, at most ten times; the budget grows by 2^(1/3) from level to level."""
        tree = boxes_in_boxes(domain)
        kept = Hierarchy(domain, tree.boundaries[: _TALLEST + 1], tree.order)
        return Strategy(kept, np.exp2(kept.query_levels() / 3))


@dataclass(frozen=True, kw_only=True)
class Workload(StrategyPlan):
    """Laplace noise on the answers to the workload itself, made consistent by least squares.

    Cormode, "Personal privacy vs population privacy", KDD 2011, followed by least squares as in Zhang et al., "εKTELO",
    SIGMOD 2018.
    """

    name = "workload"
    serves = Tasks()
    effort = "dense"
    most_cells = MOST_PLAIN_CELLS

    def strategy(self, workload: Queries) -> Strategy:
        """The workload itself; the weights of a weighted workload set the precision of each query."""
        if not isinstance(workload, Weighted):
            return Strategy(workload)
        weights = abs(workload.weights)
        if not (weights > 0).all():
            raise BadInput("queries of weight 0 are not measured. Leave them out of the workload.")
        return Strategy(workload.queries, weights)


@dataclass(frozen=True, kw_only=True)
class GreedyH(StrategyPlan):
    """A binary tree of counts, weighted for the workload, over groups of cells that it does not distinguish.

    In two dimensions the tree is built along a Hilbert curve. Li et al., "A data- and workload-aware algorithm for
    range queries under differential privacy", PVLDB 2014, section 4.
    """

    name = "greedy-h"
    serves = Tasks(dimensions=(1, 2))

    reduce: bool = True

    def strategy(self, workload: Queries) -> Strategy:
        """The weighted tree."""
        return _weighted_tree(workload)

    @staticmethod
    def alike(workload: Queries) -> Partition:
        """The groups, numbered along the curve."""
        partition = workload_partition(workload)
        order = curve(workload.domain)
        if partition.groups == partition.cells or order is None:
            return partition
        along = partition.labels[order]
        _, first = np.unique(along, return_index=True)
        return Partition(np.argsort(np.argsort(first))[partition.labels])


@lru_cache(maxsize=16)
def _weighted_tree(workload: Queries) -> Strategy:
    return greedy_h(workload, curve(workload.domain))


@dataclass(frozen=True, kw_only=True)
class DenoisedNeighbours(DenoisedCellsPlan):
    """Noise on every cell, then empirical Bayes in which cells with similar neighbourhoods share their distribution.
    Good for smooth data, on a line or a plane.

    After Robbins, "An empirical Bayes approach to statistics", 1956.
    """

    name = "denoised-neighbours"
    serves = Tasks(ordered=True)

    def cells_from(self, answers: Array, workload: Queries, epsilon: Fraction) -> Reals:
        """Empirical Bayes by neighbourhoods."""
        return with_neighbours(answers, float(epsilon), workload.domain)


_BLOCKS = 64
"""The coarse view has from this many to twice as many blocks."""


_FINE, _COARSE = Fraction("0.45"), Fraction("0.41")
"""The error relative to that of plain least squares, on cells measured in stages and on blocks denoised down a tree.

The second value was found on histograms of 25 rows; the first is larger than the 0.26 found on them, so that cells are
chosen only when the blocks are clearly wrong: the noise of the choice is about as large as the difference."""


@dataclass(frozen=True, kw_only=True)
class PrivateResolution(CountsRows):
    """With little data, measure about 64 blocks instead of all cells, unless prefix sums inside them are far from
    straight lines: a private choice. The blocks are denoised down a tree; cells are measured in stages. For ε·rows of a
    few dozen.

    After Qardaji, Yang and Li, "Differentially private grids for geospatial data", ICDE 2013, who derive a resolution
    from the number of rows alone.
    """

    name = "private-resolution"
    serves = Tasks(dimensions=(1,), data_dependent=True, ordered=True)
    simulates_many = False

    selection_share: Share = Fraction(3, 100)
    """The share of the remaining budget that chooses between blocks and cells."""
    plenty: Positive = Fraction(60)
    """From this ε·rows on (noisy, unless public), cells are best, and nothing is spent on a choice."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Total, resolution, then a tree."""
        energy, part = level_energy_of(workload), self.selection_share
        rows, left, _ = self.count_rows(x, epsilon)
        size = 1 << max(0, (x.cells // _BLOCKS).bit_length() - 1)
        if size > 1 and float(epsilon) * rows < self.plenty:
            noise = {1: _FINE * _noise(x.cells), size: _COARSE * _noise(-(-x.cells // size))}
            costs = {block: error / ((1 - part) * left) for block, error in noise.items()}
            size, left = x.select(mechanisms.Resolution.at_costs(costs), part * left), (1 - part) * left
        else:
            size = 1
        if size == 1:
            return staged_estimate(measure_in_stages(x, energy, left, rows))
        blocks = Partition(np.arange(x.cells) // size)
        estimate = plan_named("denoised-tree").run(x.reduce(blocks), Prefix(blocks.groups), left)
        return lift(monotone_prefix(estimate), blocks)


@lru_cache(maxsize=64)
def _noise(cells: int) -> Fraction:
    """The root mean square error of prefix sums by least squares on the best levels, at ε = 1."""
    energy = prefix_energy(cells)
    variance = optimal_levels(cells, energy).strategy(cells).solver(Fraction(1)).total_variance(Prefix(cells))
    return Fraction(float(np.sqrt(variance / cells)))
