"""A strategy: the queries to measure and their weights, with the error that least squares will have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from adyton.arrays import Reals
from adyton.kernel.mechanisms.vector_laplace import VectorLaplace
from adyton.kernel.sources import VectorSource
from adyton.queries import AllRange, Hierarchy, Measurement, Queries
from adyton.queries.hierarchy import BlockTree
from adyton.solving.energies import tree_energies
from adyton.solving.noise_moments import among, determined
from adyton.solving.solvers import Solver, solver


@dataclass(frozen=True, eq=False)
class Strategy:
    """Queries to measure. A query of twice the weight gets half the noise scale; None means equal weights."""

    queries: Queries
    weights: Reals | None = None

    def measure(self, x: VectorSource, epsilon: Fraction) -> Measurement:
        """Noisy answers from a source, for *epsilon* in total."""
        return x.measure(self.queries, epsilon, self.weights)

    def variances(self, epsilon: Fraction) -> Reals:
        """The variance of the noise in each answer, as the kernel will draw it."""
        noise = VectorLaplace.weighted(self.queries, self.weights)
        return np.asarray(noise.variances(epsilon))

    def solver(self, epsilon: Fraction) -> Solver:
        """Least squares for such answers, prepared once for each epsilon."""
        return _prepare(self, epsilon)

    def determines(self, queries: Queries, epsilon: Fraction) -> bool:
        """Whether the least-squares answers to these queries are unbiased, so that noise is their only error."""
        return _determines(self, epsilon, queries)

    def measures(self, queries: Queries) -> bool:
        """Whether the structure of the queries shows that they are measured queries or sums of them."""
        return among(self.queries, queries)


@lru_cache(maxsize=64)
def _prepare(strategy: Strategy, epsilon: Fraction) -> Solver:
    return solver(strategy.queries, strategy.variances(epsilon))


@lru_cache(maxsize=64)
def _determines(strategy: Strategy, epsilon: Fraction, queries: Queries) -> bool:
    return determined(strategy.queries, strategy.solver(epsilon), queries)


_TALLER = 1.1**2
"""The factor by which each further level of a tree must reduce the squared error."""


@lru_cache(maxsize=256)
def branching(domain: tuple[int, ...]) -> int:
    """Into how many parts HB cuts each axis.

    In one dimension, the b with the least (b − 1)h³ − 2(b + 1)h²/3, for trees of height h = ⌈log_b n⌉. In several
    dimensions, the b with the least error over all boxes; taller trees, which are worse on single cells, must be 10%
    better.

    >>> branching((4096,)), branching((32, 32)), branching((128, 128))
    (16, 32, 25)
    """
    side = max(domain)
    if len(domain) == 1:
        return min(_least_branchings(side), key=lambda b: _average_variance(b, side))
    return min(range(2, max(3, side + 1)), key=lambda b: _box_error(domain, b))


def _least_branchings(cells: int) -> list[int]:
    """For every height of a tree, the least b that reaches the cells: at equal height, the variance grows with b.

    >>> _least_branchings(100)
    [2, 3, 4, 5, 10, 100]
    """
    least, b = [], 2
    while b < cells:
        least.append(b)
        height = 1
        while b**height < cells:
            height += 1
        b = round(cells ** (1 / (height - 1))) - 1  # just below the least branching of the next lower tree
        while b ** (height - 1) < cells:
            b += 1
    return [*least, max(2, cells)]


def _average_variance(b: int, cells: int) -> float:
    height = 1
    while b**height < cells:
        height += 1
    return (b - 1) * height**3 - 2 * (b + 1) * height**2 / 3


def _box_error(domain: tuple[int, ...], b: int) -> float:
    """The mean squared error over all boxes, in units of the noise, as if all blocks of a level were equal.

    Let u be the variance of a block's count, estimated from the measurements of the block and of all blocks inside it,
    and U the variance of the sum of its children's estimates (0 for a cell). Then the error is
    Σ_levels (u − U)·(mean energy of the level): see :mod:`adyton.solving.trees`.
    """
    height = 1
    while b**height < max(domain):
        height += 1
    noise = float(height**2)
    error = known = blocks = 0.0
    for level in range(height, 0, -1):  # from the cells upwards, the root excluded
        parts = [min(side, b**level) for side in domain]
        below = known * blocks / math.prod(parts)
        known = 1 / (1 / noise + 1 / below) if below else noise
        blocks = math.prod(parts)
        error += (known - below) * math.prod(_mean_energy(*axis) for axis in zip(domain, parts, strict=True))
    return error * _TALLER**height


@lru_cache(maxsize=4096)
def _mean_energy(side: int, parts: int) -> float:
    """The mean over all intervals of Σ (covered fraction of a block)², over the equal blocks of an axis."""
    intervals = AllRange(side)
    (energies,) = tree_energies(intervals, [np.arange(parts + 1) * side // parts], np.ones(side), None)
    return float(energies.sum()) / intervals.count


def without_root(tree: BlockTree) -> Hierarchy:
    """All the blocks of a tree as queries, except the whole domain if there are others."""
    return Hierarchy(tree.domain, tree.boundaries[1:] or tree.boundaries, tree.order)
