"""Which attribute every leaf of a tree should split on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Places
from adyton.errors import BadInput
from adyton.kernel.audit_cases import AuditCase
from adyton.kernel.counting import PrivateTable
from adyton.kernel.counting.public_rows import CodedTable
from adyton.kernel.counting.table import LARGEST_DOMAIN
from adyton.kernel.mechanisms.split_scores import LARGEST_CAP, SCORES, split_score
from adyton.kernel.operators import Mechanism
from adyton.kernel.shapes import SourceShape, TableShape
from adyton.messages import listing, no_such, shorten
from adyton.noise.source import NoiseSource
from adyton.queries.base import Size
from adyton.schema import Integer, RowTree, Schema
from adyton.whole import IntegerArray, freeze, narrow, whole


@dataclass(frozen=True, eq=False)
class SplitChoice(Mechanism):
    """For every leaf of a public tree one of its candidate attributes, by permute-and-flip on the score of the split.

    ``candidates`` has a row for each leaf and a column for each of the tree's attributes: 1 where the leaf may split on
    the attribute, else 0. A leaf without candidates gets no choice. What each score is, and R, says
    :mod:`adyton.kernel.mechanisms.split_scores`; ``cap`` is the public cap of the entropy.

    Claim.  ε-DP for tables at distance 1 (one row added or removed).
    Proof.  A row lies in at most one leaf, whichever the other rows are, and is counted in the table of an attribute
    just if it has a class and a cell there: one row more adds 1 to one cell of some of that leaf's tables, and leaves
    all other tables as they are. So it changes the scores of one leaf only, by amounts within an interval of length R
    (the scores of attributes that drop the row by 0, which lies in it). By the lemma on differences of scores, the
    choice of that leaf with sharpness ε/R is ε-DP; the choices are drawn independently, and those of the other leaves
    are distributed as before (parallel composition). Which leaves there are and what they may choose is public.  ∎
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
        """A tree, candidates and a label that fit the schema, and a score that is known."""
        self.tree.check_schema(source.schema)
        shape = (len(self.tree.leaves), len(self.tree.attributes))
        if self.candidates.shape != shape or not ((self.candidates == 0) | (self.candidates == 1)).all():
            raise BadInput(f"candidates must be 0 or 1 for each of {shape[0]} leaves and {shape[1]} attributes.")
        names = self._names
        if not names:
            raise BadInput("no leaf has a candidate to split on. Mark some, or leave the tree as it is.")
        if self.label in names:
            raise BadInput(f"{shorten(self.label)} is what the splits are for. Leave it out of the candidates.")
        _ = source.schema.select((self.label, *names)).shape  # names that are not there, and identifiers, are refused
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
        sharpness = epsilon / score.spread(tables[0].shape[2])
        return np.stack([noise.permute_and_flips(scores, self.candidates == 1, sharpness) for _ in range(trials)])

    def parts(self, source: SourceShape) -> Places:
        """The leaves."""
        return self.tree.places

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> Any:
        """The number of each leaf's attribute among those of the tree, −1 for none."""
        return tuple(output.tolist())

    @property
    def _names(self) -> tuple[str, ...]:
        """The attributes that some leaf may split on."""
        return tuple(self.tree.attributes[place] for place in np.flatnonzero(self.candidates.any(axis=0)))

    def _cells(self, schema: Schema) -> int:
        """How many cells the tables have: one more for each attribute, for what it drops."""
        cells = sum(schema.attributes[name].size + 1 for name in self._names)
        return len(self.tree.leaves) * schema.attributes[self.label].size * cells

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """Three candidates in a single leaf for each score; and a tree that has split already."""
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
    """A row that suits one attribute and not the other: alone, in a crowd, and beside a crowd in another leaf."""
    for crowd, beside in ((1, 0), (1000, 0), (1, 1000)):
        left = np.zeros(sizes, dtype=np.int64)
        left[1, 0, 0, 0], left[0, 0, 0, 0] = crowd, beside
        right = left.copy()
        right[1, 1, 0, 1] += 1  # of another class, in another cell of b and in the same one of c
        yield left, right
