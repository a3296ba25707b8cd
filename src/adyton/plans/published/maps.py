"""Published plans that cut a domain into boxes and measure these.

Grids have as many boxes as noisy counts justify, of equal size or each cut again; the hybrid tree cuts at private
medians at the top and at midpoints below; DPCube finds boxes of similar cells on noisy counts and measures them again;
dyadic chooses even blocks of a tree privately.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from adyton.arrays import Places, Reals
from adyton.denoising.top_down import block_posterior
from adyton.exact import exact
from adyton.kernel.mechanisms.published.bisections import MedianCell
from adyton.kernel.mechanisms.published.dyadic_partition import DyadicPartition
from adyton.kernel.operators import check_request
from adyton.kernel.shapes import VectorShape
from adyton.kernel.sources import VectorSource
from adyton.partitions import lift
from adyton.partitions.similar_counts import kd_partition
from adyton.plans.algorithm import Positive, Share, Within, whole_number
from adyton.plans.base import CountsRows, Plan, Tasks
from adyton.queries import Grid, Hierarchy, Identity, Partition, Queries
from adyton.queries.domain_trees import boxes_in_boxes, halved_boxes
from adyton.queries.hierarchy import BlockTree, block_sums, spread
from adyton.solving.solvers import least_squares
from adyton.solving.trees import BlockAnswers

_LEAST_BLOCKS = 10
RowsInBox: TypeAlias = Annotated[Fraction, Within(exact, Fraction(1, 10**6), 10**6)]
"""How many rows, times ε, a box of a grid gets; other values make no useful boxes."""


@dataclass(frozen=True, kw_only=True)
class UniformGrid(CountsRows):
    """One grid of equal boxes, √(rows·ε/10) along each side, each measured with noise and spread evenly over its cells.

    Qardaji, Yang and Li, "Differentially private grids for geospatial data", ICDE 2013. The number of rows is measured
    with a small share of the budget, while the paper treats it as public.
    """

    name = "uniform-grid"
    serves = Tasks(dimensions=(2,), data_dependent=True, ordered=True)
    simulates_many = False
    minds_workload = False

    rows_per_box: RowsInBox = Fraction(10)
    """c in the paper: a box gets about c/ε rows."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """A noisy total, one grid, least squares."""
        rows = self.count_rows(x, epsilon)
        grid = grid_of(x.shape, math.sqrt(rows.number * float(rows.left) / float(self.rows_per_box)))
        boxes = BlockAnswers.none(_one_level(grid), rows.measured).with_level(1, x.measure(grid, rows.left)).cells()
        sizes = np.asarray(grid @ np.ones(grid.domain), dtype=np.float64)
        return np.asarray(grid.transpose(boxes / sizes))


@dataclass(frozen=True, kw_only=True)
class AdaptiveGrid(CountsRows):
    """A coarse grid is measured; each of its boxes is cut again into as many as its noisy count justifies; these are
    measured all at once, and both levels are fitted by least squares. Boxes that are already cells are measured once.

    Qardaji, Yang and Li, "Differentially private grids for geospatial data", ICDE 2013. The number of rows is measured
    with a small share of the budget, while the paper treats it as public. The small boxes are disjoint, so measuring
    all of them costs as much as measuring one.
    """

    name = "adaptive-grid"
    serves = Tasks(dimensions=(2,), data_dependent=True, ordered=True)
    simulates_many = False
    minds_workload = False

    coarse_share: Share = Fraction(1, 2)
    """α in the paper: the share of the budget for the coarse grid."""
    rows_per_box: RowsInBox = Fraction(10)
    """c in the paper, for the coarse grid: max(10, ¼√(rows·ε/c)) boxes along each side."""
    rows_per_small_box: RowsInBox = Fraction(5)
    """c₂ in the paper, for the finer boxes: √(count·(1 − α)ε/c₂) along each side of a coarse box."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """A noisy total, a coarse grid, small boxes, least squares."""
        rows = self.count_rows(x, epsilon)
        wanted = math.sqrt(rows.number * float(rows.left) / float(self.rows_per_box)) / 4
        coarse = grid_of(x.shape, max(_LEAST_BLOCKS, wanted))
        alpha = self.coarse_share if coarse.count < x.cells else 1  # if boxes are cells, there is nothing to cut
        first = x.measure(coarse, alpha * rows.left)
        if alpha == 1:
            return BlockAnswers.none(_one_level(coarse), rows.measured).with_level(1, first).cells()
        rest = (1 - alpha) * rows.left
        blocks = np.sqrt(
            np.maximum(0.0, first.answers.astype(np.float64)) * float(rest) / float(self.rows_per_small_box)
        )
        fine, tree = _refine(coarse, blocks)
        second = x.reduce(fine).measure(Identity(fine.groups), rest)
        return lift(BlockAnswers.none(tree, rows.measured).with_level(1, first).with_level(2, second).cells(), fine)


def _one_level(grid: Grid) -> BlockTree:
    """The whole domain and the boxes of a grid."""
    return BlockTree(grid.count, [[0, grid.count], np.arange(grid.count + 1)])


def _refine(coarse: Grid, blocks: Reals) -> tuple[Partition, BlockTree]:
    """The small boxes of the whole domain, at least *blocks* along each side of a coarse box if it has enough cells;
    and the tree of the whole domain, the coarse boxes and the small ones."""
    wanted = blocks.reshape(coarse.blocks)
    number = np.ones(coarse.blocks, dtype=np.int64)  # of small boxes in each coarse one
    place: Places = np.zeros((1,) * len(coarse.domain), dtype=np.int64)  # of each cell's small box in its coarse one
    at = np.ix_(*(np.repeat(np.arange(axis.size - 1), np.diff(axis)) for axis in coarse.edges))
    for axis, edges in enumerate(coarse.edges):
        along = [-1 if other == axis else 1 for other in range(wanted.ndim)]
        lengths = np.diff(edges).reshape(along)
        widths = np.maximum(1, np.floor(lengths / np.maximum(wanted, 1.0)))
        parts = np.ceil(lengths / widths).astype(np.int64)
        offsets = (np.arange(coarse.domain[axis]) - np.repeat(edges[:-1], np.diff(edges))).reshape(along)
        per_cell, length_here = parts[at], lengths.reshape(-1)[at[axis]]
        place = place * per_cell + offsets * per_cell // length_here
        number *= parts
    ends = np.cumsum(number)
    labels = (ends.reshape(coarse.blocks) - number)[at] + place
    return Partition(labels), BlockTree(int(ends[-1]), [[0, ends[-1]], np.append(0, ends), np.arange(ends[-1] + 1)])


def grid_of(domain: tuple[int, ...], blocks: float) -> Grid:
    """A grid with at least *blocks* blocks along each side: their width is a whole number of cells, rounded down.

    >>> grid_of((32, 32), 25).blocks, grid_of((32, 32), 3).blocks
    ((32, 32), (4, 4))
    """
    widths = [max(1, int(side / max(1.0, blocks))) for side in domain]
    return Grid.of_blocks(domain, [math.ceil(side / width) for side, width in zip(domain, widths, strict=True)])


class _Box(NamedTuple):
    cells: Places
    """The numbers of its cells in the whole domain, as a table."""
    source: VectorSource


@dataclass(frozen=True, kw_only=True)
class HybridTree(Plan):
    """The plane is cut at private medians a few times, each box along its longer side, and then into quarters down to
    cells; the counts of all boxes, more precise towards the cells, are fitted by least squares. Boxes that turn out
    nearly empty are treated as evenly filled, like the pruning in the paper.

    Medians of disjoint boxes compose in parallel, the rounds in sequence. Cormode et al., "Differentially private
    spatial decompositions", ICDE 2012.
    """

    name = "hybrid-tree"
    serves = Tasks(dimensions=(2,), data_dependent=True, ordered=True)
    simulates_many = False
    minds_workload = False

    median_share: Share = Fraction(1, 20)
    """The share of the budget for the medians; what they do not need goes to the counts."""
    median_rounds: Annotated[int, Within(whole_number, 0, 12)] = 2
    """How often boxes are cut in two at medians. Boxes are counted after every second round."""
    sparse: Annotated[Fraction, Within(exact, 0, 10**9)] = Fraction(3)
    """A box with fewer rows than this many standard deviations of a noisy cell is treated as evenly filled."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Medians, then one measurement of the tree."""
        per_round = self.median_share * epsilon / max(1, self.median_rounds)
        sides = x.shape if len(x.shape) == 2 else (1, x.cells)
        boxes = [_Box(np.arange(x.cells).reshape(sides), x)]
        stages, spent = [boxes], Fraction(0)
        for number in range(1, self.median_rounds + 1):
            if all(box.cells.size == 1 for box in boxes):
                break
            boxes = [half for box in boxes for half in _halve(box, per_round)]
            spent += per_round  # siblings in parallel; a box with cells to cut was cut in every round before
            if number % 2 == 0:
                stages.append(boxes)
        tree = _tree(x.shape, stages, boxes)
        weights = np.exp2(np.arange(len(tree.boundaries)) / 3)[tree.query_levels()]
        counts = x.measure(tree, epsilon - spent, weights)
        limit = float(self.sparse) * math.sqrt(float(counts.variances[-1]))
        return _pruned(least_squares(counts, local=True), tree, limit)


def _pruned(cells: Reals, tree: Hierarchy, limit: float) -> Reals:
    """The estimate with the largest boxes whose sums are below *limit* spread evenly over their cells."""
    values = tree.ordered(cells)
    fine = values.copy()
    for level in reversed(tree.boundaries):
        sums = block_sums(values, level)
        fine = np.where(spread(sums < limit, level), spread(sums / np.diff(level), level), fine)
    return np.ascontiguousarray(tree.unordered(fine))


def _halve(box: _Box, epsilon: Fraction) -> list[_Box]:
    """Two boxes, cut at a private median along the longer side; a single cell stays as it is."""
    cells, source = box
    if cells.size == 1:
        return [box]
    axis = 0 if cells.shape[0] >= cells.shape[1] else 1
    lines = Partition(np.indices(cells.shape)[axis].reshape(-1))  # the lines of the box across the axis
    cut = source.reduce(lines).select(MedianCell(), epsilon)
    parts = np.split(cells, [cut], axis=axis)
    halves = source.split(Partition((lines.labels >= cut).astype(np.int64)))
    return [_Box(part, half) for part, half in zip(parts, halves, strict=True)]


def _tree(domain: tuple[int, ...], stages: list[list[_Box]], boxes: list[_Box]) -> Hierarchy:
    """The boxes of the stages, and below the last stage quarters of quarters down to cells, all on the last level."""
    ends = [np.cumsum([0, *(box.cells.size for box in stage)]) for stage in stages]
    trees = [boxes_in_boxes(box.cells.shape) for box in boxes]
    order = np.concatenate([tree.ordered(box.cells.reshape(-1)) for box, tree in zip(boxes, trees, strict=True)])
    starts = np.cumsum([0, *(box.cells.size for box in boxes)])
    levels = [tree.boundaries for tree in trees]
    for back in range(max(map(len, levels)), 0, -1):
        cuts = [own[max(0, len(own) - back)][:-1] for own in levels]
        ends.append(np.append(np.concatenate([a + b for a, b in zip(cuts, starts, strict=False)]), starts[-1]))
    kept = [level for number, level in enumerate(ends) if number == 0 or level.size > ends[number - 1].size]
    return Hierarchy(domain, kept, order)


@dataclass(frozen=True, kw_only=True)
class DPCube(Plan):
    """Noisy cells show boxes inside which they differ by no more than their noise; then each box is measured with fresh
    noise, and both answers about it are averaged by their precision. Good for data with flat or empty regions.

    This is least squares on both measurements for cells that are equal inside a box. The boxes are post-processing of
    the first answers; the second measurement has independent noise.

    Xiao, Xiong and Yuan, "Differentially private data release through multidimensional partitioning", SDM workshop at
    VLDB 2010.
    """

    name = "dpcube"
    serves = Tasks(dimensions=(1, 2), data_dependent=True, ordered=True)
    simulates_many = False
    minds_workload = False

    partition_share: Share = Fraction(1, 2)
    """The share of the budget that finds the boxes."""
    price: Positive = Fraction(6)
    """By how much one more box must reduce the squared deviations, in variances of a noisy cell."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Measure cells, find boxes, measure boxes, average."""
        part = self.partition_share
        cells = x.measure(Identity(x.shape), part * epsilon)
        boxes = kd_partition(cells.answers, x.shape, float(self.price) * float(cells.variances[0]))
        counts = x.reduce(boxes).measure(Identity(boxes.groups), (1 - part) * epsilon)
        sums = np.bincount(boxes.labels, cells.answers.astype(np.float64))
        first = cells.variances[0] * boxes.sizes  # the variance of a box's sum over its noisy cells
        return lift((first * counts.answers + counts.variances * sums) / (first + counts.variances), boxes)


_PRICE, _DEAREST = Fraction(1, 10), Fraction(1 << 40)
"""The cost of a block times the ε of its count, and the highest cost of a block, in rows."""
_CHANCES = (2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 97)
"""Probabilities of cutting a block in percent, all equally likely."""


@dataclass(frozen=True, kw_only=True)
class Dyadic(Plan):
    """Halves of halves (quarters of quarters on a plane) that are nearly even are chosen by the exponential mechanism
    and counted with noise; then posterior means, under a distribution, learnt from all counts, of how blocks divide
    their rows.

    The first stage of Li et al., "A data- and workload-aware algorithm for range queries under differential privacy",
    PVLDB 2014, made private on a tree; after McSherry and Talwar, "Mechanism design via differential privacy", 2007,
    and Kolaczyk, "Bayesian multiscale models for Poisson processes", 1999.
    """

    name = "dyadic"
    serves = Tasks(dimensions=(1, 2), data_dependent=True, ordered=True)
    simulates_many = False
    minds_workload = False

    partition_share: Share = Fraction(1, 5)
    """The share of the budget that chooses the blocks."""

    def check_size(self, workload: Queries, epsilon: Fraction) -> None:
        """Also check the choice of blocks, which holds the weights of all of them."""
        super().check_size(workload, epsilon)
        check_request(DyadicPartition(workload.domain, chances=_CHANCES), VectorShape(workload.domain), epsilon)

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """Choose, count, posterior means on the tree of the blocks, spread evenly."""
        left = (1 - self.partition_share) * epsilon
        price = min(_PRICE / left, _DEAREST)
        blocks = x.select(DyadicPartition(x.shape, price, _CHANCES), self.partition_share * epsilon)
        counts = x.reduce(blocks).measure(Identity(blocks.groups), left)
        tree = halved_boxes(x.shape)
        answers = counts.answers.astype(np.float64)
        known = BlockAnswers.none(tree).with_answers(blocks_of(tree, blocks), answers, counts.variances)
        return tree.unordered(block_posterior(known))


def blocks_of(tree: BlockTree, partition: Partition) -> Places:
    """The smallest blocks that contain the groups of a partition.

    >>> from adyton.queries.domain_trees import tree_of_halves
    >>> blocks_of(tree_of_halves(4), Partition([0, 0, 1, 2])).tolist()
    [1, 5, 6]
    """
    places = np.argsort(tree.ordered(partition.labels), kind="stable")
    ends = np.cumsum(partition.sizes)
    first, last = places[ends - partition.sizes], places[ends - 1]
    blocks = np.zeros(partition.groups, dtype=np.int64)
    for start, level in zip(tree.level_starts, tree.boundaries, strict=False):
        holder = np.searchsorted(level, first, side="right") - 1
        blocks = np.where(last < level[holder + 1], start + holder, blocks)
    return blocks
