"""How good a split is, in whole numbers: the scores of attributes from the counts of their cells and classes.

In every score a row that an attribute drops adds nothing: it counts as a row about which nothing is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from adyton.arrays import Integers
from adyton.whole import IntegerArray, freeze, narrow, widen

GRID = 256
"""Gini and entropy are computed in steps of 1/256 row or bit."""
_EXACT_STEPS = 1 << 12
_STEPS_PER_OCTAVE = 1 << 9
LARGEST_CAP = 1 << 40


class SplitScore(Protocol):
    """A score of an attribute in a leaf."""

    def spread(self, classes: int) -> int:
        """R: when a row is added, all scores of its leaf change by amounts within an interval of this length."""

    def __call__(self, counts: IntegerArray) -> IntegerArray:
        """The scores of leaves from their counts, leaves × cells × classes."""


class MaxScore:
    """Σ_v max_c n_vc: how many rows the most frequent class of their cell would get right.

    Claim.  R = 1.
    Proof.  One row more adds 1 to one n_vc or to none, so the score rises by 0 or 1.  ∎
    """

    def spread(self, classes: int) -> int:
        """1."""
        return 1

    def __call__(self, counts: IntegerArray) -> IntegerArray:
        """Exact sums."""
        return np.asarray(counts.max(axis=2).sum(axis=1))


class GiniScore:
    """Σ_v ⌊g·Σ_c n_vc²/n_v⌋ with g grid steps a row: the rows, less their Gini impurity.

    Claim.  R = 2g.
    Proof.  Let S = Σ_c n_vc² and n = n_v ≥ 1. One row more of class c changes S/n by (2n_c + 1 − S/n)/(n + 1). With
    n_c ≤ n and S ≥ n_c² this is at most (2n_c − n_c²/n + 1)/(n + 1) = (n − (n − n_c)²/n + 1)/(n + 1) ≤ 1; and with
    n_c ≥ 0 and S ≤ n² it is at least (1 − n)/(n + 1) > −1. The first row of a cell changes 0 to 1. So g·S/n changes by
    −g … g, and g is whole: ⌊x + g⌋ = ⌊x⌋ + g, so the rounded number changes by −g … g too. It is the only cell of the
    leaf that changes; an attribute that drops the row does not change, and 0 lies in the same interval of length 2g.
    (Less g for every row, the scores could only fall, by at most 2g: that is the impurity itself.)  ∎
    """

    def spread(self, classes: int) -> int:
        """2g."""
        return 2 * GRID

    def __call__(self, counts: IntegerArray) -> IntegerArray:
        """⌊g·S/n⌋ = g·q + ⌊g·r/n⌋ for S = q·n + r."""
        rows = counts.sum(axis=2)
        most = max(GRID, int(rows.max(initial=0)))
        wide, totals = widen(counts, most), widen(np.maximum(rows, 1), GRID)
        squares = (wide * wide).sum(axis=2)
        whole_part, rest = squares // totals, squares % totals
        return narrow((widen(whole_part, GRID * counts.shape[1]) * GRID + rest * GRID // totals).sum(axis=1))


@dataclass(frozen=True, eq=False)
class EntropyScore:
    """Σ_v (Σ_c ĝ(n_vc) − ĝ(n_v)) + h·(rows), ĝ a public table close to g·n·log₂n: the rows' bits, less their entropy.

    ĝ(n) adds up whole steps that never fall: step(i) is about g·(i·log₂i − (i − 1)·log₂(i − 1)), rounded, and beyond
    the public cap it stays what it is at the cap. h is g·log₂(classes), rounded, and at most R: what a row is worth
    about which nothing is known.

    Claim.  R = step(cap) − step(1): about g·(log₂cap + 1/ln 2), whatever the rows.
    Proof.  One row more of class c in cell v changes the score by step(n_vc + 1) − step(n_v + 1) + h. Steps never fall
    and n_vc ≤ n_v, so this is at most h; all steps lie between step(1) and step(cap), so it is at least h − R. An
    attribute that drops the row changes by 0, which lies between them as 0 ≤ h ≤ R. ĝ is computed in floating point
    from public numbers alone; what is added up about rows are its whole numbers, and R is read from the table itself.
    (The bound for the entropy divided by the number of rows depends on that number, which is private.)  ∎
    """

    cap: int

    def spread(self, classes: int) -> int:
        """The largest step less the smallest."""
        _, steps, _ = _table(self.cap)
        return int(steps[-1] - steps[0])

    def __call__(self, counts: IntegerArray) -> IntegerArray:
        """ĝ by the segment in which a count lies."""
        rows = counts.sum(axis=2)
        bits = min(round(GRID * math.log2(counts.shape[2])), self.spread(counts.shape[2]))
        inside = self._summed(counts).sum(axis=2) - self._summed(rows) + widen(rows, bits) * bits
        return narrow(np.asarray(inside.sum(axis=1)))

    def _summed(self, counts: IntegerArray) -> IntegerArray:
        """ĝ(n) = ĝ(start of the segment) + (n − start)·(its step)."""
        starts, steps, sums = _table(self.cap)
        segment = np.searchsorted(starts, counts.astype(np.int64), side="right") - 1
        wide = widen(counts, 64 * GRID * counts.size)
        return sums[segment] + (wide - starts[segment]) * steps[segment]


@lru_cache(maxsize=64)
def _table(cap: int) -> tuple[Integers, Integers, Integers]:
    """Where the segments start (from 0), the step of every further row in each, and ĝ at its start.

    Up to 4096 every step is a segment of its own; beyond, 512 segments double the count.
    """
    octaves = max(0, cap.bit_length() - _EXACT_STEPS.bit_length() + 1)
    far = _EXACT_STEPS * 2.0 ** (np.arange(octaves * _STEPS_PER_OCTAVE) / _STEPS_PER_OCTAVE)
    starts = np.unique(np.concatenate([np.arange(_EXACT_STEPS), far.astype(np.int64)]))
    starts = starts[starts < cap]
    i = starts + 1.0  # the next row is number i
    exact = i * np.log2(i) - starts * np.log2(np.maximum(starts, 1))
    steps = np.maximum.accumulate(np.rint(GRID * exact).astype(np.int64))
    sums = np.concatenate([[0], np.cumsum(np.diff(starts) * steps[:-1])])
    return freeze(starts, "starts"), freeze(steps, "steps"), freeze(sums, "sums")


def split_score(name: str, cap: int) -> SplitScore:
    """The score of this name."""
    found: dict[str, SplitScore] = {"max": MaxScore(), "gini": GiniScore(), "entropy": EntropyScore(cap)}
    return found[name]


SCORES = ("max", "gini", "entropy")
