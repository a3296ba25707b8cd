"""The partition into intervals that costs least.

A compiled loop finds it, in 64 bits, where a bound that is computed first shows that nothing can wrap around; else the
same numbers are found in Python integers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers
from adyton.compiling import compiled
from adyton.whole import SAFE, IntegerArray, largest

Choices = npt.NDArray[np.int32]
"""Numbers of lengths."""


class LeastCost:
    """The least-cost partitions of a vector, for many trials at once, grown from the left as noise arrives."""

    def __init__(self, costs: IntegerArray, most: int, extra: int, lengths: Integers, trials: int) -> None:
        """The costs of the buckets of these lengths that end at each cell (lengths × cells), the *most* that disjoint
        buckets can cost together, and what every bucket costs *extra*."""
        cells = costs.shape[1]
        self._costs, self._extra, self._lengths = costs, extra, lengths
        self._totals: IntegerArray = np.zeros((trials, cells + 1), dtype=np.int64)
        self._choices = np.zeros((trials, cells + 1), dtype=np.int32)
        self._end = 0
        self._bound = most

    def grow(self, noise: IntegerArray) -> None:
        """Go on by as many cells as there is noise for (trials × cells × the lengths that fit)."""
        cells = noise.shape[1]
        first, self._end = self._end, self._end + cells
        self._bound += cells * (largest(noise) + abs(self._extra))  # of every |total| so far
        costs = self._costs[:, first : self._end]
        if self._bound < SAFE:
            _least_costs(costs, noise, self._extra, self._lengths, first, self._totals, self._choices)
        else:
            self._totals = self._totals.astype(object)
            self._grow_in_python(costs.tolist(), noise.tolist(), first)

    def _grow_in_python(self, costs: list[list[int]], noise: list[list[list[int]]], first: int) -> None:
        lengths = self._lengths.tolist()
        for totals, choices, drawn in zip(self._totals, self._choices, noise, strict=True):
            for end, row in enumerate(drawn, first + 1):
                candidates = [
                    totals[end - length] + costs[number][end - first - 1] + row[number]
                    for number, length in enumerate(lengths[: len(row)])
                    if length <= end
                ]
                totals[end] = min(candidates) + self._extra
                choices[end] = candidates.index(min(candidates))

    def total(self) -> int:
        """The least cost of all cells, in the first trial."""
        return int(self._totals[0, -1])

    def labels(self) -> Integers:
        """The number of the bucket of each cell, trial by trial."""
        labels = np.empty((len(self._choices), self._costs.shape[1]), dtype=np.int64)
        _bucket_labels(self._choices, self._lengths, labels)
        return labels


@compiled
def _least_costs(
    costs: Integers, noise: Integers, extra: int, lengths: Integers, start: int, totals: Integers, choices: Choices
) -> None:
    """For each trial and each end after *start*, the least noisy cost of a partition up to there and its last length.

    ``costs`` is lengths × ends, ``noise`` trials × ends × lengths. Of equal costs the shortest last bucket wins.
    """
    for trial in range(noise.shape[0]):
        for row in range(noise.shape[1]):
            end = start + row + 1
            best, chosen = 0, -1
            for number in range(noise.shape[2]):
                if lengths[number] > end:
                    break
                cost = totals[trial, end - lengths[number]] + costs[number, row] + noise[trial, row, number]
                if chosen < 0 or cost < best:
                    best, chosen = cost, number
            totals[trial, end] = best + extra
            choices[trial, end] = chosen


@compiled
def _bucket_labels(choices: Choices, lengths: Integers, labels: Integers) -> None:
    """The number of the bucket of each cell, read backwards from the last lengths that were chosen."""
    cells = labels.shape[1]
    for trial in range(labels.shape[0]):
        buckets, end = 0, cells
        while end > 0:
            buckets += 1
            end -= lengths[choices[trial, end]]
        end = cells
        while end > 0:
            buckets -= 1
            first = end - lengths[choices[trial, end]]
            labels[trial, first:end] = buckets
            end = first
