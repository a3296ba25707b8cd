"""Statistics of all rows from a tree of counts that was measured in stages: quantiles.

The estimate is that of the plan: mostly posterior means, which say where rows are rather than where noise is. Bounds
rest on least squares on the same answers, whose variance is known whatever the rows are. Nothing was measured inside a
finished block, so bounds are borders of blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from adyton.arrays import Places, Reals
from adyton.compiling import cached_property
from adyton.errors import BadInput
from adyton.plans.hierarchies import StagedHierarchy, staged_estimate
from adyton.result.figures import cumulated
from adyton.solving.trees import BlockAnswers
from adyton.statistics.grouped import Figures, GroupedNumbers
from adyton.tasks.numbers import quantile_name
from adyton.whole import rises

_MOST_READ, _AT_ONCE, _FEWEST = 1 << 25, 1 << 21, 64
"""Bounds are found among borders whose number times that of the cells is at most this, a part of them at once; among
some borders always."""


@dataclass(frozen=True, eq=False)
class TreeReading:
    """The answers on some blocks of the tree of all cells of numbers."""

    numbers: GroupedNumbers
    known: BlockAnswers

    @classmethod
    def of(cls, numbers: GroupedNumbers, measured: Reals) -> TreeReading:
        """From the numbers of the blocks, their answers, and the precision of each."""
        tree = StagedHierarchy.tree((numbers.cells,))
        places, answers, precisions = np.split(measured, 3) if measured.size % 3 == 0 else (measured,) * 3
        blocks = places.astype(np.int64)
        whole = (blocks == places).all() and np.isin(blocks, np.arange(tree.blocks)).all() and rises(blocks)
        if not (measured.size and measured.size % 3 == 0 and whole and blocks[0] == 0 and (precisions > 0).all()):
            raise BadInput("the numbers of a tree are not blocks of it with their answers and precisions")
        return cls(numbers, BlockAnswers.none(tree).with_answers(blocks, answers, 1 / precisions))

    @cached_property
    def curve(self) -> Reals:
        """The estimated number of rows up to each cell, which does not fall."""
        return cumulated(staged_estimate(self.known))

    @cached_property
    def borders(self) -> Places:
        """Where finest measured blocks begin, and where the last one ends; some of them, where there are very many."""
        tree, measured = self.known.tree, self.known.precisions > 0
        starts = [level[:-1][own] for level, own in zip(tree.boundaries, tree.by_level(measured), strict=True)]
        every = np.append(np.unique(np.concatenate(starts)), self.numbers.cells)
        most = max(_MOST_READ // self.numbers.cells, _FEWEST)
        return every[np.unique(np.linspace(0, every.size - 1, min(every.size, most)).astype(np.int64))]

    @cached_property
    def _prefixes(self) -> tuple[Reals, Reals, Reals]:
        """The least-squares estimate of the rows before each border; its variance; its covariance with that of all."""
        cells, counts = self.numbers.cells, self.known.cells()
        variances, apart = np.empty(self.borders.size), np.empty(self.borders.size)
        for some in np.array_split(np.arange(self.borders.size), 1 + self.borders.size * cells // _AT_ONCE):
            before = (np.arange(cells) < self.borders[some, None]).astype(float)
            variances[some], apart[some] = self.known.variances(before), self.known.variances(1 - before)
        return np.append(0.0, np.cumsum(counts))[self.borders], variances, (variances + variances[-1] - apart) / 2

    def quantiles(self, confidence: float) -> list[Figures]:
        """Every quantile of the task."""
        return [self._quantile(part, confidence) for part in self.numbers.task.quantiles]

    def _quantile(self, part: Fraction, confidence: float) -> Figures:
        """The cell that the estimate says, and all blocks in which the quantile may lie: their ends are ruled out
        neither as too low nor as too high."""
        numbers, share = self.numbers, float(part)
        cell = min(int(np.searchsorted(self.curve, share * self.curve[-1])), numbers.cells - 1)
        rows, variances, covariances = self._prefixes
        noise = np.sqrt(np.maximum(variances - 2 * share * covariances + share**2 * variances[-1], 1e-300))
        beyond = (rows - share * rows[-1]) / noise
        low, high = self._within(beyond, deviations(confidence), cell)
        near = numbers.edges[list(self._within(beyond, 1.0, cell))]
        error = (near[1] - near[0] - numbers.gap) / math.sqrt(12)
        found = (numbers.middles[cell], numbers.edges[low], numbers.edges[high] - numbers.gap, error)
        value, lower, upper, error = (np.array([one]) for one in found)
        return Figures(quantile_name(part), value, lower, upper, error, "approximate")

    def _within(self, beyond: Reals, far: float, cell: int) -> tuple[int, int]:
        """The cells in which a quantile may lie whose rank is so many deviations *beyond* that of each border."""
        low = int(np.argmax(np.append(beyond > -far, True))) - 1
        high = beyond.size - int(np.argmax(np.append(beyond[::-1] < far, True)))
        return (
            min(int(self.borders[max(low, 0)]), cell),
            max(int(self.borders[min(high, beyond.size - 1)]), cell + 1),
        )


def deviations(confidence: float) -> float:
    """How many standard deviations noise reaches to either side: sums of few Laplace terms go farther than normal."""
    return max(math.log(1 / (1 - confidence)) / math.sqrt(2), NormalDist().inv_cdf((1 + confidence) / 2))
