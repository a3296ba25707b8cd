"""How many of the slowest cosine waves to keep: the private half of Fourier perturbation."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.audit_cases import AuditCase
from adyton.kernel.mechanisms.selection import Selection
from adyton.kernel.shapes import VectorShape
from adyton.messages import shorten
from adyton.noise.source import NoiseSource
from adyton.queries.base import Size
from adyton.queries.cosines import Cosines
from adyton.whole import SAFE, IntegerArray, largest, whole_array

_FINE = 32
_DIGIT = (1 << 21) - 1
_ROOT = Fraction(99, 70)
"""A little more than √2."""


@dataclass(frozen=True)
class CoefficientCount(Selection):
    """The number k of cosine waves whose noisy coefficients describe a vector best, by permute-and-flip.

    K are all :class:`Cosines` of the domain, whole numbers on the grid 2^bits. The score of k is
    −⌊√(‖K_{>k}·x‖² + c_k²)⌋ in steps of that grid: the root mean square of what is lost with the waves that are left
    out and of the noise on those that are kept, where c_k² = 2k·s_k²/ε₂² is public, ε₂ is the budget that will measure
    them and s_k = min(√k, √(1/n) + (k − 1)·√(2/n)) bounds the L1 norm of k entries of an orthonormal column.
    Candidates are all k up to 32, then steps of at most k/32: an error of 3% in k costs nothing, and a choice among
    fewer is more often right. Ács, Castelluccia and Chen, "Differentially private histogram publishing through lossy
    compression", ICDM 2012, on real waves instead of complex ones.

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell).
    Proof.  f_k(x) = √(‖K_{>k}·x‖² + c_k²) is a norm of (K_{>k}·x, c_k), and k ≥ 1. For k < l let u be the entries k … l
    − 1 of K·x, v those from l on, and a, b the same entries of K·e_i, for which ‖a‖² + ‖b‖² ≤ Σ_{j≥1} K_ji². Along e_i
    the slope of f_k − f_l is u·a/f_k + v·b·(1/f_k − 1/f_l). Since ‖u‖ ≤ f_k, ‖v‖ ≤ f_k and ‖v‖ ≤ f_l, it is between
    ±(‖a‖ + ‖b‖), at most √2·(Σ_{j≥1} K_ji²)^½. So one row moves no score against another by more than R, the largest of
    these over all cells; in whole numbers by less than R + 2, so by at most ⌈R⌉ + 1. By the lemma on differences of
    scores, permute-and-flip with sharpness ε/(⌈R⌉ + 1) is ε-DP. (The general rule for scores that rise and fall would
    have 2·(Σ_j K_ji²)^½ in place of R.) The squares, the roots and R are computed in whole numbers from the
    coefficients that are applied.  ∎
    """

    remaining: Fraction
    """The budget that will measure the coefficients."""

    def check(self, source: VectorShape) -> None:
        """One dimension, and a budget greater than 0."""
        if len(source.shape) != 1:
            raise BadInput(f"cosine waves need one dimension, the vector has the shape {source.shape}.")
        if type(self.remaining) is not Fraction or self.remaining <= 0:
            raise BadInput(f"remaining must be a fraction greater than 0, given {shorten(self.remaining)}.")

    def size(self, source: VectorShape, epsilon: Fraction) -> Size:
        """All waves, for the answers and for how far one row moves them."""
        waves = Cosines(source.cells, source.cells).size()
        return Size(16 * source.cells, 2 * waves.steps)

    def choose(self, values: IntegerArray, epsilon: Fraction, noise: NoiseSource) -> IntegerArray:
        """One of the candidates."""
        counts, costs = _candidates(values.size, self.remaining)
        scores = self.scores(Cosines(values.size, values.size) @ values, counts, costs)
        place = noise.permute_and_flip(whole_array(scores, (len(scores),)), self.sharpness(values.size, epsilon))
        return np.array([counts[place]])

    def scores(self, waves: IntegerArray, counts: tuple[int, ...], costs: tuple[int, ...]) -> list[int]:
        """−⌊√(Σ_{j≥k} (K_j·x)² + c_k²)⌋ for each candidate; rows are numbered from 0."""
        tails = tail_squares(waves, counts)
        return [-math.isqrt(tail + cost) for tail, cost in zip(tails, costs, strict=True)]

    def sharpness(self, cells: int, epsilon: Fraction) -> Fraction:
        """ε/(⌈R⌉ + 1)."""
        return epsilon / (_spread(cells) + 1)

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """Much and little budget for the coefficients."""
        return [
            cls(Fraction(1, 10)).case("coefficient count, noisy coefficients", (6,)),
            cls(Fraction(20)).case("coefficient count, precise coefficients", (7,)),
        ]

    def __str__(self) -> str:
        return "number of cosine waves"


def tail_squares(answers: IntegerArray, starts: tuple[int, ...]) -> list[int]:
    """Σ_{j ≥ start} answers_j² for each of the rising *starts*, of which the last may be the end.

    In digits of 21 bits, products of which can be added up a million times in 64 bits; else in Python integers.

    >>> tail_squares(np.array([9, 3, -4]), (1, 2, 3))
    [25, 16, 0]
    """
    if answers.dtype == object or answers.size >= 1 << 20 or largest(answers) >= SAFE:
        parts = [
            sum(one * one for one in answers[a:b].tolist()) for a, b in itertools.pairwise([*starts, answers.size])
        ]
    else:
        inside = [start for start in starts if start < answers.size]
        sizes = np.abs(answers)
        digits = [sizes >> shift & _DIGIT for shift in range(0, largest(sizes).bit_length(), _DIGIT.bit_length())]
        parts = [0] * len(starts)
        for (i, low), (j, high) in itertools.combinations_with_replacement(enumerate(digits), 2):
            shift = (i + j) * _DIGIT.bit_length() + (i != j)
            sums = np.add.reduceat(low * high, inside).tolist() if inside else []
            parts[: len(sums)] = [part + (one << shift) for part, one in zip(parts, sums, strict=False)]
    return list(itertools.accumulate(reversed(parts)))[::-1]


@lru_cache(maxsize=32)
def _candidates(cells: int, remaining: Fraction) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The counts to choose from, and c_k² in whole squares of the grid."""
    counts = [1]
    while counts[-1] < cells:
        counts.append(min(cells, counts[-1] + max(1, counts[-1] // _FINE)))
    unit = Fraction(1 << 2 * Cosines(cells, 1).bits) / remaining**2
    norms = [min(Fraction(count), (1 + (count - 1) * _ROOT) ** 2 / cells) for count in counts]
    return tuple(counts), tuple(int(2 * count * norm * unit) for count, norm in zip(counts, norms, strict=True))


@lru_cache(maxsize=32)
def _spread(cells: int) -> int:
    """⌈R⌉ in steps of the grid: the root of twice the largest Σ_{j≥1} K_ji², which is 0 for a single cell."""
    energy = 2 * Cosines(cells, cells).column_energy()
    return 1 + math.isqrt(energy - 1) if energy else 0
