"""Statistics of all rows from a tree of counts that was measured in stages: quantiles, the number of rows, moments.

The estimate is that of the plan: mostly posterior means, which say where rows are rather than where noise is. Bounds
rest on least squares on the same answers, whose variance is known whatever the rows are. Nothing was measured inside a
finished block, so bounds of quantiles are borders of blocks.

For moments, values are moved to a bound that few rows exceed, by the estimate: what noise puts far beyond all rows
would decide everything. Bounds allow for rows that lie twice as far out (for variances, three times), and for where
rows lie inside their cells.
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

BEYOND = 4.0
"""Found on 14 skewed columns with bounds of 10 and 100 times their 99% points."""
_UNEVEN = 0.1
"""The mean square of the difference between the halves of a finished block, relative to its rows."""
_MOST_READ, _AT_ONCE, _FEWEST = 1 << 25, 1 << 21, 64
"""Bounds are found among borders whose number times that of the cells is at most this, a part of them at once; among
some borders always."""


@dataclass(frozen=True, eq=False)
class TreeReading:
    """The answers on some blocks of the tree of all cells of numbers."""

    numbers: GroupedNumbers
    known: BlockAnswers
    beyond: float
    """How many rows may lie beyond the bound of values: :data:`BEYOND` scales of noise."""

    @classmethod
    def of(cls, numbers: GroupedNumbers, measured: Reals, epsilon: float) -> TreeReading:
        """From the numbers of the blocks, their answers, and the precision of each; measured with *epsilon*."""
        tree = StagedHierarchy.tree((numbers.cells,))
        places, answers, precisions = np.split(measured, 3) if measured.size % 3 == 0 else (measured,) * 3
        blocks = places.astype(np.int64)
        whole = (blocks == places).all() and np.isin(blocks, np.arange(tree.blocks)).all() and rises(blocks)
        if not (measured.size and measured.size % 3 == 0 and whole and blocks[0] == 0 and (precisions > 0).all()):
            raise BadInput("the numbers of a tree are not blocks of it with their answers and precisions")
        known = BlockAnswers.none(tree).with_answers(blocks, answers, 1 / precisions)
        return cls(numbers, known, BEYOND / epsilon)

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
        ends = float(numbers.edges[low]), float(numbers.edges[high]) - numbers.gap
        return _single(quantile_name(part), float(numbers.middles[cell]), *ends, error)

    def _within(self, beyond: Reals, far: float, cell: int) -> tuple[int, int]:
        """The cells in which a quantile may lie whose rank is so many deviations *beyond* that of each border."""
        low = int(np.argmax(np.append(beyond > -far, True))) - 1
        high = beyond.size - int(np.argmax(np.append(beyond[::-1] < far, True)))
        return (
            min(int(self.borders[max(low, 0)]), cell),
            max(int(self.borders[min(high, beyond.size - 1)]), cell + 1),
        )

    # ---- moments ----------------------------------------------------------------------------------------------------

    def moments(self, confidence: float) -> list[Figures]:
        """The number of rows, their mean, variance and deviation."""
        numbers, far = self.numbers, deviations(confidence)
        total, off = (
            float(self.known.cells().sum()),
            math.sqrt(float(self.known.variances(np.ones((1, numbers.cells)))[0])),
        )
        rows, lower, width = max(float(self.curve[-1]), off), numbers.grid.lower, numbers.grid.width
        shares = np.diff(self.curve, prepend=0.0) / max(float(self.curve[-1]), 1e-300)
        last = min(int(np.searchsorted(self.curve, self.curve[-1] - self.beyond)), numbers.cells - 1)
        cut = float(numbers.middles[last])
        values = np.minimum(numbers.middles, cut)
        mean = float(shares @ values) if shares.any() else (lower + lower + width) / 2
        variance = float(shares @ np.square(values - mean))
        inside = 0.0 if numbers.single else float(np.diff(numbers.edges) @ shares)
        outside = self._outside(last, far) / rows
        noise = [self._noise(weights) / rows for weights in (values - mean, np.square(values - mean) - variance)]
        further = (cut - lower, (2 * cut - lower - mean) ** 2 - (cut - mean) ** 2)  # of a row twice as far out
        farthest = (3 * cut - 2 * lower - mean) ** 2 - (cut - mean) ** 2  # three times as far out
        errors = [
            math.hypot(noise[0], inside / math.sqrt(12), self.beyond / rows * further[0]),
            math.hypot(noise[1], inside**2 / 12, self.beyond / rows * further[1]),
        ]
        low = max(mean - far * noise[0] - inside / 2, lower)
        high = min(mean + far * noise[0] + inside / 2 + outside * further[0], lower + width)
        least = max(variance - far * noise[1] - inside**2 / 12, 0.0)
        most = min(variance + far * noise[1] + inside**2 / 12 + outside * farthest, width**2 / 4)
        root = math.sqrt(variance)
        found = {
            "count": (total, max(total - far * off, min(total, 0.0)), max(total + far * off, 0.0), off),
            "mean": (mean, low, max(high, mean), min(errors[0], width)),
            "variance": (variance, least, max(most, variance), min(errors[1], width**2 / 4)),
            "deviation": (
                root,
                math.sqrt(least),
                math.sqrt(max(most, variance)),
                min(errors[1] / (2 * root), width / 2) if root else width / 2,
            ),
        }
        return [_single(name, *four) for name, four in found.items()]

    def _outside(self, last: int, far: float) -> float:
        """The most rows that may lie after a cell, as far as noise allows."""
        after = np.where(np.arange(self.numbers.cells) > last, 1.0, 0.0)
        return self.beyond + far * math.sqrt(float(self.known.variances(after[None, :])[0]))

    def _noise(self, weights: Reals) -> float:
        """The standard deviation of a weighted sum of the cells by least squares."""
        return math.sqrt(float(self.known.variances(weights[None, :], _UNEVEN)[0]))


def _single(name: str, value: float, low: float, high: float, error: float) -> Figures:
    """A statistic of the only group."""
    estimate, lower, upper, off = (np.array([number]) for number in (value, low, high, error))
    return Figures(name, estimate, lower, upper, off, "approximate")


def deviations(confidence: float) -> float:
    """How many standard deviations noise reaches to either side: sums of few Laplace terms go farther than normal."""
    return max(math.log(1 / (1 - confidence)) / math.sqrt(2), NormalDist().inv_cdf((1 + confidence) / 2))
