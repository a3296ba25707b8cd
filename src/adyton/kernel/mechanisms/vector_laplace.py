"""Noisy answers to integer queries on a vector, with a noise scale for each query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt

from adyton.arrays import Integers, Reals
from adyton.errors import BadInput
from adyton.kernel.counts import PrivateVector
from adyton.kernel.operators import AuditCase, Mechanism, check_queries
from adyton.kernel.shapes import SourceShape, VectorShape
from adyton.noise.laplace import NUMERATOR_LIMIT
from adyton.noise.simulated import discrete_laplace_variance
from adyton.noise.source import NoiseSource, Ratio
from adyton.queries import Explicit, Haar, Hierarchy, Identity, Kronecker, Measurement, Prefix, Queries, Total
from adyton.queries.base import SLOW_DRAW, Size
from adyton.whole import IntegerArray, add, freeze, largest, whole_array, widen

LARGEST_WEIGHT = 1 << 24
LEAST_VARIANCE = 1e-24
_GRID_BITS = 56
"""Shares of the budget that are not small fractions are rounded down to multiples of 2⁻⁵⁶ or finer."""
FEW_DRAWS = 1 << 16
"""Up to this many draws are quick in any arithmetic."""
_FINE = 1 << 12
"""Shares of at least this many grid steps lose less than 1/4096 by rounding."""


@dataclass(frozen=True, eq=False)
class VectorLaplace(Mechanism):
    """Answers to integer queries, plus independent discrete Laplace noise, one scale per query.

    Query q has an integer weight w_q ≥ 1 and the share ε_q ≤ w_q·ε/S of the budget, where
    S = max_i Σ_q w_q·|q_i|; its noise is DLap(1/ε_q).

    Claim.  ε-DP for vectors at L1 distance 1 (one row added to or removed from one cell).
    Proof.  If x and x′ differ by 1 in cell i, the answer to q moves by |q_i|, which costs |q_i|·ε_q; the noises are
    independent, so the answers together cost Σ_q |q_i|·ε_q ≤ (ε/S)·Σ_q w_q·|q_i| ≤ ε. S is computed from the same
    coefficients that are applied, in whole numbers, and ε_q is rounded down where it is rounded.  ∎
    """

    takes = VectorShape
    queries: Queries
    weights: Integers | None = None

    def __post_init__(self) -> None:
        if self.weights is not None:
            object.__setattr__(self, "weights", freeze(self.weights, "weights"))

    @classmethod
    def weighted(cls, queries: Queries, weights: Sequence[float] | npt.ArrayLike | None) -> VectorLaplace:
        """Weights are any positive numbers; they are public, and rounded to a grid of whole numbers."""
        if weights is None or not isinstance(queries, Queries):
            return cls(queries)  # the kernel refuses anything that is not a query set
        array = np.asarray(weights)
        if (
            array.dtype.kind not in "iuf"
            or array.shape != (queries.count,)
            or not (np.isfinite(array) & (array > 0)).all()
        ):
            raise BadInput(f"weights must be {queries.count} finite numbers greater than 0, one per query.")
        if (array == array[0]).all():
            return cls(queries)
        on_grid = np.maximum(1, np.floor(array / array.max() * LARGEST_WEIGHT)).astype(np.int64)
        return cls(queries, on_grid)

    def check(self, source: VectorShape) -> None:
        """The queries must ask about this vector's cells."""
        source.check_cells("queries", self.queries.cells)
        check_queries(self.queries)
        weights = self.weights
        if weights is not None and (
            weights.shape != (self.queries.count,)
            or not 1 <= int(weights.min()) <= int(weights.max()) <= LARGEST_WEIGHT
        ):
            raise BadInput(
                f"weights must be {self.queries.count} whole numbers in 1 … {LARGEST_WEIGHT}, one per query."
            )

    def size(self, source: VectorShape, epsilon: Fraction) -> Size:
        """The queries twice, for the answers and the sensitivity, and a draw for each answer."""
        own, count = self.queries.size(), self.queries.count
        long = count > FEW_DRAWS and largest(self.scales(epsilon).numerator) >= NUMERATOR_LIMIT
        return Size(own.numbers + 6 * count, 2 * own.steps + (SLOW_DRAW if long else 32) * count)

    def scales(self, epsilon: Fraction) -> Ratio:
        """1/ε_q for every query: exact where the numbers are small, else with ε_q rounded down to a fine grid."""
        rate = epsilon / self._most_moved()
        if self.weights is None:
            return Ratio(whole_array([rate.denominator], (1,)), whole_array([rate.numerator], (1,)))
        weights = self.weights
        small = max(rate.numerator * largest(weights), rate.denominator) <= 1 << _GRID_BITS
        on_grid = None if small else _scales_on_grid(rate, weights)
        if on_grid is not None:
            return on_grid
        numerator = whole_array([rate.denominator], (1,))
        return Ratio(numerator, widen(weights, rate.numerator) * rate.numerator)

    def _most_moved(self) -> int:
        """S, but at least 1, even if no row changes any answer."""
        return max(1, self.queries.sensitivity(self.weights))

    def draw(self, data: PrivateVector, epsilon: Fraction, noise: NoiseSource, trials: int) -> IntegerArray:
        """Q·x + (DLap(1/ε_q))_q."""
        scales = self.scales(epsilon) if self.weights is not None else self._most_moved() / epsilon
        return add(data.answers(self.queries), noise.discrete_laplace((trials, self.queries.count), scales))

    def publish(self, output: IntegerArray, source: SourceShape, epsilon: Fraction, private: bool) -> Measurement:
        """The answers with their variances."""
        assert isinstance(source, VectorShape)
        return Measurement(self.queries, output, partial(self.variances, epsilon), epsilon, private, source.mapping)

    def variances(self, epsilon: Fraction) -> Reals:
        """The variance of the noise in each answer: public, known before anything is measured.

        With a huge ε it would underflow in double precision; it is kept just above 0, so that weights stay finite.
        """
        if self.weights is None:
            return np.broadcast_to(_one_variance(self._most_moved() / epsilon), (self.queries.count,))
        return np.maximum(discrete_laplace_variance(self.scales(epsilon)), LEAST_VARIANCE)

    @classmethod
    def audit_cases(cls) -> list[AuditCase]:
        """The plain query sets, and weighted queries with coefficients other than 0 and 1."""
        mixed = Explicit.from_rows([[1, 1, 0, 0], [0, -2, 1, 0], [0, 0, 0, 3], [1, 1, 1, 1]])
        instances = {
            "identity": cls(Identity(4)),
            "total": cls(Total(4)),
            "prefix": cls(Prefix(4)),
            "weighted": cls.weighted(mixed, [1.0, 0.5, 2.0, 0.1]),
            "wavelet": cls(Haar(4)),
            "hierarchy": cls(Hierarchy.of_blocks(4, [2, 1])),
            "weighted hierarchy": cls.weighted(Hierarchy.of_blocks(4, [2, 1]), [0.5, 1.0, 1.0, 3.0, 3.0, 3.0, 3.0]),
            "product": cls(Kronecker([Prefix(2), Haar(2)])),
        }
        return [
            AuditCase(f"vector Laplace, {name}", mechanism, (4,), statistic=mechanism._log_likelihood_ratio)
            for name, mechanism in instances.items()
        ]

    def _log_likelihood_ratio(
        self, outputs: IntegerArray, left: IntegerArray, right: IntegerArray, epsilon: Fraction
    ) -> Reals:
        """ln P(output | left) − ln P(output | right) = Σ_q ε_q (|y − q·right| − |y − q·left|)."""
        scales = self.scales(epsilon)
        rates = np.asarray(scales.denominator / scales.numerator, dtype=np.float64)
        moved = np.abs(outputs - self.queries @ right) - np.abs(outputs - self.queries @ left)
        return np.asarray((rates * moved).sum(axis=1))

    def __str__(self) -> str:
        return f"noisy {self.queries}"


@lru_cache(maxsize=256)
def _one_variance(scale: Fraction) -> float:
    """The variance of the noise in each answer, the same for all queries."""
    return max(float(discrete_laplace_variance(scale)), LEAST_VARIANCE)


def _scales_on_grid(rate: Fraction, weights: Integers) -> Ratio | None:
    """2^k / n_q with n_q ≤ rate·w_q·2^k, in 64-bit arithmetic; None where that would be too coarse or too large."""
    bits = 36 - (rate.numerator.bit_length() - rate.denominator.bit_length())
    excess = max(0, bits - _GRID_BITS)
    if bits < 0 or excess > 36:
        return None
    leading = int(rate * (1 << bits))  # at most 37 bits of rate·2^k, rounded down; weights have at most 25
    shares = (leading * weights) >> excess
    return Ratio(np.array([1 << (bits - excess)]), shares) if int(shares.min()) >= _FINE else None
