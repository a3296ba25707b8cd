"""Grids: as many boxes as noisy counts deserve, all alike or each cut again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, TypeAlias

import numpy as np

from adyton.arrays import Places, Reals
from adyton.exact import exact
from adyton.kernel.sources import VectorSource
from adyton.partitions import lift
from adyton.plans.base import Tasks
from adyton.plans.options import Share, Within
from adyton.plans.steps import CountsRows
from adyton.queries import Grid, Identity, Partition, Queries
from adyton.queries.block_tree import BlockTree
from adyton.solving.block_answers import BlockAnswers

_LEAST_BLOCKS = 10
RowsInBox: TypeAlias = Annotated[Fraction, Within(exact, Fraction(1, 10**6), 10**6)]
"""How many rows, times ε, a box of a grid gets: boxes of fewer or more are none."""


@dataclass(frozen=True, kw_only=True)
class UniformGrid(CountsRows):
    """One grid of equal boxes, √(rows·ε/10) along each side, each measured with noise and spread evenly over its cells.

    Qardaji, Yang and Li, "Differentially private grids for geospatial data", ICDE 2013. The number of rows is bought
    with a small part of the budget, where the paper takes it for public.
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
    """A coarse grid is measured; each of its boxes is cut again into as many as its noisy count deserves; all of these
    are measured at once, and both levels are fitted by least squares. Boxes that are cells already are measured once.

    Qardaji, Yang and Li, "Differentially private grids for geospatial data", ICDE 2013. The number of rows is bought
    with a small part of the budget, where the paper takes it for public. The small boxes are disjoint, so that one
    measurement of all of them costs as much as one of them.
    """

    name = "adaptive-grid"
    serves = Tasks(dimensions=(2,), data_dependent=True, ordered=True)
    simulates_many = False
    minds_workload = False

    coarse_share: Share = Fraction(1, 2)
    """α in the paper: the part of the budget for the coarse grid."""
    rows_per_box: RowsInBox = Fraction(10)
    """c in the paper, for the coarse grid: max(10, ¼√(rows·ε/c)) boxes along each side."""
    rows_per_small_box: RowsInBox = Fraction(5)
    """c₂ in the paper, for the finer ones: √(count·(1 − α)ε/c₂) along each side of a box."""

    def run(self, x: VectorSource, workload: Queries, epsilon: Fraction) -> Reals:
        """A noisy total, a coarse grid, small boxes, least squares."""
        rows = self.count_rows(x, epsilon)
        wanted = math.sqrt(rows.number * float(rows.left) / float(self.rows_per_box)) / 4
        coarse = grid_of(x.shape, max(_LEAST_BLOCKS, wanted))
        alpha = self.coarse_share if coarse.count < x.cells else 1  # where boxes are cells, there is nothing to cut
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
    """The small boxes of the whole domain, at least *blocks* along each side of a coarse one with as many cells, and
    the tree of the whole domain, the coarse boxes and the small ones."""
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
    """A grid with at least so many blocks along each side: their width is a whole number of cells, rounded down.

    >>> grid_of((32, 32), 25).blocks, grid_of((32, 32), 3).blocks
    ((32, 32), (4, 4))
    """
    widths = [max(1, int(side / max(1.0, blocks))) for side in domain]
    return Grid.of_blocks(domain, [math.ceil(side / width) for side, width in zip(domain, widths, strict=True)])
