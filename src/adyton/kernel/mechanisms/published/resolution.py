"""How many details of a line are worth measuring: private choices of a number of waves, and of a block size.

A score is the root of the sum of a squared bias, from the details left out, and a squared noise, on those measured.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from adyton.errors import BadInput
from adyton.kernel.mechanisms.selection import Selection
from adyton.kernel.operators import AuditCase
from adyton.kernel.shapes import VectorShape
from adyton.messages import shorten
from adyton.noise.source import NoiseSource
from adyton.queries.base import Size
from adyton.queries.cosines import Cosines
from adyton.whole import SAFE, IntegerArray, largest, whole_array

_FINE = 32
_ROOT = Fraction(99, 70)
"""A little more than √2."""
GRID = 1 << 16
"""Scores are whole multiples of 1/GRID rows."""
LARGEST_COST = 1 << 200


@dataclass(frozen=True)
class CoefficientCount(Selection):
    """The number k of cosine waves whose noisy coefficients describe a vector best, by permute-and-flip.

    K is the matrix of all :class:`Cosines` of the domain, whole numbers on the grid 2^bits. The score of k is
    −⌊√(‖K_{>k}·x‖² + c_k²)⌋ in steps of that grid: the root of the squared loss from the waves left out and of the
    squared noise on the waves kept, where c_k² = 2k·s_k²/ε₂² is public, ε₂ is the budget that will measure them and
    s_k = min(√k, √(1/n) + (k − 1)·√(2/n)) bounds the L1 norm of k entries of an orthonormal column. Candidates are all
    k up to 32, then steps of at most k/32: an error of 3% in k hardly matters, and a choice among fewer candidates is
    more often right. Ács, Castelluccia and Chen, "Differentially private histogram publishing through lossy
    compression", ICDM 2012, with real waves instead of complex ones.

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell).
    Proof.  f_k(x) = √(‖K_{>k}·x‖² + c_k²) is a norm of (K_{>k}·x, c_k), and k ≥ 1. For k < l let u be the entries k … l
    − 1 of K·x, v those from l on, and a, b the same entries of K·e_i, for which ‖a‖² + ‖b‖² ≤ Σ_{j≥1} K_ji². Along e_i
    the slope of f_k − f_l is u·a/f_k + v·b·(1/f_k − 1/f_l). Since ‖u‖ ≤ f_k, ‖v‖ ≤ f_k and ‖v‖ ≤ f_l, it is between
    ±(‖a‖ + ‖b‖), at most √2·(Σ_{j≥1} K_ji²)^½. So one row moves no score relative to another by more than R, the
    largest of these over all cells; in whole numbers by less than R + 2, so by at most ⌈R⌉ + 1. By the lemma on
    differences of scores, permute-and-flip with sharpness ε/(⌈R⌉ + 1) is ε-DP. (The general rule for scores that rise
    and fall would have 2·(Σ_j K_ji²)^½ in place of R.) The squares, the roots and R are computed in whole numbers from
    the coefficients that are applied.  ∎
    """

    remaining: Fraction
    """The budget that will measure the coefficients."""

    def check(self, source: VectorShape) -> None:
        """One dimension, and a budget greater than 0."""
        if len(source.shape) != 1:
            raise BadInput(f"cosine waves need one dimension, but the vector has the shape {source.shape}.")
        if type(self.remaining) is not Fraction or self.remaining <= 0:
            raise BadInput(f"remaining must be a fraction greater than 0, given {shorten(self.remaining)}.")

    def size(self, source: VectorShape, epsilon: Fraction) -> Size:
        """The work of all waves, for the answers and for their sensitivity."""
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
    """Σ_{j ≥ start} answers_j² for each of *starts*, exactly.

    >>> tail_squares(np.array([9, 3, -4]), (1, 2, 3))
    [25, 16, 0]
    """
    sums = [0, *itertools.accumulate(answer * answer for answer in reversed(answers.tolist()))]
    return [sums[answers.size - start] for start in starts]


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


@dataclass(frozen=True)
class Resolution(Selection):
    """The best block size for prefix sums of a vector, by permute-and-flip.

    Rows are spread evenly over the cells of each block of B cells; the last block ends with the domain. b_B is the
    root mean square, over all prefix sums, of the error that this causes; c_B is a public cost, the error that noise on
    n/B blocks is expected to add. The score of B is −⌊√(b_B² + c_B²)⌋ in steps of 1/GRID rows.

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell).
    Proof.  (x, c_B) ↦ √(b_B² + c_B²) is a norm, so one row in cell i moves it by at most b_B(e_i). If i is the p-th
    cell of a block of b ≤ B, the errors are −s/b for s < p and 1 − s/b for p ≤ s ≤ b, and 0 outside the block. The sum
    of their squares changes by 2p/b − 1 from p to p + 1, so it is largest at p = 1 or p = b, where it is
    (b−1)(2b−1)/6b, which rises with b. Hence b_B moves by at most Δ_B = √((B−1)(2B−1)/6Bn), and no score moves by more
    than R, the sum of the two largest Δ_B, relative to another; in whole numbers by less than R + 2, so by at most
    ⌈R⌉ + 1. By the lemma on differences of scores, permute-and-flip with sharpness ε/(⌈R⌉ + 1) is ε-DP. Everything is
    computed in whole numbers.  ∎
    """

    sizes: tuple[int, ...]
    """The block sizes to choose from: powers of 2 in increasing order."""
    costs: tuple[int, ...]
    """c_B for each block size, in steps of the grid."""

    @classmethod
    def at_costs(cls, costs: Mapping[int, Fraction]) -> Resolution:
        """From block sizes and their costs in rows, which are rounded down to the grid."""
        return cls(tuple(costs), tuple(min(LARGEST_COST, int(GRID * cost)) for cost in costs.values()))

    def check(self, source: VectorShape) -> None:
        """One dimension, block sizes that fit it, and a cost for each."""
        if len(source.shape) != 1:
            raise BadInput(f"a resolution needs one dimension, but the vector has the shape {source.shape}.")
        most = 1 << (source.cells - 1).bit_length()
        for name, numbers, least, highest in (("sizes", self.sizes, 1, most), ("costs", self.costs, 0, LARGEST_COST)):
            if type(numbers) is not tuple or not all(
                type(number) is int and least <= number <= highest for number in numbers
            ):
                raise BadInput(f"{name} must be whole numbers in {least} … {highest}, given {shorten(numbers)}.")
        rising = all(size & (size - 1) == 0 for size in self.sizes) and list(self.sizes) == sorted(set(self.sizes))
        if not self.sizes or len(self.sizes) != len(self.costs) or not rising:
            raise BadInput("sizes must be powers of 2 in increasing order, at least one, with a cost for each.")

    def choose(self, values: IntegerArray, epsilon: Fraction, noise: NoiseSource) -> IntegerArray:
        """The size of the blocks."""
        place = noise.permute_and_flip(self.scores(values), self.sharpness(values.size, epsilon))
        return np.array([self.sizes[place]])

    def scores(self, values: IntegerArray) -> list[int]:
        """−⌊√(GRID²·b_B² + c_B²)⌋ for each size."""
        biases = list(squared_biases(values, self.sizes[-1].bit_length()))
        scale = GRID**2 / Fraction(values.size)
        chosen = (biases[size.bit_length() - 1] * scale for size in self.sizes)
        return [-math.isqrt(math.floor(bias) + cost**2) for bias, cost in zip(chosen, self.costs, strict=True)]

    def sharpness(self, cells: int, epsilon: Fraction) -> Fraction:
        """ε/(⌈R⌉ + 1)."""
        return epsilon / (spread(cells, self.sizes) + 1)

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """Sizes that divide the domain and sizes that do not, up to the whole domain or only to parts of it."""
        return [
            cls(sizes, tuple(cost * GRID // 10 for cost in costs)).case(f"resolution of {cells} cells", (cells,))
            for cells, sizes, costs in (
                (8, (1, 2, 4, 8), (30, 20, 10, 5)),
                (7, (1, 4), (3, 1)),
                (6, (2, 4, 8), (0, 0, 0)),
            )
        ]

    def __str__(self) -> str:
        return f"one of {len(self.sizes)} block sizes"


@lru_cache(maxsize=64)
def spread(cells: int, sizes: tuple[int, ...]) -> int:
    """⌈R⌉ in steps of the grid, or 1 more: the sum of the two largest GRID·√((B−1)(2B−1)/6Bn), each rounded up."""
    blocks = [min(cells, size) for size in sizes[-2:]]
    squares = [Fraction((block - 1) * (2 * block - 1) * GRID**2, 6 * block * cells) for block in blocks]
    return sum(math.isqrt(math.ceil(square) - 1) + 1 for square in squares if square)


def squared_biases(values: IntegerArray, sizes: int) -> Iterator[Fraction]:
    """For blocks of 1, 2, 4, … cells, the sum over all prefix sums of the squared error of spreading blocks evenly.

    A block of b cells with the inner prefix sums C_s and the total C_b has the error C_s − s·C_b/b at its cell s, and
    Σ_s (b·C_s − s·C_b)² = b²·ΣC_s² − 2b·C_b·Σs·C_s + C_b²·Σs². When two blocks are joined, C_s of the right block rises
    by the total of the left block.
    """
    base, cells = _roomy(values), values.size
    totals, sums, moments, squares = base, base, base, base * base
    for level in range(sizes):
        size, full = 1 << level, cells >> level
        bias = Fraction(_lost(size, totals, moments, squares), size * size)
        rest = cells - full * size
        if rest:
            inner = np.cumsum(base[-rest:])
            alone = (inner[-1:], np.array([np.dot(np.arange(1, rest + 1), inner)]), np.array([np.dot(inner, inner)]))
            bias += Fraction(_lost(rest, *alone), rest * rest)
        yield bias
        pairs = full // 2
        left, right = ([part[side : 2 * pairs : 2] for part in (totals, sums, moments, squares)] for side in (0, 1))
        before = left[0]
        totals, sums = before + right[0], left[1] + size * before + right[1]
        moments = left[2] + (size * size + size * (size + 1) // 2) * before + size * right[1] + right[2]
        squares = left[3] + size * before * before + 2 * before * right[1] + right[3]


def _roomy(values: IntegerArray) -> IntegerArray:
    """The values as int64 if numbers up to 2n·rows² and 2n²·rows cannot wrap around, else as Python integers."""
    if values.dtype == object or values.size * largest(values) >= SAFE:
        return values.astype(object)
    rows = int(np.abs(values).sum())
    return values.astype(object if 2 * values.size * rows * max(rows, values.size) >= SAFE else np.int64)


def _lost(size: int, totals: IntegerArray, moments: IntegerArray, squares: IntegerArray) -> int:
    """Σ (b²·ΣC_s² − 2b·C_b·Σs·C_s + C_b²·Σs²) over blocks of one size."""
    powers = size * (size + 1) * (2 * size + 1) // 6
    return size * size * int(squares.sum()) - 2 * size * _dot(totals, moments) + powers * _dot(totals, totals)


def _dot(left: IntegerArray, right: IntegerArray) -> int:
    """Σ left·right, exactly."""
    if object not in (left.dtype, right.dtype) and left.size * largest(left) * largest(right) < SAFE:
        return int(np.dot(left, right))
    return sum(a * b for a, b in zip(left.tolist(), right.tolist(), strict=True))
