"""A strategy: the queries to measure and their weights, with the error that least squares will have."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from adyton.arrays import Reals
from adyton.kernel.mechanisms import VectorLaplace
from adyton.kernel.sources import VectorSource
from adyton.queries import Measurement, Queries
from adyton.solving.noise_moments import among, determined
from adyton.solving.solvers import Solver, solver


@dataclass(frozen=True, eq=False)
class Strategy:
    """Queries to measure. A query of twice the weight gets half the noise scale; None weighs all alike."""

    queries: Queries
    weights: Reals | None = None

    def measure(self, x: VectorSource, epsilon: Fraction) -> Measurement:
        """Noisy answers from a source, for *epsilon* in all."""
        return x.measure(self.queries, epsilon, self.weights)

    def variances(self, epsilon: Fraction) -> Reals:
        """The variance of the noise in each answer, as the kernel will draw it."""
        noise = VectorLaplace.weighted(self.queries, self.weights)
        return np.asarray(noise.variances(epsilon))

    def solver(self, epsilon: Fraction) -> Solver:
        """Least squares for such answers, prepared once for each epsilon."""
        return _prepare(self, epsilon)

    def determines(self, queries: Queries, epsilon: Fraction) -> bool:
        """Whether least squares leave nothing but noise in the answers to these queries."""
        return _determines(self, epsilon, queries)

    def measures(self, queries: Queries) -> bool:
        """Whether it shows that they are among the measured ones, or sums of them."""
        return among(self.queries, queries)


@lru_cache(maxsize=64)
def _prepare(strategy: Strategy, epsilon: Fraction) -> Solver:
    return solver(strategy.queries, strategy.variances(epsilon))


@lru_cache(maxsize=64)
def _determines(strategy: Strategy, epsilon: Fraction, queries: Queries) -> bool:
    return determined(strategy.queries, strategy.solver(epsilon), queries)
