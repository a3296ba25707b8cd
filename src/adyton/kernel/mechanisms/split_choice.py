"""The private choice of an attribute to split on, for every leaf of a tree, by scores in whole numbers.

Scores are computed from the counts of an attribute's cells and classes. A row that an attribute drops adds nothing to
its score: it counts as a row about which nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Places
from adyton.errors import BadInput
from adyton.kernel.counting import PrivateTable
from adyton.kernel.counting.public_rows import CodedTable
from adyton.kernel.counting.table import LARGEST_DOMAIN
from adyton.kernel.operators import AuditCase, Mechanism
from adyton.kernel.shapes import SourceShape, TableShape
from adyton.messages import listing, no_such, shorten
from adyton.noise.source import NoiseSource
from adyton.queries.base import Size
from adyton.schema import Integer, RowTree, Schema
from adyton.whole import IntegerArray, freeze, narrow, whole, widen

GRID = 256
"""Gini and entropy are computed in steps of 1/256 row or bit."""
_EXACT_STEPS = 1 << 12
_STEPS_PER_OCTAVE = 1 << 9
LARGEST_CAP = 1 << 40
SCORES = ("max", "gini", "entropy")


@dataclass(frozen=True, eq=False)
class SplitChoice(Mechanism):
    """For every leaf of a public tree, one of its candidate attributes, by permute-and-flip on the score of the split.

    ``candidates`` has a row for each leaf and a column for each of the tree's attributes: 1 if the leaf may split on
    the attribute, else 0. A leaf without candidates gets no choice. The score classes below define the scores and their
    R; ``cap`` is the public cap of the entropy.

    Claim.  ε-DP for tables at distance 1 (one row added or removed).
    Proof.  A row lies in at most one leaf, whatever the other rows are, and is counted in the table of an attribute if
    and only if it has a class and a cell there: one row more adds 1 to one cell of some of that leaf's tables, and
    leaves all other tables unchanged. So it changes the scores of one leaf only, by amounts within an interval of
    length R (the scores of attributes that drop the row by 0, which lies in it). By the lemma on differences of scores,
    the choice of that leaf with sharpness ε/R is ε-DP; the choices are drawn independently, and those of the other
    leaves are distributed as before (parallel composition). The leaves and their candidates are public.  ∎
    """

    takes = TableShape
    tree: RowTree
    candidates: Integers
    label: str
    score: str = "max"
    cap: int = 0

    def __init__(self, tree: RowTree, candidates: npt.ArrayLike, label: str, score: str = "max", cap: int = 0) -> None:
        given = np.asarray(candidates)
        flags = freeze(given.astype(np.int64) if given.dtype == bool else given, "candidates")
        for name, value in {"tree": tree, "candidates": flags, "label": label, "score": score, "cap": cap}.items():
            object.__setattr__(self, name, value)

    def check(self, source: TableShape) -> None:
        """A tree, candidates and a label that fit the schema, and a known score."""
        self.tree.check_schema(source.schema)
        shape = (len(self.tree.leaves), len(self.tree.attributes))
        if self.candidates.shape != shape or not ((self.candidates == 0) | (self.candidates == 1)).all():
            raise BadInput(f"candidates must be 0 or 1 for each of {shape[0]} leaves and {shape[1]} attributes.")
        names = self._names
        if not names:
            raise BadInput("no leaf has a candidate to split on. Mark some, or leave the tree as it is.")
        if self.label in names:
            raise BadInput(f"{shorten(self.label)} is the label of the splits. Leave it out of the candidates.")
        _ = source.schema.select((self.label, *names)).shape  # refuses unknown names, and identifiers
        if self.score not in SCORES:
            raise BadInput(no_such("score", self.score, SCORES))
        if self.score == "entropy" and not 2 <= whole(self.cap, "cap", 0) <= LARGEST_CAP:
            raise BadInput(
                f"entropy needs a public cap on the number of rows, 2 … {LARGEST_CAP:,}, given {shorten(self.cap)}."
            )
        if self._cells(source.schema) > LARGEST_DOMAIN:
            raise BadInput(
                f"the tables of {listing(names)} for {shape[0]:,} leaves have more than {LARGEST_DOMAIN:,} cells. "
                "Offer fewer candidates, or grow a smaller tree."
            )

    def size(self, source: TableShape, epsilon: Fraction) -> Size:
        """Every cell of every table a few times, and a choice for every leaf."""
        cells = self._cells(source.schema)
        return Size(4 * cells, 16 * cells + 4096 * int(self.candidates.sum()))

    def draw(self, data: PrivateTable | CodedTable, epsilon: Fraction, noise: NoiseSource, trials: int) -> IntegerArray:
        """The number of the chosen attribute for every leaf, −1 for a leaf without candidates."""
        names, score = self._names, split_score(self.score, self.cap)
        tables = data.split_tables(self.tree, names, self.label)
        scores = np.zeros(self.candidates.shape, dtype=object)
        for name, table in zip(names, tables, strict=True):
            scores[:, self.tree.attributes.index(name)] = score(table)
        scores = narrow(scores)
        sharpness = epsilon / score.spread
        return np.stack([noise.permute_and_flips(scores, self.candidates == 1, sharpness) for _ in range(trials)])

    def parts(self, source: SourceShape) -> Places:
        """The leaves."""
        return self.tree.places

    @property
    def _names(self) -> tuple[str, ...]:
        """The attributes that some leaf may split on."""
        return tuple(self.tree.attributes[place] for place in np.flatnonzero(self.candidates.any(axis=0)))

    def _cells(self, schema: Schema) -> int:
        """The number of cells of the tables: each attribute has one more, for the rows that it drops."""
        cells = sum(schema.attributes[name].size + 1 for name in self._names)
        return len(self.tree.leaves) * schema.attributes[self.label].size * cells

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """Three candidates in a single leaf for each score; and a tree that is already split."""
        sizes, names = (2, 3, 2, 2), ("a", "b", "c")
        schema = Schema({name: Integer(0, size - 1) for name, size in zip((*names, "y"), sizes, strict=True)})

        def table_of(counts: IntegerArray) -> CodedTable:
            return CodedTable.of_counts(np.maximum(counts, 0), schema)

        stump = RowTree.stump(names)
        grown = stump.grow({0: "a"}, schema)
        cases = {f"splits by {score}": cls(stump, [[1, 1, 1]], "y", score, 64) for score in SCORES}
        cases["splits of two leaves"] = cls(grown, [[0, 1, 1], [0, 1, 1]], "y")
        searched = tuple(_telling_pairs(sizes))
        return [
            AuditCase(name, mechanism, sizes, table_of, reaches_epsilon=False, enumerable=True, searched=searched)
            for name, mechanism in cases.items()
        ]

    def __str__(self) -> str:
        return f"choice of splits for {self.label} by {self.score}"


def _telling_pairs(sizes: tuple[int, ...]) -> Iterator[tuple[Integers, Integers]]:
    """A row that suits one attribute and not the other: with few rows, with many, and with many in another leaf."""
    for crowd, beside in ((1, 0), (1000, 0), (1, 1000)):
        left = np.zeros(sizes, dtype=np.int64)
        left[1, 0, 0, 0], left[0, 0, 0, 0] = crowd, beside
        right = left.copy()
        right[1, 1, 0, 1] += 1  # of another class, in another cell of b and in the same one of c
        yield left, right


class SplitScore(Protocol):
    """A score of an attribute in a leaf."""

    @property
    def spread(self) -> int:
        """R: when a row is added, all scores of its leaf change by amounts in an interval of this length."""

    def __call__(self, counts: IntegerArray) -> IntegerArray:
        """The scores of leaves from their counts (leaves × cells × classes)."""


class MaxScore:
    """Σ_v max_c n_vc: how many rows are classified correctly by the most frequent class of their cell.

    Claim.  R = 1.
    Proof.  One row more adds 1 to one n_vc or to none, so the score rises by 0 or 1.  ∎
    """

    spread = 1

    def __call__(self, counts: IntegerArray) -> IntegerArray:
        """Exact sums."""
        return np.asarray(counts.max(axis=2).sum(axis=1))


class GiniScore:
    """Σ_v ⌊g·Σ_c n_vc²/n_v⌋ with g grid steps per row: the number of rows, less their Gini impurity.

    Claim.  R = 2g.
    Proof.  Let S = Σ_c n_vc² and n = n_v ≥ 1. One row more of class c changes S/n by (2n_c + 1 − S/n)/(n + 1). With
    n_c ≤ n and S ≥ n_c² this is at most (2n_c − n_c²/n + 1)/(n + 1) = (n − (n − n_c)²/n + 1)/(n + 1) ≤ 1; and with
    n_c ≥ 0 and S ≤ n² it is at least (1 − n)/(n + 1) > −1. The first row of a cell changes 0 to 1. So g·S/n changes by
    −g … g, and g is whole: ⌊x + g⌋ = ⌊x⌋ + g, so the rounded number also changes by −g … g. No other cell of the leaf
    changes; the score of an attribute that drops the row does not change, and 0 lies in the same interval of length 2g.
    (If g were subtracted for every row, the scores could only fall, by at most 2g: that is the impurity itself.)  ∎
    """

    spread = 2 * GRID

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

    ĝ(n) is a sum of whole steps that never decrease: step(i) is about g·(i·log₂i − (i − 1)·log₂(i − 1)), rounded, and
    constant beyond the public cap. h is g·log₂(classes), rounded, and at most R: the worth of a row about which nothing
    is known.

    Claim.  R = step(cap) − step(1): about g·(log₂cap + 1/ln 2), whatever the rows.
    Proof.  One row more of class c in cell v changes the score by step(n_vc + 1) − step(n_v + 1) + h. Steps never
    decrease and n_vc ≤ n_v, so this is at most h; all steps lie between step(1) and step(cap), so it is at least h − R.
    The score of an attribute that drops the row changes by 0, which lies between them as 0 ≤ h ≤ R. ĝ is computed in
    floating point from public numbers alone; scores are sums of its whole numbers, and R is read from the table itself.
    (The bound for the entropy divided by the number of rows depends on that number, which is private.)  ∎
    """

    cap: int

    @property
    def spread(self) -> int:
        """The largest step less the smallest."""
        _, steps, _ = _table(self.cap)
        return int(steps[-1] - steps[0])

    def __call__(self, counts: IntegerArray) -> IntegerArray:
        """The scores, with ĝ computed from the segment in which a count lies."""
        rows = counts.sum(axis=2)
        bits = min(round(GRID * math.log2(counts.shape[2])), self.spread)
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
    """Where the segments start (from 0), the step of every further row in each segment, and ĝ at its start.

    Up to 4096 every step is a separate segment; beyond, there are 512 segments for each doubling of the count.
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
    """The score with this name."""
    scores: dict[str, SplitScore] = {"max": MaxScore(), "gini": GiniScore(), "entropy": EntropyScore(cap)}
    return scores[name]
