"""The network of PrivBayes: for each attribute, the attributes that it depends on most."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arrays import Integers
from adyton.errors import BadInput
from adyton.kernel.counts import CountedTables
from adyton.kernel.mechanisms.measure_tables import counting
from adyton.kernel.operators import AuditCase, Mechanism
from adyton.kernel.shapes import TablesShape
from adyton.messages import listing, no_such
from adyton.noise.laplace import is_long, machine_rate
from adyton.noise.source import NoiseSource
from adyton.queries.base import SLOW_DRAW, Size
from adyton.schema import Integer, Schema
from adyton.whole import SAFE, IntegerArray, absolute_sum, whole_array

GRID = 64
"""Scores are rounded down to multiples of 1/64 row."""
SPREAD = 4 * GRID
"""R: the most steps by which one row moves two scores relative to each other."""


@dataclass(frozen=True)
class ParentChoice(Mechanism):
    """A Bayesian network, built attribute by attribute: the parents of each are chosen by permute-and-flip.

    Zhang et al., "PrivBayes: private data release via Bayesian networks", SIGMOD 2014. The network starts with the
    attribute ``first``. A candidate is one of the tables at ``places`` with exactly one attribute X that is not in the
    network yet: all its others, Π, would be the parents of X. Its score is n·R(X, Π) = ½ Σ |n_xπ − n_x·n_π/n|, the
    number of rows that would have to move to make X and Π independent, where n is the number of rows of that table. In
    whole numbers it is ⌊g·Σ |n·n_xπ − n_x·n_π| / 2n⌋ with g grid steps per row, 0 for an empty table.

    Claim.  ε-DP for tables at distance 1 (one row added or removed).
    Proof.  Let e_xπ = n_xπ − n_x·n_π/n, so that a score u is ½ Σ |e|, and let a row be added to the cell (a, b) of a
    table, p = n_a/n and q = n_b/n. Then e_ab rises by t = n(1 − p)(1 − q)/(n + 1); the other cells of row a together
    fall by t, those of column b too, and all others together rise by t, and within each of these groups no cell moves
    in the other direction. The changes add up to 4t in absolute value, so u changes by at most 2t < 2; from an empty
    table it does not change. The number n belongs to the table and is private: it is part of the score, and the bound
    holds for every n. As 2g is whole, ⌊g·u⌋ changes by at most 2g, up or down, and scores move relative to each other
    by at most R = 4g. A table that drops the row does not change. By the lemma on differences of scores a round with
    sharpness (ε/k)/R, or less, is ε/k-DP, where k is the number of rounds. The candidates of a round are a function of
    the choices before. Nor does it depend on the rows whether there are any: a candidate remains one until its X is in
    the network, so the attributes that can be reached do not depend on the choices, and a network that cannot be
    completed is refused. All rounds together are ε-DP (sequential composition).  ∎
    """

    takes = TablesShape
    places: tuple[int, ...]
    first: str

    def check(self, source: TablesShape) -> None:
        """Tables from which a network of all their attributes can be made."""
        source.check_places(self.places)
        names = self._attributes(source.groups)
        if len(names) < 2:
            raise BadInput("a network needs at least two attributes. Name tables with more attributes.")
        if self.first not in names:
            raise BadInput(no_such("attribute", self.first, names))
        known = [self.first]
        for _ in names[1:]:
            child = next((child for _, child in self._candidates(source.groups, known)), None)
            if child is None:
                missing = [name for name in names if name not in known]
                raise BadInput(
                    f"no table joins {listing(missing)} to {listing(known)}. Give tables that "
                    "each add one attribute to the network."
                )
            known.append(child)

    def size(self, source: TablesShape, epsilon: Fraction) -> Size:
        """Work for every table with each of its attributes, and for every candidate in every round."""
        cells = sum(source.sizes(self.places))
        widest = max(len(source.groups[place]) for place in self.places)
        rounds = len(self._attributes(source.groups))
        flip = SLOW_DRAW if is_long(self.sharpness(source.groups, epsilon)) else 32
        return Size(16 * cells, 64 * widest * cells + flip * rounds * widest * len(self.places))

    def sharpness(self, groups: Sequence[tuple[str, ...]], epsilon: Fraction) -> Fraction:
        """The sharpness of each round: (ε/k)/R, or a little less."""
        return machine_rate(epsilon / ((len(self._attributes(groups)) - 1) * SPREAD))

    def draw(self, data: CountedTables, epsilon: Fraction, noise: NoiseSource, trials: int) -> IntegerArray:
        """The place of the chosen table, round by round."""
        sharpness, scores = self.sharpness(data.groups, epsilon), dict[tuple[int, str], int]()
        return np.array([self._network(data, sharpness, scores, noise) for _ in range(trials)], dtype=np.int64)

    def _network(
        self, data: CountedTables, sharpness: Fraction, scores: dict[tuple[int, str], int], noise: NoiseSource
    ) -> list[int]:
        known, chosen = [self.first], []
        for _ in self._attributes(data.groups)[1:]:
            candidates = list(self._candidates(data.groups, known))
            for place, child in candidates:
                if (place, child) not in scores:
                    scores[place, child] = _score(data.table(place), data.groups[place].index(child))
            own = whole_array([scores[candidate] for candidate in candidates], (len(candidates),))
            place, child = candidates[noise.permute_and_flip(own, sharpness)]
            chosen.append(place)
            known.append(child)
        return chosen

    def _candidates(self, groups: Sequence[tuple[str, ...]], known: Collection[str]) -> Iterator[tuple[int, str]]:
        """The tables with exactly one attribute that is not known, and that attribute."""
        for place in self.places:
            new = [name for name in groups[place] if name not in known]
            if len(new) == 1:
                yield place, new[0]

    def _attributes(self, groups: Sequence[tuple[str, ...]]) -> list[str]:
        return list(dict.fromkeys(name for place in self.places for name in groups[place]))

    def parents(self, source: TablesShape, chosen: Sequence[int]) -> dict[str, tuple[str, ...]]:
        """The parents of each attribute but the first, from the chosen places."""
        known, parents = {self.first}, {}
        for place in chosen:
            (child,) = (name for name in source.groups[place] if name not in known)
            parents[child] = tuple(name for name in source.groups[place] if name != child)
            known.add(child)
        return parents

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """One parent for each attribute; up to two; and possibly none."""
        schema = Schema({name: Integer(0, 1) for name in "abc"})
        groups: tuple[tuple[str, ...], ...] = (("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c"), ("b",))
        cases = {
            "one each": cls((0, 1, 2), "a"),
            "up to two": cls((0, 1, 2, 3), "a"),
            "or none": cls((0, 1, 2, 4), "a"),
        }
        return [
            AuditCase(
                f"choice of parents, {name}",
                choice,
                schema.shape,
                counting(schema, groups),
                reaches_epsilon=False,
                enumerable=True,
                searched=tuple(_telling_pairs(schema.shape)),
            )
            for name, choice in cases.items()
        ]

    def __str__(self) -> str:
        return f"choice of parents among {len(self.places)} tables"


def _score(table: Integers, child: int) -> int:
    """⌊g·Σ |n·n_xπ − n_x·n_π| / 2n⌋."""
    counts = np.moveaxis(table, child, 0).reshape(table.shape[child], -1)
    rows = absolute_sum(counts.reshape(-1))
    if not rows:
        return 0
    wide = counts if 2 * rows * rows < SAFE else counts.astype(object)  # no number in the next lines exceeds 2·rows²
    missed = np.abs(rows * wide - wide.sum(axis=1, keepdims=True) * wide.sum(axis=0, keepdims=True))
    return GRID * int(missed.sum()) // (2 * rows)


def _telling_pairs(sizes: tuple[int, ...]) -> Iterator[tuple[Integers, Integers]]:
    """A row that makes a and b depend more on each other, and both less on c."""
    for many, few in ((98, 1), (9800, 100), (10**6, 1000)):
        left = np.zeros(sizes, dtype=np.int64)
        left[0, 0, 0], left[1, 1, 0], left[0, 0, 1] = many, few, few
        right = left.copy()
        right[1, 1, 1] += 1
        yield left, right
        yield left.transpose(2, 0, 1), right.transpose(2, 0, 1)
