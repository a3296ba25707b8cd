"""The choice of a query that a public estimate answers badly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers
from adyton.errors import BadInput
from adyton.kernel.mechanisms.guessed_tables import on_grid
from adyton.kernel.mechanisms.selection import Selection
from adyton.kernel.operators import AuditCase, check_queries
from adyton.kernel.shapes import VectorShape
from adyton.messages import shorten
from adyton.noise.laplace import NUMERATOR_LIMIT
from adyton.noise.source import NoiseSource
from adyton.queries import Explicit, Haar, Identity, Prefix, Queries, RandomRanges
from adyton.queries.base import SLOW_DRAW, Size
from adyton.whole import IntegerArray, add, freeze, maybe_whole, widen

_LARGEST = 1 << 62


@dataclass(frozen=True, eq=False)
class WorstApproximated(Selection):
    """The number of a query with a large |q·x − q·x̂|, for the public estimate x̂ = guess / denominator.

    Scores are whole numbers, u_q(x) = |denominator·(q·x) − q·guess|, and the choice is made by permute-and-flip with
    sharpness ε/R, R = denominator·max_i (the sum of the two largest |q_i| over all queries q).

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell).
    Proof.  If x and x′ differ by 1 in cell i, then q·x moves by |q_i| and u_q by at most denominator·|q_i|, up or down;
    the guess, its denominator and the queries are public. So u_q moves relative to u_r by at most
    denominator·(|q_i| + |r_i|) ≤ R, and by the lemma on differences of scores the choice is ε-DP. (The general rule has
    2·max |q_i| in place of the two largest: twice as much, if no two queries share a cell.) Nothing is rounded or wraps
    around.  ∎
    """

    queries: Queries
    guess: Integers
    denominator: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "guess", freeze(self.guess, "guess").reshape(-1))

    @classmethod
    def of(cls, queries: Queries, estimate: npt.ArrayLike) -> WorstApproximated:
        """From a real-valued estimate, rounded to a grid on which sums over cells stay machine integers.

        >>> WorstApproximated.of(Identity(2), [0.25, 3]).guess
        array([ 262144, 3145728])
        """
        guess, bits = on_grid([estimate], "an estimate is")
        return cls(queries, guess, 1 << bits)

    def check(self, source: VectorShape) -> None:
        """The queries and the guess must be about this vector's cells."""
        if not isinstance(self.queries, Queries):
            raise BadInput(f"queries must be a query set, given {shorten(self.queries)}.")
        source.check_cells("queries", self.queries.cells)
        source.check_cells("a guess", self.guess.size)
        check_queries(self.queries)
        if not self.queries.whole:
            raise BadInput("queries must have whole coefficients: scale them up, or ask them without their weights.")
        if maybe_whole(self.denominator) is None or not 1 <= self.denominator <= _LARGEST:
            raise BadInput(f"denominator must be a whole number in 1 … 2^62, given {shorten(self.denominator)}.")

    def size(self, source: VectorShape, epsilon: Fraction) -> Size:
        """The work of the queries, and of trying every candidate."""
        own, count = self.queries.size(), self.queries.count
        widest = 2 * self.denominator * max(1, self.queries.largest_coefficient())
        long = epsilon.denominator * widest >= NUMERATOR_LIMIT
        return Size(own.numbers + 10 * count, 2 * own.steps + (SLOW_DRAW if long else 32) * count)

    def spread(self) -> int:
        """R: the most by which one row can move a score relative to another."""
        return self.denominator * max(1, _largest_pair(self.queries))

    def scores(self, values: IntegerArray) -> IntegerArray:
        """|q·(denominator·x − guess)| for every query, exactly."""
        on_grid = widen(values, self.denominator) * self.denominator
        missed = self.queries @ add(on_grid, -widen(self.guess, 1))
        return np.abs(widen(missed, 1))

    def choose(self, values: IntegerArray, epsilon: Fraction, noise: NoiseSource) -> IntegerArray:
        """Permute-and-flip on the scores."""
        return np.array([noise.permute_and_flip(self.scores(values), epsilon / self.spread())])

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """Plain queries, ranges, differences, coefficients up to 3, and a grid finer than whole rows."""
        mixed = Explicit.from_rows([[1, 1, 0, 0], [0, -2, 1, 0], [0, 0, 0, 3], [1, 1, 1, 1]])
        instances = {
            "cells": cls(Identity(4), np.array([1, 0, 4, 2])),
            "prefixes on a grid": cls(Prefix(6), np.array([3, 1, 4, 1, 5, 9]), 4),
            "ranges": cls(RandomRanges(8, 7, seed=0), np.arange(8), 2),
            "differences": cls(Haar(4), np.array([0, 7, 0, 0]), 3),
            "coefficients up to 3": cls(mixed, np.array([5, 5, 5, 5]), 2),
        }
        return [case.case(f"worst approximated, {name}", case.queries.domain) for name, case in instances.items()]

    def __str__(self) -> str:
        return f"the worst approximated of {self.queries}"


@lru_cache(maxsize=16)
def _largest_pair(queries: Queries) -> int:
    """The largest pair, cached: rounds of choices use the same queries."""
    return queries.largest_pair()
